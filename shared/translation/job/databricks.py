"""The notebook or job of a run, by Databricks' properties.

The listener sends a fixed list of Spark's local properties (`DatabricksEnvironmentFacetBuilder`), in events caused by
the start of a Spark job. None of them says whether a run was scheduled or submitted: `spark.databricks.job.type` is the
kind of task (`notebook`, `python`), and a run submitted once (`runs/submit`, as by Data Factory and Airflow) has a job
id that never recurs. The run's name does recur. A job cluster has it as its tag `RunName` in `clusterAllTags` (a JSON
list of `{"key", "value"}`): the job's name, or for a submitted run the sender's name, often with a UUID
(`ADF_<factory>_<pipeline>_<activity>_<uuid>`). So the run's name goes before the job's id.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from shared.openlineage.run import MergedRun
from shared.translation.job.volatile_names import is_generic, stable_name

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
    found = text_property(properties, JOB_ID)
    if found:
        return found
    cluster = _JOB_CLUSTER.match(text_property(properties, _CLUSTER))
    return cluster[1] if cluster else ""


def without_host(name: str) -> str:
    """The name, with a workspace's host at its start replaced by the application's name."""
    found = _HOST.match(name)
    return (name[found.end() :] or SHELL) if found else name


def workspace(run: MergedRun) -> str:
    """The host of the workspace in which a run ran: its property, else the start of its job's name, else empty."""
    return _host(run.captured.databricks_host or "") or _host(run.job.name)


def _host(text: str) -> str:
    host = _DOTTED_HOST.match(text.removeprefix("https://"))
    return host[0].lower() if host else ""


_DOTTED_HOST = re.compile(
    r"(?:adb-\d+\.\d+\.(?:azuredatabricks\.net|databricks\.azure\.(?:us|cn))"
    r"|dbc-[0-9a-f-]+\.cloud\.databricks\.com|\d+\.\d+\.gcp\.databricks\.com)(?=[./]|$)",
    re.IGNORECASE,
)


def identifying_properties(properties: Mapping[str, Any]) -> dict[str, str]:
    """The properties that identify notebook and job; of the tags only the run's name."""
    kept = {key: text for key in (NOTEBOOK_PATH, JOB_ID) if (text := text_property(properties, key))}
    name = _run_name(properties)
    if name:
        kept[_TAGS] = json.dumps([{"key": _RUN_NAME, "value": name}])
    cluster = _JOB_CLUSTER.match(text_property(properties, _CLUSTER))
    return kept | ({_CLUSTER: cluster[0]} if cluster else {})


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


def text_property(properties: Mapping[str, Any], key: str) -> str:
    """The value of a property; empty where it is missing or not a text."""
    value = properties.get(key)
    return value if isinstance(value, str) else ""
