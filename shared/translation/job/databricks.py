"""Which notebook or job wrote, by Databricks' properties.

The listener passes on a fixed list of Spark's local properties (`DatabricksEnvironmentFacetBuilder`), in events that a
Spark job's start caused. None of them says how a run came about: `spark.databricks.job.type` names the kind of task
(`notebook`, `python`), and a run that was submitted once (`runs/submit`, as Data Factory and Airflow do) has a job id
like any other, only that it never comes again. What does come again is the run's name. A job cluster has it as its tag
`RunName` in `clusterAllTags` (a JSON list of `{"key", "value"}`): for a job it is the job's name, for a submitted run
the name that its sender gave, often with a UUID (`ADF_<factory>_<pipeline>_<activity>_<uuid>`). So the run's name goes
before the job's id.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from shared.translation.job.volatile_names import is_generic, stable_name

SHELL = "databricks_shell"
"""What Databricks calls the application of every cluster."""

_HOST = re.compile(
    r"^(?:(?:https?://)?(?:"
    r"adb-\d+[._]\d+[._]azuredatabricks[._]net"
    r"|dbc-[0-9a-f-]+[._]cloud[._]databricks[._]com"
    r"|adb-\d+[._]\d+[._]databricks[._]azure[._](?:us|cn)"
    r"|\d+[._]\d+[._]gcp[._]databricks[._]com"
    r"))(?:[.:/_]+|$)",
    re.IGNORECASE,
)
"""A workspace's host: in the names of SQL jobs, but not of their parents, the listener puts it in the place of
`databricks_shell` (`DatabricksUtils.prettifyDatabricksJobName`)."""

_CHECKOUT = re.compile(r"(?<=/Repos/\.internal/)[0-9a-f]{8,}_commits/[0-9a-f]{8,}/")
"""A job from a Git repository runs in `/Repos/.internal/<hash>_commits/<commit>/`."""

_DEPLOYMENT = re.compile(
    r"/(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{40})(?=/)", re.IGNORECASE
)
"""A folder that is called by a UUID or a commit alone: what a deployment made, never a person."""

_WORKSPACE = "/Workspace/"
"""The file system's root for notebooks, which newer runtimes write before their paths."""

_PATH, _JOB_ID = "spark.databricks.notebook.path", "spark.databricks.job.id"
_TAGS, _CLUSTER = "spark.databricks.clusterUsageTags.clusterAllTags", "spark.databricks.clusterUsageTags.clusterName"
_RUN_NAME = "RunName"
_JOB_CLUSTER = re.compile(r"job-(\d+)-run-\d+")
_LONGEST_TAGS = 100_000


def notebook(properties: Mapping[str, Any]) -> str:
    """The notebook's path without commit or deployment; empty where there is none."""
    path = _text(properties, _PATH)
    if path.startswith(_WORKSPACE):
        path = path[len(_WORKSPACE) - 1 :]
    return _DEPLOYMENT.sub("", _CHECKOUT.sub("", path))


def job(properties: Mapping[str, Any]) -> str:
    """The job: its run's name, else its id; empty where there is neither, or where the run was left unnamed."""
    name = _run_name(properties)
    if name is not None:
        return "" if is_generic(name) else name
    found = _text(properties, _JOB_ID)
    if found:
        return found
    cluster = _JOB_CLUSTER.match(_text(properties, _CLUSTER))
    return cluster[1] if cluster else ""


def without_host(name: str) -> str:
    """The application's name where a job's name begins with a workspace's host."""
    found = _HOST.match(name)
    return (name[found.end() :] or SHELL) if found else name


def workspace(job_name: str) -> str:
    """The workspace's host, where a job's name begins with one."""
    found = _DOTTED_HOST.match(job_name)
    return found[0].lower() if found else ""


_DOTTED_HOST = re.compile(
    r"(?:adb-\d+\.\d+\.(?:azuredatabricks\.net|databricks\.azure\.(?:us|cn))"
    r"|dbc-[0-9a-f-]+\.cloud\.databricks\.com|\d+\.\d+\.gcp\.databricks\.com)(?=\.|$)",
    re.IGNORECASE,
)


def identifying_properties(properties: Mapping[str, Any]) -> dict[str, str]:
    """Only what is read here, and of the tags only the run's name: enough for the same notebook and job."""
    kept = {key: text for key in (_PATH, _JOB_ID) if (text := _text(properties, key))}
    name = _written_run_name(properties)
    if name:
        kept[_TAGS] = json.dumps([{"key": _RUN_NAME, "value": name}])
    cluster = _JOB_CLUSTER.match(_text(properties, _CLUSTER))
    return kept | ({_CLUSTER: cluster[0]} if cluster else {})


def _run_name(properties: Mapping[str, Any]) -> str | None:
    """The run's name without volatile parts; None where no tag tells one."""
    name = _written_run_name(properties)
    return stable_name(name) if name else None


def _written_run_name(properties: Mapping[str, Any]) -> str | None:
    text = _text(properties, _TAGS)
    if not text or len(text) > _LONGEST_TAGS:
        return None
    try:
        tags = json.loads(text)
    except (ValueError, RecursionError):  # redacted, cut off, or something else: then there are no tags
        return None
    if not isinstance(tags, list):
        return None
    names = (tag.get("value") for tag in tags if isinstance(tag, dict) and tag.get("key") == _RUN_NAME)
    return next((name for name in names if isinstance(name, str) and name), None)


def _text(properties: Mapping[str, Any], key: str) -> str:
    value = properties.get(key)
    return value if isinstance(value, str) else ""
