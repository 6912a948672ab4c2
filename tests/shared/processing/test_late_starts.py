"""An application's own events that come late or are missed: they decide which application is newer."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.catalog.memory import MemoryCatalog
from shared.processing.sweeper import SweepOptions, SweepResult, sweep
from shared.publishing.planning.options import PublishOptions
from shared.storage.memory import MemoryStorage
from shared.storage.port import Row
from shared.storage_layout import RUNS, STATE
from shared.translation.aggregate import SupersessionPolicy
from tests.support.events import event, run_id, write
from tests.support.processing import Watched, post, settle
from tests.support.publishing import publish
from tests.support.sweeping import SweepClock, storage_failing_for_run

HOW = PublishOptions(
    now=lambda: datetime(2030, 1, 1, tzinfo=UTC), patience=SupersessionPolicy(quiet=timedelta(hours=1))
)
LATER = SweepOptions(end_timeout=timedelta(days=10_000), grace=timedelta(0))


def inputs(catalog: MemoryCatalog) -> list[str]:
    """The names of the only process's inputs."""
    (process,) = catalog.processes.values()
    return [name.rpartition("/")[2] for _, name in process.inputs]


def taken(storage: MemoryStorage, *bodies: bytes) -> None:
    """Stored, and delivered."""
    for place in post(storage, *bodies):
        settle(storage, place)


def test_an_undelivered_start_of_an_application_makes_it_older() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    taken(storage, *write("b", "other", "10:05", "/b"), *write("a", "late", "10:10", "/a"))
    publish(storage, catalog, HOW)
    assert inputs(catalog) == ["a"]
    post(storage, event("late", "START", "10:00:00"))
    assert replace(sweep(storage, LATER), oldest=0.0) == SweepResult(waiting=1)
    publish(storage, catalog, HOW)
    assert inputs(catalog) == ["b"]
    sweep(storage, LATER)
    assert publish(storage, catalog, HOW).unchanged == 0, "once is enough"


def test_an_application_whose_start_the_sweeper_found_still_times_out() -> None:
    storage = MemoryStorage()
    taken(storage, *write("a", "late", "10:10", "/a"))
    post(storage, event("late", "START", "10:00:00"))
    taken(storage, *write("z", "another", "10:20", "/z"))
    for _ in range(2):
        assert replace(sweep(storage, LATER), oldest=0.0) == SweepResult(waiting=1)
    assert sweep(storage, SweepOptions(end_timeout=timedelta(0), grace=timedelta(0))).timed_out == 1


def test_an_application_whose_start_failed_once_still_times_out() -> None:
    storage, clock = MemoryStorage(), SweepClock()
    taken(storage, *write("a", "late", "10:10", "/a"))
    post(storage, event("late", "START", "10:00:00"))
    taken(storage, *write("z", "another", "10:20", "/z"))
    assert clock.sweep(storage_failing_for_run(storage, "late", ValueError("not today"))).failed == 1
    assert clock.sweep(storage, minutes=400).waiting == 1
    clock.sweep(storage)
    assert clock.sweep(storage, minutes=101 * 24 * 60).timed_out == 1


def test_a_slow_sweep_does_not_skip_a_waiting_run_that_failed_before() -> None:
    """A slow sweep counts the run as failed; when it ends later, the next sweep must not start behind the run."""
    seconds = 0.0
    storage, clock = MemoryStorage(clock=lambda: seconds), SweepClock()
    taken(storage, *write("a", "late", "10:10", "/a"))
    post(storage, event("late", "START", "10:00:00"))
    taken(storage, *write("z", "another", "10:20", "/z"))
    assert clock.sweep(storage_failing_for_run(storage, "late", ValueError("not today"))).failed == 1
    taken(storage, *write("y", "a third", "10:30", "/y"))
    slow = Watched(storage)

    def next_sweep_runs(name: str, _: tuple[Any, ...]) -> None:
        nonlocal seconds
        if name == "blobs":
            slow.step_in = lambda *_: None
            seconds += 61  # the lease has run out
            assert clock.sweep(storage, minutes=400).waiting == 1

    slow.step_in = next_sweep_runs
    assert clock.sweep(slow, minutes=0).failed == 1
    assert clock.sweep(storage).waiting == 1
    assert clock.sweep(storage, minutes=101 * 24 * 60).timed_out == 1
    assert list(storage.partition("control", "retry")) == []


class Overtaken(MemoryStorage):
    """Storage on which another worker publishes just before the state of a run is recorded."""

    def __init__(self, run: str) -> None:
        super().__init__()
        self.run = run
        self.meanwhile: Callable[[], object] = lambda: None

    def replace(self, table: str, row: Row) -> str | None:
        if (table, row.partition, row.key) == (RUNS, self.run, STATE):
            self.meanwhile()
        return super().replace(table, row)


def test_an_application_start_is_recorded_before_its_processes_are_published_again() -> None:
    storage, catalog = Overtaken(run_id("late")), MemoryCatalog()
    taken(storage, *write("b", "other", "10:05", "/b"), *write("a", "late", "10:10", "/a"))
    taken(storage, event("late", "FAIL", "10:20:00"), event("other", "COMPLETE", "10:30:00"))
    publish(storage, catalog, HOW)
    assert inputs(catalog) == ["a", "b"], "what fails takes nobody's place"
    storage.meanwhile = lambda: publish(storage, catalog, HOW)
    taken(storage, event("late", "START", "10:00:00"))
    publish(storage, catalog, HOW)
    assert inputs(catalog) == ["b"]
