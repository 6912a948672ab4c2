"""`throughline details`: all that is on record, for people and for machines."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shared.bootstrap import Worker
from shared.naming.names import BUILT_IN
from shared.openlineage.decoding import decode
from shared.openlineage.selection import GlobFilter
from shared.publishing.context import PublishOptions
from shared.storage.memory import MemoryStorage
from shared.sweeping.sweep import SweepOptions
from shared.translation.reference import translate_history
from tests.support.cli import Parts
from tests.support.events import event, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from throughline.cli.main import app
from throughline.cli.records.processes import detailed_document, process_document

GOLDEN = Path(__file__).parents[1] / "golden" / "spark35-ol1.53"
runner = CliRunner()


def worker(*bodies: bytes) -> Worker:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    for place in post(storage, *bodies):
        deliver_event(storage, place)
    publish(storage, catalog, PublishOptions())
    return Worker(
        storage=storage, catalog=catalog, publishing=PublishOptions(), sweeping=SweepOptions(), names=BUILT_IN
    )


@pytest.fixture
def worker_with_a_dropped_table() -> Worker:
    events = (
        *write("a", "app", "10:00", "/a"),
        *write("b", "app", "10:01", "/b", sink="/other"),
        event("c", "COMPLETE", "11:00:00", outputs=["/other"], application="app2", states={"/other": ("DROP", "")}),
    )
    return worker(*events)


def test_details_are_shown_of_one_process_or_of_all(worker_with_a_dropped_table: Worker) -> None:
    single_result = runner.invoke(app, ["details", "out"], obj=worker_with_a_dropped_table)
    assert single_result.exit_code == 0, single_result.output
    assert "app → out" in single_result.output
    assert "other" not in single_result.output
    full_report = json.loads(runner.invoke(app, ["details", "--json"], obj=worker_with_a_dropped_table).stdout)
    assert [process["name"] for process in full_report["processes"]] == ["app → other", "app → out"]
    assert [(state["qualified_name"], list(state["times"])) for state in full_report["states"]] == [
        ("file:///other", ["DROP"])
    ]
    assert "Dropped on" in runner.invoke(app, ["details", "other"], obj=worker_with_a_dropped_table).output
    assert runner.invoke(app, ["details", "nothing like it"], obj=worker_with_a_dropped_table).exit_code == 1


def test_the_detailed_document_extends_the_stable_one() -> None:
    lines = (GOLDEN / "queries" / "events.jsonl").read_bytes().splitlines()
    processes = translate_history(map(decode, lines)).processes
    for process in processes:
        short, long = process_document(process), detailed_document(process)
        assert _without(long, short) == short
    detailed = [detailed_document(process) for process in processes]
    assert any(process["sourceless"] for process in detailed)
    assert any(edge["how"] == ["AGGREGATION"] for process in detailed for edge in process["columns"])
    assert any(asset["parsed"] for process in detailed for asset in process["inputs"])


def _without(long: Any, short: Any) -> Any:
    """`long`, only with the keys that `short` has, all the way down."""
    if isinstance(short, dict):
        return {key: _without(long[key], value) for key, value in short.items()}
    if isinstance(short, list):
        return [_without(long_item, other) for long_item, other in zip(long, short, strict=True)]
    return long


@pytest.mark.parametrize("excluded", [("/b",), ("/a", "/b")])
def test_an_excluded_source_is_named_as_such(excluded: tuple[str, ...]) -> None:
    """Also where the catalog gets nothing, because all sources are excluded."""
    bodies = (
        *write("one", "app", "10:00", "/a", sink="/out"),
        *write("two", "app", "10:01", "/b", sink="/out"),
    )
    paths = PublishOptions(paths=GlobFilter(exclude=excluded))
    parts = replace(worker(*bodies), publishing=paths)
    if len(excluded) > 1:
        storage = MemoryStorage()
        for place in post(storage, *bodies):
            deliver_event(storage, place)
        publish(storage, MemoryCatalog(), paths)
        parts = replace(parts, storage=storage)
    shown_output = runner.invoke(app, ["details", "out"], obj=parts).output
    assert shown_output.count("excluded by a filter") == 1
    assert "(any)" in shown_output
    assert "/b" not in shown_output


def test_a_process_is_compared_with_what_the_catalog_holds() -> None:
    parts = Parts()
    for place in post(parts.storage, *write("a", "app", "10:00", "/a"), *write("b", "app", "10:01", "/b")):
        deliver_event(parts.storage, place)

    def compared() -> Any:
        (process,) = json.loads(parts.run("details", "--catalog", "--json").stdout)["processes"]
        return process["catalog"]

    publish(parts.storage, parts.catalog, parts.worker.publishing)
    assert compared() == {"lacks": [], "further": [], "absent": ""}
    assert "the catalog holds the same" in parts.run("details", "--catalog").output
    (name, held_process_entity), *_ = parts.catalog.processes.items()
    mapping = (
        '[{"DatasetMapping":{"Source":"file:///x","Sink":"file:///out"},"ColumnMapping":[{"Source":"i","Sink":"o"}]}]'
    )
    further = tuple(
        (key, mapping if key == "columnMapping" else value) for key, value in held_process_entity.attributes
    )
    changed = replace(held_process_entity, inputs=held_process_entity.inputs[:1], attributes=further)
    parts.catalog.write_processes([changed], parts.catalog.find([*changed.inputs, *changed.outputs]))
    output = parts.run("details", "--catalog").output
    assert "the catalog lacks: input file:///b" in output
    assert "the catalog has beyond it: file:///x.i → file:///out.o" in output
    parts.catalog.delete_process(name)
    assert "it was removed there after it was written" in parts.run("details", "--catalog").output
