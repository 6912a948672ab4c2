"""Deliver an event whose blob has arrived: what the parser does for each trigger.

An event that can't end a run costs no call. One that arrives after its run was folded is noticed at once by the process
that has folded the run, and otherwise by the next sweep. A stream is folded with its first RUNNING event; the sweep
folds the further ones of a minute together.

Split runs: the events of one run name several applications, so that they lie in several partitions.

All of them are brought to the run's home, the application that its first event with a parent names. The other
applications, and the run itself where it is one, keep a record that says where the run is. Each step first asks whether
it is needed, so that two workers at the same run do not undo each other's commits.

The START and COMPLETE of a Spark application below an orchestrator's task are such a case: they name the task as their
parent, and the application's jobs name the application. The record in the application's own partition gives it its
times.
"""

from collections.abc import Collection, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime

from shared.applications.fold import UNUSABLE
from shared.applications.partition import OpenApplication, read_open, read_record, read_state
from shared.applications.processor import ENDED_RUNS, ApplicationProcessor, FoldRequest
from shared.applications.rows import own_run
from shared.applications.state import RunRecord, latest_of
from shared.concurrency import KeyedLock
from shared.openlineage.decoding import RUNNING
from shared.storage_layout import APPLICATIONS, EventRow, StoredEvent, event_of_reference
from shared.translation.run.columns import merge_run

NO_DATA_SET = "names no data set"
"""The reason of a skipped run that may be an application's own: `shared/translation/run/translate.py` gives it."""


def reunite_own_run(processor: ApplicationProcessor, event: StoredEvent, record: RunRecord | None) -> bool:
    """Give an application below an orchestrator's task the times of its own run, whose end (`event`) was folded into
    the task's partition with this `record`. Returns whether marks were left.
    """
    is_candidate = record is not None and not record.home and record.reason == NO_DATA_SET
    if not is_candidate or read_state(processor.storage, event.run_id, processor.memory) is None:
        return False
    return bool(reunite(processor, event.run_id, {event.application}, ()))


def reunite(
    processor: ApplicationProcessor,
    run_id: str,
    applications: Collection[str],
    events: Iterable[StoredEvent],
    *,
    timed_out: bool = False,
) -> bool | None:
    """Bring all events of a run to its home. `applications`: where events or records of it lie; `events`: further ones
    that were met; `timed_out`: its end is not awaited any more. Returns whether marks were left; None where nothing was
    to be done. Raises as `ApplicationProcessor.fold`.
    """
    work = _Reunion(processor, run_id, events)
    for application in sorted({*applications, run_id}):
        work.note_events(application)
    home = work.home(applications)
    outcomes = [work.fold_at_home(home, timed_out=timed_out)]
    referring = {*applications, *(event.application for event in work.events.values())}
    referring |= {run_id} if work.is_application(run_id) else set()
    outcomes += [work.refer(application, home) for application in sorted(referring - {home})]
    return any(outcomes) if any(outcome is not None for outcome in outcomes) else None


class _Reunion:
    """The steps of one reunion. `events`: those of the run, by digest; `rows`: of those that are not folded."""

    def __init__(self, processor: ApplicationProcessor, run_id: str, events: Iterable[StoredEvent]) -> None:
        self._processor, self._storage, self._run_id = processor, processor.storage, run_id
        self._snapshots: dict[str, OpenApplication] = {}
        self._records: dict[str, RunRecord | None] = {}
        self.events = {event.digest: event for event in events}
        self.rows: dict[str, EventRow] = {}

    def note_events(self, application: str) -> None:
        """Read an application, and note the events of the run that it has."""
        record = self._read(application)
        for reference in (*record.events, *record.late) if record else ():
            event = event_of_reference(self._run_id, reference)
            self.events[event.digest] = event
        for row in self._rows_in(application):
            self.events[row.event.digest] = row.event
            self.rows[row.event.digest] = row

    def _read(self, application: str) -> RunRecord | None:
        if application not in self._snapshots:
            self._snapshots[application] = read_open(self._storage, application, run=self._run_id)
            self._records[application] = read_record(self._storage, application, self._run_id)
        return self._records[application]

    def _rows_in(self, application: str) -> list[EventRow]:
        """The run's events in an application that are not folded yet."""
        return self._snapshots[application].by_run().get(self._run_id, [])

    def is_application(self, application: str) -> bool:
        """Whether an application is on record, with what it knows of itself."""
        return bool(self._snapshots[application].etag)

    def home(self, applications: Collection[str]) -> str:
        """The application to which the run belongs, of those that have events or records of it."""
        records = {app: record for app, record in self._records.items() if record and not record.home}
        archived = [app for app, record in records.items() if record.closed or record.archived]
        whole = [app for app, record in records.items() if self._is_current(app, record)]
        if archived or whole:
            return min(archived or whole)  # its home does not change any more
        events = [
            self._processor.event(event, self.rows[digest].payload if digest in self.rows else None)
            for digest, event in sorted(self.events.items())
        ]
        try:
            return merge_run([event for event in events if event]).application_run
        except UNUSABLE:
            return min(applications)

    def _is_current(self, application: str, record: RunRecord | None) -> bool:
        """Whether the record of the run in an application has all of its events."""
        return record is not None and record.digests >= self.events.keys() and not self._rows_in(application)

    def fold_at_home(self, home: str, *, timed_out: bool) -> bool | None:
        """Fold the run at its home, if it is to be folded and is not yet: whether marks were left."""
        record = self._read(home)
        record_at_home = record if record and not record.home else None
        folded = record_at_home.digests if record_at_home else frozenset()
        unfolded = self._snapshots[home].unfolded
        for digest, event in sorted(self.events.items()):
            if digest not in folded and event.row_key not in unfolded:
                payload = self._processor.blob_cache.get(digest)
                row = self.rows.get(digest) or EventRow(event=event, payload=payload, received=self._arrived(digest))
                self._storage.insert(APPLICATIONS, row.row(home))
        has_ended = any(event.end for event in self.events.values())
        if not timed_out and (self._is_current(home, record_at_home) or not (has_ended or record_at_home)):
            return None
        run = frozenset({self._run_id})
        is_timed_out = timed_out or bool(record_at_home and record_at_home.timed_out)
        request = FoldRequest(force=run, timed_out=run if is_timed_out else frozenset(), returned=run)
        return self._processor.fold(home, request).has_marks

    def _arrived(self, digest: str) -> datetime | None:
        """When an event arrived at the latest, as the record says that has it."""
        records = (record for record in self._records.values() if record and digest in record.digests)
        return latest_of(*(record.arrived for record in records))

    def refer(self, application: str, home: str) -> bool | None:
        """Have an application refer to the run's home, unless it does: whether marks were left."""
        record = self._read(application)
        if record and record.home == home and self._is_current(application, record):
            return None
        references = tuple(sorted(event.reference for event in self.events.values()))
        request = FoldRequest(homes={self._run_id: home}, elsewhere=references)
        return self._processor.fold(application, request).has_marks


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Delivers events to a `processor`; `locks` lets the threads of the process fold an application one by one."""

    processor: ApplicationProcessor
    locks: KeyedLock | None = None

    def deliver(self, event: StoredEvent, payload: bytes) -> bool:
        """Process an event whose blob (`payload`) has arrived, if it may change lineage. Returns whether there may be
        something to publish. Raises Retry when storage is unavailable or the application keeps changing.
        """
        processor, memory = self.processor, self.processor.memory
        processor.blob_cache.put(event.digest, payload)
        if memory.has_folded(event.digest):
            return event.end is not None  # the worker that folded it may have died before it published
        streams = event.type == RUNNING and self._may_stream(event, payload)
        if streams and memory.has_folded(event.run_id):
            return False
        if event.end is None and not streams and not self._may_be_late(event):
            return False
        with self.locks.at(event.application) if self.locks else nullcontext():
            if memory.has_folded(event.digest):
                return True
            outcome = processor.fold(
                event.application, self._request(event, streams=streams), needed=event, payload=payload
            )
        has_marks = outcome.has_marks
        for run_id, home in sorted(outcome.homes.items()):
            events = (event,) if run_id == event.run_id else ()
            has_marks = reunite(processor, run_id, {event.application, home}, events) or has_marks
        if event.end and event.run_id != event.application and event.run_id not in outcome.homes:
            has_marks = reunite_own_run(processor, event, outcome.records.get(event.run_id)) or has_marks
        return has_marks

    def _may_be_late(self, event: StoredEvent) -> bool:
        """Whether this process knows that the event came after its run was folded: or the START of an application
        after one of its runs was, which may change which application is newer.
        """
        memory = self.processor.memory
        if memory.has_folded(event.run_id):
            return True
        return event.run_id == event.application and memory.has_folded(own_run(event.application))

    def _may_stream(self, event: StoredEvent, payload: bytes) -> bool:
        decoded = self.processor.event(event, payload)
        return decoded is not None and decoded.may_stream

    def _request(self, event: StoredEvent, *, streams: bool) -> FoldRequest:
        if event.end:
            return ENDED_RUNS
        if streams or self.processor.memory.has_folded(event.run_id):
            return FoldRequest(force=frozenset({event.run_id}))
        return FoldRequest(times=True)
