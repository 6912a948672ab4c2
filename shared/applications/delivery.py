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

from collections.abc import Collection, Iterable, Mapping
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
from shared.records.states import State
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
    return reunite(processor, event.run_id, {event.application, event.run_id}, ())


def reunite(
    processor: ApplicationProcessor, run_id: str, applications: Collection[str], events: Iterable[StoredEvent]
) -> bool:
    """Bring all events of a run to its home. `applications`: where events or records of it lie; `events`: further ones
    that were met. Returns whether marks were left. Raises as `ApplicationProcessor.fold`.
    """
    work = _Reunion(processor, run_id, events)
    for application in sorted(applications):
        work.note_events(application)
    home = work.home(applications)
    has_marks = work.fold_at_home(home)
    for application in sorted({*applications, *(event.application for event in work.events.values())} - {home}):
        has_marks = work.refer(application, home) or has_marks
    return has_marks


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

    def home(self, applications: Collection[str]) -> str:
        """The application to which the run belongs, of those that have events or records of it."""
        records = {app: record for app in applications if (record := self._records[app]) and not record.home}
        archived = [app for app, record in records.items() if record.closed or record.archived]
        if archived:
            return min(archived)  # its home does not change any more
        events = [
            self._processor.event(event, self.rows[digest].payload if digest in self.rows else None)
            for digest, event in sorted(self.events.items())
        ]
        try:
            return merge_run([event for event in events if event]).application_run
        except UNUSABLE:
            return min(applications)

    def fold_at_home(self, home: str) -> bool:
        """Fold the run at its home, if it is to be folded and is not yet: whether marks were left."""
        record = self._read(home)
        settled = record if record and not record.home else None
        folded = settled.digests if settled else frozenset()
        unfolded = self._snapshots[home].unfolded
        for digest, event in sorted(self.events.items()):
            if digest not in folded and event.row_key not in unfolded:
                payload = self._processor.blob_cache.get(digest)
                row = self.rows.get(digest) or EventRow(event=event, payload=payload, received=self._arrived(digest))
                self._storage.insert(APPLICATIONS, row.row(home))
        has_ended = any(event.end for event in self.events.values())
        is_current = settled is not None and settled.digests >= self.events.keys() and not self._rows_in(home)
        if is_current or not (has_ended or settled):
            return False
        run = frozenset({self._run_id})
        timed_out = run if settled and settled.timed_out else frozenset()
        request = FoldRequest(force=run, timed_out=timed_out, returned=run)
        return self._processor.fold(home, request).has_marks

    def _arrived(self, digest: str) -> datetime | None:
        """When an event arrived at the latest, as the record says that has it."""
        records = (record for record in self._records.values() if record and digest in record.digests)
        return latest_of(*(record.arrived for record in records))

    def refer(self, application: str, home: str) -> bool:
        """Have an application refer to the run's home, unless it does: whether marks were left."""
        record = self._read(application)
        is_current = record is not None and record.home == home and record.digests >= self.events.keys()
        if is_current and not self._rows_in(application):
            return False
        references = tuple(sorted(event.reference for event in self.events.values()))
        request = FoldRequest(homes={self._run_id: home}, elsewhere=references)
        return self._processor.fold(application, request).has_marks


def home_of(run_id: str, snapshot: Mapping[str, OpenApplication], events: Mapping[str, StoredEvent]) -> str | None:
    """The application that has all of a run's events, folded or waiting for its end, where all others refer to it; None
    where that is not so. `snapshot`: applications with the records of their runs; `events` by digest.
    """
    homes: list[str] = []
    references: set[str] = set()
    for application, open_application in snapshot.items():
        record = open_application.records.get(run_id)
        rows = {row.event.digest for row in open_application.by_run().get(run_id, [])}
        if record and record.home:
            if rows or not record.digests >= events.keys():
                return None
            references.add(record.home)
            continue
        if record is None and not rows:
            if application == run_id and open_application.etag:
                return None  # an application that does not know its own times yet
            continue
        is_unfolded = bool(rows) and (
            (record is not None and record.verdict is not State.WAITING) or any(event.end for event in events.values())
        )
        if is_unfolded or not rows | (record.digests if record else frozenset()) >= events.keys():
            return None
        homes.append(application)
    return homes[0] if len(homes) == 1 and references <= set(homes) else None


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
