"""The origin of a process: platform, workspace, notebook or job, and a link to it.

Only what is the same in every run, because an origin is part of a process; a run's own link is among the facts of the
last run. Properties are those that the listener sends (`wire.Captured`, and Databricks' environment facet); links have
the platforms' forms and were not tried there.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import quote

from shared.model import Origin
from shared.openlineage.run import MergedRun
from shared.openlineage.wire import Captured
from shared.secrets import text_without_secrets
from shared.translation.job.databricks import notebook, workspace
from shared.translation.job.declared import declared_as, joined_declarations
from shared.translation.job.identity import JobIdentity

_MAX_TEXT = 300
"""Characters of a name."""
_MAX_LINK = 500
"""Characters, the maximum of an Atlas custom attribute. A longer link is omitted, never cut."""

_ENGINES = {"SPARK": "Spark", "": "Spark", "DBT": "dbt", "AIRFLOW": "Airflow", "FLINK": "Flink"}
"""Display names of OpenLineage integrations."""

_JOB_BY_ID = re.compile(r"job ([0-9]+)")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_FABRIC = "https://app.fabric.microsoft.com/groups"
_FABRIC_PAGES = {"synapsenotebook": "synapsenotebooks", "sparkjobdefinition": "sparkjobdefinitions"}
"""The page of a Fabric item by the item's type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OriginQuery:
    """Input of a platform's rule: `host` of a Databricks workspace, `named` the job's name for people."""

    run: MergedRun
    host: str
    named: str

    @property
    def captured(self) -> Captured:
        return self.run.captured


def origin_of(run: MergedRun, identity: JobIdentity, application_workspace: str = "") -> Origin:
    """The origin of a run's job. `application_workspace`: the Databricks workspace that other runs of it name."""
    host = workspace(run.captured.databricks_host or "") or workspace(run.job.name) or application_workspace
    query = _OriginQuery(run=run, host=host, named="" if identity.is_generic else identity.name)
    found = next(filter(None, (rule(query) for rule in _RULES)))
    return Origin(
        platform=_clean(found.platform),
        workspace=_clean(found.workspace),
        job=_clean(found.job or query.named),
        link=found.link if len(found.link) <= _MAX_LINK else "",
        declared=declared_as(run.owners, run.description, run.job_tags),
    )


def _databricks(query: _OriginQuery) -> Origin | None:
    properties = query.run.properties
    if not query.host and not any(key.startswith("spark.databricks.") for key in properties):
        return None
    organisation = properties.get("orgId")
    where = query.host or (organisation if isinstance(organisation, str) else "")
    return Origin(platform="Databricks", workspace=where, link=_databricks_link(query))


def _databricks_link(query: _OriginQuery) -> str:
    """A link to the notebook, or to a job that is identified by its id; else to the workspace. Paths with a commit or
    deployment change with the next one, and the job id of a submitted run never recurs.
    """
    if not query.host:
        return ""
    path, raw = notebook(query.run.properties), query.run.properties.get("spark.databricks.notebook.path")
    if path and isinstance(raw, str) and raw.endswith(path):
        return f"https://{query.host}/#workspace{quote(path)}"
    if job := _JOB_BY_ID.fullmatch(query.named):
        return f"https://{query.host}/#job/{job[1]}"
    return f"https://{query.host}/"


def _fabric(query: _OriginQuery) -> Origin | None:
    given = query.captured
    if not (given.fabric_workspace or given.fabric_item):
        return None
    name = given.fabric_item_name or given.notebook or ""
    kind = (given.fabric_item_type or "").lower()
    noun = "job definition" if kind == "sparkjobdefinition" else "notebook"
    return Origin(
        platform="Fabric",
        workspace=given.fabric_workspace or "",
        job=f"{noun} {name}" if name else "",
        link=_fabric_link(given.fabric_workspace or "", given.fabric_item or "", kind),
    )


def _fabric_link(group: str, item: str, kind: str) -> str:
    if not _UUID.fullmatch(group):
        return ""
    page = _FABRIC_PAGES.get(kind)
    return f"{_FABRIC}/{group}/{page}/{item}" if page and _UUID.fullmatch(item) else f"{_FABRIC}/{group}/list"


def _synapse(query: _OriginQuery) -> Origin | None:
    """Without a link: those of Synapse Studio need subscription and resource group, which no property has."""
    given = query.captured
    if not given.synapse_workspace:
        return None
    return Origin(
        platform="Synapse",
        workspace=given.synapse_workspace,
        job=f"notebook {given.notebook}" if given.notebook else "",
    )


def _engine(query: _OriginQuery) -> Origin:
    kind = query.run.integration
    return Origin(platform=_ENGINES.get(kind.upper(), kind))


_RULES: tuple[Callable[[_OriginQuery], Origin | None], ...] = (_databricks, _fabric, _synapse, _engine)
"""The first rule that returns an origin decides."""


def joined(origins: Iterable[Origin]) -> Origin:
    """The origins of several runs of one job as one: of different values the longest, then the greatest, whatever their
    order.
    """
    different = set(origins)
    if len(different) == 1:
        return different.pop()
    return Origin(
        platform=_fullest(each.platform for each in different),
        workspace=_fullest(each.workspace for each in different),
        job=_fullest(each.job for each in different),
        link=_fullest(each.link for each in different),
        declared=joined_declarations(each.declared for each in different),
    )


def _fullest(values: Iterable[str]) -> str:
    return max(values, key=lambda value: (len(value), value), default="")


def _clean(text: str) -> str:
    return text_without_secrets(text)[:_MAX_TEXT]
