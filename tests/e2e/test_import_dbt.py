"""A real dbt on DuckDB writes its files; `throughline import dbt` gives the lineage that was written by hand, and
changes nothing where `dbt-ol` has reported the same runs.

dbt's packages are in an environment of their own (build/dbt_python, made at the first use).
"""

import json
import runpy
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from shared.lineage.graph import LineageGraph, Way, find_column, find_dataset
from shared.model import Asset, Process
from shared.openlineage.decoding import decode
from shared.query.recorded_document import document_of_record
from shared.reading.processes import recorded_processes
from shared.translation.reference import translate_history
from tests.capture.scenarios._dbt import dbt, write_project
from tests.capture.systems import pythons
from tests.support.cli import Parts
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from throughline.cli.main import app

pytestmark = [pytest.mark.e2e, pytest.mark.proof]
SCENARIOS = Path(__file__).parents[1] / "capture" / "scenarios"
TRUTH = SCENARIOS / "dbt.truth.json"
BOARD = """
exposures:
  - name: board
    label: Board
    type: dashboard
    owner: {name: Eve}
    depends_on: [ref("customer_totals"), ref("stg_orders")]
"""
OF_EXPOSURES = " → exposures"
STAGED, TOTALS = "shop.main.stg_orders", "shop.main.customer_totals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A project in a folder that dbt has built, and the events of `dbt-ol` for this run. `programs`: where both are."""

    project: Path
    programs: Path
    by_wrapper: tuple[bytes, ...]

    @property
    def target(self) -> Path:
        """Where dbt wrote its files."""
        return self.project / "target"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCENARIOS))  # as of a script
        texts = runpy.run_path(str(SCENARIOS / "dbt.py"))["PROJECT"]
    with pythons.dbt() as system:
        assert system.python
        programs = system.python.parent
    project = tmp_path_factory.mktemp("dbt") / "project"
    write_project(project, {**texts, "models/board.yml": BOARD})
    by_wrapper = wrapped("build", project, programs, code=1)  # a model and a test fail, as they should
    return Built(project=project, programs=programs, by_wrapper=by_wrapper)


def wrapped(command: str, project: Path, programs: Path, code: int = 0) -> tuple[bytes, ...]:
    """The events of a command of `dbt-ol`."""
    events = project / "events.jsonl"
    events.unlink(missing_ok=True)
    dbt(tuple(command.split()), project, programs=programs, events=events, code=code)
    return tuple(events.read_bytes().splitlines())


def saved(target: Path, place: Path, parts: Parts | None = None) -> list[bytes]:
    """The events of the import, in a namespace that `dbt-ol` was given too."""
    command = ["import", "dbt", str(target), "--job-namespace", "default", "--save", str(place)]
    result = typer.testing.CliRunner().invoke(app, command, obj=(parts or Parts()).worker)
    assert result.exit_code == 0, result.output
    return place.read_bytes().splitlines()


def take(parts: Parts, events: list[bytes]) -> None:
    for event in events:
        for place in post(parts.storage, event):
            deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)


def lineage(parts: Parts) -> dict[str, Process]:
    processes = (record.process for record in recorded_processes(parts.storage, parts.worker.publishing))
    return {process.qualified_name: process for process in processes}


def test_columns_are_those_that_were_written_by_hand(built: Built, tmp_path: Path) -> None:
    """Of SELECT * no columns are certain; the rest is found, filters, joins and groups too, which `dbt-ol` lacks."""
    truth = json.loads(TRUTH.read_text())
    edges = [edge for process in truth["processes"] for edge in process["columns"]]
    edges += [row["edge"] for row in truth["not_reported"] if "SELECT *" not in row["reason"]]
    history = translate_history(map(decode, saved(built.target, tmp_path / "events.jsonl")))
    processes = [process for process in history.processes if not process.name.endswith(OF_EXPOSURES)]
    tables = {
        asset.qualified_name: asset.name for process in processes for asset in (*process.inputs, *process.outputs)
    }
    assert {
        (tables[edge.input.qualified_name], edge.input.column, tables[edge.output.qualified_name], edge.output.column)
        for process in processes
        for edge in process.columns
    } == {(*edge["input"], edge["output"][0], edge["output"][1] or "") for edge in edges}
    assert all(edge.parsed for process in processes for edge in process.columns)
    assert {process.outputs[0].name: {asset.name for asset in process.inputs} for process in processes} == {
        process["output"]: set(process["inputs"]) for process in truth["processes"]
    }


def test_the_wrappers_events_beside_it_are_neither_doubled_nor_changed(built: Built, tmp_path: Path) -> None:
    parts = Parts()
    take(parts, list(built.by_wrapper))
    reported = lineage(parts)
    take(parts, saved(built.target, tmp_path / "events.jsonl", parts))
    full_lineage = lineage(parts)
    assert edges(full_lineage) == edges(reported)
    of_models = {name: process for name, process in full_lineage.items() if not process.name.endswith(OF_EXPOSURES)}
    assert of_models == {name: reported[name] for name in of_models}
    assert len(of_models) == 4
    assert len(full_lineage) == 6


def test_both_name_the_same_processes(built: Built, tmp_path: Path) -> None:
    names = [
        {process.qualified_name for process in translate_history(map(decode, events)).processes}
        for events in (built.by_wrapper, saved(built.target, tmp_path / "events.jsonl"))
    ]
    assert names[1] - names[0] == set()
    assert len(names[0]) == 6


def edges(processes: dict[str, Process]) -> set[tuple[str, str, str]]:
    """Each process with each data set that it reads, and each that it writes."""
    return {
        (name, source.qualified_name, sink.qualified_name)
        for name, process in processes.items()
        for source in process.inputs
        for sink in process.outputs
    }


def test_runs_of_one_model_each_add_up_and_the_import_beside_them_doubles_nothing(built: Built, tmp_path: Path) -> None:
    parts, project = Parts(), tmp_path / "project"
    shutil.copytree(built.project, project)

    def readers_after(command: str) -> set[str]:
        """The tables that the dashboard reads after a command of `dbt-ol`."""
        take(parts, list(wrapped(command, project, built.programs)))
        return {source.name for source, sink in _ends(parts) if sink.name == "exposures/board"}

    assert readers_after("run --select stg_orders") == {STAGED}
    assert readers_after("run --select customer_totals") == {STAGED, TOTALS}
    reported = lineage(parts)
    assert "board" in parts.run("impact", "shop.main.raw_orders").output
    take(parts, saved(project / "target", tmp_path / "events.jsonl", parts))
    whole = lineage(parts)
    assert edges(whole) >= edges(reported)
    assert {name for name, process in whole.items() if process.name.endswith(OF_EXPOSURES)} == {
        name for name, process in reported.items() if process.name.endswith(OF_EXPOSURES)
    }
    assert {edge for edge in edges(whole) if edge[2].endswith("board")} == {
        edge for edge in edges(reported) if edge[2].endswith("board")
    }
    (project / "models/board.yml").write_text(BOARD.replace('ref("customer_totals"), ', ""))
    assert readers_after("run --select customer_totals") == {STAGED}


def _ends(parts: Parts) -> list[tuple[Asset, Asset]]:
    return [
        (source, sink) for process in lineage(parts).values() for source in process.inputs for sink in process.outputs
    ]


def test_the_same_files_again_change_nothing(built: Built, tmp_path: Path) -> None:
    parts = Parts()
    events = saved(built.target, tmp_path / "events.jsonl", parts)
    take(parts, events)
    once = lineage(parts)
    assert saved(built.target, tmp_path / "again.jsonl", parts) == events
    take(parts, events)
    assert lineage(parts) == once


def test_an_exposure_is_at_the_end_of_an_impact(built: Built, tmp_path: Path) -> None:
    parts = Parts()
    take(parts, saved(built.target, tmp_path / "events.jsonl"))
    document = document_of_record(parts.storage, parts.worker.publishing)
    amount = find_column(document, find_dataset(document, "raw_orders"), "amount")
    reached = LineageGraph(document, conditions=True).columns([amount], Way.DOWNSTREAM).distance
    names = {document.datasets[document.columns[number].dataset].name for number in reached}
    assert names == {"shop.main.raw_orders", "shop.main.stg_orders", "shop.main.customer_totals", "board"}


def test_tests_of_a_project_are_results(built: Built, tmp_path: Path) -> None:
    events: list[Any] = [json.loads(event) for event in saved(built.target, tmp_path / "events.jsonl")]
    test_results = {
        (assertion["assertion"], assertion.get("column"), assertion["success"])
        for event in events
        for each in event["inputs"]
        for assertion in each.get("inputFacets", {}).get("dataQualityAssertions", {}).get("assertions", ())
    }
    assert test_results == {("unique", "customer", True), ("accepted_values", "customer", False)}
