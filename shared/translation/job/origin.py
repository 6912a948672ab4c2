"""Where a process's job is at home: platform, workspace, notebook or job, and an address that leads there. Pure.

Only what stays the same from run to run: an origin is a part of what a process is. A run's own address is among the
facts of the last run. Properties are those that the listener passes on (`wire.Captured`, and Databricks' environment
facet); the forms of addresses are the platforms' own, and were not tried there.
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
from shared.translation.job.identity import JobIdentity

_LONGEST = 300
"""Characters of a word."""
_LONGEST_LINK = 500
"""Characters: Atlas takes no longer value of a user's property. An address is never cut."""

_ENGINES = {"SPARK": "Spark", "": "Spark", "DBT": "dbt", "AIRFLOW": "Airflow", "FLINK": "Flink"}
"""What people call an integration of OpenLineage."""

_JOB_BY_ID = re.compile(r"job ([0-9]+)")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_FABRIC = "https://app.fabric.microsoft.com/groups"
_FABRIC_PAGES = {"synapsenotebook": "synapsenotebooks", "sparkjobdefinition": "sparkjobdefinitions"}
"""The page of a Fabric item by the item's type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OriginQuery:
    """What a platform's rule looks at; `host` is that of a Databricks workspace, `named` the job's name for people."""

    run: MergedRun
    host: str
    named: str

    @property
    def captured(self) -> Captured:
        return self.run.captured


def origin_of(run: MergedRun, identity: JobIdentity, told_workspace: str = "") -> Origin:
    """Where a run's job is at home. `told_workspace`: the Databricks workspace that others of its application name."""
    host = workspace(run.captured.databricks_host or "") or workspace(run.job.name) or told_workspace
    asked = _OriginQuery(run=run, host=host, named="" if identity.is_generic else identity.name)
    found = next(filter(None, (rule(asked) for rule in _RULES)))
    return Origin(
        platform=_word(found.platform),
        workspace=_word(found.workspace),
        job=_word(found.job or asked.named),
        link=found.link if len(found.link) <= _LONGEST_LINK else "",
    )


def _databricks(asked: _OriginQuery) -> Origin | None:
    properties = asked.run.properties
    if not asked.host and not any(key.startswith("spark.databricks.") for key in properties):
        return None
    organisation = properties.get("orgId")
    where = asked.host or (organisation if isinstance(organisation, str) else "")
    return Origin(platform="Databricks", workspace=where, link=_databricks_link(asked))


def _databricks_link(asked: _OriginQuery) -> str:
    """To the notebook, or to the job by its id where that is how it is known; else to the workspace. A path with a
    commit or a deployment in it leads nowhere after the next one, and a submitted run's job id never comes again.
    """
    if not asked.host:
        return ""
    path, raw = notebook(asked.run.properties), asked.run.properties.get("spark.databricks.notebook.path")
    if path and isinstance(raw, str) and raw.endswith(path):
        return f"https://{asked.host}/#workspace{quote(path)}"
    if job := _JOB_BY_ID.fullmatch(asked.named):
        return f"https://{asked.host}/#job/{job[1]}"
    return f"https://{asked.host}/"


def _fabric(asked: _OriginQuery) -> Origin | None:
    told = asked.captured
    if not (told.fabric_workspace or told.fabric_item):
        return None
    name = told.fabric_item_name or told.notebook or ""
    kind = (told.fabric_item_type or "").lower()
    word = "job definition" if kind == "sparkjobdefinition" else "notebook"
    return Origin(
        platform="Fabric",
        workspace=told.fabric_workspace or "",
        job=f"{word} {name}" if name else "",
        link=_fabric_link(told.fabric_workspace or "", told.fabric_item or "", kind),
    )


def _fabric_link(group: str, item: str, kind: str) -> str:
    if not _UUID.fullmatch(group):
        return ""
    page = _FABRIC_PAGES.get(kind)
    return f"{_FABRIC}/{group}/{page}/{item}" if page and _UUID.fullmatch(item) else f"{_FABRIC}/{group}/list"


def _synapse(asked: _OriginQuery) -> Origin | None:
    """Without an address: Synapse Studio's name subscription and resource group, which no property tells."""
    told = asked.captured
    if not told.synapse_workspace:
        return None
    return Origin(
        platform="Synapse", workspace=told.synapse_workspace, job=f"notebook {told.notebook}" if told.notebook else ""
    )


def _engine(asked: _OriginQuery) -> Origin:
    kind = asked.run.integration
    return Origin(platform=_ENGINES.get(kind.upper(), kind))


_RULES: tuple[Callable[[_OriginQuery], Origin | None], ...] = (_databricks, _fabric, _synapse, _engine)
"""The first that knows its platform tells."""


def joined(origins: Iterable[Origin]) -> Origin:
    """What several runs of one job tell, as one: of different words the longest, which tells most, then the greatest;
    so it does not depend on their order.
    """
    different = set(origins)
    if len(different) == 1:
        return different.pop()
    return Origin(
        platform=_fullest(each.platform for each in different),
        workspace=_fullest(each.workspace for each in different),
        job=_fullest(each.job for each in different),
        link=_fullest(each.link for each in different),
    )


def _fullest(words: Iterable[str]) -> str:
    return max(words, key=lambda word: (len(word), word), default="")


def _word(text: str) -> str:
    return text_without_secrets(text)[:_LONGEST]
