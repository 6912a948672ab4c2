"""Names of a run's notebook or job: by Databricks' properties, or the application's name without its volatile parts.

The listener sends a fixed list of Spark's local properties (`DatabricksEnvironmentFacetBuilder`), in events caused by
the start of a Spark job. None of them says whether a run was scheduled or submitted: `spark.databricks.job.type` is
the kind of task (`notebook`, `python`), and a run submitted once (`runs/submit`, as by Data Factory and Airflow) has a
job id that never recurs. The run's name does recur. A job cluster has it as its tag `RunName` in `clusterAllTags` (a
JSON list of `{"key", "value"}`): the job's name, or for a submitted run the sender's name, often with a UUID
(`ADF_<factory>_<pipeline>_<activity>_<uuid>`). So the run's name goes before the job's id.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.openlineage.run import text_property

_EDGE = r"(?:^|(?<=[^0-9A-Za-z]))"
_END = r"(?=[^0-9A-Za-z]|$)"
_DAY = r"(?:19|20)\d\d[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:0[1-9]|[12]\d|3[01])"
_ZONE = r"(?:_?z|[+-]\d\d:?\d\d|_\d\d_\d\d)"
_CLOCK = rf"(?:[01]\d|2[0-3])[-_.:]?[0-5]\d(?:[-_.:]?[0-5]\d(?:(?:[.,_]\d{{1,9}})?{_ZONE}|[.,_]\d{{1,9}})?)?"
_TIME = rf"{_DAY}(?:[ _-]?t?[ _-]?{_CLOCK}{_ZONE}?)?"
"""A date, or a time to the minute, second or fraction, with or without a zone: as ISO 8601 writes it, without its
separators, or with an underscore for each, as the listener folds names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolatilePart:
    """A part of an application's name that changes from run to run; `example` shows one."""

    name: str
    pattern: re.Pattern[str]
    example: str


def _part(name: str, pattern: str, example: str) -> VolatilePart:
    return VolatilePart(name=name, pattern=re.compile(_EDGE + pattern + _END, re.IGNORECASE), example=example)


VOLATILE: tuple[VolatilePart, ...] = (
    _part("Glue job run", r"jr_[0-9a-f]{32,64}(?:_attempt_\d+)?", f"load-jr_{'0a1b2c3d' * 8}"),
    _part("uuid", r"[0-9a-f]{8}(?:[-_]?[0-9a-f]{4}){3}[-_]?[0-9a-f]{12}", "load_3f2504e0-4f89-41d3-9a0c-0305e82c3301"),
    _part("hash of a commit or a content", r"(?:[0-9a-f]{40}|[0-9a-f]{64})", f"load-{'0a1b2c3d4e' * 4}"),
    _part("ulid", r"0[0-9a-hjkmnp-tv-z]{25}", "load 01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    _part(
        "yarn id",
        r"(?:(?:app(?:lication|attempt)|job|attempt)_\d{10,}(?:_[mr])?|container(?:_e\d+)?_\d{10,})(?:_\d+)+",
        "load appattempt_1650268838000_0001_000002",
    ),
    _part("EMR cluster or step", r"[js][-_]\d[0-9a-z]{11,20}", "load j-2AXXXXXXGAPLF"),
    _part(
        "Airflow run id",
        rf"(?:manual|scheduled|backfill|(?:dataset|asset|operator)_triggered)__{_TIME}",
        "load_manual__2026-11-21T04:00:00+00:00",
    ),
    _part("time", _TIME, "daily 2026-11-21T04:00:00Z"),
    _part("attempt", r"[(\[]?(?:attempt|retry|try)[-_ #]?\d+[)\]]?", "load_attempt_2"),
    _part("Livy session", r"livy[-_ ]session[-_ ]\d+", "load livy-session-7"),
    _part("SQL shell's host", r"(?<=sparksql::)[0-9a-z.:-]+", "SparkSQL::10.0.0.4"),
    _part("session id", r"\d{8,}", "Notebook_pool_1650268838"),
)
"""Removed in this order. The remaining parts are joined with single separators."""

_SEPARATORS = " \t\n_-.:#"
_UNNAMED = "unnamed"
"""The name of an application whose name has only volatile parts: Spark names an unnamed one by a UUID."""

_GLUE = re.compile(r"^nativespark[-_](?=.*[-_]jr_[0-9a-f]{32})", re.IGNORECASE)
"""AWS Glue names an application `nativespark-<job>-jr_<run>`; newer listeners send `<job>` (OpenLineage issue 4339)."""


def stable_name(name: str) -> str:
    """The application's name without its volatile parts; `unnamed` if nothing remains."""
    marked = _GLUE.sub("", name)
    for part in VOLATILE:
        marked = part.pattern.sub("\0", marked)
    if marked == name:
        return name
    words = (part.strip(_SEPARATORS) for part in marked.split("\0"))
    return "_".join(part for part in words if part) or _UNNAMED


_GENERIC = frozenset(
    {
        _UNNAMED,
        "apachetoree",
        "arrowspark",  # Airflow's Spark operators, when nobody gives a name
        "arrowsparksql",
        "databricksshell",
        "defaultarrowspark",
        "livysession",
        "pysparkshell",
        "remotesparkmagics",
        "spark",
        "sparkapplication",
        "sparkconnectserver",
        "sparklyr",
        "sparkr",
        "sparkshell",
        "sparksql",
        "sparksqlcli",
        "synapse",
        "synapsesession",
        "thriftjdbcodbcserver",
        "untitled",
        "zeppelin",
    }
)
"""Default names of shells, servers and notebook services, without case and separators."""

_SHARED = re.compile(
    r"synapse_session_|kyuubi_(?:connection|user|group|server)_|hc_"  # hc_: Fabric's high concurrency sessions
)
"""Prefixes of sessions that several jobs share."""


def is_generic(name: str) -> bool:
    """Whether a stable name does not identify a job, because many jobs share it."""
    folded = name.lower()
    return re.sub(r"[\W_]+", "", folded) in _GENERIC or _SHARED.match(folded.replace("-", "_")) is not None


SHELL = "databricks_shell"
"""Databricks' application name on every cluster."""

_HOST = re.compile(
    r"^(?:(?:https?://)?(?:"
    r"adb-\d+[._]\d+[._]azuredatabricks[._]net"
    r"|dbc-[0-9a-f-]+[._]cloud[._]databricks[._]com"
    r"|adb-\d+[._]\d+[._]databricks[._]azure[._](?:us|cn)"
    r"|\d+[._]\d+[._]gcp[._]databricks[._]com"
    r"))(?:[.:/_]+|$)",
    re.IGNORECASE,
)
"""A workspace's host: in names of SQL jobs, but not of their parents, the listener puts it in place of
`databricks_shell` (`DatabricksUtils.prettifyDatabricksJobName`)."""

_CHECKOUT = re.compile(r"(?<=/Repos/\.internal/)[0-9a-f]{8,}_commits/[0-9a-f]{8,}/")
"""A job from a Git repository runs in `/Repos/.internal/<hash>_commits/<commit>/`."""

_DEPLOYMENT = re.compile(
    r"/(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{40})(?=/)", re.IGNORECASE
)
"""A folder named by a UUID or commit: made by a deployment."""

_WORKSPACE = "/Workspace/"
"""The file system's root of notebooks, which newer runtimes prepend."""

NOTEBOOK_PATH, JOB_ID = "spark.databricks.notebook.path", "spark.databricks.job.id"
_TAGS, _CLUSTER = "spark.databricks.clusterUsageTags.clusterAllTags", "spark.databricks.clusterUsageTags.clusterName"
_RUN_NAME = "RunName"
_JOB_CLUSTER = re.compile(r"job-(\d+)-run-\d+")
_MAX_TAGS = 100_000


def notebook(properties: Mapping[str, Any]) -> str:
    """The notebook's path without commit or deployment; empty if there is none."""
    path = text_property(properties, NOTEBOOK_PATH)
    if path.startswith(_WORKSPACE):
        path = path[len(_WORKSPACE) - 1 :]
    return _DEPLOYMENT.sub("", _CHECKOUT.sub("", path))


def job(properties: Mapping[str, Any]) -> str:
    """The job: its run's name, else its id; empty if there is neither, or if the run has a default name."""
    if run_name := _run_name(properties):
        name = stable_name(run_name)
        return "" if is_generic(name) else name
    job_id = text_property(properties, JOB_ID)
    if job_id:
        return job_id
    cluster = _JOB_CLUSTER.match(text_property(properties, _CLUSTER))
    return cluster[1] if cluster else ""


def without_host(name: str) -> str:
    """The name, with a workspace's host at its start replaced by the application's name."""
    host = _HOST.match(name)
    return (name[host.end() :] or SHELL) if host else name


def identifying_properties(properties: Mapping[str, Any]) -> dict[str, str]:
    """The properties that identify notebook and job; of the tags only the run's name."""
    identifying = {key: text for key in (NOTEBOOK_PATH, JOB_ID) if (text := text_property(properties, key))}
    name = _run_name(properties)
    if name:
        identifying[_TAGS] = json.dumps([{"key": _RUN_NAME, "value": name}])
    cluster = _JOB_CLUSTER.match(text_property(properties, _CLUSTER))
    return identifying | ({_CLUSTER: cluster[0]} if cluster else {})


def _run_name(properties: Mapping[str, Any]) -> str | None:
    """The run's name as the tag has it; None without such a tag."""
    text = text_property(properties, _TAGS)
    if not text or len(text) > _MAX_TAGS:
        return None
    try:
        tags = json.loads(text)
    except (ValueError, RecursionError):  # redacted, cut off, or something else: then there are no tags
        return None
    if not isinstance(tags, list):
        return None
    names = (tag.get("value") for tag in tags if isinstance(tag, dict) and tag.get("key") == _RUN_NAME)
    return next((name for name in names if isinstance(name, str) and name), None)
