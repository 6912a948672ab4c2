"""The facet `lineage`: the event itself names which data set feeds which."""

from typing import Any

import pytest

from shared.openlineage.decoding import decode
from shared.redaction import redacted
from shared.translation.reference import translate_history
from tests.support.building import Json, body, dataset, packed, source, step


def _fed(*sources: Json, **fields: list[Json]) -> Json:
    return {
        "inputs": list(sources),
        "fields": {column: {"inputs": field_inputs} for column, field_inputs in fields.items()},
    }


def _dataset(name: str, field: str = "", *steps: Json) -> Json:
    dataset_entry: Json = {"namespace": "file", "name": name, "type": "DATASET"}
    return {
        **dataset_entry,
        **({"field": field} if field else {}),
        **({"transformations": list(steps)} if steps else {}),
    }


def _entry(name: str, lineage: Json) -> Json:
    return {"namespace": "file", "name": name, "type": "DATASET", **lineage}


JOB: Json = {"type": "JOB"}
ANOTHER_JOB: Json = {"type": "JOB", "namespace": "airflow://h", "name": "dag.task"}
FILTER, HASHED = step("INDIRECT", "FILTER"), step("DIRECT", "TRANSFORMATION", masking=True)

CASES: dict[str, tuple[Json, set[tuple[str, str]], set[tuple[str, str, str, str]]]] = {
    "an output's facet chooses among the run's inputs": (
        {"inputs": ["/a", "/b"], "outputs": [dataset("/x", lineage=_fed(_dataset("/a"))), "/y"]},
        {("/a", "/x"), ("/a", "/y"), ("/b", "/y")},
        set(),
    ),
    "an entry names data sets that the event does not": (
        {"lineage": [_entry("/x", _fed(_dataset("/a")))]},
        {("/a", "/x")},
        set(),
    ),
    "two entries do not mix": (
        {"lineage": [_entry("/x", _fed(_dataset("/a"))), _entry("/y", _fed(_dataset("/b")))]},
        {("/a", "/x"), ("/b", "/y")},
        set(),
    ),
    "columns, a mask, and a column on which all rows depend": (
        {
            "lineage": [
                _entry(
                    "/x",
                    _fed(_dataset("/a", "k", FILTER), v=[_dataset("/a", "v")], h=[_dataset("/b", "m", HASHED)]),
                )
            ]
        },
        {("/a", "/x"), ("/b", "/x")},
        {("/a.k", "/x.", "INDIRECT", ""), ("/a.v", "/x.v", "DIRECT", ""), ("/b.m", "/x.h", "DIRECT", "masked")},
    ),
    "an empty list: nothing that is tracked feeds it": (
        {"inputs": ["/a"], "outputs": ["/x", dataset("/y", lineage=_fed())]},
        {("/a", "/x")},
        set(),
    ),
    "a facet that says nothing": (
        {"inputs": ["/a"], "outputs": [dataset("/x", lineage={"fields": {}})]},
        {("/a", "/x")},
        set(),
    ),
    "a job as a source is no data set": (
        {"lineage": [_entry("/x", _fed(_dataset("/a"), ANOTHER_JOB, v=[JOB]))]},
        {("/a", "/x")},
        set(),
    ),
    "what feeds the event's own job is its input": (
        {"outputs": ["/x"], "lineage": [{**JOB, "inputs": [_dataset("/a")]}]},
        {("/a", "/x")},
        set(),
    ),
    "what feeds another job is not": (
        {"inputs": ["/b"], "outputs": ["/x"], "lineage": [{**ANOTHER_JOB, "inputs": [_dataset("/a")]}]},
        {("/b", "/x")},
        set(),
    ),
    "column lineage beside it is kept": (
        {
            "inputs": ["/b"],
            "outputs": [
                dataset(
                    "/x",
                    lineage=_fed(_dataset("/a")),
                    columnLineage={"fields": {"v": {"inputFields": [source("/a", "v", step("DIRECT", "IDENTITY"))]}}},
                )
            ],
        },
        {("/a", "/x")},
        {("/a.v", "/x.v", "DIRECT", "")},
    ),
}


@pytest.mark.parametrize("stored", [False, True], ids=["as sent", "redacted"])
@pytest.mark.parametrize(("content", "tables", "columns"), CASES.values(), ids=CASES)
def test_the_lineage_facet_gives_processes_and_column_edges(
    content: dict[str, Any], tables: set[tuple[str, str]], columns: set[tuple[str, str, str, str]], *, stored: bool
) -> None:
    entries = content.get("lineage")
    event = body(
        job="task",
        inputs=content.get("inputs", ()),
        outputs=content.get("outputs", ()),
        job_facets={"lineage": {"entries": entries}} if entries else {},
    )
    decoded = decode(packed(event))
    assert decoded.omitted == ()
    if stored:
        decoded = decode(redacted(decoded))
    processes = translate_history([decoded]).processes
    assert {
        (source.name, sink.name) for process in processes for source in process.inputs for sink in process.outputs
    } == tables
    short = len("file://")
    assert {
        (
            f"{edge.input.qualified_name[short:]}.{edge.input.column}",
            f"{edge.output.qualified_name[short:]}.{edge.output.column}",
            edge.kind.value,
            "masked" if edge.masked else "",
        )
        for process in processes
        for edge in process.columns
    } == columns


def test_entries_of_several_events_are_united() -> None:
    events = [
        body("START", job="task", job_facets={"lineage": {"entries": [_entry("/x", _fed(_dataset("/a")))]}}),
        body(minute=1, job="task", job_facets={"lineage": {"entries": [_entry("/x", _fed(_dataset("/b")))]}}),
    ]
    for order in (events, events[::-1], [*events, *events]):
        (process,) = translate_history([decode(packed(event_body)) for event_body in order]).processes
        assert [asset.name for asset in process.inputs] == ["/a", "/b"]
