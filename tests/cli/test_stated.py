"""What events state of a run, wherever a person looks: `run`, `details`, the lineage document, the catalog."""

import json
from pathlib import Path

import pytest

from shared.openlineage.decoding import decode
from shared.query.recorded_document import document_of_record
from tests.support.building import IDENTITY, body, dataset, lineage, packed, source
from tests.support.cli import Parts
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish

EVENTS = Path(__file__).parents[1] / "golden/python_client-1.54/stated/events.jsonl"
PARTS = "country=PL/day=2026-11-21 or country=DE/day=2026-11-21"


def parts_with(*bodies: bytes) -> Parts:
    parts = Parts()
    deliver(parts, *bodies)
    return parts


def deliver(parts: Parts, *bodies: bytes) -> None:
    for place in post(parts.storage, *bodies):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)


@pytest.fixture
def parts() -> Parts:
    return parts_with(*EVENTS.read_bytes().splitlines())


def test_a_run_shows_what_its_events_state(parts: Parts) -> None:
    run_id = decode(EVENTS.read_bytes().splitlines()[0]).run_id
    output = parts.run("run", run_id).output
    assert "parameter Task timeout: 3600" in output
    assert "runs when: all success" in output
    assert "hunter2" not in output
    stated = json.loads(parts.run("run", run_id, "--json").stdout)["stated"]
    assert ["reads of shop.public.orders", PARTS] in stated


def test_details_show_the_last_run_and_the_hierarchy(parts: Parts) -> None:
    output = parts.run("details", "orders").output
    assert "last run, runs after: shop/extract (direct invocation, finish to start, execute on success)" in output
    assert "lies in DATABASE shop, SCHEMA public, TABLE orders" in output
    (process,) = json.loads(parts.run("details", "orders", "--json").stdout)["processes"]
    assert {"title": "runs before", "text": "shop/report"} in process["stated"]
    assert [[level["type"] for level in levels] for levels in process["hierarchies"].values()] == [
        ["DATABASE", "SCHEMA", "TABLE"]
    ]


def test_the_document_has_the_facts_and_the_hierarchy(parts: Parts) -> None:
    document = document_of_record(parts.storage, parts.worker.publishing)
    (process,) = document.processes
    assert ("runs when", "all success") in process.stated
    assert [dataset.hierarchy for dataset in document.datasets if dataset.hierarchy] == [
        (("DATABASE", "shop"), ("SCHEMA", "public"), ("TABLE", "orders"))
    ]


def test_the_catalog_describes_the_last_run_by_them(parts: Parts) -> None:
    (process,) = parts.catalog.processes.values()
    assert "\nRuns before: shop/report.\n" in process.shown["description"]


def test_the_document_has_the_last_write_of_each_data_set() -> None:
    columns = lineage({"x": [source("/in", "x", IDENTITY)]})
    output = dataset("/out", columnLineage=columns)
    output["outputFacets"] = {"outputStatistics": {"rowCount": 1234, "size": 5_600_000}}
    first = packed(body("COMPLETE", run="one", application="a", inputs=["/in"], outputs=["/out"]))
    last = packed(body("COMPLETE", minute=5, run="two", application="b", inputs=["/in"], outputs=[output]))
    parts = parts_with(first, last)
    document = document_of_record(parts.storage, parts.worker.publishing)
    last_writes = {
        dataset_entry.name: (dataset_entry.rows, dataset_entry.size, dataset_entry.written)
        for dataset_entry in document.datasets
    }
    time = document.processes[0].last_seen
    assert last_writes == {"in": (None, None, -1), "out": (1234, 5_600_000, time)}


def _tested(run: str, minute: int, *, job: str = "checks", unique: bool) -> bytes:
    assertions = [
        {"assertion": "not_null", "column": "id", "success": True},
        {"assertion": "unique", "column": "id", "success": unique, "severity": "error"},
    ]
    source = dataset("/out")
    source["inputFacets"] = {"dataQualityAssertions": {"assertions": assertions}}
    content = body("COMPLETE", run=run, minute=minute, application=f"application {run}", app_name=job, inputs=[source])
    return packed(content)


WRITE = packed(body("COMPLETE", run="write", application="a", inputs=["/in"], outputs=["/out"]))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)], ids=str)
def test_the_document_has_the_last_result_of_each_test_of_a_data_set(order: tuple[int, ...]) -> None:
    bodies = [WRITE, _tested("one", 1, unique=True), _tested("two", 2, unique=False)]
    parts = parts_with(*(bodies[number] for number in order))
    document = document_of_record(parts.storage, parts.worker.publishing)
    results = {
        dataset_entry.name: (dataset_entry.passed_tests, dataset_entry.tested) for dataset_entry in document.datasets
    }
    assert results == {"in": (0, -1), "out": (1, len(document.times) - 1)}
    (failed,) = document.failed_tests
    column = ("/out", failed.column, failed.name, failed.severity, failed.at)
    assert column == ("/out", "id", "unique", "error", document.times[-1])


def test_a_test_that_passes_again_is_no_failure() -> None:
    parts = parts_with(WRITE, _tested("one", 1, unique=False), _tested("two", 2, unique=True))
    document = document_of_record(parts.storage, parts.worker.publishing)
    assert (document.failed_tests, document.datasets[1].passed_tests) == ((), 2)


def test_results_of_tests_travel_to_the_placeholder_with_the_next_change() -> None:
    parts = parts_with(WRITE)
    deliver(parts, _tested("one", 1, unique=False))
    assert "tests" not in description(parts)
    deliver(parts, _write_with_a_schema())
    assert description(parts).endswith("Last quality tests: 2026-11-21 10:01 UTC, 1 passed, 1 failed (unique of id).")


def description(parts: Parts) -> str:
    (placeholder,) = [asset for asset in parts.catalog.assets.values() if asset.qualified_name.endswith("/out")]
    return dict(placeholder.attributes)["description"]


def _write_with_a_schema() -> bytes:
    sink = dataset("/out", schema={"fields": [{"name": "id", "type": "long"}]})
    return packed(body("COMPLETE", run="again", minute=9, application="b", inputs=["/in"], outputs=[sink]))
