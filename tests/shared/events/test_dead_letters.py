"""Dead letters: the record of an event that cannot be used, and the removal of a letter."""

import gzip
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from azure.storage.blob import BlobServiceClient

from shared.applications.partition import read_record
from shared.applications.processor import ApplicationProcessor, FoldRequest
from shared.applications.state import RunRecord
from shared.errors import WriteConflict
from shared.events.dead_letters import DeadLetter, add_dead_letter, dead_letters, discard
from shared.maintenance.replay import LetterOutcome, ReplayedLetter, replay_application, replay_dead_letters
from shared.naming.names import BUILT_IN, Names
from shared.publishing.context import PublishOptions
from shared.reading.processes import recorded_processes
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage.port import Storage
from shared.storage_layout import APPLICATIONS, EVENTS, StoredEvent
from shared.sweeping.sweep import SweepOptions, sweep
from tests.support.azurite import on_azurite
from tests.support.dead_letters import RULE_WITH_UNKNOWN_GROUP, Stepped, replace_blob
from tests.support.events import event, run_id, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from throughline.local.azurite import Azurite

START, END = write("a", "app", "10:00", "/a")


def one(storage: Storage) -> DeadLetter:
    (letter,) = dead_letters(storage)
    return letter


def letters_of(
    storage: Any, letter_filter: Callable[[DeadLetter], bool] = lambda _: True, names: Names = BUILT_IN
) -> list[ReplayedLetter]:
    return list(replay_dead_letters(ApplicationProcessor(storage=storage, names=names), letter_filter))


def replayed_application(storage: Storage, names: Names = BUILT_IN) -> None:
    replay_application(ApplicationProcessor(storage=storage, names=names), run_id("app"))


def record_of(storage: Storage) -> RunRecord:
    record = read_record(storage, run_id("app"), run_id("a"))
    assert record
    return record


def damaged(storage: MemoryStorage, payload: bytes) -> StoredEvent:
    """A run whose START was damaged before it was folded. The START's place."""
    start, end = post(storage, START, END)
    replace_blob(storage, start, payload)
    deliver_event(storage, end)
    return start


def spoiled(payload: bytes) -> bytes:
    """A good header, followed by bytes that are no compressed text."""
    return payload[:12] + bytes(byte ^ 0x5A for byte in payload[12:40]) + payload[40:]


UNUSABLE: dict[str, tuple[bytes, str, str]] = {
    "spoiled inside": (spoiled(gzip.compress(START)), "damaged bytes", "error: Error -3 while decompressing data"),
    "not gzip": (b"hello", "damaged bytes", "BadGzipFile"),
    "cut off": (gzip.compress(START)[:-20], "damaged bytes", "EOFError"),
    "no checksum": (gzip.compress(START)[:-8] + bytes(8), "damaged bytes", "CRC check failed"),
    "not JSON": (gzip.compress(b"{"), "unreadable event", "Unreadable: The body is not JSON"),
    "not an event": (gzip.compress(b"{}"), "unreadable event", "Unreadable: Object missing required field `eventTime`"),
}


@pytest.mark.parametrize(("payload", "reason", "error"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_letter_has_the_known_facts_of_the_event(payload: bytes, reason: str, error: str) -> None:
    storage = MemoryStorage()
    begun = datetime.now(UTC)
    start = damaged(storage, payload)
    letter = one(storage)
    assert (letter.digest, letter.blob, letter.place) == (start.digest, start.blob, start)
    assert (letter.reason, letter.count, letter.job) == (reason, 1, "app.adaptive_spark_plan.out")
    assert error in letter.error
    assert begun <= letter.first == letter.last <= datetime.now(UTC)
    assert letter.discarded is None


@pytest.mark.parametrize("payload", [b"no gzip", gzip.compress(b"{}")], ids=["damaged", "unreadable"])
def test_a_dead_letter_of_a_long_run_is_counted_once_each_time_that_the_run_is_processed(payload: bytes) -> None:
    storage = MemoryStorage()
    times = [f"10:{second // 60:02}:{second % 60:02}" for second in range(300)]
    bodies = [event("a", "RUNNING", time, inputs=["/a"], outputs=["/b"], application="app") for time in times]
    *places, end = post(storage, *bodies, END)
    replace_blob(storage, places[5], payload)
    deliver_event(storage, end)
    assert (one(storage).digest, one(storage).count) == (places[5].digest, 1)
    assert len(record_of(storage).digests) == 301
    replayed_application(storage)
    assert one(storage).count == 2


def test_a_dead_letter_found_again_is_counted() -> None:
    storage = MemoryStorage()
    damaged(storage, b"hello")
    dead_letter_before = one(storage)
    replayed_application(storage)
    dead_letter_after = one(storage)
    assert (dead_letter_after.count, dead_letter_after.first) == (2, dead_letter_before.first)
    assert dead_letter_after.last > dead_letter_before.last


def test_a_blob_with_a_foreign_name_is_recorded_once_by_several_sweeps() -> None:
    storage = MemoryStorage()
    storage.put_new(EVENTS, "notes.txt", b"hello")
    sweep(storage, SweepOptions())
    letter_before = one(storage)
    assert (letter_before.reason, letter_before.place, letter_before.job) == ("foreign name", None, "")
    sweep(storage, SweepOptions())
    assert one(storage) == letter_before


@pytest.mark.parametrize(("payload", "reason"), [case[:2] for case in UNUSABLE.values()], ids=UNUSABLE)
def test_a_dead_letter_is_removed_once_its_repaired_event_is_used(payload: bytes, reason: str) -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    start, end = post(storage, *write("a", "app", "10:00", "/a", end="OTHER"))
    replace_blob(storage, end, payload)
    processor = ApplicationProcessor(storage=storage)
    processor.fold(run_id("app"), FoldRequest(timed_out=frozenset({run_id("a")})))
    assert one(storage).reason == reason
    replace_blob(storage, end, gzip.compress(write("a", "app", "10:00", "/b", end="OTHER")[1]))
    (replayed,) = letters_of(storage)
    assert (replayed.outcome, replayed.now) == (LetterOutcome.USED, "contributed")
    assert list(dead_letters(storage)) == []
    assert record_of(storage).digests == {start.digest, end.digest}
    assert publish(storage, catalog, PublishOptions()).written == 1
    (process,) = catalog.processes.values()
    assert [key[1] for key in process.inputs] == ["file:///a", "file:///b"]
    current_status = status(storage)
    assert (current_status.published, current_status.dead, current_status.reconciles) == (2, 0, True)


def test_a_dead_letter_that_fails_again_stays_with_a_higher_count() -> None:
    storage = MemoryStorage()
    start = damaged(storage, b"hello")
    replace_blob(storage, start, gzip.compress(b"{"))
    for count in (2, 3):
        (replayed,) = letters_of(storage)
        assert replayed.outcome is LetterOutcome.FAILED
        assert replayed.letter == one(storage)
        assert replayed.letter.count == count
        assert replayed.letter.reason == "unreadable event", "why it failed last"
    publish(storage, MemoryCatalog(), PublishOptions())
    (recorded,) = recorded_processes(storage, PublishOptions())
    assert [asset.name for asset in recorded.process.inputs] == ["/a"], "the rest of the run stays in use"


def unusable_run(storage: MemoryStorage) -> list[StoredEvent]:
    places = post(storage, START, END)
    replayed_application(storage, RULE_WITH_UNKNOWN_GROUP)
    return places


def test_a_run_that_cannot_be_translated_is_folded_once_for_all_of_its_letters() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    places = unusable_run(storage)
    letters = list(dead_letters(storage))
    assert {letter.reason for letter in letters} == {"unusable run"}
    assert {letter.error for letter in letters} == {"KeyError: 'host'"}
    assert {letter.digest for letter in letters} == {place.digest for place in places}
    assert (record_of(storage).verdict, status(storage).dead) == ("dead", 2)
    second_replays = letters_of(storage, names=RULE_WITH_UNKNOWN_GROUP)
    assert [(replayed.outcome, replayed.letter.count) for replayed in second_replays] == [
        (LetterOutcome.FAILED, 2),
        (LetterOutcome.FAILED, 2),
    ]
    meant = places[1].digest
    replayed = letters_of(storage, lambda letter: letter.digest == meant)
    assert [replayed.outcome for replayed in replayed] == [LetterOutcome.USED, LetterOutcome.USED], (
        "both leave, though one was asked for"
    )
    assert list(dead_letters(storage)) == []
    publish(storage, catalog, PublishOptions())
    assert (status(storage).published, catalog.writes) == (2, 2)
    second_replays = letters_of(storage)
    publish(storage, catalog, PublishOptions())
    assert (second_replays, catalog.writes) == ([], 2)


def test_a_dead_letter_recorded_again_during_its_replay_stays() -> None:
    """Another worker, which read the damaged bytes before the repair, writes its result late."""
    storage = MemoryStorage()
    start = damaged(storage, b"hello")
    replace_blob(storage, start, gzip.compress(START))
    watched = Stepped(storage)

    def late(name: str, arguments: tuple[Any, ...]) -> None:
        if (name, arguments[0]) == ("delete", "deadletters"):
            watched.step_in = lambda *_: None
            add_dead_letter(storage, start.blob, start.digest, EOFError("read long ago"))

    watched.step_in = late
    assert [replayed.outcome for replayed in letters_of(watched)] == [LetterOutcome.FAILED]
    assert one(storage).count == 2
    assert [replayed.outcome for replayed in letters_of(storage)] == [LetterOutcome.USED]


def test_a_replay_killed_at_any_call_loses_no_dead_letter() -> None:
    """The replay is killed at each of its calls in turn; a second one gives the same result."""
    calls = 0
    while True:
        storage = MemoryStorage()
        start = damaged(storage, b"hello")
        replace_blob(storage, start, gzip.compress(START))
        watched, remaining_calls = Stepped(storage), iter(range(calls))

        def dies(_name: str, _arguments: tuple[Any, ...], left: Iterator[int] = remaining_calls) -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt

        watched.step_in = dies
        try:
            letters_of(watched)
        except KeyboardInterrupt:
            assert one(storage).digest == start.digest
            letters_of(storage)
        else:
            break
        finally:
            assert list(dead_letters(storage)) == []
            assert record_of(storage).digests >= {start.digest}
        calls += 1
    assert calls > 10


def test_a_letter_whose_blob_is_missing_stays() -> None:
    storage = MemoryStorage()
    start = damaged(storage, b"hello")
    del storage._blobs[EVENTS][start.blob]
    assert [replayed.outcome for replayed in letters_of(storage)] == [LetterOutcome.MISSING]
    assert one(storage).digest == start.digest


def test_the_dead_letter_of_a_foreign_name_leaves_once_the_blob_has_its_right_name() -> None:
    storage = MemoryStorage()
    start, end = post(storage, START, END)
    payload = storage.get(EVENTS, start.blob)
    assert payload
    del storage._blobs[EVENTS][start.blob]
    storage.put_new(EVENTS, "copy of an event", payload)
    sweep(storage, SweepOptions())
    deliver_event(storage, end)
    (replayed,) = letters_of(storage)
    assert (replayed.outcome, replayed.letter.count) == (LetterOutcome.FAILED, 2)
    storage.put_new(EVENTS, start.blob, payload)
    del storage._blobs[EVENTS]["copy of an event"]
    assert [replayed.outcome for replayed in letters_of(storage)] == [LetterOutcome.GONE]
    assert list(dead_letters(storage)) == []


def test_replaying_a_dead_letter_also_records_an_end_that_no_trigger_delivered() -> None:
    storage = MemoryStorage()
    start, _ = post(storage, START, END)
    replace_blob(storage, start, b"hello")
    add_dead_letter(storage, start.blob, start.digest, EOFError("found by the first reader"))
    replace_blob(storage, start, gzip.compress(START))
    assert [replayed.outcome for replayed in letters_of(storage)] == [LetterOutcome.USED]
    assert record_of(storage).ended == "COMPLETE"


def test_a_discarded_letter_stays_discarded_when_found_again_and_leaves_when_used() -> None:
    storage = MemoryStorage()
    start = damaged(storage, b"hello")
    first = discard(storage, start.digest)
    assert first
    assert first.discarded
    assert discard(storage, start.digest) == first, "once is enough"
    replayed_application(storage)
    assert (one(storage).discarded, one(storage).count) == (first.discarded, 2)
    replace_blob(storage, start, gzip.compress(START))
    assert [replayed.outcome for replayed in letters_of(storage)] == [LetterOutcome.USED]
    assert discard(storage, start.digest) is None, "there is nothing to discard any more"


def test_letters_are_found_by_the_beginning_of_their_ids() -> None:
    storage = MemoryStorage()
    for digest in ("aa01", "aa02", "ab00", "fff0"):
        add_dead_letter(storage, "somewhere", digest.ljust(32, "0"), ValueError("x"))
    assert [letter.digest[:4] for letter in dead_letters(storage, "aa")] == ["aa01", "aa02"]
    assert [letter.digest[:4] for letter in dead_letters(storage, "fff")] == ["fff0"]
    assert len(list(dead_letters(storage))) == 4


def test_a_letter_that_others_keep_changing_stays() -> None:
    storage = MemoryStorage()
    start = damaged(storage, b"hello")
    watched = Stepped(storage)

    def meddle(name: str, arguments: tuple[Any, ...]) -> None:
        if (name, arguments[0]) == ("replace", "deadletters"):
            storage.upsert("deadletters", one(storage).row())

    watched.step_in = meddle
    with pytest.raises(WriteConflict):
        add_dead_letter(watched, start.blob, start.digest, EOFError())
    replace_blob(storage, start, gzip.compress(b"{"))
    assert [replayed.outcome for replayed in letters_of(watched)] == [LetterOutcome.FAILED]


@pytest.mark.azurite
def test_a_dead_letter_is_recorded_repaired_and_replayed_on_azurite(azurite: Azurite) -> None:
    """The whole way on real storage: damaged, recorded, found again, repaired, replayed, published."""
    blobs = BlobServiceClient.from_connection_string(azurite.connection_string)
    storage = on_azurite(azurite.connection_string)
    catalog = MemoryCatalog()
    start, end = post(storage, *write("on azurite", "app", "10:00", "/a", sink="/azurite"))

    def put_blob(payload: bytes) -> None:
        blobs.get_blob_client(EVENTS, start.blob).upload_blob(payload, overwrite=True)
        row = storage.read(APPLICATIONS, start.application, start.row_key)
        if row:  # which has the event too
            values = {name: value for name, value in row.values.items() if name != "packed"}
            storage.replace(APPLICATIONS, replace(row, values=values))

    def mine() -> list[DeadLetter]:
        return [letter for letter in dead_letters(storage) if letter.digest == start.digest]

    put_blob(b"hello")
    deliver_event(storage, end)
    assert [(letter.reason, letter.count) for letter in mine()] == [("damaged bytes", 1)]
    replayed = letters_of(storage, lambda letter: letter.digest == start.digest)
    assert [(replayed.outcome, replayed.letter.count) for replayed in replayed] == [(LetterOutcome.FAILED, 2)]
    dead_letter = discard(storage, start.digest)
    assert dead_letter
    assert mine() == [dead_letter]
    put_blob(gzip.compress(write("on azurite", "app", "10:00", "/more", sink="/azurite")[0]))
    replayed = letters_of(storage, lambda letter: letter.digest == start.digest)
    assert [replayed.outcome for replayed in replayed] == [LetterOutcome.USED]
    assert mine() == []
    assert publish(storage, catalog, PublishOptions()).error == ""
    inputs = [
        key[1]
        for process in catalog.processes.values()
        if process.qualified_name.endswith("/azurite")
        for key in process.inputs
    ]
    assert inputs == ["file:///a", "file:///more"]


def test_a_discarded_event_counts_as_skipped() -> None:
    storage = MemoryStorage()
    damaged(storage, b"hello")
    storage.put_new(EVENTS, "notes.txt", b"hello")
    sweep(storage, SweepOptions())
    for letter in list(dead_letters(storage)):
        discard(storage, letter.digest)
    current_status = status(storage)
    assert (current_status.dead, current_status.skipped_because, current_status.reconciles) == (
        0,
        {"discarded": 2},
        True,
    )
