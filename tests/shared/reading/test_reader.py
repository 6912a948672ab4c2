"""The reader's answers agree with the pure core, with one another, and stay the same when events are archived."""

from collections import Counter
from datetime import timedelta

import pytest

from shared.events.archive import stored_packed
from shared.events.stored_runs import RunFilter
from shared.openlineage.decoding import decode
from shared.reading.processes import recorded_processes
from shared.reading.reader import all_runs, locate_run, wanted_events
from shared.reading.values import LocatedRun
from shared.records.states import State
from shared.storage.memory import MemoryStorage
from shared.storage_layout import APPLICATIONS, ARCHIVE, EVENTS
from shared.translation.reference import NO_PROCESS, translate_history
from tests.support.damages import consistent_world
from tests.support.events import event, run_id, write
from tests.support.histories import history
from tests.support.processing import Watched
from tests.support.runtime import Runtime

TIMED = "01a1fd8c-6900-7000-8000-00000000000a"
"""An id that tells its time: 2026-11-21 at 10:00 UTC."""


def after(*bodies: bytes) -> Runtime:
    """The record after these events arrived in order and all was published."""
    runtime = Runtime()
    runtime.run(*bodies)
    return runtime


@pytest.mark.parametrize("seed", range(12))
def test_runs_are_those_of_the_pure_core(seed: int) -> None:
    bodies = history(seed)
    runtime, pure = after(*bodies), translate_history(map(decode, bodies))
    recorded = tuple(recorded_processes(runtime.storage, runtime.context.publishing))
    keys = {process.key for process in recorded}
    states = {State.CONTRIBUTED: "published", State.RECEIVED: "waiting"}
    located_run = {}
    for run in all_runs(runtime.storage):
        state, reason = states.get(run.state, run.state.value), run.reason or None
        if run.state is State.CONTRIBUTED and not keys & {*run.standing}:
            state, reason = "skipped", NO_PROCESS
        located_run[run.run_id] = (state, None if state == "waiting" else reason)
    assert located_run == {run.run_id: (run.state, None if run.state == "waiting" else run.reason) for run in pure.runs}


@pytest.mark.parametrize("seed", range(12))
def test_a_single_run_is_as_among_all(seed: int) -> None:
    runtime = after(*history(seed))
    runtime.sweep(timedelta(days=2))  # the events of a run are in one application then
    for run in all_runs(runtime.storage):
        located = locate_run(runtime.storage, run.run_id)
        assert located
        names = ("state", "reason", "end", "last", "job", "sender", "columns", "application", "standing")
        assert [getattr(located.run, name) for name in names] == [getattr(run, name) for name in names]
        assert all(run.has_folded(record.event) or run.state is State.RECEIVED for record in located.events)


@pytest.mark.parametrize("archived", [False, True])
def test_events_are_found_wherever_they_lie(archived: bool) -> None:
    bodies = [*write("a", "app", "10:00", "/a"), *write("b", "app", "11:00", "/b")]
    runtime = after(*bodies, event("open", "START", "15:00:00", inputs=["/a"], outputs=["/p"], application="app"))
    if archived:
        runtime.archive()
    records = list(wanted_events(runtime.storage, RunFilter(), content=True))
    assert Counter(record.raw for record in records if record.event.run_id != run_id("open")) == Counter(bodies)
    places = {record.container for record in records if record.event.run_id == run_id("a")}
    assert places == {ARCHIVE if archived else EVENTS}
    assert all(stored_packed(runtime.storage, record.event.blob) for record in records)
    assert {record.job for record in records} == {"app.adaptive_spark_plan.out"}
    located = locate_run(runtime.storage, run_id("a"))
    assert located
    assert [record.event.type for record in located.events] == ["START", "COMPLETE"]
    assert (located.run.closed is not None) is archived


def test_what_stands_for_a_process_whose_staging_was_dropped() -> None:
    storage = MemoryStorage()
    consistent_world(storage, Runtime().catalog)
    runs = {run.run_id: run for run in all_runs(storage)}
    staging, final = runs[run_id("c")], runs[run_id("d")]
    assert (staging.state, staging.standing) == (State.CONTRIBUTED, ())
    assert len(staging.processes) == 1
    assert final.standing
    assert set(final.standing).isdisjoint(staging.processes)


def located(runtime: Runtime, run: str) -> LocatedRun:
    located_run = locate_run(runtime.storage, run)
    assert located_run
    return located_run


def test_a_run_is_found_by_its_id_alone() -> None:
    """An application of its own; one that is named; several, before they are reunited."""
    runtime = after(event("app", "START", "09:00:00"), *write("a", "app", "10:00", "/a"))
    assert located(runtime, run_id("app")).run.application == run_id("app")
    assert located(runtime, run_id("a")).run.application == run_id("app")
    runtime.receive(event("a", "RUNNING", "10:00:10", inputs=["/z"], outputs=["/out"], application="other"))
    assert len(located(runtime, run_id("a")).events) == 2, "the third lies in another application"
    runtime.sweep(timedelta(days=2))
    assert len(located(runtime, run_id("a")).events) == 3


def test_an_id_that_tells_its_time_saves_reading_all_applications() -> None:
    body = write("a", "app", "10:00", "/a")[1].replace(run_id("a").encode(), TIMED.encode())
    runtime = after(*(body for number in range(3) for body in write(f"r{number}", f"app{number}", "10:00", "/b")), body)
    watched = Watched(runtime.storage)
    located_run = locate_run(watched, TIMED)
    assert located_run
    assert located_run.run.state is State.CONTRIBUTED
    assert watched.calls["scan"] == 0
    assert locate_run(watched, run_id("nobody")) is None
    assert watched.calls["scan"] == 1


def test_a_run_is_forgotten_and_its_events_are_found() -> None:
    runtime = after(*write("a", "app", "10:00", "/a"), *write("b", "app2", "12:00", "/a"))
    runtime.archive(keep_runs=timedelta(days=1))
    runtime.publish()
    for _ in range(4):
        runtime.sweep(timedelta(days=2))
        runtime.publish()
    located_run = located(runtime, run_id("a"))
    assert located_run.is_forgotten
    assert {record.container for record in located_run.events} == {ARCHIVE}
    assert {record.outcome for record in located_run.events} == {("published", "")}


def test_a_run_whose_record_is_lost_is_left_out() -> None:
    runtime = after(*write("a", "app", "10:00", "/a"), *write("b", "app", "11:00", "/b"))
    (row,) = [row for row in runtime.storage.scan(APPLICATIONS) if row.key == f"run|{run_id('a')}"]
    runtime.storage.upsert(APPLICATIONS, type(row)(partition=row.partition, key=row.key, values={"blob": "lost"}))
    assert {run.run_id for run in all_runs(runtime.storage)} == {run_id("b")}


def test_nothing_is_known_of_what_never_arrived() -> None:
    storage = Runtime().storage
    assert locate_run(storage, run_id("a")) is None
    assert stored_packed(storage, "2026/11/21/10/none.json.gz") is None
    assert not [*all_runs(storage), *wanted_events(storage, RunFilter())]
