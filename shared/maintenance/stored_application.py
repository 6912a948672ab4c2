"""What is stored of an application and not on record, so that it can be computed again: whole runs, and single events.

Normally there is none. Rows may have been lost, or records been forgotten while their events are in the archive.
"""

import gzip
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from msgspec import structs

from shared.applications.fold import CLOSED
from shared.applications.partition import OpenApplication
from shared.applications.state import RunRecord
from shared.events.archive_format import DAMAGED
from shared.events.archive_index import lines_in
from shared.events.blob_cache import BlobCache
from shared.events.dead_letters import DISCARDED
from shared.events.event_row import EventRow
from shared.events.stored_runs import ArchivedRun, StoredRun
from shared.records.states import EventState
from shared.storage.port import Storage

LATE = (EventState.SKIPPED.value, CLOSED)
"""State and reason of an event that arrived after its run was closed."""
_LEVEL = 1
"""Of gzip, for what only stays in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrecorded:
    """Runs that are over or archived, each with a record that refers to its events (`records`), and `rows` of single
    events that belong to runs on record or to runs without an end.
    """

    records: dict[str, RunRecord] = field(default_factory=dict)
    rows: tuple[EventRow, ...] = ()


def unrecorded(
    storage: Storage, snapshot: OpenApplication, runs: Iterable[StoredRun], cache: BlobCache, *, with_archive: bool
) -> Unrecorded:
    """What of these stored runs of an application is not on record. `with_archive`: archived runs too, whose events are
    put into the `cache`. Raises ArchiveMissing.
    """
    by_run: dict[str, list[StoredRun]] = {}
    for run in runs:
        by_run.setdefault(run.run_id, []).append(run)
    unfolded = snapshot.by_run()
    records: dict[str, RunRecord] = {}
    rows: list[EventRow] = []
    for run_id, parts in by_run.items():
        events = [event for part in parts for event in part.events]
        arrived = max((part.arrived for part in parts if part.arrived), default=None)
        archived = [archived for part in parts for archived in part.archived] if with_archive else []
        record = snapshot.records.get(run_id)
        is_over = bool(archived) or any(event.end for event in events)
        if record is None and run_id not in unfolded and is_over:
            record = records[run_id] = _record(storage, run_id, archived, cache)
            if not (record.closed and arrived and arrived > record.closed):
                references = (*record.events, *(event.reference for event in events))
                arrived = max(filter(None, (record.arrived, arrived)), default=None)
                record = records[run_id] = structs.replace(record, events=tuple(sorted(references)), arrived=arrived)
        digests = record.digests if record else frozenset()
        rows += [
            EventRow(event=event, received=arrived)
            for event in events
            if event.digest not in digests and event.row_key not in snapshot.unfolded
        ]
    return Unrecorded(records=records, rows=tuple(rows))


def _record(storage: Storage, run_id: str, archived: list[ArchivedRun], cache: BlobCache) -> RunRecord:
    """The record of a run as the archive says."""
    arrived: datetime | None = None
    closed: datetime | None = None
    for line in (line for part in archived for line in lines_in(storage, part.file, part.run)):
        with suppress(*DAMAGED):
            cache.put(line.digest, gzip.compress(line.raw(), compresslevel=_LEVEL))
        arrived = max(line.arrived, arrived or line.arrived)
        closed = max(filter(None, (line.closed, closed)), default=None)
    events = [
        (event, state) for part in archived for event, state in zip(part.run.events, part.run.states, strict=True)
    ]
    counting = [(event, state) for event, state in events if state != LATE]
    states = [state for _, state in counting if state[1] != DISCARDED] or [state for _, state in events]
    return RunRecord(
        run_id=run_id,
        archived=tuple(sorted(event.reference for event, _ in events)),
        late=tuple(sorted(event.reference for event, state in events if state == LATE)),
        arrived=arrived,
        closed=closed,
        outcome=states[0] if states and closed else ("", ""),
        timed_out=closed is not None and not any(event.end for event, _ in counting),
    )
