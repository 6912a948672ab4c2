"""The publish queue: marks and entries, what is due and in which order, and how entries leave it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from shared.publishing.context import Published, PublishOptions
from shared.publishing.outcomes import Outcome, Outcomes
from shared.records.publish_queue import (
    ASSET_KIND,
    DOCUMENT_KIND,
    PROCESS_KIND,
    Mark,
    PublishQueue,
    QueueEntry,
    document_marks,
    enqueue,
    leave_marks,
    pause,
    pending_targets,
    put_queued,
    read_queue,
    retry_refused,
)
from shared.storage.memory import MemoryStorage
from shared.storage_layout import PUBLISH_QUEUE, QUEUED_ASSET
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import context_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def mark(
    target: str, application: str = "app", version: int = 1, *, minutes: float = 0, kind: str = PROCESS_KIND
) -> Mark:
    since = NOW - timedelta(minutes=minutes)
    return Mark(kind=kind, target=target, application=application, version=version, since=since, left=since)


def finish(storage: MemoryStorage, items: list[Outcome], *, documents: bool = False) -> None:
    context = context_of(storage, MemoryCatalog(), PublishOptions(documents=documents))
    Outcomes(context=context, published=Published()).finish(items)


def queue(storage: MemoryStorage) -> dict[str, QueueEntry]:
    return {entry.target: entry for entry in read_queue(storage).entries}


def targets(queue: PublishQueue, now: datetime = NOW) -> list[str]:
    return [entry.target for entry in queue.due(now)]


def test_marks_of_a_target_are_one_entry_that_is_due_at_once() -> None:
    storage = MemoryStorage()
    leave_marks(storage, [mark("p", "one", minutes=3), mark("p", "two", minutes=5), mark("a", kind=ASSET_KIND)])
    entries = queue(storage)
    assert entries.keys() == {"p", f"{QUEUED_ASSET}a"}
    assert [one.application for one in entries["p"].marks] == ["one", "two"]
    assert entries["p"].since == NOW - timedelta(minutes=5)
    assert set(targets(read_queue(storage))) == entries.keys()


def test_marks_of_two_versions_are_two_rows_so_that_a_stalled_worker_replaces_none() -> None:
    storage = MemoryStorage()
    leave_marks(storage, [mark("p", version=5)])
    leave_marks(storage, [mark("p", version=1)])
    assert sorted(one.version for one in queue(storage)["p"].marks) == [1, 5]


def test_marks_of_other_kinds_are_left_to_others() -> None:
    storage = MemoryStorage()
    leave_marks(storage, [mark("p", kind=DOCUMENT_KIND)])
    assert read_queue(storage) == PublishQueue()


def test_marks_that_were_seen_do_not_make_an_entry_due_but_a_new_one_does() -> None:
    storage = MemoryStorage()
    leave_marks(storage, [mark("p")])
    put_off = replace(queue(storage)["p"], due=NOW + timedelta(hours=1), attempts=3, isolated=True, error="no")
    assert put_queued(storage, put_off)
    assert targets(read_queue(storage)) == []
    assert targets(read_queue(storage), NOW + timedelta(hours=1)) == ["p"]
    leave_marks(storage, [mark("p", "other")])
    entry = queue(storage)["p"]
    assert (targets(read_queue(storage)), entry.attempts, entry.isolated) == (["p"], 0, False)


def test_no_application_waits_for_another_ones_many_processes() -> None:
    storage = MemoryStorage()
    noisy = [mark(f"noisy{number:02}", "noisy", minutes=60 - number) for number in range(30)]
    leave_marks(storage, [*noisy, mark("calm1", "calm", minutes=2), mark("calm2", "calm", minutes=1)])
    assert targets(read_queue(storage))[:5] == ["noisy00", "calm1", "noisy01", "calm2", "noisy02"]


def test_the_oldest_waits_no_longer_than_the_others() -> None:
    storage = MemoryStorage()
    leave_marks(storage, [mark("b", "one", minutes=1), mark("a", "two", minutes=9), mark("c", "three", minutes=5)])
    assert targets(read_queue(storage)) == ["a", "c", "b"]


def test_nothing_is_due_while_publishing_pauses() -> None:
    storage = MemoryStorage()
    leave_marks(storage, [mark("p")])
    pause(storage, NOW + timedelta(minutes=1), "no answer", 2)
    paused = read_queue(storage)
    assert (targets(paused), paused.why, paused.failures) == ([], "no answer", 2)
    assert targets(paused, NOW + timedelta(minutes=1)) == ["p"]


def test_published_entries_leave_with_their_marks_in_one_transaction() -> None:
    storage = MemoryStorage()
    leave_marks(storage, [mark(f"p{number}", f"app{place}") for number in range(10) for place in range(5)])
    finish(storage, [Outcome.of(entry) for entry in queue(storage).values()])
    assert list(storage.scan(PUBLISH_QUEUE)) == []


def test_what_was_marked_meanwhile_stays_and_the_rest_leaves() -> None:
    storage = MemoryStorage()
    leave_marks(storage, [mark(f"p{number}") for number in range(9)])
    entries = queue(storage)
    leave_marks(storage, [mark("p3")])  # the same row again: another worker, which commits the same version
    enqueue(storage, ["p5"])
    leave_marks(storage, [mark("p7", version=2)])
    finish(storage, [Outcome.of(entry) for entry in entries.values()])
    assert queue(storage).keys() == {"p3", "p5", "p7"}


def test_what_is_looked_at_again_is_not_lost_where_another_publisher_took_it_off_meanwhile() -> None:
    storage = MemoryStorage()
    leave_marks(storage, [mark("q")])
    (entry,) = queue(storage).values()
    finish(storage, [Outcome.of(entry)])
    finish(storage, [Outcome.of(entry, NOW + timedelta(hours=1))])
    assert queue(storage)["q"].due == NOW + timedelta(hours=1)
    (entry,) = queue(storage).values()
    finish(storage, [Outcome.of(entry)])
    finish(storage, [Outcome.of(entry, NOW + timedelta(hours=2))])
    assert queue(storage)["q"].due == NOW + timedelta(hours=2)


def test_what_was_enqueued_again_meanwhile_stays() -> None:
    storage = MemoryStorage()
    enqueue(storage, ["p"])
    (entry,) = queue(storage).values()
    enqueue(storage, ["p"])
    finish(storage, [Outcome.of(entry)])
    assert targets(read_queue(storage), datetime.now(UTC)) == ["p"]


def test_an_entry_with_more_marks_than_a_transaction_holds_leaves_too() -> None:
    storage = MemoryStorage()
    leave_marks(storage, [mark("p", f"app{number:03}") for number in range(250)])
    finish(storage, [Outcome.of(entry) for entry in queue(storage).values()])
    assert queue(storage) == {}


def test_a_revisit_is_no_pending_target() -> None:
    storage = MemoryStorage()
    leave_marks(storage, [mark("p")])
    (entry,) = queue(storage).values()
    finish(storage, [Outcome.of(entry, NOW + timedelta(hours=1))])
    (revisit_entry,) = queue(storage).values()
    assert (revisit_entry.revisit, revisit_entry.due, revisit_entry.marks) == (True, NOW + timedelta(hours=1), ())
    assert pending_targets(storage) == frozenset()
    assert targets(read_queue(storage)) == []


def test_outcomes_leaves_a_mark_for_the_document_only_where_that_is_on() -> None:
    storage = MemoryStorage()
    leave_marks(storage, [mark("p"), mark("a", kind=ASSET_KIND), mark("q")])
    entries = queue(storage)
    finish(storage, [Outcome.of(entries["q"])])
    finish(storage, [Outcome.of(entries["p"]), Outcome.of(entries[f"{QUEUED_ASSET}a"])], documents=True)
    assert [row.key.split("|")[1:3] for row in storage.scan(PUBLISH_QUEUE)] == [
        ["document", "asset:a"],
        ["document", "p"],
    ]
    assert [mark.asset for mark in document_marks(storage)] == ["a", ""]


def test_a_mended_reason_makes_refused_entries_due() -> None:
    storage = MemoryStorage()
    enqueue(storage, ["p", "q"])
    now = datetime.now(UTC)
    for entry, isolated in zip(queue(storage).values(), (True, False), strict=True):
        put_queued(storage, replace(entry, due=now + timedelta(hours=9), isolated=isolated, attempts=1))
    assert retry_refused(storage) == 1
    assert targets(read_queue(storage), datetime.now(UTC)) == ["p"]
