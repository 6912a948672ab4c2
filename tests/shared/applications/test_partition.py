"""Reading and committing an application's partition: long states, many events, and other workers in between."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.applications.partition import (
    MAX_READ,
    MAX_UNFOLDED,
    Commit,
    OpenApplication,
    read_open,
    read_whole,
)
from shared.applications.rows import FoldMemory
from shared.applications.state import ApplicationState, Content, content_digest
from shared.errors import ContentLost, WriteConflict
from shared.model import Process, Span
from shared.storage.memory import MemoryStorage
from shared.storage.port import MAX_OPERATIONS, Row
from shared.storage_layout import APPLICATIONS, HEADER, STATE_PART, EventRow, StoredEvent
from tests.support.applications import CountedStorage

APP = "app"
NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)


def content(number: int) -> Content:
    """One that takes 15 KB, also when it is compressed."""
    process = Process(
        qualified_name=f"process {number}",
        name=random.Random(number).randbytes(15_000).hex(),
        operations=(),
        inputs=(),
        outputs=(),
        columns=(),
    )
    return Content(process=process, supporters={"run": Span(first=NOW, last=NOW)})


def state_of(*numbers: int) -> ApplicationState:
    """A state with these contents."""
    contents = (content(number) for number in numbers)
    return ApplicationState(contents={content_digest(content.process): content for content in contents})


def commit(storage: Any, state: ApplicationState, memory: FoldMemory | None = None) -> None:
    """Commit a state in place of the present one."""
    snapshot = read_open(storage, APP, memory=memory)
    assert Commit.of(storage, snapshot, state, {}).execute(storage, memory)


def parts(storage: MemoryStorage) -> dict[str, str]:
    """The rows of a long state, with their etags."""
    return {row.key: row.etag for row in storage.partition(APPLICATIONS, APP, since=STATE_PART)}


def test_a_long_state_is_read_in_two_queries_and_by_who_has_its_parts_in_one() -> None:
    memory, reader = FoldMemory(), FoldMemory()
    storage: Any = CountedStorage(MemoryStorage())
    commit(storage, state_of(1))
    assert read_open(storage, APP).state.contents
    assert storage.calls == {"partition": 2, "transact": 1}, "a short one in one"
    state = state_of(*range(30))
    commit(storage, state, memory)
    assert len(parts(storage.real)) > 10, "rows"
    for worker, queries in ((None, 2), (reader, 2), (reader, 1), (memory, 1)):
        storage.calls.clear()
        assert read_open(storage, APP, memory=worker).state.contents == state.contents
        assert storage.calls == {"partition": queries}
    commit(storage, state_of(*range(31)), memory)
    storage.calls.clear()
    assert len(read_open(storage, APP, memory=reader).state.contents) == 31
    assert storage.calls == {"partition": 2}, "a part has changed"
    assert read_whole(storage, APP).state.contents.keys() == state_of(*range(31)).contents.keys()


def test_a_state_that_becomes_short_again_stands_in_the_header() -> None:
    storage = MemoryStorage()
    for number, has_parts in ((10, False), (30, True), (10, True), (5, False)):
        commit(storage, state_of(*range(number)))
        assert bool(parts(storage)) == has_parts
        snapshot = read_open(storage, APP)
        assert snapshot.parts.keys() == parts(storage).keys(), "no other row is left"
        assert len(snapshot.state.contents) == number


def test_a_long_state_that_is_written_while_it_is_read_is_read_again_later() -> None:
    storage: Any = CountedStorage(MemoryStorage())
    commit(storage, state_of(*range(30)))

    storage.calls.clear()

    def step_in(_name: str, _arguments: tuple[Any, ...]) -> None:
        if storage.calls["partition"] == 2:
            commit(storage.real, state_of(*range(1, 31)))

    storage.before = step_in
    with pytest.raises(WriteConflict, match="written while it was read"):
        read_open(storage, APP)
    assert read_open(storage.real, APP).state.contents.keys() == state_of(*range(1, 31)).contents.keys()


def test_a_part_that_is_gone_is_named() -> None:
    storage = MemoryStorage()
    commit(storage, state_of(*range(30)))
    key = min(parts(storage))
    storage.delete(APPLICATIONS, APP, key)
    with pytest.raises(ContentLost, match=key.replace("|", r"\|")):
        read_whole(storage, APP)
    snapshot = read_whole(storage, APP, lenient=True)
    assert snapshot.lost == (key,)
    assert snapshot.state.contents
    assert snapshot.state.version == 1


def test_a_state_whose_content_is_gone_keeps_its_version() -> None:
    """Marks of its versions may be in flight."""
    storage = MemoryStorage()
    storage.upsert(APPLICATIONS, Row(partition=APP, key=HEADER, values={"version": 7, "blob": "nowhere"}))
    snapshot = read_whole(storage, APP, lenient=True)
    assert (snapshot.lost, snapshot.state) == ((HEADER,), ApplicationState(version=7))


def event_row(run: str, number: int = 0, kind: str = "START") -> EventRow:
    """An event that is not folded yet."""
    time = NOW + timedelta(seconds=number)
    return EventRow(event=StoredEvent(application=APP, run_id=run, time=time, type=kind, digest=f"{number:032}"))


def insert(storage: MemoryStorage, *rows: EventRow) -> None:
    """Write their rows."""
    for row in rows:
        assert storage.insert(APPLICATIONS, row.row(APP))


def runs_of(snapshot: OpenApplication) -> dict[str, int]:
    """The runs whose events were read, and how many of each."""
    return {run: len(rows) for run, rows in snapshot.by_run().items()}


def test_of_very_many_events_those_of_the_run_are_read_and_of_the_ended_runs_that_fit_into_a_page() -> None:
    storage = MemoryStorage()
    insert(storage, event_row("a"), event_row("a", 1, "COMPLETE"))
    insert(storage, *(event_row(f"b {number:04}") for number in range(MAX_READ - 3)))
    insert(storage, event_row("c", 0, "COMPLETE"), event_row("c", 1, "RUNNING"))
    insert(storage, event_row("d"), event_row("d", 1, "RUNNING"))
    assert runs_of(read_open(storage, APP, run="d")) == {"a": 2, "d": 2}, "c does not end with the page"
    assert len(runs_of(read_open(storage, APP))) == MAX_READ, "all of them"


def test_of_many_events_those_of_the_run_and_of_ended_runs_are_read() -> None:
    storage = MemoryStorage()
    insert(storage, *(event_row(f"b {number:04}") for number in range(MAX_UNFOLDED)))
    insert(storage, event_row("c", 0, "COMPLETE"), event_row("c", 1, "RUNNING"))
    insert(storage, event_row("d"), event_row("d", 1, "RUNNING"))
    assert runs_of(read_open(storage, APP, run="d")) == {"c": 2, "d": 2}


def test_rows_of_folded_events_that_another_worker_has_deleted_prevent_nothing() -> None:
    storage = MemoryStorage()
    rows = [event_row("a", number) for number in range(MAX_OPERATIONS + 20)]
    insert(storage, *rows)
    snapshot = read_open(storage, APP)
    keys = [row.event.row_key for row in rows]
    storage.delete(APPLICATIONS, APP, keys[-5])
    assert Commit.of(storage, snapshot, ApplicationState(), {}, folded=keys).execute(storage)
    assert not read_open(storage, APP).unfolded
