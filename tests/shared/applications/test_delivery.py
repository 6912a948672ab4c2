"""Delivering events: what a trigger costs, and how workers that meet at one application end."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from shared.applications.delivery import Delivery
from shared.applications.partition import MAX_UNFOLDED
from shared.applications.processor import MAX_ATTEMPTS, ApplicationProcessor
from shared.concurrency import KeyedLock
from shared.errors import ContentLost, WriteConflict
from shared.events.dead_letters import dead_letters
from shared.naming.names import Names
from shared.naming.stores.rule_forms import rule
from shared.records.publish_queue import Mark
from shared.records.states import State
from shared.storage.port import Row
from shared.storage_layout import APPLICATIONS, DEAD_LETTERS, EVENT, EVENTS, HEADER, PUBLISH_QUEUE
from tests.support.applications import Applications
from tests.support.events import event, run_id
from tests.support.runtime import Runtime


def copy(kind: str, time: str, run: str = "run", source: str = "/a", sink: str = "/b") -> bytes:
    return event(run, kind, time, inputs=[source], outputs=[sink], application="app")


START, RUNNING, COMPLETE = copy("START", "10:00:00"), copy("RUNNING", "10:00:01"), copy("COMPLETE", "10:00:02")


def test_an_event_that_cannot_end_a_run_costs_no_call_and_an_end_three() -> None:
    world = Applications()
    events = world.receive(START, RUNNING, COMPLETE)
    assert world.deliver(*events[:2]) == [False, False]
    assert not world.storage.calls
    assert world.deliver(events[2]) == [True]
    assert world.storage.calls == {"partition": 1, "transact": 2}, "one query, the marks, and the commit"
    assert world.edges() == [("/a", "/b")]


def test_events_that_arrived_together_are_folded_by_the_first_end() -> None:
    world = Applications()
    bodies = [copy("COMPLETE", f"10:00:{number:02}", run=f"run {number}") for number in range(30)]
    events = world.receive(*bodies)
    world.deliver(*events)
    assert world.storage.calls == {"partition": 1, "transact": 2}, "for all thirty runs"


def test_marks_are_written_before_the_commit_with_its_version() -> None:
    world = Applications()
    (complete,) = world.receive(COMPLETE)
    deliveries: list[tuple[str, bool]] = []

    def note(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "transact":
            deliveries.append((arguments[0], bool(world.application("app").etag)))

    world.storage.before = note
    world.deliver(complete)
    assert deliveries == [(PUBLISH_QUEUE, False), (APPLICATIONS, False)]
    marks = list(world.memory.scan(PUBLISH_QUEUE))
    assert {Mark.of(mark).version for mark in marks} == {world.application("app").state.version}


def test_a_delivery_that_is_repeated_by_the_process_that_folded_it_costs_no_call() -> None:
    world = Applications()
    (complete,) = world.receive(COMPLETE)
    world.deliver(complete)
    world.storage.calls.clear()
    assert world.deliver(complete) == [True], "whoever folded it may have died before it published"
    assert not world.storage.calls
    assert world.deliver(complete, worker=world.new_worker()) == [True]
    assert world.storage.calls == {"partition": 1, "read": 1}


def test_an_event_that_was_folded_with_the_end_of_its_run_costs_no_call_and_publishes_nothing() -> None:
    world = Applications()
    start, complete = world.receive(START, COMPLETE)
    world.deliver(complete)
    world.storage.calls.clear()
    assert world.deliver(start) == [False]
    assert not world.storage.calls


class Contended(KeyedLock):
    """Locks that another thread holds first, which does this."""

    def __init__(self, action: Callable[[], object]) -> None:
        super().__init__()
        self._action = action

    @contextmanager
    def at(self, key: str) -> Iterator[None]:
        self._action()
        with super().at(key):
            yield


def test_an_event_that_another_thread_folds_meanwhile_is_not_folded_again() -> None:
    world = Applications()
    first, second = world.receive(COMPLETE, copy("COMPLETE", "10:00:03", run="other"))
    locks = Contended(lambda: world.deliver(first))
    assert world.deliver(second, worker=Delivery(processor=world.worker.processor, locks=locks)) == [True]
    assert world.storage.calls == {"partition": 1, "transact": 2}


def test_a_late_event_is_folded_at_once_by_the_process_that_folded_its_run() -> None:
    world = Applications()
    world.process(COMPLETE)
    world.process(copy("RUNNING", "10:00:01", source="/late"))
    assert world.edges() == [("/a", "/b"), ("/late", "/b")]


def test_a_late_event_that_another_process_gets_counts_at_the_next_sweep() -> None:
    world = Applications()
    world.process(COMPLETE)
    (late,) = world.receive(copy("RUNNING", "10:00:01", source="/late"))
    assert world.deliver(late, worker=world.new_worker()) == [False]
    world.sweep(minutes=1)
    assert world.edges() == [("/a", "/b"), ("/late", "/b")]
    assert not world.application("app").unfolded


def test_a_late_failure_takes_back_what_the_run_contributed() -> None:
    world = Applications()
    world.process(COMPLETE, copy("FAIL", "10:00:05"))
    assert world.edges() == []
    record = world.record("app", "run")
    assert record
    assert (record.verdict, record.ended) == (State.SKIPPED, "FAIL")


def test_a_second_end_of_a_run_is_not_taken_for_the_end_of_a_new_one() -> None:
    """As of Spark's listener and of the plan's: a fold that took the run for new would be refused and repeated."""
    world = Applications()
    world.deliver(*world.receive(START, COMPLETE))
    second = world.receive(copy("COMPLETE", "10:00:05", source="/late"))
    world.storage.calls.clear()
    world.deliver(*second)
    assert world.storage.calls == {"partition": 1, "transact": 2}, "the record is in memory with its header"
    assert world.edges() == [("/a", "/b"), ("/late", "/b")]
    world.deliver(*world.receive(copy("COMPLETE", "10:00:06", run="other")))
    third = world.receive(copy("COMPLETE", "10:00:07", source="/later"))
    world.storage.calls.clear()
    world.deliver(*third)
    assert world.storage.calls == {"partition": 1, "transact": 2}, "that of another run was written since"


def test_an_event_whose_row_is_missing_is_folded_all_the_same() -> None:
    world = Applications()
    (complete,) = world.receive(COMPLETE)
    world.memory.delete(APPLICATIONS, run_id("app"), complete.row_key)
    world.deliver(complete)
    assert world.edges() == [("/a", "/b")]


@pytest.mark.parametrize("call", ["partition", "transact"])
def test_workers_at_one_application_lose_nothing(call: str) -> None:
    """At each of the first calls of a worker, another one folds another run of the application."""
    for moment in range(4):
        world = Applications()
        first, second = world.receive(COMPLETE, copy("COMPLETE", "10:00:03", run="other", source="/c"))
        countdown = [moment]

        def step_in(
            name: str,
            _arguments: Any,
            world: Applications = world,
            countdown: list[int] = countdown,
            event: Any = second,
        ) -> None:
            if name == call and countdown:
                if countdown[0]:
                    countdown[0] -= 1
                else:
                    countdown.clear()
                    world.deliver(event, worker=world.new_worker())

        world.storage.before = step_in
        world.deliver(first)
        world.storage.before = lambda _name, _arguments: None
        world.sweep(minutes=20)
        assert world.edges() == [("/a", "/b"), ("/c", "/b")]
        assert len(world.application("app").records) == 2


def test_an_application_that_always_changes_is_given_up_for_now() -> None:
    world = Applications()
    world.process(copy("COMPLETE", "10:00:01", run="other"))
    (complete,) = world.receive(COMPLETE)

    def write_header(name: str, arguments: tuple[Any, ...]) -> None:
        header = world.memory.read(APPLICATIONS, run_id("app"), HEADER)
        if name == "transact" and arguments[0] == APPLICATIONS and header:
            world.memory.upsert(APPLICATIONS, header)

    world.storage.before = write_header
    pauses: list[float] = []
    worker = Delivery(processor=ApplicationProcessor(storage=world.storage, pause=pauses.append))
    with pytest.raises(WriteConflict, match="kept changing"):
        world.deliver(complete, worker=worker)
    assert len(pauses) == MAX_ATTEMPTS - 1
    assert 0 < sum(pauses) < 1
    world.storage.before = lambda _name, _arguments: None
    world.deliver(complete)
    assert world.record("app", "run")


def test_threads_at_one_application_never_conflict() -> None:
    world = Applications()
    delivery = Delivery(processor=ApplicationProcessor(storage=world.memory), locks=KeyedLock())
    events = world.receive(*(copy("COMPLETE", f"10:00:{number:02}", run=f"run {number}") for number in range(48)))
    errors: list[BaseException] = []

    def work(share: list[Any]) -> None:
        try:
            for contribution in share:
                delivery.deliver(contribution, world.memory.get(EVENTS, contribution.blob) or b"")
        except BaseException as error:  # noqa: BLE001 - told to the test
            errors.append(error)

    threads = [threading.Thread(target=work, args=(events[number::8],)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(world.application("app").records) == 48


@pytest.mark.parametrize("application", ["app", "other"], ids=["in its application", "brought to another one"])
def test_a_run_that_can_be_used_after_all_leaves_no_dead_letter(application: str) -> None:
    unusable = rule("unusable", type="fs_path", namespace="file", path="/unusable", to="{host}/{path}")
    world = Runtime(names=Names(rules=(unusable,)))
    world.post(event("run", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/unusable"], application="app"))
    assert len(list(dead_letters(world.storage))) == 1
    world.post(event("run", "FAIL", "09:00:00", inputs=["/a"], outputs=["/b"], application=application))
    for _ in range(3):
        world.sweep(timedelta(minutes=11))
    assert list(dead_letters(world.storage)) == []


def test_an_unreadable_event_is_a_dead_letter_and_its_run_goes_on() -> None:
    world = Applications()
    start, complete = world.receive(START, COMPLETE)
    world.memory.delete_blob(EVENTS, start.blob)
    world.memory.put_new(EVENTS, start.blob, b"no gzip")
    row = world.memory.read(APPLICATIONS, run_id("app"), start.row_key)
    assert row
    world.memory.upsert(APPLICATIONS, Row(partition=row.partition, key=row.key, values={"job": "app"}))
    world.deliver(complete)
    assert world.edges() == [("/a", "/b")]
    assert [letter.key for letter in world.memory.scan(DEAD_LETTERS)] == [start.digest]


def test_a_row_whose_blob_is_lost_is_tried_again() -> None:
    world = Applications()
    start, complete = world.receive(START, COMPLETE)
    world.memory.delete_blob(EVENTS, start.blob)
    row = world.memory.read(APPLICATIONS, run_id("app"), start.row_key)
    assert row
    world.memory.upsert(APPLICATIONS, Row(partition=row.partition, key=row.key, values={"job": "app"}))
    with pytest.raises(ContentLost, match="is missing"):
        world.deliver(complete)


def test_an_event_with_a_long_body_is_read_from_its_blob() -> None:
    world = Applications()
    long = event(
        "run",
        "COMPLETE",
        "10:00:02",
        inputs=["/a"],
        outputs=["/b"],
        application="app",
        sql=f"SELECT '{_noise(200_000)}'",
    )
    world.process(long)
    assert world.edges() == [("/a", "/b")]
    assert world.storage.calls["get"] <= 1


def _noise(length: int, seed: int = 0) -> str:
    return "".join(random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=length))


def test_one_run_with_more_events_than_a_transaction_takes() -> None:
    world = Applications()
    bodies = [copy("RUNNING", f"10:{n // 60:02}:{n % 60:02}", source=f"/s{n % 3}") for n in range(250)]
    world.process(*bodies, copy("COMPLETE", "11:00:00"))
    record = world.record("app", "run")
    assert record
    assert len(record.events) == 251
    assert record.values, "values stand for many events"
    assert not world.application("app").unfolded
    assert len(world.edges()) == 4
    world.storage.calls.clear()
    world.process(copy("RUNNING", "10:30:00.5", source="/late"))
    assert len(world.edges()) == 5
    assert sum(world.storage.calls.values()) <= 6, "no event is read again"


def test_a_run_is_folded_in_a_bounded_number_of_calls_beside_many_that_are_open() -> None:
    world = Applications()
    world.receive(*(copy("START", "10:00:00", run=f"open {number}") for number in range(MAX_UNFOLDED + 100)))
    (complete,) = world.receive(COMPLETE)
    world.deliver(complete)
    assert sum(world.storage.calls.values()) <= 4
    assert world.edges() == [("/a", "/b")]
    world.storage.calls.clear()
    (other,) = world.receive(copy("COMPLETE", "10:00:04", run="open 1"))
    world.deliver(other)
    assert world.storage.calls == {"read": 1, "partition": 1, "transact": 2}
    rows = list(world.memory.partition(APPLICATIONS, run_id("app"), since=EVENT, before="event~"))
    assert len(rows) == MAX_UNFOLDED + 99


def test_an_application_with_a_long_state_writes_only_what_changed() -> None:
    world = Applications()
    bodies = [
        event(
            f"run {number}",
            "COMPLETE",
            "10:00:00",
            application="app",
            inputs=["/in"],
            outputs=[f"/out{number}"],
            columns={_noise(40, number * 1000 + column): [("/in", f"c{column}")] for column in range(100)},
        )
        for number in range(120)
    ]
    world.process(*bodies)
    parts = [row.key for row in world.memory.partition(APPLICATIONS, run_id("app"), since="state|")]
    assert 2 <= len(parts) <= 32
    header = world.memory.read(APPLICATIONS, run_id("app"), HEADER)
    assert header
    assert sum(len(cell) for cell in header.values.values() if isinstance(cell, bytes)) < 200 * 1024, "without contents"
    assert len(world.edges()) == 120
    previous_etags = {row.key: row.etag for row in world.memory.partition(APPLICATIONS, run_id("app"), since="state|")}
    world.process(copy("COMPLETE", "10:00:01", run="small"))
    etags = {row.key: row.etag for row in world.memory.partition(APPLICATIONS, run_id("app"), since="state|")}
    assert sum(previous_etags.get(key) != etag for key, etag in etags.items()) == 1
    assert len(world.edges()) == 121


def test_the_start_of_an_application_that_comes_after_its_runs_counts() -> None:
    world = Applications()
    world.process(COMPLETE)
    assert world.application("app").state.first is None
    world.storage.calls.clear()
    world.process(event("another app", "START", "09:00:00"))
    assert not world.storage.calls, "none of its runs was folded"
    world.process(event("app", "START", "09:00:00"))
    first = world.application("app").state.first
    assert first
    assert first.hour == 9
