"""The sweeper: ends that never come, events that no trigger delivered, and only one sweeper at a time."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from shared.catalog.memory import MemoryCatalog
from shared.errors import StorageUnavailable, WriteConflict
from shared.events.dead_letters import dead_letters
from shared.maintenance.replay import LetterOutcome, replay_dead_letters
from shared.maintenance.verify.checks import VerifyContext
from shared.maintenance.verify.verification import verify
from shared.processing.sweeper import SweepOptions, SweepResult, sweep
from shared.records.checkpoint import SWEEP
from shared.records.run_state import change_run_state
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS
from tests.support.archiving import AT_ONCE, archiving
from tests.support.damages import PUBLISHING, lose_state
from tests.support.events import event, run_id, write
from tests.support.processing import Watched, post, settle, state_of, supported_inputs
from tests.support.sweeping import SweepClock, storage_failing_for_run

SOON = SweepOptions(end_timeout=timedelta(0), grace=timedelta(0))
LATER = SweepOptions(end_timeout=timedelta(hours=6), grace=timedelta(0))


def test_a_run_without_an_end_contributes_after_the_timeout_if_it_read_and_wrote() -> None:
    storage = MemoryStorage()
    post(storage, write("a", "app", "10:00", "/a")[0])
    assert sweep(storage, LATER) == SweepResult()
    assert sweep(storage, SOON) == SweepResult(timed_out=1)
    assert supported_inputs(storage) == ["/a"]
    assert sweep(storage, SOON) == SweepResult(), "decided once"


def test_a_run_that_only_reads_is_skipped_after_the_timeout() -> None:
    storage = MemoryStorage()
    post(storage, event("a", "START", "10:00:00", inputs=["/a"], application="app"))
    assert status(storage).waiting == 1
    sweep(storage, SOON)
    found = status(storage)
    assert found.skipped_because == {"no end event and no lineage": 1}
    assert found.waiting == 0


def test_a_run_whose_events_no_trigger_delivered_is_settled() -> None:
    storage = MemoryStorage()
    post(storage, *write("a", "app", "10:00", "/a"))
    assert sweep(storage, LATER) == SweepResult(undelivered=1)
    assert supported_inputs(storage) == ["/a"]
    assert sweep(storage, LATER) == SweepResult()


def test_a_late_event_that_no_trigger_delivered_is_processed() -> None:
    storage = MemoryStorage()
    for place in post(storage, *write("a", "app", "10:00", "/a")):
        settle(storage, place)
    post(storage, write("a", "app", "10:01", "/a", end="FAIL")[1])
    assert sweep(storage, LATER) == SweepResult(undelivered=1)
    assert supported_inputs(storage) == []


def test_a_sweep_leaves_a_recent_event_to_its_trigger() -> None:
    storage = MemoryStorage()
    post(storage, *write("a", "app", "10:00", "/a"))
    assert sweep(storage, SweepOptions()) == SweepResult()


def test_a_blob_that_is_no_event_is_counted_as_a_dead_letter() -> None:
    storage = MemoryStorage()
    storage.put_new(EVENTS, "notes.txt", b"hello")
    sweep(storage, SOON)
    found = status(storage)
    assert (found.received, found.dead, found.reconciles) == (1, 1, True)


def test_only_the_holder_of_the_lease_sweeps() -> None:
    storage = MemoryStorage()
    post(storage, *write("a", "app", "10:00", "/a"))
    lease = storage.lease("sweeper", 60)
    assert lease
    assert sweep(storage, SOON) == SweepResult()
    lease.release()
    assert sweep(storage, LATER) == SweepResult(undelivered=1)


def test_a_blob_without_its_row_is_processed() -> None:
    storage = MemoryStorage()
    for place in post(storage, *write("a", "app", "10:00", "/a")):
        storage.delete("runs", place.run_id, place.row_key)
    assert sweep(storage, LATER) == SweepResult(undelivered=1)
    assert supported_inputs(storage) == ["/a"]
    assert sweep(storage, LATER) == SweepResult()


def test_the_next_sweep_does_not_read_decided_runs_again() -> None:
    storage = Watched(MemoryStorage())
    for number in range(30):
        for place in post(storage.real, *write(f"r{number}", "app", "10:00", f"/s{number}")):
            settle(storage.real, place)
    sweep(storage, LATER)
    storage.calls.clear()
    sweep(storage, LATER)
    assert storage.calls["read"] <= 3, "the checkpoint, and the run that came last"


def test_one_sweep_a_day_checks_all_runs() -> None:
    """A worker that processes a decided run again may die, and the host stops delivering its event."""
    minutes = count()
    began = datetime.now(UTC) - timedelta(hours=1)
    storage = MemoryStorage(now=lambda: began + timedelta(minutes=next(minutes)))
    for number in range(3):
        for place in post(storage, *write(f"r{number}", "app", "10:00", f"/s{number}")):
            settle(storage, place)
    sweep(storage, LATER)
    change_run_state(storage, run_id("r0"), lambda state: state and replace(state, settled=False))
    assert sweep(storage, LATER) == SweepResult(), "the checkpoint has passed this run"
    tomorrow = replace(LATER, now=lambda: datetime.now(UTC) + timedelta(days=1))
    assert sweep(storage, tomorrow) == SweepResult(undelivered=1)
    assert state_of(storage, "r0").settled


class SlowClock:
    """Seconds of which ten pass whenever they are asked for: a session has time for some fifteen runs."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 10
        return self.seconds


def many_runs() -> tuple[MemoryStorage, SweepClock]:
    """A run that waits, forty that are decided, and one whose events no trigger delivered, a minute apart."""
    minutes = count()
    clock = SweepClock()
    began = clock.at - timedelta(days=1)
    storage = MemoryStorage(now=lambda: began + timedelta(minutes=next(minutes)))
    post(storage, write("waiting", "app", "09:00", "/w")[0])
    for number in range(40):
        for place in post(storage, *write(f"r{number}", "app", "10:00", f"/s{number}", sink=f"/out{number}")):
            settle(storage, place)
    post(storage, *write("missed", "app", "11:00", "/missed", sink="/missed-out"))
    return storage, clock


def test_a_sweep_of_all_runs_that_does_not_fit_into_a_session_is_continued_by_the_next() -> None:
    storage, clock = many_runs()
    how: dict[str, Any] = {"archiving": archiving(after=None)}
    found = [clock.sweep(storage, seconds=SlowClock(), **how).undelivered for _ in range(6)]
    assert (sum(found), found[0], state_of(storage, "missed").settled) == (1, 0, True)
    swept = SWEEP.load(storage)
    assert swept
    assert swept.full_sweep_due > clock.at, "it is done"
    change_run_state(storage, run_id("r0"), lambda state: state and replace(state, settled=False))
    clock.at += timedelta(days=1)
    for _ in range(9):
        clock.sweep(storage, seconds=SlowClock(), **how)
    assert state_of(storage, "r0").settled, "the next one begins at the first run"


def test_a_run_that_waits_does_not_keep_sweeps_from_reaching_the_last_runs() -> None:
    storage, clock = many_runs()
    how: dict[str, Any] = {"archiving": archiving(after=None)}
    clock.sweep(storage, **how)
    post(storage, *write("late", "app", "12:00", "/late", sink="/late-out"))
    clock.at += timedelta(hours=1)
    found = [clock.sweep(storage, seconds=SlowClock(), **how).undelivered for _ in range(6)]
    assert (sum(found), found[0], state_of(storage, "late").settled) == (1, 0, True)
    clock.at += timedelta(days=100)
    found = [clock.sweep(storage, seconds=SlowClock(), **how).timed_out for _ in range(9)]
    assert sum(found) == 1, "it is looked at again"


def test_a_sweep_leaves_time_for_archiving() -> None:
    storage = MemoryStorage()
    for number in range(40):
        for place in post(storage, *write(f"r{number}", "app", "10:00", f"/s{number}", sink=f"/out{number}")):
            settle(storage, place)
    assert SweepClock().sweep(storage, seconds=SlowClock(), archiving=AT_ONCE).archived == 80


def test_the_checkpoint_does_not_pass_a_waiting_run() -> None:
    storage = MemoryStorage()
    post(storage, write("a", "app", "10:00", "/a")[0])
    for place in post(storage, *write("b", "app", "10:00", "/b")):
        settle(storage, place)
    sweep(storage, LATER)
    assert sweep(storage, SOON) == SweepResult(timed_out=1)
    assert sorted(supported_inputs(storage)) == ["/a", "/b"]


def test_a_blob_without_its_row_and_without_an_end_is_decided_in_one_sweep() -> None:
    storage = MemoryStorage()
    for place in post(storage, write("a", "app", "10:00", "/a")[0]):
        storage.delete("runs", place.run_id, place.row_key)
    assert sweep(storage, SOON) == SweepResult(timed_out=1)
    assert supported_inputs(storage) == ["/a"]


class Dying(BaseException):
    """An error that ends a process."""


@pytest.mark.parametrize("error", [ValueError("too long a row"), WriteConflict("busy"), Dying()], ids=repr)
def test_a_run_that_always_fails_delays_no_other_and_becomes_dead_letters(error: BaseException) -> None:
    storage, clock = MemoryStorage(), SweepClock()
    post(storage, *write("a", "app", "10:00", "/a"), *write("b", "app", "10:00", "/b"))
    bad = storage_failing_for_run(storage, "a", error)
    for _ in range(10):
        with suppress(Dying):
            clock.sweep(bad)
    assert supported_inputs(storage) == ["/b"]
    found = status(storage)
    assert (found.published + found.waiting, found.dead, found.reconciles) == (2, 2, True)
    assert {
        (letter.reason, "could not be processed in 3 attempts" in letter.error) for letter in dead_letters(storage)
    } == {("given up", True)}
    watched = Watched(storage)
    clock.sweep(watched, minutes=0)
    assert watched.calls["partition"] == 1, "its trouble is looked up, but it is not tried each minute"


def test_a_failed_run_that_succeeds_later_is_settled_and_loses_its_dead_letters() -> None:
    storage, clock = MemoryStorage(), SweepClock()
    post(storage, *write("a", "app", "10:00", "/a"))
    bad = storage_failing_for_run(storage, "a", ValueError("not today"))
    for _ in range(10):
        clock.sweep(bad)
    assert status(storage).dead == 2
    assert clock.sweep(storage, minutes=400).undelivered == 1
    assert (status(storage).dead, supported_inputs(storage)) == (0, ["/a"])
    assert list(storage.partition("control", "retry")) == []


def test_a_sweep_that_lost_its_lease_leaves_the_run_to_the_next_sweep() -> None:
    """A sweep loses its lease during a long run: two sweeps that retried would overtake each other for ever."""
    seconds = 0.0
    storage, clock = MemoryStorage(clock=lambda: seconds), SweepClock()
    post(storage, *write("a", "app", "10:00", "/a"))
    first, second = Watched(storage), Watched(storage)

    def dies(name: str, _: tuple[Any, ...]) -> None:
        if name == "upsert_all":  # the run's contributions have been written by then
            raise Dying

    def next_sweeps_run(name: str, _: tuple[Any, ...]) -> None:
        nonlocal seconds
        if name == "upsert_all":
            first.step_in = lambda *_: None
            seconds += 61  # the lease has run out
            assert clock.sweep(second).failed == 1, "the run is believed to have cut off the sweep"
            second.step_in = dies
            with suppress(Dying):
                clock.sweep(second)

    first.step_in = next_sweeps_run
    assert replace(clock.sweep(first), oldest=0.0) == SweepResult()
    assert (state_of(storage, "a").generation, state_of(storage, "a").settled) == (2, False)
    assert first.calls["replace"] == 2, "its first write, and its last, which was refused"
    assert {row.key for row in storage.partition("control", "retry")} == {run_id("a"), "current"}, (
        "of the sweep that crashed"
    )
    assert clock.sweep(storage).failed == 1
    assert clock.sweep(storage, minutes=2).undelivered == 1
    assert (status(storage).dead, supported_inputs(storage)) == (0, ["/a"])
    assert list(storage.partition("control", "retry")) == []


def test_dead_letters_are_removed_when_another_worker_has_settled_the_run() -> None:
    storage, clock = MemoryStorage(), SweepClock()
    places = post(storage, *write("a", "app", "10:00", "/a"))
    bad = storage_failing_for_run(storage, "a", ValueError("not today"))
    for _ in range(10):
        clock.sweep(bad)
    for place in places:
        settle(storage, place)
    clock.sweep(storage, minutes=400)
    assert (status(storage).dead, list(dead_letters(storage))) == (0, [])


def test_a_run_that_another_worker_settles_while_it_is_given_up_has_no_dead_letters() -> None:
    """The next sweep takes a slow sweep for a dead one."""
    storage, clock = MemoryStorage(), SweepClock()
    places = post(storage, *write("a", "app", "10:00", "/a"))
    bad = storage_failing_for_run(storage, "a", ValueError("not today"))
    cursing = bad.step_in

    def is_settled_after_all(name: str, arguments: tuple[Any, ...]) -> None:
        if (name, arguments[0]) == ("insert", "deadletters"):
            bad.step_in = cursing
            for place in places:
                settle(storage, place)
        cursing(name, arguments)

    bad.step_in = is_settled_after_all
    for _ in range(3):
        clock.sweep(bad, minutes=5)
    assert bad.step_in is cursing, "it was given up"
    assert (status(storage).dead, list(dead_letters(storage))) == (0, [])


def test_the_dead_letters_of_a_given_up_run_can_be_replayed() -> None:
    storage, clock = MemoryStorage(), SweepClock()
    post(storage, *write("a", "app", "10:00", "/a"))
    bad: Any = storage_failing_for_run(storage, "a", ValueError("not today"))
    for _ in range(10):
        clock.sweep(bad)
    assert {each.outcome for each in replay_dead_letters(bad, lambda _: True)} == {LetterOutcome.FAILED}
    assert {each.outcome for each in replay_dead_letters(storage, lambda _: True)} == {LetterOutcome.USED}
    assert (status(storage).dead, supported_inputs(storage)) == (0, ["/a"])


def test_unavailable_storage_does_not_count_as_a_failure_of_a_run() -> None:
    storage, clock = MemoryStorage(), SweepClock()
    post(storage, *write("a", "app", "10:00", "/a"))
    for _ in range(4):
        with pytest.raises(StorageUnavailable):
            clock.sweep(storage_failing_for_run(storage, "a", StorageUnavailable("away")))
    assert clock.sweep(storage, minutes=10).undelivered == 1
    assert (status(storage).dead, supported_inputs(storage)) == (0, ["/a"])


def test_an_interrupted_sweep_is_not_held_against_the_run_that_it_processed_last() -> None:
    storage, clock = MemoryStorage(), SweepClock()
    post(storage, *write("a", "app", "10:00", "/a"), *write("b", "app", "10:00", "/b", sink="/b-out"))
    watched = Watched(storage)

    def step_in(name: str, arguments: tuple[Any, ...]) -> None:
        if (name, arguments[:2]) == ("read", ("runs", run_id("b"))):
            raise ValueError("a row that cannot be read")
        if name == "upsert" and arguments[1].key == run_id("b"):
            raise StorageUnavailable("away")

    watched.step_in = step_in
    with pytest.raises(StorageUnavailable):
        clock.sweep(watched)
    assert state_of(storage, "a").settled
    assert list(storage.partition("control", "retry")) == []


def test_a_run_whose_state_is_lost_becomes_dead_letters_and_keeps_no_other_from_being_swept_and_archived() -> None:
    storage, clock = MemoryStorage(), SweepClock()
    for place in post(storage, *write("lost", "app", "10:00", "/a")):
        settle(storage, place)
    lose_state(storage, "lost")
    how: dict[str, Any] = {"archiving": archiving(now=clock)}
    for number in range(6):
        post(storage, *write(f"r{number}", "app", "11:00", f"/s{number}", sink=f"/out{number}"))
        found = clock.sweep(storage, minutes=10, **how)
        assert (found.undelivered, found.archived) == (1, 2)
    letters = list(dead_letters(storage))
    assert [(letter.reason, letter.place and letter.place.run_id) for letter in letters] == [
        ("given up", run_id("lost"))
    ] * 2
    assert [fact.name.split("/")[4] for fact in storage.blobs(EVENTS)] == [run_id("lost")] * 2, "it stays open"
    assert [row.key for row in storage.partition("control", "retry")] == [run_id("lost")]
    assert status(storage).reconciles
    world = VerifyContext(storage=storage, catalog=MemoryCatalog(), publishing=PUBLISHING, grace=timedelta(0))
    list(verify(world, fix=True))
    clock.sweep(storage, minutes=400, **how)
    assert (status(storage).dead, state_of(storage, "lost").settled) == (0, True)
    clock.sweep(storage, minutes=20, **how)
    assert list(storage.blobs(EVENTS)) == []
