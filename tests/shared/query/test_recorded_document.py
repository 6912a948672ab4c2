"""The document of lineage made of the record: on the catalog's assets, with the state of each job."""

from datetime import datetime, timedelta

from shared.lineage.document import Health, Kind, LineageDocument
from shared.lineage.graph import unknown_columns
from shared.query.recorded_document import document_of_record
from shared.storage.memory import MemoryStorage
from tests.support.building import IDENTITY, START, body, dataset, packed, source, step
from tests.support.building import lineage as columns_of
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import Clock, publish, publish_options
from tests.support.scanned import scanned

SCHEMA = {"fields": [{"name": "day", "type": "date"}, {"name": "total", "type": "double"}]}


def test_the_document_has_the_assets_that_the_catalog_holds() -> None:
    (asset,) = scanned(1)
    storage, catalog = MemoryStorage(), MemoryCatalog()
    catalog.create_assets([asset.entity])
    written_dataset = dataset(
        asset.name,
        asset.namespace,
        schema=SCHEMA,
        columnLineage=columns_of({"day": [source("raw", "at", IDENTITY)]}),
    )
    for place in post(storage, packed(body(inputs=["raw"], outputs=[written_dataset]))):
        deliver_event(storage, place)
    publish(storage, catalog, publish_options(Clock()))
    document = document_of_record(storage, publish_options(Clock()))
    assert [
        (dataset_entry.type, dataset_entry.qualified_name)
        for dataset_entry in document.datasets
        if dataset_entry.name != "raw"
    ] == [asset.asset]
    names = [column.name for column in document.columns if document.datasets[column.dataset].name != "raw"]
    assert names == ["day", "total"], "schema and edges have one name"
    assert [document.columns[number].name for number in unknown_columns(document)] == ["total"]


def written_by(run: str, minute: float, *, end: str = "COMPLETE", masked: bool = False) -> bytes:
    """A run of one job that copies a column; a failed one has no columns."""
    how_made = step("DIRECT", "TRANSFORMATION", masking=masked)
    columns = columns_of({"c": [source("raw", "c", how_made)]})
    outputs = [dataset("clean", columnLineage=columns)] if end == "COMPLETE" else []
    return packed(body(end, run=run, application=run, minute=minute, inputs=["raw"], outputs=outputs))


def of(*bodies: bytes, now: datetime | None = None) -> LineageDocument:
    storage = MemoryStorage()
    for place in post(storage, *bodies):
        deliver_event(storage, place)
    publish(storage, MemoryCatalog(), publish_options(Clock()))
    return document_of_record(storage, publish_options(Clock(now) if now else Clock()))


def test_a_process_whose_last_run_failed_is_marked() -> None:
    good, bad = written_by("one", 0), written_by("two", 5, end="FAIL")
    assert [process.health for process in of(good).processes] == [Health.GOOD]
    assert [process.health for process in of(good, bad).processes] == [Health.FAILED]
    assert [process.health for process in of(good, bad, written_by("three", 9)).processes] == [Health.GOOD]


def test_a_process_whose_job_did_not_start_as_usual_is_overdue() -> None:
    runs = [written_by(f"run{number}", number * 60) for number in range(8)]
    assert [process.health for process in of(*runs).processes] == [Health.OVERDUE], "a day later"
    assert [process.health for process in of(*runs, now=START + timedelta(minutes=7 * 60 + 30)).processes] == [
        Health.GOOD
    ]


def test_a_process_has_the_times_of_its_runs_and_its_edges_have_their_masks() -> None:
    document = of(written_by("one", 0), written_by("two", 5))
    (process,) = document.processes
    assert (document.times[process.last_seen] - document.times[process.first_seen]).total_seconds() == 300
    (edge,) = of(written_by("one", 0, masked=True)).edges
    assert (edge.kind, edge.masked, edge.valid_to) == (Kind.MASK, True, -1)


def test_an_empty_record_gives_an_empty_document() -> None:
    document = document_of_record(MemoryStorage(), publish_options(Clock()))
    assert (document.datasets, document.processes, document.times) == ((), (), ())


def test_the_document_has_expressions_only_when_sql_is_requested() -> None:
    storage = MemoryStorage()
    sum_step = {**step("DIRECT", "AGGREGATION"), "description": "sum(c) * 7"}
    output_dataset = dataset("clean", columnLineage=columns_of({"c": [source("raw", "c", sum_step)]}))
    for place in post(storage, packed(body(inputs=["raw"], outputs=[output_dataset]))):
        deliver_event(storage, place)
    publish(storage, MemoryCatalog(), publish_options(Clock()))
    described = [
        [
            edge.description
            for edge in document_of_record(storage, publish_options(Clock()), statements=has_statements).edges
        ]
        for has_statements in (True, False)
    ]
    assert described == [["sum(c) * ?"], [""]]
