"""The sweeper: ends that never come, events that no trigger delivered, and only one sweeper at a time."""

from datetime import timedelta

from shared.pipeline import EVENTS, Sweeping, Swept, status, sweep
from shared.storage import MemoryStorage
from tests.shared.events import event, write
from tests.shared.test_settle import Watched, post, settle, standing

SOON = Sweeping(end_timeout=timedelta(0), grace=timedelta(0))
LATER = Sweeping(end_timeout=timedelta(hours=6), grace=timedelta(0))


def test_a_run_without_an_end_counts_after_the_timeout_when_it_read_and_wrote() -> None:
    storage = MemoryStorage()
    post(storage, write("a", "app", "10:00", "/a")[0])
    assert sweep(storage, LATER) == Swept()
    assert sweep(storage, SOON) == Swept(timed_out=1)
    assert standing(storage) == ["/a"]
    assert sweep(storage, SOON) == Swept(), "decided once"


def test_a_run_that_only_reads_is_skipped_after_the_timeout() -> None:
    storage = MemoryStorage()
    post(storage, event("a", "START", "10:00:00", inputs=["/a"], application="app"))
    assert status(storage).waiting == 1
    sweep(storage, SOON)
    found = status(storage)
    assert found.skipped_because == {"no end was seen, and no lineage": 1}
    assert found.waiting == 0


def test_what_no_trigger_delivered_is_settled() -> None:
    storage = MemoryStorage()
    post(storage, *write("a", "app", "10:00", "/a"))
    assert sweep(storage, LATER) == Swept(undelivered=1)
    assert standing(storage) == ["/a"]
    assert sweep(storage, LATER) == Swept()


def test_a_late_event_that_no_trigger_delivered_is_taken_in() -> None:
    storage = MemoryStorage()
    for place in post(storage, *write("a", "app", "10:00", "/a")):
        settle(storage, place)
    post(storage, write("a", "app", "10:01", "/a", end="FAIL")[1])
    assert sweep(storage, LATER) == Swept(undelivered=1)
    assert standing(storage) == []


def test_a_trigger_is_given_time() -> None:
    storage = MemoryStorage()
    post(storage, *write("a", "app", "10:00", "/a"))
    assert sweep(storage, Sweeping()) == Swept()


def test_a_blob_that_is_no_event_is_a_dead_letter_and_counted() -> None:
    storage = MemoryStorage()
    storage.put_new(EVENTS, "notes.txt", b"hello")
    sweep(storage, SOON)
    found = status(storage)
    assert (found.received, found.dead, found.reconciles) == (1, 1, True)


def test_only_one_sweeps() -> None:
    storage = MemoryStorage()
    post(storage, *write("a", "app", "10:00", "/a"))
    lease = storage.lease("sweeper", 60)
    assert lease
    assert sweep(storage, SOON) == Swept()
    lease.release()
    assert sweep(storage, LATER) == Swept(undelivered=1)


def test_a_blob_without_its_row_is_taken_in() -> None:
    storage = MemoryStorage()
    for place in post(storage, *write("a", "app", "10:00", "/a")):
        storage.delete("runs", place.run_id, place.row_key)
    assert sweep(storage, LATER) == Swept(undelivered=1)
    assert standing(storage) == ["/a"]
    assert sweep(storage, LATER) == Swept()


def test_runs_that_were_decided_are_not_looked_at_again() -> None:
    storage = Watched(MemoryStorage())
    for number in range(30):
        for place in post(storage.real, *write(f"r{number}", "app", "10:00", f"/s{number}")):
            settle(storage.real, place)
    sweep(storage, LATER)
    storage.calls.clear()
    sweep(storage, LATER)
    assert storage.calls["read"] <= 3, "the watermark, and whoever came last"


def test_a_waiting_run_keeps_those_behind_it_in_sight() -> None:
    storage = MemoryStorage()
    post(storage, write("a", "app", "10:00", "/a")[0])
    for place in post(storage, *write("b", "app", "10:00", "/b")):
        settle(storage, place)
    sweep(storage, LATER)
    assert sweep(storage, SOON) == Swept(timed_out=1)
    assert sorted(standing(storage)) == ["/a", "/b"]


def test_a_blob_without_its_row_and_without_an_end_is_decided_in_one_sweep() -> None:
    storage = MemoryStorage()
    for place in post(storage, write("a", "app", "10:00", "/a")[0]):
        storage.delete("runs", place.run_id, place.row_key)
    assert sweep(storage, SOON) == Swept(timed_out=1)
    assert standing(storage) == ["/a"]
