"""Archiving and retention with crashes, concurrent workers and random steps: every event counts once."""

import gzip
import random
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from shared.catalog.memory import MemoryCatalog
from shared.events.archive_index import archived_of, lines_in
from shared.events.archiver import archive
from shared.events.stored_runs import RunFilter
from shared.maintenance.replay import ReplayedRun, ReplayOutcome, ReplayPosition, replay
from shared.processing.processor import RunProcessor
from shared.processing.sweeper import SweepOptions, sweep
from shared.processing.triggers import ContextChanged, Replayed
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage.port import Row
from shared.storage_layout import ARCHIVE, EVENTS, IGNORED
from tests.support.archive_failures import SMALL, Failing
from tests.support.archiving import AT_ONCE, PUBLISHING, archived_lines, archiving, counts, names, post_and_settle
from tests.support.damages import lose_state, put_blob
from tests.support.events import event, run_id, write
from tests.support.histories import history
from tests.support.processing import Killed, Watched, state_of, supported_inputs
from tests.support.publishing import publish
from tests.support.receiving import receive


def a_world() -> tuple[MemoryStorage, list[bytes]]:
    """Settled and published runs of several hours, an open run, an ignored event, and a late event."""
    storage = MemoryStorage()
    bodies = [
        *write("a", "app", "10:00", "/a"),
        *write("b", "app", "10:30", "/b", sink="/two"),
        event("a", "RUNNING", "11:00:00", inputs=["/late"], outputs=["/out"], application="app"),
        *write("c", "app", "11:10", "/c", sink="/three"),
        event("i", "RUNNING", "10:00:00", application="app"),
        event("open", "START", "10:00:00", inputs=["/o"], application="app"),
    ]
    for body in bodies:
        receive(storage, body, most_bytes=1_000_000)
    sweep(storage, SweepOptions(grace=timedelta(0), archiving=archiving(after=None)))
    publish(storage, MemoryCatalog(), PUBLISHING)
    return storage, bodies


def stored_bodies(storage: MemoryStorage) -> Iterable[bytes]:
    """Every event that is stored anywhere, as often as it is."""
    for container in (EVENTS, IGNORED):
        for name in names(storage, container):
            yield gzip.decompress(storage.get(container, name) or b"")
    for line in archived_lines(storage):
        yield line.raw()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_every_event_counts_once_when_archiving_is_killed_at_any_call_and_continued(after: bool) -> None:
    storage, bodies = a_world()
    expected = counts(storage)
    calls = 0
    while True:
        calls += 1
        storage, _ = a_world()
        try:
            archive(Failing(storage, calls, after=after), SMALL)
        except Killed:
            assert counts(storage) == expected, f"after {calls} calls"
            assert set(stored_bodies(storage)) == set(bodies)
        else:
            break
        archive(storage, SMALL)
        assert counts(storage) == expected
        assert sorted(stored_bodies(storage)) == sorted(bodies), f"each once, after {calls} calls"
        assert len(names(storage, EVENTS)) == 1, "the open one"
        assert storage.read("control", "archive", "pending") is None
    assert calls > 60


def interrupted_with_a_damaged_file(before: str) -> tuple[MemoryStorage, list[bytes]]:
    """A world whose archiving was killed before its first call of this name for an event, and whose file is cut off."""
    storage, bodies = a_world()
    watched = Watched(storage)

    def kill(name: str, arguments: tuple[Any, ...]) -> None:
        if name == before and arguments[0] in {"runs", EVENTS}:
            raise Killed

    watched.step_in = kill
    with suppress(Killed):
        archive(watched, SMALL)
    (file,) = names(storage, ARCHIVE)
    put_blob(storage, ARCHIVE, file, (storage.get(ARCHIVE, file) or b"")[:-9])
    return storage, bodies


@pytest.mark.parametrize("before", ["upsert", "delete_blob"])
def test_a_damaged_file_of_an_interrupted_batch_is_written_again_whenever_that_is_killed(before: str) -> None:
    for calls in count(1):
        storage, bodies = interrupted_with_a_damaged_file(before)
        expected = counts(a_world()[0])
        with suppress(Killed):
            archive(Failing(storage, calls, after=calls % 2 == 0), SMALL)
        has_ended = storage.read("control", "archive", "pending") is None and len(names(storage, EVENTS)) == 1
        archive(storage, SMALL)
        assert sorted(stored_bodies(storage)) == sorted(bodies), f"each once, after {calls} calls"
        assert counts(storage) == expected
        assert storage.read("control", "archive", "pending") is None
        for run in ("a", "b", "c"):
            assert [line.run for each in archived_of(storage, run_id(run)) for line in lines_in(storage, each)]
        if has_ended:
            break
    assert calls > 60


def test_a_damaged_file_stays_when_blobs_of_its_batch_are_deleted_already_and_retention_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    storage, _ = interrupted_with_a_damaged_file("delete_blob")
    (damaged,) = names(storage, ARCHIVE)
    whole, _ = a_world()
    archive(whole, SMALL)
    *_, other = names(whole, ARCHIVE)
    storage.put_new(ARCHIVE, other, whole.get(ARCHIVE, other) or b"")
    storage.delete_blob(EVENTS, names(storage, EVENTS)[0])
    left = names(storage, EVENTS)
    assert archive(storage, archiving(keep=timedelta(0), now=lambda: datetime.now(UTC) + timedelta(days=1)))["deleted"]
    assert (names(storage, ARCHIVE), names(storage, EVENTS)) == ([damaged], left)
    assert f"{damaged} is damaged" in caplog.text


def test_a_stalled_archiver_that_wakes_up_writes_nothing_twice() -> None:
    """It stalls at any call; another archiver does the work and late events arrive; then the first one continues."""
    for stalled_at in count(1):
        storage, bodies = a_world()
        others: list[bytes] = []
        calls = count(1)

        class Stalling(Failing):
            def __getattr__(self, name: str) -> Any:
                if next(calls) == stalled_at:  # noqa: B023 - called within this round
                    archive(storage, SMALL)  # noqa: B023
                    late = write("a", "app", "10:50", "/late")
                    for body in late:
                        receive(storage, body, most_bytes=1_000_000)  # noqa: B023
                    others.extend(late)  # noqa: B023
                    archive(storage, SMALL)  # noqa: B023
                return super().__getattr__(name)

        archive(Stalling(storage, 10_000, after=False), SMALL)
        if not others:
            break
        archive(storage, SMALL)
        assert sorted(stored_bodies(storage)) == sorted([*bodies, *others]), f"stalled at {stalled_at}"
        assert counts(storage)["received"] == len(bodies) + 2
    assert stalled_at > 60


@pytest.mark.parametrize("seed", range(12))
def test_archiving_does_not_change_the_results_of_random_histories(seed: int) -> None:
    bodies = history(seed)
    plain, moved = MemoryStorage(), MemoryStorage()
    draw = random.Random(seed)
    for storage in (plain, moved):
        for body in bodies:
            receive(storage, body, most_bytes=1_000_000)
        sweep(storage, SweepOptions(end_timeout=timedelta(0), grace=timedelta(0), archiving=archiving(after=None)))
        publish(storage, MemoryCatalog(), PUBLISHING)
    for _ in range(3):
        steps = iter(range(draw.randint(0, 3)))
        archive(moved, archiving(most=draw.randint(1, 4)), may_continue=lambda: next(steps, None) is not None)  # noqa: B023 - called in this round only
        assert counts(moved) == counts(plain)
    archive(moved, SMALL)
    assert counts(moved) == counts(plain)
    for storage in (plain, moved):
        for run in sorted({row.partition for row in storage.scan("runs") if row.key == "state"}):
            RunProcessor(storage=storage).process(run, Replayed())
    assert counts(moved)["received"] == counts(plain)["received"]
    assert [r.key for r in moved.scan("contributions")] == [r.key for r in plain.scan("contributions")]


def test_retention_deletes_old_files_and_keeps_contributions() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    post_and_settle(storage, *write("a", "app", "10:00", "/a"))
    publish(storage, catalog, PUBLISHING)
    archive(storage, AT_ONCE)
    forever = archiving(now=lambda: datetime.now(UTC) + timedelta(days=29))
    assert archive(storage, forever) == Counter(), "for ever, unless a setting says otherwise"
    old = archiving(keep=timedelta(days=30), now=lambda: datetime.now(UTC) + timedelta(days=31))
    assert archive(storage, old) == Counter(deleted=2)
    assert names(storage, ARCHIVE) == []
    assert list(archived_of(storage, run_id("a"))) == []
    assert counts(storage)["received"] == 0, "what is gone is not counted any more"
    RunProcessor(storage=storage).process(run_id("a"), Replayed())
    RunProcessor(storage=storage).process(run_id("a"), ContextChanged())
    post_and_settle(storage, write("a", "app", "12:00", "/a", end="FAIL")[1])
    assert supported_inputs(storage) == ["/a"], "it stays as it was"
    assert counts(storage) == {"received": 1, "published": 0, "skipped": {"closed": 1}, "waiting": {}, "dead": 0}
    archive(storage, AT_ONCE)
    (again,) = replay(storage, ReplayPosition(wanted=RunFilter()))
    assert isinstance(again, ReplayedRun)
    assert again.outcome is ReplayOutcome.GONE
    written = dict(catalog.processes)
    publish(storage, catalog, PUBLISHING)
    assert (catalog.processes, bool(written)) == (written, True)


def test_a_damaged_file_is_kept_and_does_not_keep_later_files_from_being_deleted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    storage = MemoryStorage()
    for hour in ("10:00", "11:00", "12:00", "13:00"):
        post_and_settle(storage, *write(hour, "app", hour, "/a", sink=f"/out{hour[:2]}"))
    archive(storage, AT_ONCE)
    first, second, *_ = names(storage, ARCHIVE)
    whole = storage.get(ARCHIVE, first) or b""
    put_blob(storage, ARCHIVE, first, whole[:-3])
    put_blob(storage, ARCHIVE, second, b"")
    old = archiving(keep=timedelta(days=30), now=lambda: datetime.now(UTC) + timedelta(days=31))
    assert archive(storage, old) == Counter(deleted=4)
    assert names(storage, ARCHIVE) == [first, second]
    assert f"{first} is damaged" in caplog.text
    assert not state_of(storage, "10:00").expired
    put_blob(storage, ARCHIVE, first, whole)
    assert archive(storage, old) == Counter(deleted=2), "it was restored"


def test_a_file_with_a_run_whose_state_is_lost_is_kept_until_that_is_restored() -> None:
    storage = MemoryStorage()
    for hour in ("10:00", "11:00"):
        post_and_settle(storage, *write(hour, "app", hour, "/a", sink=f"/out{hour[:2]}"))
    archive(storage, AT_ONCE)
    first, _ = names(storage, ARCHIVE)
    row = lose_state(storage, "10:00")
    old = archiving(keep=timedelta(days=30), now=lambda: datetime.now(UTC) + timedelta(days=31))
    assert archive(storage, old) == Counter(deleted=2)
    assert names(storage, ARCHIVE) == [first]
    storage.upsert("runs", row)
    assert archive(storage, old) == Counter(deleted=2)


def test_retention_interrupted_at_any_call_is_completed_by_the_next() -> None:
    old = archiving(keep=timedelta(0), after=None, now=lambda: datetime.now(UTC) + timedelta(days=1))
    for calls in count(1):
        storage, _ = a_world()
        archive(storage, SMALL)
        contributions = list(storage.scan("contributions"))
        try:
            archive(Failing(storage, calls, after=False), old)
        except Killed:
            assert status(storage).reconciles
        else:
            break
        archive(storage, old)
        assert names(storage, ARCHIVE) == []
        assert [row for row in storage.scan("runs") if row.key.startswith("archived|")] == []
        assert list(storage.scan("contributions")) == contributions
        assert counts(storage)["received"] == 1
    assert calls > 20


def test_a_deleted_archive_file_does_not_change_its_run() -> None:
    storage = MemoryStorage()
    post_and_settle(storage, *write("a", "app", "10:00", "/a"))
    archive(storage, AT_ONCE)
    for name in names(storage, ARCHIVE):
        storage.delete_blob(ARCHIVE, name)
    RunProcessor(storage=storage).process(run_id("a"), Replayed())
    assert supported_inputs(storage) == ["/a"]


def test_a_row_without_a_blob_is_left_out() -> None:
    storage = MemoryStorage()
    (place, _) = post_and_settle(storage, *write("a", "app", "10:00", "/a"))
    storage.insert("runs", Row(partition=place.run_id, key=place.row_key.replace("START", "RUNNING")))
    assert archive(storage, AT_ONCE) == Counter(archived=2)
    RunProcessor(storage=storage).process(run_id("a"), Replayed())
    assert supported_inputs(storage) == ["/a"]
