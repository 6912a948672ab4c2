"""Small OpenLineage events, merged runs and contributions: a test names only the fields that matter to it."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.model import Asset, Column, ColumnEdge, Contribution, EdgeKind, Process, Span
from shared.openlineage.decoding import Event, decode
from shared.openlineage.merging import merge
from shared.openlineage.run import MergedRun
from tests.support.events import run_id

START = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
Json = dict[str, Any]


def dataset(name: str, namespace: str = "file", **facets: Any) -> Json:
    """Return a data set with these facets (spelled as in JSON)."""
    return {"namespace": namespace, "name": name, **({"facets": facets} if facets else {})}


def step(kind: str, subtype: str = "", *, masking: bool = False) -> Json:
    """Return a transformation in the form of facets since 1-1-0."""
    return {"type": kind, "subtype": subtype, "description": "", "masking": masking}


IDENTITY = step("DIRECT", "IDENTITY")


def source(name: str, column: str, *steps: Json, namespace: str = "file") -> Json:
    """An input field."""
    return {"namespace": namespace, "name": name, "field": column, **({"transformations": steps} if steps else {})}


def lineage(fields: Mapping[str, Iterable[Json]], rows: Iterable[Json] | None = None) -> Json:
    """Return a column lineage facet: the input fields of output columns, and those of all rows."""
    facet: Json = {"fields": {column: {"inputFields": list(sources)} for column, sources in fields.items()}}
    return facet if rows is None else {**facet, "dataset": list(rows)}


def body(
    kind: str | None = "COMPLETE",
    *,
    minute: float = 0,
    run: str = "run",
    application: str | None = "application",
    app_name: str = "app",
    job: str = "adaptive_spark_plan.out",
    inputs: Iterable[Any] = (),
    outputs: Iterable[Any] = (),
    run_facets: Mapping[str, Any] | None = None,
    job_facets: Mapping[str, Any] | None = None,
) -> Json:
    """Return an event of a Spark SQL job, `minute` minutes after START.

    `application` None: the application's own event.
    """
    facets: Json = dict(run_facets or {})
    if application:
        facets["parent"] = {"run": {"runId": run_id(application)}, "job": {"namespace": "tests", "name": app_name}}
    kinds = {"jobType": {"integration": "SPARK", "jobType": "SQL_JOB", "processingType": "BATCH"}}
    return {
        **({"eventType": kind} if kind else {}),
        "eventTime": (START + timedelta(minutes=minute)).isoformat(),
        "producer": "https://example.com/tests",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run_id(run), "facets": facets},
        "job": {
            "namespace": "tests",
            "name": f"{app_name}.{job}" if application else app_name,
            "facets": kinds if job_facets is None else dict(job_facets),
        },
        "inputs": [dataset(item) if isinstance(item, str) else item for item in inputs],
        "outputs": [dataset(output) if isinstance(output, str) else output for output in outputs],
    }


def packed(value: object) -> bytes:
    """The JSON of a body."""
    return json.dumps(value).encode()


def decoded(kind: str | None = "COMPLETE", **fields: Any) -> Event:
    """`body`, decoded."""
    return decode(packed(body(kind, **fields)))


def merged(kind: str | None = "COMPLETE", **fields: Any) -> MergedRun:
    """Return a run with this only event."""
    return merge([decoded(kind, **fields)])


def decoded_run(
    application: str, sources: Iterable[str], sink: str = "/out", *, minute: float = 0, end: str = "COMPLETE"
) -> list[Event]:
    """Return START and end of one run of an application that writes the sink from these sources, column by column."""
    names = list(sources)
    columns = lineage({"x": [source(name, "x", IDENTITY) for name in names]})
    fields: Json = {
        "run": f"{application} {names} {sink} {minute}",
        "application": application,
        "inputs": names,
        "outputs": [dataset(sink, columnLineage=columns)],
    }
    return [decoded("START", minute=minute, **fields), decoded(end, minute=minute + 0.5, **fields)]


def application_event(application: str, kind: str, minute: float) -> Event:
    """Return an event of the application itself."""
    return decoded(kind, run=application, application=None, minute=minute)


def asset(name: str) -> Asset:
    """Return a local folder as an asset."""
    return Asset(type="fs_path", qualified_name=f"file://{name}", namespace="file", name=name)


def edge(
    from_name: str, to_name: str, column: str = "x", *, kind: EdgeKind = EdgeKind.DIRECT, masked: bool = False
) -> ColumnEdge:
    """Return an edge between two columns of the same name."""
    return ColumnEdge(
        input=Column(qualified_name=f"file://{from_name}", column=column),
        output=Column(qualified_name=f"file://{to_name}", column=column),
        kind=kind,
        masked=masked,
    )


def process(*sources: str, sink: str = "/out", operations: tuple[str, ...] = ("insert",), **fields: Any) -> Process:
    """Return a process from these folders to the sink, with one column edge for each."""
    return Process(
        qualified_name=f"throughline:v1://tests/app/file{sink}",
        name=f"app → {sink.rsplit('/', 1)[-1]}",
        operations=operations,
        inputs=tuple(asset(name) for name in sorted(sources)),
        outputs=(asset(sink),),
        columns=tuple(edge(name, sink) for name in sorted(sources)),
        **fields,
    )


def contribution(application: str, *sources: str, day: float = 0, minute: float = 0, **fields: Any) -> Contribution:
    """Return the contribution of one application run at one moment."""
    moment = START + timedelta(days=day, minutes=minute)
    return Contribution(
        application_run=run_id(application), content=process(*sources, **fields), seen=Span(first=moment, last=moment)
    )
