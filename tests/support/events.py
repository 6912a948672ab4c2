"""Small OpenLineage events, as bytes, for tests outside the core."""

import json
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import NAMESPACE_URL, uuid5

DAY = "2026-11-21"


def run_id(name: str) -> str:
    """Return the UUID of a name, always the same for the same name."""
    return str(uuid5(NAMESPACE_URL, name))


def event(
    run: str,
    kind: str,
    clock_time: str,
    *,
    inputs: Iterable[str] = (),
    outputs: Iterable[str] = (),
    columns: Mapping[str, Iterable[tuple[str, str]]] | None = None,
    application: str | None = None,
    job: str = "app.adaptive_spark_plan.out",
    parent: str = "app",
    streaming: bool = False,
    states: Mapping[str, tuple[str, str]] | None = None,
    properties: Mapping[str, str] | None = None,
    tables: Mapping[str, str] | None = None,
    sql: str = "",
) -> bytes:
    """Return an event of `run` at `clock_time` (`HH:MM:SS`, or with a date before it).

    `application` is the parent's run, `parent` the name of its job; without it the run is an application. Data sets are
    paths. `columns` maps an output column to (path, column) pairs, `states` an output to its lifecycle change (DROP,
    RENAME …) and its former name; `properties` are Databricks', `tables` the table names of paths, and `sql` is the
    job's statement.
    """
    time = clock_time if "T" in clock_time else f"{DAY}T{clock_time}"
    lineage = {
        "fields": {
            output: {"inputFields": [{"namespace": "file", "name": path, "field": column} for path, column in sources]}
            for output, sources in (columns or {}).items()
        }
    }
    body: dict[str, Any] = {
        "eventType": kind,
        "eventTime": f"{time}Z",
        "producer": "https://example.com/tests",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run_id(run)},
        "job": {"namespace": "tests", "name": job if application else "app"},
        "inputs": [dataset(path, _table((tables or {}).get(path))) for path in inputs],
        "outputs": [
            dataset(
                path,
                {
                    **({"columnLineage": lineage} if columns else {}),
                    **_state(*(states or {}).get(path, ("", ""))),
                    **_table((tables or {}).get(path)),
                },
            )
            for path in outputs
        ],
    }
    if sql:
        body["job"]["facets"] = {"sql": {"query": sql}}
    if streaming:
        job_type = {"jobType": "SQL_JOB", "processingType": "STREAMING", "integration": "SPARK"}
        body["job"].setdefault("facets", {})["jobType"] = job_type
    if application:
        of_parent = {"run": {"runId": run_id(application)}, "job": {"namespace": "tests", "name": parent}}
        body["run"]["facets"] = {"parent": of_parent}
    if properties:
        body["run"].setdefault("facets", {})["environment-properties"] = {"environment-properties": dict(properties)}
    return json.dumps(body).encode()


def dataset(path: str, facets: Mapping[str, Any]) -> dict[str, Any]:
    """A data set of files."""
    return {"namespace": "file", "name": path, "facets": dict(facets)}


def _table(name: str | None) -> dict[str, Any]:
    if name is None:
        return {}
    return {"symlinks": {"identifiers": [{"namespace": "file:/warehouse", "name": name, "type": "TABLE"}]}}


def _state(state: str, previous_path: str) -> dict[str, Any]:
    if not state:
        return {}
    change: dict[str, Any] = {"lifecycleStateChange": state}
    if previous_path:
        change["previousIdentifier"] = {"namespace": "file", "name": previous_path}
    return {"lifecycleStateChange": change}


def write(
    run: str, application: str, clock_time: str, source: str, *, sink: str = "/out", end: str = "COMPLETE"
) -> list[bytes]:
    """Return START and end of a run that writes `sink` from `source`, column `x` from column `x`."""
    fields: dict[str, Any] = {
        "inputs": [source],
        "outputs": [sink],
        "columns": {"x": [(source, "x")]},
        "application": application,
    }
    return [event(run, "START", f"{clock_time}:00", **fields), event(run, end, f"{clock_time}:30", **fields)]
