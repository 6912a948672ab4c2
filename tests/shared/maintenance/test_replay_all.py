"""Computing everything again: the same rows from nothing, wherever it is interrupted; finished processes as it goes."""

import gzip
import random
from datetime import timedelta
from itertools import groupby
from typing import Any

import pytest
from msgspec import structs

from shared.applications.partition import whole
from shared.events.archive import Line, member_of
from shared.events.dead_letters import dead_letters
from shared.maintenance.publish_missing import publish_all
from shared.maintenance.replay_all import REPLAY_ALL, convert, inventory, of_before, replay_all, seconds_for_all
from shared.publishing.planning import read_processes
from shared.records.control import Versions, stored_versions
from shared.records.publish_queue import read_queue
from shared.reporting.status import Status, status
from shared.storage.memory import MemoryStorage
from shared.storage_layout import (
    APPLICATIONS,
    ARCHIVE,
    CONTROL,
    EVENTS,
    PROCESSES,
    PUBLISH_QUEUE,
    stored_from_blob,
)
from shared.sweeping.closing import ClosingOptions
from tests.faults.generated_events import events_of
from tests.faults.task_histories import with_tasks
from tests.support.events import event, run_id, write
from tests.support.histories import history
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import Killed, Watched
from tests.support.runtime import Runtime

KEPT = timedelta(days=30)


def applications(storage: MemoryStorage) -> dict[str, Any]:
    """What rows say of applications; without what only tells how they came about: versions, and times of arrival."""
    states_by_application = {}
    for application, rows in groupby(storage.scan(APPLICATIONS), key=lambda row: row.partition):
        snapshot = whole(storage, application, rows)
        assets = {key: changes for key, changes in snapshot.state.assets.items() if changes.latest}
        state = structs.replace(snapshot.state, version=0, latest={}, active=None, assets=assets)
        records = {
            run: structs.replace(
                record,
                arrived=None,
                timed_out=record.timed_out and not record.ended,
                job="" if record.home else record.job,
            )
            for run, record in snapshot.records.items()
        }
        states_by_application[application] = (state, records, sorted(snapshot.unfolded))
    return states_by_application


def processes(storage: MemoryStorage) -> dict[str, Any]:
    """What processes have of applications, without empty parts."""
    parts_by_process = {
        rows.key: {
            application: (part.loaded(storage).contributions, (part.first, part.last, part.ended), bool(part.closed))
            for application, part in rows.parts.items()
            if part.seen
        }
        for rows in read_processes(storage)
    }
    return {key: parts for key, parts in parts_by_process.items() if parts}


def counts(storage: MemoryStorage) -> tuple[Any, ...]:
    current_status: Status = status(storage)
    assert current_status.reconciles
    return (
        current_status.received,
        current_status.published,
        current_status.skipped_because,
        current_status.waiting_for,
        current_status.dead,
    )


def wipe(storage: MemoryStorage, *tables: str) -> None:
    for table in tables:
        for row in list(storage.scan(table)):
            storage.delete(table, row.partition, row.key)


def lived(seed: int, *, archived: bool) -> Runtime:
    """A history that was received, folded, timed out, published and perhaps archived."""
    draw = random.Random(seed)
    bodies = history(seed) if seed % 2 else with_tasks(events_of(seed), draw)
    runtime = Runtime(end_timeout=timedelta(hours=6))
    runtime.run(*bodies)
    runtime.sweep(timedelta(days=2))
    runtime.publish()
    if archived:
        runtime.archive(keep_runs=KEPT)
        runtime.publish()
        runtime.sweep()
        runtime.publish()
    return runtime


def compute_all(runtime: Runtime, storage: Any = None) -> None:
    """Compute everything, in a process of its own, and publish."""
    storage = storage or runtime.storage
    worker = Runtime(storage=storage, catalog=runtime.catalog, now=runtime.now, closing=runtime.closing)
    begin = REPLAY_ALL.load(storage)
    for _ in convert(storage):
        pass
    for _ in replay_all(worker.context, worker.processor, inventory(storage), begin):
        pass
    worker.end_timeout = runtime.end_timeout
    worker.sweep()
    publish_all(worker.context)


@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("seed", [*range(10), 32])
def test_the_same_rows_from_nothing(seed: int, archived: bool) -> None:
    runtime = lived(seed, archived=archived)
    storage, catalog = runtime.storage, dict(runtime.catalog.processes)
    state_before = applications(storage), processes(storage), counts(storage)
    wipe(storage, APPLICATIONS, PROCESSES, PUBLISH_QUEUE)
    compute_all(runtime)
    assert applications(storage) == state_before[0]
    assert processes(storage) == state_before[1]
    assert counts(storage) == state_before[2]
    assert runtime.catalog.processes == catalog


@pytest.mark.parametrize("seed", [0, 8, 22])
def test_a_split_run_is_put_together_from_parts_of_its_events(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The events of a run that lies in several applications need not be in memory together; one listing finds it."""
    monkeypatch.setattr("shared.maintenance.replay_all._MAX_EVENTS", 1)
    runtime = lived(seed, archived=False)
    state_before = applications(runtime.storage), processes(runtime.storage)
    watched = Watched(runtime.storage)
    assert inventory(watched).split
    assert watched.calls["blobs"] == 2, "the events, and the indexes of the archive"
    wipe(runtime.storage, APPLICATIONS, PROCESSES, PUBLISH_QUEUE)
    compute_all(runtime)
    assert (applications(runtime.storage), processes(runtime.storage)) == state_before


@pytest.mark.parametrize("tables", [(), (APPLICATIONS,), (PROCESSES,), (PUBLISH_QUEUE,)], ids=str)
def test_tables_that_are_there_are_corrected_in_place(tables: tuple[str, ...]) -> None:
    runtime = lived(3, archived=True)
    storage, catalog = runtime.storage, dict(runtime.catalog.processes)
    state_before = applications(storage), processes(storage), counts(storage)
    wipe(storage, *tables)
    compute_all(runtime)
    assert (applications(storage), processes(storage), counts(storage)) == state_before
    assert runtime.catalog.processes == catalog


@pytest.mark.parametrize("calls", range(5, 400, 23))
def test_it_may_be_killed_anywhere_and_continued(calls: int) -> None:
    runtime = lived(5, archived=calls % 2 > 0)
    storage, catalog = runtime.storage, dict(runtime.catalog.processes)
    state_before = applications(storage), processes(storage), counts(storage)
    wipe(storage, APPLICATIONS, PROCESSES, PUBLISH_QUEUE)
    watched = Watched(storage)

    def step_in(_name: str, _arguments: tuple[Any, ...]) -> None:
        if watched.calls.total() == calls:
            raise Killed

    watched.step_in = step_in
    try:
        compute_all(runtime, watched)
    except Killed:
        compute_all(runtime)
    assert (applications(storage), processes(storage), counts(storage)) == state_before
    assert runtime.catalog.processes == catalog
    assert not read_queue(storage).held


def daily(days: int) -> Runtime:
    """A job that writes a data set each day in an application of its own, and one that stopped after the first."""
    runtime = Runtime()
    runtime.run(*write("old", "other", "2026-11-01T09:00", "/old", sink="/unfinished"))
    for day in range(1, days + 1):
        date_text = f"2026-11-{day:02}"
        runtime.run(
            event(f"app{day}", "START", f"{date_text}T09:59:00"),
            *write(f"r{day}", f"app{day}", f"{date_text}T10:00", f"/s{day}", sink="/o"),
            event(f"app{day}", "COMPLETE", f"{date_text}T10:05:00"),
        )
    return runtime


def test_finished_processes_are_published_while_publishing_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest application supersedes the older ones: its process is written before these are computed."""
    monkeypatch.setattr("shared.maintenance.replay_all._PUBLISH_EVERY", 0.0)
    runtime = daily(4)
    (name,) = [name for name in runtime.catalog.processes if name.endswith("/o")]
    wipe(runtime.storage, APPLICATIONS, PROCESSES, PUBLISH_QUEUE)
    runtime.catalog = MemoryCatalog()
    worker = Runtime(storage=runtime.storage, catalog=runtime.catalog, now=runtime.now)
    publications = []
    for number, _ in enumerate(replay_all(worker.context, worker.processor, inventory(runtime.storage)), start=1):
        assert worker.publish().progress == 0, "held back for others"
        publications.append((number, sorted(runtime.catalog.processes)))
    assert [number for number, names in publications if names] == [2, 3, 4, 5]
    assert {tuple(names) for _, names in publications if names} == {(name,)}
    assert [key[1] for key in runtime.catalog.processes[name].inputs] == ["file:///s4"]
    worker.publish()
    assert len(runtime.catalog.processes) == 2
    assert [key[1] for key in runtime.catalog.processes[name].inputs] == ["file:///s4"]


def test_what_was_forgotten_is_computed_and_forgotten_again() -> None:
    runtime = daily(3)
    runtime.archive(keep_runs=timedelta(days=1))

    def forget() -> None:
        for _ in range(8):
            runtime.sweep(timedelta(days=2))
            runtime.publish()

    forget()
    state_before = applications(runtime.storage), processes(runtime.storage), counts(runtime.storage)
    assert run_id("app1") not in state_before[0]
    compute_all(runtime)
    assert run_id("app1") in applications(runtime.storage), "its state is back for a while"
    forget()
    assert (applications(runtime.storage), processes(runtime.storage), counts(runtime.storage)) == state_before


def test_a_plan_writes_nothing_and_says_how_much_there_is() -> None:
    runtime = daily(3)
    rows_before = {table: list(runtime.storage.scan(table)) for table in runtime.storage._tables}
    stored = inventory(runtime.storage)
    assert (len(stored.applications), stored.events) == (4, 14)
    assert seconds_for_all(runtime.processor, stored) > 0
    assert {table: list(runtime.storage.scan(table)) for table in runtime.storage._tables} == rows_before


def as_before(storage: MemoryStorage, *, archive: bool) -> None:
    """Give blobs and files of the archive the format before, and leave no row."""
    lines: dict[str, list[Line]] = {}
    for fact in list(storage.blobs(EVENTS)):
        stored, packed_event = stored_from_blob(fact.name), storage.get(EVENTS, fact.name) or b""
        name = fact.name.replace(f"/{stored.application}/{stored.run_id}/", f"/{stored.run_id}/")
        storage.delete_blob(EVENTS, fact.name)
        if archive:
            line = Line(
                digest=stored.digest,
                run=stored.run_id,
                blob=name,
                arrived=fact.arrived,
                closed=fact.arrived,
                event=gzip.decompress(packed_event).decode(),
            )
            lines.setdefault(name.rpartition("/")[0], []).append(line)
        else:
            storage.put_new(EVENTS, name, packed_event)
    if lines:
        storage.put_new(ARCHIVE, f"2026/11/21/10/{'0' * 32}.jsonl.gz", b"".join(map(member_of, lines.values())))
    wipe(storage, APPLICATIONS, PROCESSES, PUBLISH_QUEUE, CONTROL)


@pytest.mark.parametrize("archive", [False, True])
@pytest.mark.parametrize("seed", [1, 4, 7])
def test_blobs_and_archives_of_the_format_before_are_read(seed: int, archive: bool) -> None:
    runtime = lived(seed, archived=False)
    storage, catalog = runtime.storage, dict(runtime.catalog.processes)
    state_before = applications(storage), processes(storage), counts(storage)
    names = sorted(fact.name for fact in storage.blobs(EVENTS))
    as_before(storage, archive=archive)
    assert {fact.name for fact in storage.blobs(EVENTS)}.isdisjoint(names)
    assert {container for container, _ in of_before(storage)} == {ARCHIVE if archive else EVENTS}
    compute_all(runtime)
    assert sorted(fact.name for fact in storage.blobs(EVENTS)) == names
    assert not list(storage.blobs(ARCHIVE))
    assert not list(of_before(storage))
    assert (applications(storage), processes(storage), counts(storage)) == state_before
    assert runtime.catalog.processes == catalog
    assert stored_versions(storage) == Versions()
    runtime.closing = ClosingOptions(quiet=None)
    runtime.sweep()
    assert not list(dead_letters(storage)), "no name is foreign"
