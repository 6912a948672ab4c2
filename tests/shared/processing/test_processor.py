"""Processing one run: the cost of an event, retractions, and the writes of an outdated worker."""

import gzip
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from shared.openlineage.decoding import decode
from shared.processing.processor import RunProcessor
from shared.processing.triggers import ContextChanged, TimedOut
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage.port import Row
from shared.storage_layout import EVENTS, StoredEvent, stored_from_blob
from tests.support.events import event, run_id, write
from tests.support.processing import Killed, Watched, contributions, post, settle, state_of, supported_inputs
from tests.support.receiving import receive

if TYPE_CHECKING:
    from shared.records.run_state import RunState


def test_an_event_that_cannot_end_a_run_costs_one_point_read() -> None:
    storage = Watched(MemoryStorage())
    start = post(storage.real, write("a", "app", "10:00", "/a")[0])[0]
    packed = storage.real.get(EVENTS, start.blob)
    assert packed
    assert RunProcessor(storage=storage).receive(start, packed) is False
    assert storage.calls == {"read": 1}


def test_a_late_event_that_was_merged_costs_one_point_read_too() -> None:
    storage = Watched(MemoryStorage())
    start, end = post(storage.real, *write("a", "app", "10:00", "/a"))
    settle(storage.real, end)
    packed = storage.real.get(EVENTS, start.blob)
    assert packed
    assert RunProcessor(storage=storage).receive(start, packed) is False
    assert storage.calls == {"read": 1}


def test_a_run_settles_with_a_bounded_number_of_calls() -> None:
    storage = Watched(MemoryStorage())
    _, end = post(storage.real, *write("a", "app", "10:00", "/a"))
    settle(storage, end)
    # the triggering blob, the other blob, state three times, process reference, contribution, queue entry; application
    # facts, twice
    assert storage.calls == {"get": 2, "insert": 3, "partition": 1, "read": 2, "replace": 2, "upsert_all": 1}


def test_a_late_event_with_new_content_processes_the_run_again() -> None:
    storage = MemoryStorage()
    _, end = post(storage, *write("a", "app", "10:00", "/a"))
    settle(storage, end)
    late = event("a", "RUNNING", "10:00:10", inputs=["/late"], outputs=["/out"], application="app")
    assert settle(storage, post(storage, late)[0])
    assert [
        [asset.name for asset in r.content.inputs] for r in contributions(storage) if r.contribution and r.content
    ] == [["/a", "/late"]]


def test_a_late_failure_retracts_the_runs_contributions() -> None:
    storage = MemoryStorage()
    _, end = post(storage, *write("a", "app", "10:00", "/a"))
    settle(storage, end)
    assert supported_inputs(storage) == ["/a"]
    fail = write("a", "app", "10:01", "/a", end="FAIL")[1]
    settle(storage, post(storage, fail)[0])
    assert supported_inputs(storage) == []
    assert state_of(storage, "a").verdict == "skipped"
    assert state_of(storage, "a").reason == "the run failed"


def test_a_retracted_supporter_leaves_the_contribution_of_another() -> None:
    storage = MemoryStorage()
    for place in post(storage, *write("a", "app", "10:00", "/a"), *write("b", "app", "10:05", "/a")):
        settle(storage, place)
    settle(storage, post(storage, write("b", "app", "10:06", "/a", end="FAIL")[1])[0])
    assert supported_inputs(storage) == ["/a"]


def overtaken(storage: MemoryStorage, *, at: tuple[str, str], dies: bool) -> StoredEvent:
    """A run whose COMPLETE is being settled; at a call (name, table) its FAIL arrives and is settled completely.

    Then the first one goes on: to its end, or to its death right before it enqueues processes.
    """
    _, end = post(storage, *write("a", "app", "10:00", "/a"))
    watched = Watched(storage)

    def fail_comes(name: str, arguments: tuple[Any, ...]) -> None:
        if (name, arguments[0]) == at:
            watched.step_in = lambda *_: None
            settle(storage, post(storage, write("a", "app", "10:01", "/a", end="FAIL")[1])[0])
            if dies:
                watched.step_in = die_at_the_end

    def die_at_the_end(name: str, _arguments: tuple[Any, ...]) -> None:
        if name == "upsert_all":  # the queue entries: the rows before them have been written
            raise Killed

    watched.step_in = fail_comes
    try:
        settle(watched, end)
    except Killed:
        settle(storage, end)  # the host delivers the message again
    return end


@pytest.mark.parametrize("dies", [False, True], ids=["goes on", "dies"])
@pytest.mark.parametrize("at", [("insert", "contributions"), ("partition", "runs"), ("replace", "runs")], ids=str)
def test_an_overtaken_worker_cannot_restore_a_retracted_contribution(at: tuple[str, str], *, dies: bool) -> None:
    storage = MemoryStorage()
    overtaken(storage, at=at, dies=dies)
    assert supported_inputs(storage) == []
    state = state_of(storage, "a")
    assert (state.settled, state.end, state.verdict) == (True, "FAIL", "skipped")


@pytest.mark.parametrize("at", [("upsert_all", "publishqueue"), ("replace", "runs"), ("partition", "runs")], ids=str)
def test_a_concurrent_result_from_the_same_events_is_not_overwritten(at: tuple[str, str]) -> None:
    """Otherwise two workers on one run overwrite each other for as long as storage is slow."""
    storage = MemoryStorage()
    _, end = post(storage, *write("a", "app", "10:00", "/a"))
    watched = Watched(storage)
    settled: list[RunState] = []

    def another_worker_processes_it(name: str, arguments: tuple[Any, ...]) -> None:
        if (name, arguments[0]) == at:
            watched.step_in = lambda *_: None
            assert settle(storage, end)
            settled.append(state_of(storage, "a"))

    watched.step_in = another_worker_processes_it
    assert settle(watched, end), "the other worker may have crashed before it was published"
    assert [state_of(storage, "a")] == settled


def test_a_concurrent_result_with_less_context_is_processed_again() -> None:
    """The mark of completed runs may have been written before."""
    storage = MemoryStorage()
    _, end = post(storage, *write("a", "app", "10:00", "/a"))
    watched = Watched(storage)

    def another_has_less_context(name: str, _: tuple[Any, ...]) -> None:
        if name == "upsert_all":
            watched.step_in = lambda *_: None
            settle(storage, end)
            storage.replace("runs", replace(state_of(storage, "a"), context_digest="less").row(storage))

    watched.step_in = another_has_less_context
    settle(watched, end)
    assert (state_of(storage, "a").settled, state_of(storage, "a").context_digest == "less") == (True, False)


def test_a_context_change_does_not_settle_a_run_whose_worker_died() -> None:
    """Otherwise two runs whose workers died while enqueueing would each be declared settled by the other."""
    storage = MemoryStorage()
    _, end = post(storage, *write("a", "app", "10:00", "/a"))
    watched = Watched(storage)

    def cut_off(name: str, _: tuple[Any, ...]) -> None:
        if name == "upsert_all":
            raise Killed

    watched.step_in = cut_off
    with pytest.raises(Killed):
        settle(watched, end)
    assert RunProcessor(storage=storage).process(run_id("a"), ContextChanged())
    assert not state_of(storage, "a").settled
    assert settle(storage, end)
    assert state_of(storage, "a").settled
    assert RunProcessor(storage=storage).process(run_id("a"), ContextChanged()) is False
    assert state_of(storage, "a").settled


def test_an_unreadable_stored_event_is_a_dead_letter_and_its_run_is_settled() -> None:
    storage = MemoryStorage()
    _, end = post(storage, *write("a", "app", "10:00", "/a"))
    start = decode(write("a", "app", "10:00", "/a")[0])
    broken = StoredEvent(run_id=run_id("a"), time=start.time, type="RUNNING", digest="0" * 32)
    storage.insert("runs", Row(partition=broken.run_id, key=broken.row_key))
    storage.put_new(EVENTS, broken.blob, gzip.compress(b"{"))
    settle(storage, end)
    assert supported_inputs(storage) == ["/a"]
    found = status(storage)
    assert (found.received, found.dead) == (3, 1)
    assert found.reconciles
    assert "JSON" in found.last_errors[0]


def test_a_row_without_a_blob_does_not_count_as_an_event() -> None:
    storage = MemoryStorage()
    start, end = post(storage, *write("a", "app", "10:00", "/a"))
    ghost = StoredEvent(run_id=start.run_id, time=start.time, type="FAIL", digest="0" * 32)
    storage.insert("runs", Row(partition=ghost.run_id, key=ghost.row_key))
    settle(storage, end)
    assert supported_inputs(storage) == ["/a"]
    assert status(storage).received == 2


def test_a_timed_out_run_without_an_end_contributes_with_end_not_seen() -> None:
    storage = MemoryStorage()
    post(storage, write("a", "app", "10:00", "/a")[0])
    RunProcessor(storage=storage).process(run_id("a"), TimedOut())
    assert supported_inputs(storage) == ["/a"]
    (record,) = contributions(storage)
    assert record.content
    assert record.content.end_not_seen


def test_an_end_after_the_timeout_corrects_the_contribution() -> None:
    storage = MemoryStorage()
    start, end = write("a", "app", "10:00", "/a")
    post(storage, start)
    RunProcessor(storage=storage).process(run_id("a"), TimedOut())
    settle(storage, post(storage, end)[0])
    standing_contents = [r.content for r in contributions(storage) if r.contribution and r.content]
    assert [content.end_not_seen for content in standing_contents] == [False]


def many_events() -> list[bytes]:
    options: dict[str, Any] = {"inputs": ["/a"], "outputs": ["/o"], "application": "app"}
    running = [event("a", "RUNNING", f"10:00:00.{number:06}", **options) for number in range(5000)]
    return [*running, write("a", "app", "10:01", "/a")[1]]


def many_sinks() -> list[bytes]:
    sinks = [f"/o{number}" for number in range(1000)]
    return [event("a", "COMPLETE", "10:00:00", inputs=["/a"], outputs=sinks, application="app")]


@pytest.mark.parametrize("make", [many_events, many_sinks], ids=["5,000 events", "1,000 sinks"])
def test_a_very_large_run_settles(make: Callable[[], list[bytes]]) -> None:
    storage, bodies = MemoryStorage(), make()
    *_, end = post_all(storage, bodies)
    settle(storage, end)
    assert state_of(storage, "a").settled
    assert status(storage).in_progress == len(bodies), "it waits for the catalog alone"
    assert set(status(storage).waiting_for) == {"the catalog"}


def post_all(storage: MemoryStorage, bodies: list[bytes]) -> list[StoredEvent]:
    for body in bodies:
        receive(storage, body, most_bytes=10_000_000)
    return [stored_from_blob(fact.name) for fact in storage.blobs(EVENTS)]


def test_events_with_deeply_nested_properties_do_not_block_processing() -> None:
    """Properties nested nearly as deep as the decoder goes, in two events of the same time."""
    storage = MemoryStorage()
    deep = b'{"environment-properties": {"environment-properties": {"x": ' + b"[" * 880 + b"]" * 880 + b"}}}"
    bodies = [write("a", "app", "10:00", source)[1] for source in ("/a", "/b")]
    hostile = [body.replace(b'"facets": {"parent"', b'"facets": ' + deep[:-1] + b', "parent"') for body in bodies]
    assert all(body != before for body, before in zip(hostile, bodies, strict=True))
    places = post_all(storage, hostile)
    for place in places:
        settle(storage, place)
    found = status(storage)
    assert found.reconciles
    assert found.in_progress == 0 or found.waiting_for == {"the catalog": 2}
