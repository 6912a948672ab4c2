"""Closing, archiving and forgetting: what is over leaves, and nothing counts twice."""

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from shared.events.archive import indexes_below, stored_packed
from shared.events.archive_writer import counted_files
from shared.events.dead_letters import add_dead_letter, dead_letters
from shared.records.publish_queue import enqueue, pending_targets
from shared.records.states import State
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage.port import Row
from shared.storage_layout import APPLICATIONS, ARCHIVE, CONTROL, COUNTS, DEAD_LETTERS, EVENTS, IGNORED, RUN
from shared.sweeping.closing import ClosingOptions
from shared.translation.run.application import JOINED
from tests.support.applications import Applications
from tests.support.events import event, run_id
from tests.support.plans_alone import plan_event

DAYS = 24 * 60


def copy(kind: str, time: str, run: str = "run", source: str = "/a", application: str = "app") -> bytes:
    return event(run, kind, time, inputs=[source], outputs=["/b"], application=application)


def closing_world(memory: MemoryStorage | None = None, **options: Any) -> Applications:
    return Applications(memory=memory or MemoryStorage(), closing=ClosingOptions(quiet=timedelta(hours=48), **options))


def pass_days(world: Applications, days: float) -> Any:
    """Let everything be published, then time pass, then sweep."""
    world.empty_queue()
    return world.sweep(minutes=days * DAYS)


def counts(world: Applications) -> Counter[str]:
    total: Counter[str] = Counter()
    for days in (file.states for file in counted_files(world.memory).values()):
        for states in days.values():
            total.update(states)
    return total


def blobs(world: Applications, container: str) -> list[str]:
    return [fact.name for fact in world.memory.blobs(container)]


def test_a_quiet_run_is_closed_and_its_events_are_archived_and_counted() -> None:
    world = closing_world()
    (start, _) = world.receive(copy("START", "10:00:00"), copy("COMPLETE", "10:00:01"))
    world.sweep(minutes=20)
    assert world.sweep(minutes=60).archived == 0
    assert pass_days(world, 3).archived == 2
    record = world.record("app", "run")
    assert record
    assert record.closed
    assert (record.events, len(record.archived)) == ((), 2)
    assert record.outcome == ("skipped", "it wrote nothing whose source is known"), "never published"
    assert blobs(world, EVENTS) == []
    assert sum(counts(world).values()) == 2
    assert stored_packed(world.memory, start.blob) is not None, "it is read from the archive"
    (runs,) = [runs for _, runs in indexes_below(world.memory, "")]
    assert [run.run_id for run in runs] == [run_id("run")]
    assert world.edges() == [("/a", "/b")]
    assert world.application("app").state.closed


def test_a_later_event_of_a_closed_run_is_skipped_as_closed() -> None:
    world = closing_world()
    world.process(copy("COMPLETE", "10:00:01"))
    pass_days(world, 3)
    world.process(copy("FAIL", "10:00:02"))
    assert world.edges() == [("/a", "/b")]
    record = world.record("app", "run")
    assert record
    assert (len(record.late), record.verdict) == (1, State.CONTRIBUTED)
    pass_days(world, 3)
    assert counts(world)["skipped|closed"] == 1
    assert sum(counts(world).values()) == 2


def test_a_dead_letter_that_a_slow_worker_wrote_of_a_usable_run_is_withdrawn() -> None:
    world = closing_world()
    (complete,) = world.receive(copy("COMPLETE", "10:00:01"))
    world.deliver(complete)
    add_dead_letter(world.storage, complete.blob, complete.digest, KeyError("host"))
    assert status(world.memory).dead == 0
    assert pass_days(world, 3).archived == 1
    assert list(dead_letters(world.memory)) == []


def test_a_run_is_not_closed_while_an_event_of_it_lies_in_another_application() -> None:
    world = closing_world()
    world.process(copy("START", "10:00:00"), copy("COMPLETE", "10:00:01"))
    world.empty_queue()
    world.now += timedelta(minutes=2 * DAYS - 5)
    world.receive(copy("FAIL", "10:00:02", application="other"))
    world.sweep(minutes=7)
    record = world.record("app", "run")
    assert record
    assert record.closed is None
    world.sweep(minutes=20)
    assert world.edges() == []


def test_no_run_is_closed_while_a_late_event_of_its_application_is_not_folded() -> None:
    """It arrives once the sweep has looked at its application, before the runs would be closed."""
    world = closing_world()
    world.process(copy("START", "10:00:00"), copy("COMPLETE", "10:00:01"), copy("COMPLETE", "10:00:01", "other", "/c"))
    world.empty_queue()

    def arrive(_name: str, arguments: tuple[Any, ...]) -> None:
        if arguments[0] == DEAD_LETTERS:
            world.storage.before = lambda _name, _arguments: None
            world.receive(copy("FAIL", "10:00:02"))

    world.storage.before = arrive
    world.sweep(minutes=3 * DAYS)
    records = [world.record("app", run) for run in ("run", "other")]
    assert [record.closed for record in records if record] == [None, None]
    world.sweep(minutes=20)
    assert world.edges() == [("/c", "/b")]
    pass_days(world, 3)
    record = world.record("app", "other")
    assert record
    assert record.closed


def test_a_run_is_not_closed_before_its_processes_are_published() -> None:
    world = closing_world()
    world.process(copy("COMPLETE", "10:00:01"))
    assert world.sweep(minutes=3 * DAYS).archived == 0
    record = world.record("app", "run")
    assert record
    assert record.closed is None
    assert pass_days(world, 1).archived == 1


def test_a_plan_alone_is_closed_after_the_run_with_which_it_counts() -> None:
    """So that the run keeps the plan with each of its later events."""
    world = closing_world()
    plan = plan_event(run_id("plan"), "2026-11-21T10:00:01Z", application=run_id("app"), source="/plan", sink="/b")
    world.process(copy("COMPLETE", "10:00:01"), plan)

    def closed() -> list[bool]:
        records = [world.record("app", name) for name in ("run", "plan")]
        return [bool(record and record.closed) for record in records]

    pass_days(world, 3)
    assert closed() == [True, False]
    pass_days(world, 1)
    assert closed() == [True, True]
    record = world.record("app", "plan")
    assert record
    assert record.outcome == ("skipped", JOINED)
    assert sorted(world.edges()) == [("/a", "/b"), ("/plan", "/b")]
    assert world.application("app").state.closed


def test_the_end_of_an_application_that_ran_for_days_counts_although_its_start_is_closed() -> None:
    world = closing_world()
    world.process(event("app", "START", "10:00:00"), copy("COMPLETE", "10:00:01"))
    world.sweep(minutes=400, end_timeout=timedelta(hours=6))
    pass_days(world, 3)
    record = world.record("app", "app")
    assert record
    assert record.closed
    world.empty_queue()
    world.process(event("app", "COMPLETE", "23:00:00"))
    assert world.application("app").state.ended == "COMPLETE"
    assert pending_targets(world.memory), "what it contributes may supersede older applications now"
    pass_days(world, 3)
    assert counts(world)["skipped|closed"] == 1


def test_an_application_below_a_task_is_forgotten_too() -> None:
    world = closing_world()
    world.process(
        event("spark", "START", "10:00:00", application="task", job="app"),
        copy("COMPLETE", "10:00:05", application="spark"),
        event("spark", "COMPLETE", "10:00:09", application="task", job="app"),
        event("task", "COMPLETE", "10:00:10"),
    )
    assert world.record("spark", "spark")
    for days in (3, 31, 2, 2):
        pass_days(world, days)
    assert list(world.memory.scan(APPLICATIONS)) == []


def test_an_application_that_only_refers_to_a_run_of_another_one_is_forgotten_too() -> None:
    world = closing_world()
    world.process(copy("START", "10:00:00"), copy("COMPLETE", "10:00:05", application="other"))
    world.sweep(minutes=11)
    assert world.record("other", "run")
    for days in (3, 31, 2, 2):
        pass_days(world, days)
    assert list(world.memory.scan(APPLICATIONS)) == []
    assert sum(counts(world).values()) == 2


def test_an_application_refers_to_a_run_of_another_one_until_that_is_closed() -> None:
    world = closing_world()
    world.process(copy("START", "10:00:00"), copy("COMPLETE", "10:00:05", application="other"))
    world.process(event("own", "COMPLETE", "10:00:06", inputs=["/a"], outputs=["/own"], application="other"))
    world.sweep(minutes=20)
    processes = world.application("app").state.contributions(run_id("app"))
    for days in (3, 31):
        world.empty_queue()
        enqueue(world.memory, processes)
        world.sweep(minutes=days * DAYS)
    assert not world.record("other", "own")
    assert world.record("other", "run"), "that run waits to be published"
    assert pass_days(world, 1).archived == 2, "and is closed once it is"
    pass_days(world, 31)
    assert not world.record("other", "run")


def test_an_event_that_is_sent_again_after_it_was_archived_counts_once() -> None:
    world = closing_world()
    world.process(copy("COMPLETE", "10:00:01"))
    pass_days(world, 3)
    world.process(copy("COMPLETE", "10:00:01"))
    pass_days(world, 3)
    pass_days(world, 3)
    assert sum(counts(world).values()) == 1
    assert blobs(world, EVENTS) == []


def test_an_open_run_keeps_its_events() -> None:
    world = closing_world()
    world.process(copy("START", "10:00:00"))
    assert world.sweep(minutes=10 * DAYS, end_timeout=timedelta(days=100)).archived == 0
    assert len(blobs(world, EVENTS)) == 1


def test_ignored_events_are_archived_apart() -> None:
    world = closing_world()
    for minute in range(3):
        world.memory.put_new(IGNORED, f"2026/11/21/10/no-reason/{minute:032x}.json.gz", b"")
    assert pass_days(world, 3).archived == 3
    assert counts(world) == {"skipped|no reason": 3}
    assert blobs(world, IGNORED) == []


def test_records_headers_and_open_entries_go_in_time() -> None:
    world = closing_world()
    world.process(copy("COMPLETE", "10:00:01"))
    pass_days(world, 3)
    assert world.record("app", "run")
    pass_days(world, 31)
    assert world.record("app", "run") is None
    pass_days(world, 2)
    pass_days(world, 2)
    assert list(world.memory.scan(APPLICATIONS)) == [], "no process has a part of it: nothing was published here"
    assert list(world.memory.partition(CONTROL, "closed")) == []
    assert sum(counts(world).values()) == 1, "the counts stay"


def test_an_application_whose_content_is_lost_keeps_no_other_from_being_forgotten() -> None:
    world = closing_world()
    world.process(copy("COMPLETE", "10:00:01"), copy("COMPLETE", "10:00:01", run="other", application="other"))
    pass_days(world, 3)
    first = min(map(run_id, ("app", "other")))
    lost_row = Row(partition=first, key=f"{RUN}lost", values={"blob": "gone.json.gz"})
    world.memory.upsert(APPLICATIONS, lost_row)
    for days in (31, 2, 2, 2):
        pass_days(world, days)
    assert {row.partition for row in world.memory.scan(APPLICATIONS)} == {first}
    world.memory.delete(APPLICATIONS, lost_row.partition, lost_row.key)
    for _ in range(4):
        pass_days(world, 2)
    assert list(world.memory.scan(APPLICATIONS)) == [], "once it is mended it is forgotten too"


def test_the_archive_goes_with_its_index_and_counts() -> None:
    world = closing_world(keep=timedelta(days=100))
    world.process(copy("COMPLETE", "10:00:01"))
    pass_days(world, 3)
    assert len(blobs(world, ARCHIVE)) == 2
    assert pass_days(world, 101).deleted == 1
    assert blobs(world, ARCHIVE) == []
    assert not counts(world)


def test_retention_leaves_what_an_immutability_policy_keeps_until_it_lets_go(caplog: pytest.LogCaptureFixture) -> None:
    class Immutable(MemoryStorage):
        """The archive must not change for 150 days, as Azure's policy of a container refuses it."""

        def delete_blob(self, container: str, name: str) -> bool:
            facts = {blob.name: blob for blob in self.blobs(container)}
            is_kept = container == ARCHIVE and name in facts and self.now() - facts[name].arrived < timedelta(days=150)
            return not is_kept and super().delete_blob(container, name)

    caplog.set_level("INFO", "throughline.archive")
    world = closing_world(keep=timedelta(days=100), memory=Immutable())
    world.process(copy("COMPLETE", "10:00:01"))
    pass_days(world, 3)
    stored, counted = blobs(world, ARCHIVE), counts(world)
    assert pass_days(world, 101).deleted == 0
    assert (blobs(world, ARCHIVE), counts(world)) == (stored, counted), "all or nothing"
    assert "kept in the archive by an immutability policy files=1" in caplog.messages
    assert pass_days(world, 50).deleted == 1
    assert not blobs(world, ARCHIVE)
    assert not counts(world)


def test_counts_stay_with_a_file_that_a_policy_keeps_although_its_index_is_gone() -> None:
    class FileKept(MemoryStorage):
        def delete_blob(self, container: str, name: str) -> bool:
            return not name.endswith(".jsonl.gz") and super().delete_blob(container, name)

    world = closing_world(keep=timedelta(days=100), memory=FileKept())
    world.process(copy("COMPLETE", "10:00:01"))
    pass_days(world, 3)
    counted = counts(world)
    assert pass_days(world, 101).deleted == 0
    assert counts(world) == counted


def test_a_job_that_runs_for_a_year_leaves_a_bounded_number_of_rows() -> None:
    world = closing_world()
    sizes = []
    for day in range(120):
        stamp = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T"
        name = f"app {day}"
        world.process(
            event(name, "START", f"{stamp}10:00:00"),
            event(f"run {day}", "COMPLETE", f"{stamp}10:00:01", inputs=["/a"], outputs=["/b"], application=name),
            event(name, "COMPLETE", f"{stamp}10:00:02"),
        )
        pass_days(world, 1)
        world.sweep(minutes=11)
        sizes.append(len(list(world.memory.scan(APPLICATIONS))) + len(list(world.memory.scan(CONTROL))))
    assert max(sizes[60:]) <= 1.1 * max(sizes[40:60]), "flat after records are old enough to go"


class _DiedError(BaseException):
    pass


def test_a_sweeper_that_lost_its_lease_counts_events_whose_file_another_one_has_written() -> None:
    world = closing_world()
    world.process(copy("COMPLETE", "10:00:01"))
    world.sweep(minutes=60)
    world.empty_queue()
    successor = Applications(memory=world.memory, now=world.now, closing=world.closing)

    def die_before_the_counts(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "upsert" and arguments[0] == COUNTS:
            raise _DiedError

    def overtake(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "blobs" and arguments[0] == ARCHIVE:
            world.storage.before = lambda _name, _arguments: None
            successor.now = world.now
            with suppress(_DiedError):
                successor.sweep(minutes=2)

    successor.storage.before = die_before_the_counts
    world.storage.before = overtake
    world.sweep(minutes=3 * DAYS)
    assert blobs(world, EVENTS) == []
    assert sum(counts(world).values()) == 1


@pytest.mark.parametrize("steps", range(1, 40))
def test_a_death_at_any_call_of_archiving_loses_and_doubles_nothing(steps: int) -> None:
    world = closing_world()
    world.process(
        copy("START", "10:00:00"),
        copy("COMPLETE", "10:00:01"),
        copy("COMPLETE", "11:30:00", run="other", source="/c", application="second"),
    )
    world.sweep(minutes=60)
    world.empty_queue()
    countdown = [steps]

    def die(_name: str, _arguments: Any) -> None:
        countdown[0] -= 1
        if not countdown[0]:
            raise _DiedError

    world.storage.before = die
    with suppress(_DiedError):
        world.sweep(minutes=3 * DAYS)
    world.storage.before = lambda _name, _arguments: None
    for _ in range(6):
        pass_days(world, 1)
    assert blobs(world, EVENTS) == []
    assert sum(counts(world).values()) == 3
    records = [record for app in ("app", "second") for record in world.application(app).records.values()]
    assert sum(len(record.archived) for record in records) == 3
    assert world.edges() == [("/a", "/b"), ("/c", "/b")]
    for days in (31, 2, 2):
        pass_days(world, days)
    assert list(world.memory.scan(APPLICATIONS)) == [], "all of it is forgotten in time"
