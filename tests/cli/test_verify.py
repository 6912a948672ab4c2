"""`throughline verify`: output, writes and exit codes."""

import json
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from shared.bootstrap import Worker
from shared.errors import CatalogUnavailable, StorageUnavailable
from shared.maintenance.verify.findings import MEANINGS
from shared.naming.names import BUILT_IN
from shared.storage.memory import MemoryStorage
from shared.storage_layout import APPLICATIONS
from shared.sweeping.sweep import SweepOptions
from tests.support.damages import PLANTED, PUBLISHING, consistent_world
from tests.support.dead_letters import Stepped
from tests.support.publishing import UnreliableCatalog
from throughline.cli.main import app

WITHOUT_WAITING = SweepOptions(grace=timedelta(0), end_timeout=timedelta(0))
Run = Callable[..., Result]


@pytest.fixture
def parts() -> Worker:
    """A world in which a process was deleted, an event's row is lost, and a placeholder is unused."""
    storage, catalog = MemoryStorage(), UnreliableCatalog()
    world = consistent_world(storage, catalog)
    for name in ("deleted process", "event that was never noted", "unused placeholder"):
        PLANTED[name].plant(world)
    return Worker(storage=storage, catalog=catalog, publishing=PUBLISHING, sweeping=WITHOUT_WAITING, names=BUILT_IN)


def run_with(parts: Worker, *arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, obj=parts)


@pytest.fixture
def run(parts: Worker) -> Run:
    return partial(run_with, parts)


def test_verify_reports_damage_and_writes_nothing(run: Run, parts: Worker) -> None:
    assert isinstance(parts.catalog, UnreliableCatalog)
    writes = parts.catalog.writes
    result = run("verify")
    assert result.exit_code == 1
    assert "3 damaged\n" in result.output
    for damage in ("outdated process (1)", "outdated application (1)", "unused placeholder (1)", "file:///nobodys"):
        assert damage in result.output
    assert "--fix" not in result.output
    plan = run("verify", "--plan")
    assert (plan.exit_code, plan.output.count("--fix: ")) == (1, 3)
    assert parts.catalog.writes == writes


def test_verify_as_json_lists_every_damage(run: Run) -> None:
    report = json.loads(run("verify", "--json").stdout)
    assert report["by_kind"] == {"outdated application": 1, "outdated process": 1, "unused placeholder": 1}
    assert report["count"] == len(report["damages"]) == 3
    assert {damage["repaired"] for damage in report["damages"]} == {None}
    repaired = json.loads(run("verify", "--fix", "--json").stdout)
    assert {damage["repaired"] for damage in repaired["damages"]} == {True}
    assert repaired["catalog"] == {"written": 1, "removed": 0, "error": None}


def test_a_second_fix_repairs_nothing(run: Run, parts: Worker) -> None:
    assert isinstance(parts.catalog, UnreliableCatalog)
    result = run("verify", "--fix")
    assert result.exit_code == 0, result.output
    assert "3 damaged, 3 repaired" in result.output
    assert "catalog: 1 written" in result.output
    writes = parts.catalog.writes
    second_result = run("verify", "--fix")
    assert (second_result.exit_code, second_result.stdout, parts.catalog.writes) == (0, "0 damaged\n", writes)


def test_an_event_that_may_be_in_progress_is_not_reported_as_damage(parts: Worker) -> None:
    result = run_with(replace(parts, sweeping=SweepOptions()), "verify", "--json")
    assert json.loads(result.stdout)["by_kind"] == {"outdated process": 1, "unused placeholder": 1}


def test_fix_and_plan_together_are_refused(run: Run) -> None:
    result = run("verify", "--fix", "--plan")
    assert (result.exit_code, "leave one of them out" in result.output) == (2, True)


def test_an_unavailable_catalog_is_reported_and_repairs_of_rows_are_kept(run: Run, parts: Worker) -> None:
    class Away(UnreliableCatalog):
        def read_processes(self, _names: object) -> dict[str, Any]:
            raise CatalogUnavailable("no answer", after=0)

    result = run_with(replace(parts, catalog=Away()), "verify", "--fix")
    assert result.exit_code == 1
    assert "1 damaged, 1 repaired" in result.output
    assert "no answer. What was repaired stays repaired" in result.output
    assert json.loads(run("verify", "--json").stdout)["by_kind"] == {"outdated process": 1, "unused placeholder": 1}


def test_unavailable_storage_ends_verify_with_a_message(parts: Worker) -> None:
    storage = Stepped(MemoryStorage())

    def away(_name: str, _arguments: tuple[Any, ...]) -> None:
        raise StorageUnavailable("Storage answered 503")

    storage.step_in = away
    result = run_with(replace(parts, storage=storage), "verify")
    assert (result.exit_code, "Storage answered 503" in result.output) == (1, True)


@pytest.fixture
def before_handler() -> Iterator[Any]:
    """The handler of Ctrl-C is the same afterwards."""
    previous_handler = signal.getsignal(signal.SIGINT)
    yield previous_handler
    assert signal.getsignal(signal.SIGINT) == previous_handler


@pytest.mark.usefixtures("before_handler")
def test_ctrl_c_stops_after_the_current_item_and_the_next_call_continues(parts: Worker) -> None:
    assert isinstance(parts.storage, MemoryStorage)
    storage = Stepped(parts.storage)

    def at_the_row(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "insert" and arguments[0] == APPLICATIONS:
            signal.raise_signal(signal.SIGINT)

    storage.step_in = at_the_row
    stopped_result = run_with(replace(parts, storage=storage), "verify", "--fix")
    assert stopped_result.exit_code == 130, stopped_result.output
    assert "1 damaged, 1 repaired" in stopped_result.output
    assert "run the command again to continue" in stopped_result.output
    resumed_result = run_with(parts, "verify", "--fix")
    assert (resumed_result.exit_code, "2 damaged, 2 repaired" in resumed_result.output) == (0, True)


def test_the_table_of_kinds_in_the_docs_matches_the_code() -> None:
    text = (Path(__file__).parents[2] / "docs/operate/recovery.md").read_text()
    table = re.findall(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$", text.partition("## Verify")[2], re.MULTILINE)
    assert table == [(kind, *words) for kind, words in MEANINGS.items()]
