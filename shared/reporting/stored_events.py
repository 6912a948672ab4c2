"""The stored events of chosen runs or jobs, in `events` and in the archive, one after the other."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass

from shared.events.archive_format import DAMAGED, Line
from shared.events.archive_index import Archived, archived_of, lines_in
from shared.events.stored_runs import RunFilter, StoredRun, stored_runs
from shared.storage.port import Row, Storage
from shared.storage_layout import ARCHIVE, EVENTS, RUN_TEXT, RUNS, StoredEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """A stored event (`place`: run_id, time, type, digest), and where it lies: a `blob` of the container `events`, or a
    file of the container `archive`.

    `job` is the name of its job as it was received; empty where no row holds it. `raw`: the bytes as they were
    received; None where they were not asked for, or are damaged or lost. `reason`: why the receiver ignored it.
    `run_text`: the run's id as it was sent, where that is no UUID and a row holds it.
    """

    place: StoredEvent
    job: str
    container: str
    blob: str
    raw: bytes | None = None
    reason: str = ""
    run_text: str = ""


def find_events(storage: Storage, wanted: RunFilter, *, content: bool = False) -> Iterator[EventRecord]:
    """The stored events that are wanted, ordered by hour and run; with their `content` where that is asked for. At most
    the events of one run and hour are in memory. Raises StorageUnavailable and ArchiveMissing.
    """
    for run in stored_runs(storage, wanted):
        rows = {
            row.key: row for row in storage.partition(RUNS, run.run_id, since="event|", before="event|~")
        }  # by key: `event|time|type|digest`
        archived = [each for each in archived_of(storage, run.run_id) if each.folder == run.folder]
        yield from _archived_events(storage, run, archived, wanted, content=content)
        moved = {event for each in archived for event in each.events}
        for event in run.events:
            row = rows.get(event.row_key)
            job = _cell(row, "job")
            if event not in moved and wanted.fits(job):
                raw = unpacked(storage.get(EVENTS, event.blob)) if content else None
                yield EventRecord(
                    place=event, job=job, container=EVENTS, blob=event.blob, raw=raw, run_text=_cell(row, RUN_TEXT)
                )


def _archived_events(
    storage: Storage, run: StoredRun, archived: list[Archived], wanted: RunFilter, *, content: bool
) -> Iterator[EventRecord]:
    events = set(run.events)
    for member in archived:
        if not wanted.fits(member.job):
            continue
        raw = {line.digest: raw_of(line) for line in lines_in(storage, member)} if content else {}
        for event in member.events:
            if event in events:
                events.discard(event)
                yield EventRecord(
                    place=event, job=member.job, container=ARCHIVE, blob=member.file, raw=raw.get(event.digest)
                )


def raw_of(line: Line) -> bytes | None:
    """The bytes of an archived event as they were received; None if they were damaged then."""
    try:
        return line.raw()
    except DAMAGED:
        return None


def _cell(row: Row | None, name: str) -> str:
    return str(row.values.get(name, "")) if row else ""


def unpacked(packed: bytes | None) -> bytes | None:
    """The bytes of an event's blob; None if they are damaged or lost."""
    try:
        return gzip.decompress(packed) if packed is not None else None
    except DAMAGED:
        return None
