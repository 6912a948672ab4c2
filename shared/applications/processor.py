"""Fold what is not folded yet into an application's state.

A worker reads the header and the events that are not folded yet in one query, folds them, and commits in one
transaction under the header's ETag. It starts over if another worker was faster, or if a run was known that it took
for new: then it reads records first. It may be interrupted between any two calls:

1. A row implies its blob: the receiver writes the blob first. A missing row is written by whoever meets the blob.
2. Marks for the publisher are written before the commit, with the version that the commit will have. The publisher
   consumes a mark only when the header has reached its version (`shared/publishing/headers.py`).
3. State, records and the deletion of the events' rows are one transaction: an event counts in a record, or in a row.
"""

import gzip
import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from shared.applications.fold import fold
from shared.applications.partition import (
    Commit,
    OpenApplication,
    all_records,
    counting_events,
    read_open,
    read_record,
)
from shared.applications.rows import BlobCache, FoldMemory, own_run
from shared.applications.state import Folded, RunInput, RunRecord
from shared.errors import ContentLost, Refused, WriteConflict
from shared.events.archive import DAMAGED, stored_packed
from shared.events.dead_letters import add_dead_letter, withdraw_letters
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.decoding import Event, decode
from shared.records.publish_queue import ASSET_KIND, FORWARD_KIND, PROCESS_KIND, Mark, leave_marks
from shared.records.states import State
from shared.storage.port import MAX_OPERATIONS, Storage
from shared.storage_layout import APPLICATIONS, EVENTS, EventRow, StoredEvent, event_of_reference
from shared.telemetry.port import RUN, SILENT, Telemetry

_LOG = logging.getLogger("throughline.process")

MAX_ATTEMPTS = 10
_MAX_PAUSE = 0.02
"""Seconds of the pause after the first refused commit; it grows with each."""
_MAX_RUNS = 40
"""Runs in one commit."""
_MAX_READ = 8
"""Records that are read one by one for a commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldRequest:
    """What to fold beside the runs that have ended.

    `force`: runs to fold though none of their new events ends them; `timed_out`: those whose end is not awaited any
    more. `homes`: runs that belong to another application (its id by run), with references to all of their events in
    `elsewhere`; `returned`: runs that belong here after all. `times`: commit also if only the application's own times
    changed.
    """

    force: frozenset[str] = frozenset()
    timed_out: frozenset[str] = frozenset()
    homes: Mapping[str, str] = field(default_factory=dict)
    elsewhere: tuple[str, ...] = ()
    returned: frozenset[str] = frozenset()
    times: bool = False

    @property
    def runs(self) -> frozenset[str]:
        """All runs that are to be folded."""
        return self.force | self.timed_out | self.homes.keys()


ENDED_RUNS = FoldRequest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a fold came to: whether marks were left (`has_marks`), the records of the runs that it folded, and the homes
    of runs that belong to other applications.
    """

    has_marks: bool = False
    records: Mapping[str, RunRecord] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationProcessor:
    """Folds events into applications on one storage.

    `names` are the naming rules; `forwards`: leave marks for runs that are to be forwarded. `blob_cache` keeps recently
    read blobs; `memory` what this process has folded; `pause` waits (seconds) after a refused commit; `now` is the
    clock.
    """

    storage: Storage
    names: Names = BUILT_IN
    forwards: bool = False
    blob_cache: BlobCache = field(default_factory=BlobCache)
    memory: FoldMemory = field(default_factory=FoldMemory)
    pause: Callable[[float], None] = lambda _: None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    telemetry: Telemetry = SILENT

    def fold(
        self,
        application: str,
        request: FoldRequest = ENDED_RUNS,
        *,
        needed: StoredEvent | None = None,
        payload: bytes | None = None,
    ) -> Outcome:
        """Fold what is not folded yet, and what is requested, until nothing is left. `needed`: an event (`payload`)
        whose blob has arrived; its row is written if it is missing.

        Raises WriteConflict after MAX_ATTEMPTS, ContentLost where a blob is missing, and StorageUnavailable.
        """
        work = _Work(processor=self, application=application, request=request, needed=needed, payload=payload)
        return work.run()

    def event(self, event: StoredEvent, payload: bytes | None = None) -> Event | None:
        """A stored event, decoded; None, and a dead letter, when its bytes can't be used. Raises ContentLost."""
        payload = payload or self.blob_cache.get(event.digest) or stored_packed(self.storage, event.blob)
        if payload is None:
            raise ContentLost(f"Blob {event.blob} of {EVENTS} is missing", after=60)
        try:
            return decode(gzip.decompress(payload))
        except (Refused, *DAMAGED) as error:
            add_dead_letter(self.storage, event.blob, event.digest, error, self.telemetry)
            return None


@dataclass(slots=True, kw_only=True)
class _Work:
    """One call of `fold`. `pending`: requested runs that are not folded yet; `read_records`: those that were read for
    the next commit; `rereads`: read records instead of assuming that runs are new, since a commit was refused.
    """

    processor: ApplicationProcessor
    application: str
    request: FoldRequest
    needed: StoredEvent | None
    payload: bytes | None
    pending: set[str] = field(default_factory=set)
    read_records: dict[str, RunRecord | None] = field(default_factory=dict)
    rereads: bool = False
    attempts: int = 0
    etag: str = ""
    has_marks: bool = False
    records: dict[str, RunRecord] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)
    times: bool = False
    began: int = field(default_factory=time.time_ns)

    def run(self) -> Outcome:
        """Commit until nothing is left."""
        self.pending, self.times = set(self.request.runs), self.request.times
        while True:
            snapshot = read_open(
                self.processor.storage,
                self.application,
                run=self.needed.run_id if self.needed and self.pending <= {self.needed.run_id} else "",
                memory=self.processor.memory,
            )
            self.etag = snapshot.etag
            snapshot = self._with_needed(snapshot)
            runs = self._runs(snapshot)
            if not runs and not (self.times and snapshot.etag):
                return self._outcome()
            is_last = self._commit(snapshot, runs)
            if is_last:
                return self._outcome()

    def _outcome(self) -> Outcome:
        return Outcome(has_marks=self.has_marks, records=self.records, homes=self.homes)

    def _with_needed(self, snapshot: OpenApplication) -> OpenApplication:
        """With the row of the event that has just arrived; without it the receiver is still at work, or has died."""
        event = self.needed
        if event is None or event.row_key in snapshot.unfolded:
            return snapshot
        record = self._read(event.run_id)
        if record and event.digest in record.digests:
            self.needed = None
            self.has_marks = True  # the worker that folded it may have died before it published
            return snapshot
        if record and record.home:
            self.homes[event.run_id] = record.home
            self.needed = None
            return snapshot
        row = EventRow(event=event, payload=self.payload, received=self.processor.now())
        self.processor.storage.insert(APPLICATIONS, row.row(self.application))
        return replace(snapshot, unfolded={**snapshot.unfolded, event.row_key: row})

    def _read(self, run_id: str) -> RunRecord | None:
        if run_id not in self.read_records:
            commit = self.processor.memory.commit(self.application)
            if commit and commit.etag == self.etag and run_id in commit.records:
                return commit.records[run_id]
            self.read_records[run_id] = read_record(self.processor.storage, self.application, run_id)
        return self.read_records[run_id]

    def _runs(self, snapshot: OpenApplication) -> dict[str, RunInput]:
        """The runs of the next commit, with all of their events."""
        by_run = snapshot.by_run()
        ended_runs = {run_id for run_id, events in by_run.items() if any(event.event.end for event in events)}
        run_ids_to_fold = (ended_runs | self.pending | set(snapshot.state.stale)) - self.homes.keys()
        runs: dict[str, RunInput] = {}
        operations = 1 + len(snapshot.parts)
        number_read = 0
        for run_id in sorted(run_ids_to_fold, key=lambda run: (run not in self.pending, run)):
            must_read = self.rereads or run_id in self.pending or run_id in snapshot.state.stale
            events = by_run.get(run_id, [])
            operations += 1 + len(events)
            if runs and (operations > MAX_OPERATIONS or len(runs) >= _MAX_RUNS or number_read >= _MAX_READ):
                break
            number_read += must_read and run_id not in self.read_records
            record = self._read(run_id) if must_read else self.read_records.get(run_id)
            if record and record.home and run_id not in self.request.homes:
                if run_id not in self.request.returned:
                    self.homes[run_id] = record.home
                    self.pending.discard(run_id)
                    continue
                record = record.without_home()
            run = self._input(run_id, record, events)
            if run.references or run.home:
                runs[run_id] = run
            else:
                self.pending.discard(run_id)
        return runs

    def _input(self, run_id: str, record: RunRecord | None, unfolded: list[EventRow]) -> RunInput:
        home = self.request.homes.get(run_id, "")
        references = {event.event.reference for event in unfolded} | set(record.events if record else ())
        arrivals = [event.received for event in unfolded if event.received]
        arrivals += [record.arrived] if record and record.arrived else []
        events: list[Event | None] = []
        if home:
            references |= set(self.request.elsewhere)
            arrivals = arrivals or [self.processor.now()]
        elif not (record and record.closed):
            by_digest = {event.event.digest: event for event in unfolded}
            events += [self.processor.event(event.event, event.payload) for event in by_digest.values()]
            events += record.values if record else ()
            if record and not record.values:
                folded = counting_events(self.processor.storage, record)
                events += [self.processor.event(event) for event in folded if event.digest not in by_digest]
        return RunInput(
            record=record,
            references=tuple(sorted(references)),
            events=tuple(event for event in events if event),
            arrived=max(arrivals, default=None),
            omitted=frozenset(path for event in unfolded for path in event.omitted),
            timed_out=run_id in self.request.timed_out,
            home=home,
        )

    def _commit(self, snapshot: OpenApplication, runs: dict[str, RunInput]) -> bool:
        """Fold these runs, or as many of them as fit into a transaction. Whether nothing is left to do."""
        storage, is_whole, first_runs = self.processor.storage, True, runs
        while True:
            runs, folded = self._with_companions(snapshot, first_runs)
            if is_whole and (other_run_inputs := self._stale_runs(snapshot, folded, runs)):
                runs, folded = self._with_companions(snapshot, {**runs, **other_run_inputs})
            commit = Commit.of_fold(storage, snapshot, folded, runs)
            if commit.fits or (len(first_runs) <= 1 and not is_whole):
                break
            first_runs, is_whole = dict(list(first_runs.items())[: max(1, len(first_runs) // 2)]), False
        arrived = max((run.arrived for run in runs.values() if run.arrived), default=None)
        marks = [
            Mark(
                kind=kind,
                target=target,
                application=self.application,
                version=folded.state.version,
                since=arrived,
                left=self.processor.now(),
            )
            for kind, targets in (
                (PROCESS_KIND, folded.processes),
                (ASSET_KIND, folded.assets),
                (FORWARD_KIND, self._forwarded(folded, runs)),
            )
            for target in sorted(targets)
        ]
        leave_marks(storage, marks)
        if not commit.execute(storage, self.processor.memory):
            self._start_over()
            return False
        self._withdraw_letters(folded, runs)
        self._note(folded)
        self.has_marks = self.has_marks or any(mark.kind != FORWARD_KIND for mark in marks)
        self.pending -= runs.keys()
        self.times = False
        if self.needed and self.needed.run_id in runs:
            self.needed = None
        self.attempts, self.read_records = 0, {}
        unfolded = {run_id for run_id, events in snapshot.by_run().items() if any(event.event.end for event in events)}
        remaining = (unfolded | self.pending | set(folded.state.stale)) - runs.keys() - self.homes.keys()
        return is_whole and not remaining and self.needed is None

    def _forwarded(self, folded: Folded, runs: Mapping[str, RunInput]) -> Iterable[str]:
        """The runs that are to be forwarded."""
        if not self.processor.forwards:
            return ()
        return (run_id for run_id, record in folded.records.items() if record.changes_lineage(runs[run_id].record))

    def _withdraw_letters(self, folded: Folded, runs: Mapping[str, RunInput]) -> None:
        """Take back that a run could not be used, which can be now.

        Of a worker that dies before it, the letter counts no more all the same, and closing the run withdraws it.
        """
        for run_id, record in folded.records.items():
            previous = runs[run_id].record
            was_dead = run_id in self.request.returned or (previous and previous.verdict is State.DEAD)
            if was_dead and record.verdict is not State.DEAD and not record.home:
                withdraw_letters(self.processor.storage, sorted(record.digests))

    def _with_companions(
        self, snapshot: OpenApplication, runs: dict[str, RunInput]
    ) -> tuple[dict[str, RunInput], Folded]:
        """These runs, with those that must be folded with them, and their fold. Raises ContentLost."""
        by_run = snapshot.by_run()
        while companions := (folded := self._folded(snapshot, runs)).companions:
            records = {run_id: self._read(run_id) for run_id in sorted(companions)}
            if lost_runs := [run_id for run_id, record in records.items() if record is None]:
                raise ContentLost(
                    f"The record of run {lost_runs[0]} is missing: run `throughline verify --fix`", after=60
                )
            runs = runs | {run: self._input(run, record, by_run.get(run, [])) for run, record in records.items()}
        return runs, folded

    def _folded(self, snapshot: OpenApplication, runs: Mapping[str, RunInput]) -> Folded:
        own_rows = snapshot.by_run().get(self.application, []) if self.application not in runs else []
        storage, application = self.processor.storage, self.application
        return fold(
            application,
            snapshot.state,
            runs,
            names=self.processor.names,
            all_records=lambda: all_records(storage, application),
            own_events=[event.event for event in own_rows],
        )

    def _stale_runs(
        self, snapshot: OpenApplication, folded: Folded, runs: Mapping[str, RunInput]
    ) -> dict[str, RunInput]:
        """The runs whose context this fold changes, where they are few: they are folded in the same commit."""
        stale = folded.state.stale
        if not stale or len(stale) > _MAX_READ or len(runs) > _MAX_RUNS:
            return {}
        records = {run_id: self._read(run_id) for run_id in stale}
        if any(record is None or record.home for record in records.values()):
            return {}
        by_run = snapshot.by_run()
        return {run_id: self._input(run_id, record, by_run.get(run_id, [])) for run_id, record in records.items()}

    def _start_over(self) -> None:
        self.attempts += 1
        if self.attempts >= MAX_ATTEMPTS:
            raise WriteConflict(f"Application {self.application} kept changing while it was processed", after=2)
        self.processor.pause(random.uniform(0, _MAX_PAUSE * self.attempts))
        self.read_records, self.rereads = {}, True

    def _note(self, folded: Folded) -> None:
        """Remember and report what was committed. After a death before it, a run that can't be used is counted as dead
        by its record, without a letter.
        """
        processor = self.processor
        for run_id, error in folded.errors.items():
            _LOG.error("run cannot be used run=%s error=%s", run_id, folded.records[run_id].reason)
            for reference in folded.records[run_id].events:
                event = event_of_reference(run_id, reference)
                add_dead_letter(processor.storage, event.blob, event.digest, error, processor.telemetry)
            current = read_record(processor.storage, self.application, run_id)
            if current and current.verdict is not State.DEAD and not current.home:  # a faster worker could use it
                withdraw_letters(processor.storage, sorted(folded.records[run_id].digests))
        for run_id, record in folded.records.items():
            self.records[run_id] = record
            if record.home:
                continue
            processor.memory.note_folded((*record.digests, *([run_id] if record.is_decided else [])))
            processor.telemetry.report(
                RUN,
                run_id,
                began=self.began,
                job=record.job,
                state=record.verdict.value,
                **({"reason": record.reason} if record.reason else {}),
                events=len(record.events),
                processes=len(record.contents),
            )
        processor.memory.note_folded((own_run(self.application),))
