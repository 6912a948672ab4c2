"""The origin of a process (platform, workspace, notebook or job, a link to it or its code), and what events declare.

Only what is the same in every run, because an origin is part of a process; a run's own link is among the facts of the
last run. Properties are those that the listener sends (`wire.Captured`, and Databricks' environment facet); links have
the platforms' forms and were not tried there.

Owners, descriptions and tags are declared of jobs and of data sets; they are without secrets, and bounded.
"""

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from shared.model import NOTHING_DECLARED, Declared, Origin
from shared.openlineage.run import MergedRun, TagValue
from shared.openlineage.run_facets import Captured
from shared.openlineage.wire import SourceCodeLocation
from shared.secrets import address_without_secrets, short_text, text_without_secrets
from shared.translation.process.identity import JobIdentity
from shared.translation.process.job_names import NOTEBOOK_PATH, notebook, text_property, workspace

_MAX_LINK = 500
"""Characters, the maximum of an Atlas custom attribute. A longer link is omitted, never cut."""

_ENGINES = {"SPARK": "Spark", "": "Spark", "DBT": "dbt", "AIRFLOW": "Airflow", "FLINK": "Flink"}
"""Display names of OpenLineage integrations."""

_NEWEST = "HEAD"
"""GitHub, GitLab and Bitbucket show the newest commit under this name."""

_JOB_BY_ID = re.compile(r"job ([0-9]+)")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_FABRIC = "https://app.fabric.microsoft.com/groups"
_FABRIC_PAGES = {"synapsenotebook": "synapsenotebooks", "sparkjobdefinition": "sparkjobdefinitions"}
"""The page of a Fabric item by the item's type."""


def origin_of(run: MergedRun, identity: JobIdentity, application_workspace: str = "") -> Origin:
    """The origin of a run's job. `application_workspace`: the Databricks workspace that other runs of it name."""
    host = workspace(run) or application_workspace
    named = "" if identity.is_generic else identity.name
    origin = _databricks(run, host, named) or _fabric(run.captured) or _synapse(run.captured)
    origin = origin or Origin(platform=engine_of(run))
    link = origin.link or _lasting_address(run.source_code)
    return Origin(
        platform=short_text(origin.platform),
        workspace=short_text(origin.workspace),
        job=short_text(origin.job or named),
        link=link if len(link) <= _MAX_LINK else "",
        declared=declared_as(run.owners, run.description, run.job_tags),
    )


def code_address(code: SourceCodeLocation) -> str:
    """The address of a job's code as it ran, without secrets; empty if it is none of the web."""
    url = address_without_secrets(code.url or "")
    return url if url.startswith(("https://", "http://")) else ""


def _lasting_address(code: SourceCodeLocation) -> str:
    """The same without the commit, which changes with the next one: with the branch in its place, else the newest."""
    url = code_address(code)
    return url.replace(code.version, code.branch or _NEWEST) if code.version else url


def engine_of(run: MergedRun) -> str:
    """The display name of the engine that sent the run's events."""
    return _ENGINES.get(run.integration.upper(), run.integration)


def _databricks(run: MergedRun, host: str, named: str) -> Origin | None:
    if not host and not any(key.startswith("spark.databricks.") for key in run.properties):
        return None
    workspace_of = host or text_property(run.properties, "orgId")
    return Origin(platform="Databricks", workspace=workspace_of, link=_databricks_link(run, host, named))


def _databricks_link(run: MergedRun, host: str, named: str) -> str:
    """A link to the notebook, or to a job that is identified by its id; else to the workspace. Paths with a commit or
    deployment change with the next one, and the job id of a submitted run never recurs.
    """
    if not host:
        return ""
    path = notebook(run.properties)
    if path and text_property(run.properties, NOTEBOOK_PATH).endswith(path):
        return f"https://{host}/#workspace{quote(path)}"
    if job := _JOB_BY_ID.fullmatch(named):
        return f"https://{host}/#job/{job[1]}"
    return f"https://{host}/"


def _fabric(captured: Captured) -> Origin | None:
    if not (captured.fabric_workspace or captured.fabric_item):
        return None
    name = captured.fabric_item_name or captured.notebook or ""
    kind = (captured.fabric_item_type or "").lower()
    noun = "job definition" if kind == "sparkjobdefinition" else "notebook"
    return Origin(
        platform="Fabric",
        workspace=captured.fabric_workspace or "",
        job=f"{noun} {name}" if name else "",
        link=_fabric_link(captured.fabric_workspace or "", captured.fabric_item or "", kind),
    )


def _fabric_link(group: str, item: str, kind: str) -> str:
    if not _UUID.fullmatch(group):
        return ""
    page = _FABRIC_PAGES.get(kind)
    return f"{_FABRIC}/{group}/{page}/{item}" if page and _UUID.fullmatch(item) else f"{_FABRIC}/{group}/list"


def _synapse(captured: Captured) -> Origin | None:
    """Without a link: those of Synapse Studio need subscription and resource group, which no property has."""
    if not captured.synapse_workspace:
        return None
    return Origin(
        platform="Synapse",
        workspace=captured.synapse_workspace,
        job=f"notebook {captured.notebook}" if captured.notebook else "",
    )


def joined(origins: Iterable[Origin]) -> Origin:
    """The origins of several runs of one job as one: of different values the longest, then the greatest, whatever their
    order.
    """
    different = set(origins)
    if len(different) == 1:
        return different.pop()
    return Origin(
        platform=fullest(origin.platform for origin in different),
        workspace=fullest(origin.workspace for origin in different),
        job=fullest(origin.job for origin in different),
        link=fullest(origin.link for origin in different),
        declared=joined_declarations(origin.declared for origin in different),
    )


_MAX_OWNERS = 20
_MAX_OWNER = 1_000
_MAX_DESCRIPTION = 8_000
_MAX_TAGS = 10_000
_MAX_LEVELS = 20


def declared_as(
    owners: Sequence[str], description: str, tags: Sequence[TagValue], levels: Sequence[tuple[str, str]] = ()
) -> Declared:
    """The owners as one text, the description, the tags, and the levels of a hierarchy."""
    if not (owners or description or tags or levels):
        return NOTHING_DECLARED
    return Declared(
        owner=text_without_secrets(", ".join(owners[:_MAX_OWNERS]))[:_MAX_OWNER],
        description=text_without_secrets(description)[:_MAX_DESCRIPTION],
        tags=tuple((key, text_without_secrets(value), column) for key, value, column in tags[:_MAX_TAGS]),
        levels=tuple((short_text(type_), short_text(name)) for type_, name in levels[:_MAX_LEVELS]),
    )


def joined_declarations(declarations: Iterable[Declared]) -> Declared:
    """Several as one, whatever their order: of different texts and hierarchies the longest, then the greatest; all
    tags.
    """
    different = set(declarations) - {NOTHING_DECLARED}
    if len(different) < 2:  # noqa: PLR2004 - one, or none
        return different.pop() if different else NOTHING_DECLARED
    return Declared(
        owner=fullest(declared.owner for declared in different),
        description=fullest(declared.description for declared in different),
        tags=tuple(sorted({tag for declared in different for tag in declared.tags}))[:_MAX_TAGS],
        levels=max((declared.levels for declared in different), key=lambda levels: (len(levels), levels)),
    )


def fullest(texts: Iterable[str]) -> str:
    """Of several texts the longest, then the greatest."""
    return max(texts, key=lambda text: (len(text), text), default="")
