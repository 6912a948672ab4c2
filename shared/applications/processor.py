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
from functools import partial
from itertools import islice

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
from shared.applications.state import Folded, RunInput, RunRecord, latest_of
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
        work = _Work(
            processor=self,
            application=application,
            request=request,
            needed=needed,
            payload=payload,
            pending=set(request.runs),
            times=request.times,
        )
        while True:
            snapshot = work.read()
            runs = chosen_runs = work.runs()
            if not runs and not (work.times and snapshot.etag):
                break
            joins_stale, is_divided = True, False
            while True:  # until the runs that belong into one commit are there, and no more than fit
                folded = fold(
                    application,
                    snapshot.state,
                    runs,
                    names=self.names,
                    all_records=partial(all_records, self.storage, application),
                    own_events=work.own_events(runs),
                )
                if folded.companions:
                    runs = runs | work.companions(folded)
                elif joins_stale and (stale_runs := work.stale_runs(folded, runs)):
                    runs, joins_stale = runs | stale_runs, False
                else:
                    new = frozenset(run_id for run_id, run in runs.items() if run.record is None)
                    rows = [key for key, row in snapshot.unfolded.items() if row.event.run_id in folded.records]
                    commit = Commit.of(self.storage, snapshot, folded.state, folded.records, new=new, folded=rows)
                    if commit.fits or (is_divided and len(chosen_runs) <= 1):
                        break
                    runs = chosen_runs = dict(islice(chosen_runs.items(), max(1, len(chosen_runs) // 2)))
                    joins_stale, is_divided = False, True
            if work.commit(commit, folded, runs):
                break
        return Outcome(has_marks=work.has_marks, records=work.records, homes=work.homes)

    def leave_marks(
        self, application: str, version: int, targets: Mapping[str, Iterable[str]], *, since: datetime | None = None
    ) -> None:
        """Have these `targets` (keys by the kind of mark) looked at once the application has this version. `since`:
        when the event arrived that changes them.
        """
        marks = [
            Mark(kind=kind, target=key, application=application, version=version, since=since, left=self.now())
            for kind, keys in targets.items()
            if kind != FORWARD_KIND or self.forwards
            for key in sorted(keys)
        ]
        leave_marks(self.storage, marks)

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
    """The steps of one call of `fold`, and what they have come to.

    `pending`: requested runs that are not folded yet; `times`: whether the application's own times are to be committed.
    `snapshot`: the application as it was last read; `unfolded`: its events that are not folded, by run; `ended`: the
    runs that these end. `read_records`: those that were read for the next commit; `rereads`: read records instead of
    assuming that runs are new, since a commit was refused.
    """

    processor: ApplicationProcessor
    application: str
    request: FoldRequest
    needed: StoredEvent | None
    payload: bytes | None
    pending: set[str]
    times: bool
    snapshot: OpenApplication = field(init=False)
    unfolded: Mapping[str, list[EventRow]] = field(init=False)
    ended: frozenset[str] = frozenset()
    read_records: dict[str, RunRecord | None] = field(default_factory=dict)
    rereads: bool = False
    attempts: int = 0
    has_marks: bool = False
    records: dict[str, RunRecord] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)
    began: int = field(default_factory=time.time_ns)

    def read(self) -> OpenApplication:
        """Read the application, with the row of the event that has just arrived: without it the receiver is still at
        work, or has died.
        """
        event, processor = self.needed, self.processor
        run_id = event.run_id if event and self.pending <= {event.run_id} else ""
        self.snapshot = read_open(processor.storage, self.application, run=run_id, memory=processor.memory)
        if event and event.row_key not in self.snapshot.unfolded:
            record = self._read(event.run_id)
            if record and event.digest in record.digests:
                self.needed = None
                self.has_marks = True  # the worker that folded it may have died before it published
            elif record and record.home:
                self.needed = None
                self.homes[event.run_id] = record.home
            else:
                row = EventRow(event=event, payload=self.payload, received=processor.now())
                processor.storage.insert(APPLICATIONS, row.row(self.application))
                self.snapshot = replace(self.snapshot, unfolded={**self.snapshot.unfolded, event.row_key: row})
        self.unfolded = self.snapshot.by_run()
        self.ended = frozenset(run for run, rows in self.unfolded.items() if any(row.event.end for row in rows))
        return self.snapshot

    def runs(self) -> dict[str, RunInput]:
        """The runs of the next commit, with all of their events."""
        snapshot = self.snapshot
        run_ids_to_fold = (self.ended | self.pending | set(snapshot.state.stale)) - self.homes.keys()
        runs: dict[str, RunInput] = {}
        operations = 1 + len(snapshot.parts)
        number_read = 0
        for run_id in sorted(run_ids_to_fold, key=lambda run: (run not in self.pending, run)):
            is_known = self.processor.memory.has_folded(run_id)
            must_read = self.rereads or is_known or run_id in self.pending or run_id in snapshot.state.stale
            operations += 1 + len(self.unfolded.get(run_id, ()))
            if runs and (operations > MAX_OPERATIONS or len(runs) >= _MAX_RUNS or number_read >= _MAX_READ):
                break
            number_read += must_read and run_id not in self.read_records
            record = self._read(run_id) if must_read else self.read_records.get(run_id)
            if record and record.home and run_id not in self.request.homes.keys() | self.request.returned:
                self.homes[run_id] = record.home
                continue
            run = self._input(run_id, record)
            if run.references or run.home:
                runs[run_id] = run
        return runs

    def own_events(self, runs: Mapping[str, RunInput]) -> list[StoredEvent]:
        """The events of the application's own run that are not folded, if it is not one of these."""
        return [] if self.application in runs else [row.event for row in self.unfolded.get(self.application, ())]

    def companions(self, folded: Folded) -> dict[str, RunInput]:
        """The runs that must be folded with those of a fold. Raises ContentLost."""
        records = {run_id: self._read(run_id) for run_id in sorted(folded.companions)}
        if lost_runs := [run_id for run_id, record in records.items() if record is None]:
            raise ContentLost(f"The record of run {lost_runs[0]} is missing: run `throughline verify --fix`", after=60)
        return {run_id: self._input(run_id, record) for run_id, record in records.items()}

    def stale_runs(self, folded: Folded, runs: Mapping[str, RunInput]) -> dict[str, RunInput]:
        """The runs whose context a fold of `runs` changes, where they are few: they are folded in the same commit."""
        stale = folded.state.stale
        if not stale or len(stale) > _MAX_READ or len(runs) > _MAX_RUNS:
            return {}
        records = {run_id: self._read(run_id) for run_id in stale}
        if any(record is None or record.home for record in records.values()):
            return {}
        return {run_id: self._input(run_id, record) for run_id, record in records.items()}

    def commit(self, commit: Commit, folded: Folded, runs: Mapping[str, RunInput]) -> bool:
        """Leave marks, and commit a fold of these runs. Whether nothing is left to do."""
        storage, application, version = self.processor.storage, self.application, folded.state.version
        forwarded = (run_id for run_id, record in folded.records.items() if record.changes_lineage(runs[run_id].record))
        since = latest_of(*(run.arrived for run in runs.values()))
        targets = {PROCESS_KIND: folded.processes, ASSET_KIND: folded.assets, FORWARD_KIND: forwarded}
        self.processor.leave_marks(application, version, targets, since=since)
        if not commit.execute(storage, self.processor.memory):
            self._start_over()
            return False
        self._withdraw_letters(folded, runs)
        self._note(folded)
        self.has_marks = self.has_marks or bool(folded.processes or folded.assets)
        self.pending -= runs.keys()
        self.times = False
        if self.needed and self.needed.run_id in runs:
            self.needed = None
        self.attempts, self.read_records = 0, {}
        remaining = (self.ended | self.pending | set(folded.state.stale)) - runs.keys() - self.homes.keys()
        return not remaining and self.needed is None

    def _read(self, run_id: str) -> RunRecord | None:
        if run_id not in self.read_records:
            commit = self.processor.memory.commit(self.application)
            if commit and commit.etag == self.snapshot.etag and run_id in commit.records:
                return commit.records[run_id]
            self.read_records[run_id] = read_record(self.processor.storage, self.application, run_id)
        return self.read_records[run_id]

    def _input(self, run_id: str, record: RunRecord | None) -> RunInput:
        home, unfolded = self.request.homes.get(run_id, ""), self.unfolded.get(run_id, [])
        references = {row.event.reference for row in unfolded} | set(record.events if record else ())
        arrivals = [row.received for row in unfolded if row.received]
        arrivals += [record.arrived] if record and record.arrived else []
        events: list[Event | None] = []
        if home:
            references |= set(self.request.elsewhere)
            arrivals = arrivals or [self.processor.now()]
        elif not (record and record.closed):
            by_digest = {row.event.digest: row for row in unfolded}
            events += [self.processor.event(row.event, row.payload) for row in by_digest.values()]
            events += record.values if record else ()
            if record and not record.values:
                folded = counting_events(self.processor.storage, record)
                events += [self.processor.event(event) for event in folded if event.digest not in by_digest]
        return RunInput(
            record=record,
            references=tuple(sorted(references)),
            events=tuple(event for event in events if event),
            arrived=max(arrivals, default=None),
            omitted=frozenset(path for row in unfolded for path in row.omitted),
            timed_out=run_id in self.request.timed_out,
            home=home,
        )

    def _withdraw_letters(self, folded: Folded, runs: Mapping[str, RunInput]) -> None:
        """Take back that a run could not be used, which can be now.

        Of a worker that dies before it, the letter counts no more all the same, and closing the run withdraws it.
        """
        for run_id, record in folded.records.items():
            previous = runs[run_id].record
            was_dead = run_id in self.request.returned or (previous and previous.verdict is State.DEAD)
            if was_dead and record.verdict is not State.DEAD and not record.home:
                withdraw_letters(self.processor.storage, sorted(record.digests))

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
