"""Sweeping: what no trigger starts, and that its cost follows what is open."""

from datetime import timedelta
from typing import Any

import pytest

from shared.errors import StorageUnavailable, WriteConflict
from shared.records.states import State
from shared.storage_layout import APPLICATIONS, CONTROL, DEAD_LETTERS, EVENTS, StoredEvent
from shared.sweeping.retries import CRASHED, retry_states
from shared.sweeping.sweep import MAX_WAITING_EVENTS
from tests.support.applications import Applications
from tests.support.events import event, run_id


def copy(kind: str, time: str, run: str = "run", source: str = "/a", application: str = "app") -> bytes:
    return event(run, kind, time, inputs=[source], outputs=["/b"], application=application)


def test_an_event_that_no_trigger_delivered_is_folded_after_the_grace() -> None:
    world = Applications()
    world.receive(copy("COMPLETE", "10:00:00"))
    assert world.sweep(minutes=5).undelivered == 0, "it is left to its trigger"
    assert world.edges() == []
    assert world.sweep(minutes=6).undelivered == 1
    assert world.edges() == [("/a", "/b")]


def test_a_blob_without_its_row_is_folded_too() -> None:
    world = Applications()
    start, complete = world.receive(copy("START", "10:00:00", source="/c"), copy("COMPLETE", "10:00:01"))
    for stored_event in (start, complete):
        world.memory.delete(APPLICATIONS, run_id("app"), stored_event.row_key)
    world.sweep(minutes=11)
    assert world.edges() == [("/a", "/b"), ("/c", "/b")]


def test_a_run_without_an_end_is_decided_after_the_timeout() -> None:
    world = Applications()
    world.process(copy("START", "10:00:00"))
    hours = timedelta(hours=6)
    assert world.sweep(minutes=60, end_timeout=hours).waiting == 1
    assert world.edges() == []
    assert world.sweep(minutes=301, end_timeout=hours).timed_out == 1
    assert world.edges() == [("/a", "/b")]
    assert world.sweep(minutes=60, end_timeout=hours).waiting == 0


def test_a_run_is_decided_in_time_although_the_sweep_died_that_saw_it_wait() -> None:
    world = Applications()
    world.process(copy("START", "10:00:00"))

    def die(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "transact" and arguments[0] == CONTROL:
            raise KeyboardInterrupt

    world.storage.before = die
    with pytest.raises(KeyboardInterrupt):
        world.sweep(minutes=11, end_timeout=timedelta(hours=6))
    world.storage.before = lambda _name, _arguments: None
    world.sweep(minutes=11, end_timeout=timedelta(hours=6))
    assert world.sweep(minutes=361, end_timeout=timedelta(hours=6)).timed_out == 1


def test_an_end_after_the_timeout_corrects_it() -> None:
    world = Applications()
    world.process(copy("START", "10:00:00"))
    world.sweep(minutes=500, end_timeout=timedelta(hours=6))
    assert world.edges() == [("/a", "/b")]
    world.process(copy("FAIL", "10:00:05"))
    assert world.edges() == []


def _damaged(world: Applications, body: bytes) -> StoredEvent:
    """An event whose blob has damaged bytes, and that has no row."""
    (stored_event,) = world.receive(body)
    world.memory.delete(APPLICATIONS, stored_event.application, stored_event.row_key)
    world.memory.delete_blob(EVENTS, stored_event.blob)
    world.memory.put_new(EVENTS, stored_event.blob, b"damaged")
    return stored_event


@pytest.mark.parametrize("minutes", [1, 11], ids=["before a sweep saw the run wait", "after it"])
def test_a_run_whose_end_has_damaged_bytes_is_decided_after_the_timeout(minutes: int) -> None:
    world = Applications()
    world.process(copy("START", "10:00:00"))
    if minutes > 1:
        world.sweep(minutes=minutes, end_timeout=timedelta(hours=6))
    end = _damaged(world, copy("COMPLETE", "10:00:05"))
    world.deliver(end)
    for _ in range(3):
        world.sweep(minutes=60, end_timeout=timedelta(hours=6))
        assert world.edges() == []
    world.sweep(minutes=301, end_timeout=timedelta(hours=6))
    assert world.edges() == [("/a", "/b")]
    assert [row.key for row in world.memory.scan(DEAD_LETTERS)] == [end.digest]


@pytest.mark.parametrize("other", ["app 1", "app 3"], ids=["looked at first", "looked at last"])
def test_a_run_that_a_sweep_reunites_without_its_end_is_decided_after_the_timeout(other: str) -> None:
    assert (run_id(other) < run_id("app")) == (other == "app 1")
    world = Applications()
    world.deliver(_damaged(world, copy("COMPLETE", "10:00:05", application=other)))
    world.process(copy("RUNNING", "10:00:00"))
    for _ in range(3):
        world.sweep(minutes=60, end_timeout=timedelta(hours=6))
        assert world.edges() == []
    world.sweep(minutes=301, end_timeout=timedelta(hours=6))
    assert world.edges() == [("/a", "/b")]


def test_a_foreign_blob_is_one_dead_letter() -> None:
    world = Applications()
    world.memory.put_new(EVENTS, "2026/11/21/10/notes.txt", b"hello")
    world.sweep(minutes=20)
    world.sweep(minutes=20)
    assert len(list(world.memory.scan(DEAD_LETTERS))) == 1


def test_only_the_holder_of_the_lease_sweeps() -> None:
    world = Applications()
    world.receive(copy("COMPLETE", "10:00:00"))
    world.now += timedelta(minutes=20)
    lease = world.memory.lease("sweeper", 60)
    assert lease
    assert world.sweep(minutes=0.5).undelivered == 0
    lease.release()
    assert world.sweep(minutes=1).undelivered == 1


def test_a_sweep_with_nothing_new_looks_at_no_application() -> None:
    world = Applications()
    world.process(*(copy("COMPLETE", "10:00:00", run=f"r{n}", application=f"app {n}") for n in range(30)))
    world.sweep(minutes=1)
    world.sweep(minutes=20)
    world.storage.calls.clear()
    world.sweep(minutes=1)
    calls = dict(world.storage.calls)
    assert calls["partition"] <= 5, "retries, what is due and what is to be forgotten"
    assert sum(calls.values()) <= 20
    world.storage.calls.clear()
    world.sweep(minutes=24 * 60)
    assert world.storage.calls["partition"] >= 30, "once a day all are looked at"


def test_runs_that_wait_do_not_cost_a_look_at_each_sweep() -> None:
    world = Applications()
    world.process(*(copy("START", "10:00:00", run=f"r{n}", application=f"app {n}") for n in range(30)))
    assert world.sweep(minutes=1).waiting == 30
    world.sweep(minutes=20)
    world.storage.calls.clear()
    assert world.sweep(minutes=1).waiting == 30
    assert world.storage.calls["partition"] <= 5


def test_a_split_run_is_reunited_at_the_application_of_its_first_parent() -> None:
    world = Applications()
    world.process(copy("START", "10:00:00"), copy("COMPLETE", "10:00:05", source="/c", application="other"))
    world.sweep(minutes=11)
    assert world.edges() == [("/a", "/b"), ("/c", "/b")]
    assert world.application("other").state.contents == {}
    moved = world.record("other", "run")
    assert moved
    assert moved.home == run_id("app")
    world.process(copy("RUNNING", "10:00:03", source="/d", application="other"))
    world.sweep(minutes=11)
    assert world.edges() == [("/a", "/b"), ("/c", "/b"), ("/d", "/b")]


def test_an_application_below_a_task_knows_the_times_of_its_own_run() -> None:
    """Its START and COMPLETE name the task of an orchestrator as their parent, its jobs name the application."""
    world = Applications()
    world.process(
        event("spark", "START", "10:00:00", application="task", job="app"),
        copy("COMPLETE", "10:00:05", application="spark"),
        event("spark", "COMPLETE", "10:00:09", application="task", job="app"),
    )
    times = world.application("spark").state
    assert times.ended == "COMPLETE"
    assert times.first
    assert times.first.second == 0
    assert world.edges() == [("/a", "/b")]


@pytest.mark.parametrize(("end", "minutes"), [("RUNNING", 361), ("COMPLETE", 11)], ids=["a timeout", "a split run"])
def test_an_application_below_a_task_knows_these_times_as_soon_as_a_sweep_gives_it_a_state(
    end: str, minutes: int
) -> None:
    assert run_id("another") < run_id("spark") < run_id("other"), "the task is looked at first"
    world = Applications()
    world.process(
        event("spark", "START", "10:00:00", application="another", job="app"),
        copy("START", "10:00:05", application="spark"),
        copy(end, "10:00:06", application="spark" if end == "RUNNING" else "other"),
        event("spark", "COMPLETE", "10:00:09", application="another", job="app"),
    )
    world.sweep(minutes=minutes, end_timeout=timedelta(hours=6))
    assert world.edges() == [("/a", "/b")]
    assert world.application("spark").state.ended == "COMPLETE"


def test_many_events_of_a_run_that_is_open_move_into_its_record() -> None:
    world = Applications()
    number = MAX_WAITING_EVENTS + 20
    world.process(*(copy("RUNNING", f"10:{n // 60:02}:{n % 60:02}", source=f"/s{n % 4}") for n in range(number)))
    world.sweep(minutes=1)
    assert not world.application("app").unfolded
    record = world.record("app", "run")
    assert record
    assert (record.verdict, len(record.events)) == (State.WAITING, number)
    world.process(copy("COMPLETE", "11:00:00"))
    assert len(world.edges()) == 5


class _BugError(Exception):
    pass


def _fails(world: Applications, application: str, error: BaseException) -> None:
    """Fail each commit to this application."""

    def step_in(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "transact" and arguments[0] == APPLICATIONS and arguments[1][0].row.partition == run_id(application):
            raise error

    world.storage.before = step_in


def test_an_application_that_always_fails_delays_no_other_and_its_events_become_dead_letters() -> None:
    world = Applications()
    world.receive(copy("COMPLETE", "10:00:00", application="bad"), copy("COMPLETE", "10:00:00", run="fine"))
    _fails(world, "bad", _BugError("no such thing"))
    world.sweep(minutes=11)
    assert world.edges() == [("/a", "/b")]
    for _ in range(4):
        world.sweep(minutes=400)
    (state,) = retry_states(world.memory)
    assert state.is_exhausted
    assert "no such thing" in state.error
    assert len(list(world.memory.scan(DEAD_LETTERS))) == 1
    world.storage.before = lambda _name, _arguments: None
    world.sweep(minutes=400)
    assert len(world.edges()) == 2
    assert list(world.memory.scan(DEAD_LETTERS)) == []
    assert retry_states(world.memory) == ()


@pytest.mark.parametrize("error", [_BugError("no such thing"), WriteConflict("it kept changing", after=1)])
def test_an_event_without_its_row_is_found_although_its_application_failed_then(error: Exception) -> None:
    world = Applications()
    world.receive(copy("COMPLETE", "10:00:01"))
    world.now += timedelta(minutes=2)
    (start,) = world.receive(copy("START", "10:00:00", source="/c"))
    world.memory.delete(APPLICATIONS, run_id("app"), start.row_key)

    def fail(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "partition" and arguments[:2] == (APPLICATIONS, run_id("app")):
            raise error

    world.storage.before = fail
    world.sweep(minutes=9)
    world.sweep(minutes=1.2)
    world.storage.before = lambda _name, _arguments: None
    for _ in range(5):
        world.sweep(minutes=1)
    assert world.edges() == [("/a", "/b"), ("/c", "/b")]


def test_unavailable_storage_is_held_against_no_application() -> None:
    world = Applications()
    world.receive(copy("COMPLETE", "10:00:00"))
    _fails(world, "app", StorageUnavailable("away"))
    with pytest.raises(StorageUnavailable):
        world.sweep(minutes=11)
    assert retry_states(world.memory) == ()
    world.storage.before = lambda _name, _arguments: None
    world.sweep(minutes=1)
    assert world.edges() == [("/a", "/b")]


def test_an_application_at_which_the_process_died_is_retried_later() -> None:
    world = Applications()
    world.receive(copy("COMPLETE", "10:00:00"))
    _fails(world, "app", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        world.sweep(minutes=11)
    lease = world.memory.lease("sweeper", 15)
    if lease:
        lease.release()
    world.storage.before = lambda _name, _arguments: None
    world.sweep(minutes=1)
    (state,) = retry_states(world.memory)
    assert state.error == CRASHED
    assert world.edges() == []
    world.sweep(minutes=5)
    assert world.edges() == [("/a", "/b")]
    assert list(world.memory.partition(CONTROL, "retry")) == []


def test_a_sweep_that_cannot_list_all_goes_on_where_it_stopped() -> None:
    world = Applications()
    for hour in range(8):
        world.receive(copy("COMPLETE", f"{hour + 10}:00:00", run=f"r{hour}", source=f"/{hour}"))
    for _ in range(3):
        world.sweep(minutes=11, most_blobs=3)
    assert len(world.edges()) == 8
