"""`throughline status`: tables that people read, and JSON that machines do."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from shared.bootstrap import Worker
from shared.errors import StorageUnavailable
from shared.maintenance.publish_missing import publish_all
from shared.naming.names import BUILT_IN
from shared.publishing.context import PublishOptions
from shared.storage.memory import MemoryStorage
from shared.sweeping.sweep import SweepOptions
from tests.support.dead_letters import Stepped
from tests.support.events import event
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import context_of
from throughline.cli.main import app

Run = Callable[..., Result]


def run_with(parts: Worker, *arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, obj=parts)


@pytest.fixture
def parts() -> Worker:
    """Three jobs on two days, of which one has most events; its name looks like markup."""
    storage, catalog = MemoryStorage(), MemoryCatalog()
    for day, job, number in ((20, "app.[bold]", 1), (21, "app.[bold]", 2), (21, "app.b", 3), (21, "app.c", 4)):
        options: dict[str, Any] = {"inputs": ["/a"], "outputs": ["/o"], "application": "app", "job": job}
        bodies = [event(f"r{number}", "COMPLETE", f"2026-11-{day}T10:00:00", **options)]
        bodies += [event("r2", "START", "2026-11-21T09:00:00", **options)] if number == 2 else []
        for place in post(storage, *bodies):
            deliver_event(storage, place)
    publish_all(context_of(storage, catalog))
    return Worker(
        storage=storage, catalog=catalog, publishing=PublishOptions(), sweeping=SweepOptions(), names=BUILT_IN
    )


@pytest.fixture
def run(parts: Worker) -> Run:
    return partial(run_with, parts)


def lines(result: Result) -> list[list[str]]:
    assert result.exit_code == 0, result.output
    return [line.split() for line in result.stdout.splitlines() if line.strip()]


def test_status_by_day_has_a_row_of_totals(run: Run) -> None:
    assert lines(run("status", "--by", "day")) == [
        ["day", "received", "published", "skipped", "waiting", "dead"],
        ["2026-11-20", "1", "1", "0", "0", "0"],
        ["2026-11-21", "4", "4", "0", "0", "0"],
        ["=", "all", "5", "5", "0", "0", "0"],
    ]


def test_status_by_job_sums_up_the_jobs_beyond_the_limit(run: Run) -> None:
    assert lines(run("status", "--by", "job", "--most", "1"))[1:] == [
        ["app.[bold]", "3", "3", "0", "0", "0"],
        ["2", "more", "2", "2", "0", "0", "0"],
        ["=", "all", "5", "5", "0", "0", "0"],
    ]


def test_status_by_day_and_job_has_a_row_for_each_pair(run: Run) -> None:
    assert [line[:2] for line in lines(run("status", "--by", "day,job"))[1:-1]] == [
        ["2026-11-20", "app.[bold]"],
        ["2026-11-21", "app.[bold]"],
        ["2026-11-21", "app.b"],
        ["2026-11-21", "app.c"],
    ]


def test_status_as_json(run: Run) -> None:
    report = json.loads(run("status", "--json").stdout)
    assert (report["received"], report["reconciles"], "by" in report, "groups" in report) == (5, True, False, False)
    grouped_report = json.loads(run("status", "--json", "--by", "job", "--most", "2").stdout)
    assert grouped_report["groups"] == 3
    assert grouped_report["by"] == [
        {"job": "app.[bold]", "received": 3, "published": 3, "skipped": 0, "waiting": 0, "dead": 0, "reasons": {}},
        {"job": "app.b", "received": 1, "published": 1, "skipped": 0, "waiting": 0, "dead": 0, "reasons": {}},
    ]


def test_status_without_groups_prints_the_counts_only(run: Run) -> None:
    result = run("status")
    assert (lines(result)[0], lines(result)[4]) == (["5", "published"], ["=", "5", "received"])


@pytest.mark.parametrize("arguments", [["--by", "week"], ["--by", "day,day,x"], ["--most", "3"]], ids=" ".join)
def test_a_wrong_option_is_refused_with_one_line(run: Run, arguments: list[str]) -> None:
    result = run("status", *arguments)
    assert (result.exit_code, len(result.output.strip().splitlines())) == (2, 1)


def test_unavailable_storage_ends_status_with_a_message(parts: Worker) -> None:
    storage = Stepped(MemoryStorage())

    def away(_name: str, _arguments: tuple[Any, ...]) -> None:
        raise StorageUnavailable("Storage answered 503")

    storage.step_in = away
    away_parts = Worker(
        storage=storage, catalog=parts.catalog, publishing=PublishOptions(), sweeping=SweepOptions(), names=BUILT_IN
    )
    result = run_with(away_parts, "status")
    assert (result.exit_code, "Storage answered 503" in result.output) == (1, True)
