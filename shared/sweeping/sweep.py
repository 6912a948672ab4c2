"""The sweep: work not started by a trigger. It delivers missed events, folds late ones, times out runs, and retries.

A sweep learns of applications in three ways, and its cost follows what is open, not what is stored:

- It lists the folders of `events` (`shared/sweeping/listing.py`): applications with a late event, or a missed one.
- `control` has the applications with runs that wait for their end, by the time when that is no longer awaited.
- Applications that could not be folded are retried with backoff.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Literal

from shared.applications.delivery import reunite
from shared.applications.partition import OpenApplication, read_open, read_record, read_whole
from shared.applications.processor import ApplicationProcessor, FoldRequest
from shared.applications.state import RunRecord
from shared.errors import StorageUnavailable, WriteConflict
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.decoding import RUNNING
from shared.records.states import State
from shared.storage.port import LeaseSession, Storage, session_of
from shared.storage_layout import APPLICATIONS, EventRow, StoredEvent
from shared.sweeping.closing import ClosingOptions, close_and_archive
from shared.sweeping.forgetting import forget_due
from shared.sweeping.listing import (
    EPOCH,
    SWEEP,
    ListedRun,
    Lister,
    Listing,
    OpenEntry,
    SweepPosition,
    due_entries,
    put_entries,
    rounded,
)
from shared.sweeping.retries import Retries, noting_current
from shared.telemetry.port import SILENT, Fact, Telemetry

_LOG = logging.getLogger("throughline.sweep")
_LEASE = "sweeper"
_SHARE = 2 / 3
"""How much of a session sweeping may take; the rest is left for archiving."""
_MAX_RECORDS = 8
"""Records that are read one by one; of an application with more the whole partition is."""
MAX_WAITING_EVENTS = 100
"""Events of a run without an end that wait in rows of their own; the sweep folds more into the run's record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """`end_timeout`: how long after its last arrival a run's end is awaited; `grace`: how long a trigger may take;
    `names`: the naming rules; `forwards`: leave marks for runs that are to be forwarded; `closing`: when runs are
    closed, archived and forgotten; `most_blobs`: how many are listed in one sweep; `now`: the clock; `seconds`: a
    monotonic clock; `telemetry`: the sink of facts.
    """

    end_timeout: timedelta = timedelta(hours=6)
    grace: timedelta = timedelta(minutes=10)
    names: Names = BUILT_IN
    forwards: bool = False
    closing: ClosingOptions = field(default_factory=ClosingOptions)
    most_blobs: int = 100_000
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    seconds: Callable[[], float] = time.monotonic
    telemetry: Telemetry = SILENT


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """Runs that timed out, and runs that were folded for a missed or late event; applications that failed and are
    retried; events archived, and deleted from the archive; runs waiting for their end, and the age of the oldest of
    these in seconds since its last arrival. `is_behind`: not all of the last two hours could be listed.
    """

    timed_out: int = 0
    undelivered: int = 0
    failed: int = 0
    archived: int = 0
    deleted: int = 0
    waiting: int = field(default=0, compare=False)
    oldest: float = field(default=0.0, compare=False)
    is_behind: bool = field(default=False, compare=False)

    @property
    def facts(self) -> dict[str, Fact]:
        """As facts of telemetry."""
        return asdict(self)


def sweep(storage: Storage, options: SweepOptions) -> SweepResult:
    """Sweep, archive and forget; only one sweeper works at a time.

    Raises StorageUnavailable; the next sweep continues.
    """
    with session_of(storage, _LEASE, options.seconds) as session:
        if session is None:
            return SweepResult()
        processor = ApplicationProcessor(
            storage=storage,
            names=options.names,
            forwards=options.forwards,
            now=options.now,
            telemetry=options.telemetry,
        )
        work = _Sweep(storage=storage, options=options, session=session, processor=processor, now=options.now())
        return work.run()


@dataclass(slots=True, kw_only=True)
class _Sweep:
    storage: Storage
    options: SweepOptions
    session: LeaseSession
    processor: ApplicationProcessor
    now: datetime
    listing: Listing = field(default_factory=Listing)
    timed_out: int = 0
    undelivered: int = 0
    failed: int = 0
    entries: list[OpenEntry] = field(default_factory=list)

    def run(self) -> SweepResult:
        now = self.now
        position = SWEEP.load(self.storage) or SweepPosition()
        entries = list(due_entries(self.storage, now))
        retries = Retries.load(self.storage, now)
        entries_due = {entry.application for entry in entries}
        lister = Lister(
            storage=self.storage,
            grace=self.options.grace,
            quiet=self.options.closing.quiet,
            most_blobs=self.options.most_blobs,
            unfinished=frozenset(entries_due | retries.states.keys()),
            telemetry=self.options.telemetry,
        )
        self.listing, next_position = lister.list(position, now)
        applications = dict.fromkeys(
            (*self.listing.applications_due, *(entry.application for entry in entries), *retries.states)
        )
        is_cut = False
        with noting_current(self.storage) as begin:
            for application in sorted(applications, key=lambda application: application in retries.states):
                if not self.session.may_continue(_SHARE):
                    is_cut = True
                    break
                is_due = application in entries_due
                look = _Look(sweep=self, application=application, begin=partial(begin, application), is_due=is_due)
                self._look_at(look, retries)
        put_entries(self.storage, self.entries, [] if is_cut else entries)  # first: the position says that this is done
        if not is_cut:
            SWEEP.save(self.storage, next_position)
        archived = close_and_archive(
            self.storage,
            self.options.closing,
            self.listing.closable,
            now,
            places=self.listing.places,
            may_continue=self.session.may_continue,
        )
        deleted = forget_due(self.storage, self.options.closing, now, may_continue=self.session.may_continue)
        last_due = rounded(now + self.options.end_timeout, now)
        waiting = [entry for entry in due_entries(self.storage, last_due) if entry.waiting]
        latest = {entry.application: entry for entry in waiting}
        oldest = min((entry.oldest for entry in latest.values() if entry.oldest), default=now)
        return SweepResult(
            timed_out=self.timed_out,
            undelivered=self.undelivered,
            failed=self.failed,
            archived=archived,
            deleted=deleted,
            waiting=sum(entry.waiting for entry in latest.values()),
            oldest=(now - oldest).total_seconds(),
            is_behind=next_position.is_behind,
        )

    def _look_at(self, look: "_Look", retries: Retries) -> None:
        """Look at one application. One that fails blocks no other; unavailable storage ends the sweep."""
        application, now = look.application, self.now
        if not retries.is_due(application):
            return
        try:
            waiting = look.run()
        except StorageUnavailable:
            raise  # nothing is wrong with this application
        except WriteConflict:
            self.entries.append(OpenEntry(application=application, due=rounded(now, now)))
            return
        except Exception as error:  # noqa: BLE001 - recorded to be retried, then a dead letter
            self.failed += 1
            retries.record_failure(application, error, look.unfolded(), self.options.telemetry)
            return
        retries.clear(application, look.used())
        if waiting:
            oldest = min(waiting)
            due_time = rounded(max(oldest + self.options.end_timeout, now), now)
            self.entries.append(OpenEntry(application=application, due=due_time, waiting=len(waiting), oldest=oldest))


@dataclass(slots=True, kw_only=True)
class _Look:
    """A look at one application. `begin` is called before it is changed; `is_due`: runs of it wait for their end."""

    sweep: _Sweep
    application: str
    begin: Callable[[], None]
    is_due: bool
    records: dict[str, RunRecord] = field(default_factory=dict)
    snapshot: OpenApplication | None = None

    @property
    def listed(self) -> Mapping[str, ListedRun]:
        """Its runs as the listing shows them."""
        return self.sweep.listing.applications.get(self.application, {})

    def run(self) -> list[datetime]:
        """Fold what is late, missed or timed out. Returns the last arrivals of the runs that wait for their end."""
        snapshot = self.snapshot = read_open(self.sweep.storage, self.application)
        rows, missing = snapshot.by_run(), self._missing(snapshot)
        split_runs = {*self.listed, self.application} & self.sweep.listing.places.keys()
        places = {run_id: set(self.sweep.listing.places[run_id]) for run_id in sorted(split_runs)}
        self.records = self._read_records(rows.keys() | missing.keys())
        force, timed_out, waiting = set[str](), set[str](), dict[str, datetime]()
        for run_id in sorted(rows.keys() | missing.keys() | self.records.keys()):
            record = self.records.get(run_id)
            events = [*rows.get(run_id, []), *self._insert(run_id, missing.get(run_id, ()), record)]
            if record and record.home:
                if events:
                    places.setdefault(run_id, set()).update({self.application, record.home})
                continue
            arrived = self._arrived(run_id, events, record)
            match self._judge(events, record, self.sweep.now - arrived, is_missing=run_id in missing):
                case "force":
                    force.add(run_id)
                case "timed out":
                    timed_out.add(run_id)
                case "waits":
                    waiting[run_id] = arrived
        split = {run_id for run_id in places if self._is_split(run_id, places[run_id])}
        crowded = {run_id for run_id in waiting if len(rows.get(run_id, ())) > MAX_WAITING_EVENTS}
        homes = self._fold(snapshot, frozenset((force - split) | crowded), frozenset(timed_out - split))
        for run_id, home in homes.items():
            places.setdefault(run_id, set()).update({self.application, home})
        reunited = set[str]()
        for run_id in sorted(split | homes.keys()):
            self.begin()
            parts = self._listed_in(run_id, places[run_id])
            stored = (event for part in parts for event in part.events.values())
            outcome = reunite(self.sweep.processor, run_id, places[run_id], stored, timed_out=run_id in timed_out)
            reunited |= {run_id} if outcome is not None else set()
        self.sweep.timed_out += len(timed_out)
        self.sweep.undelivered += len((force - split) | reunited)
        return list(waiting.values())

    def _judge(
        self, events: list[EventRow], record: RunRecord | None, age: timedelta, *, is_missing: bool
    ) -> Literal["force", "timed out", "waits", "leave"]:
        """What to do with a run of which these events are not folded, the last of them `age` old."""
        if record and record.is_decided:
            return "force" if events else "leave"
        if any(event.event.end for event in events):
            return "force" if is_missing or age >= self.sweep.options.grace else "leave"
        if not events and record is None:
            return "leave"
        if age >= self.sweep.options.grace and any(map(self._may_stream, events)):
            return "force"
        return "timed out" if age >= max(self.sweep.options.end_timeout, self.sweep.options.grace) else "waits"

    def _may_stream(self, row: EventRow) -> bool:
        """Whether an event may tell of a stream that runs."""
        event = self.sweep.processor.event(row.event, row.payload) if row.event.type == RUNNING else None
        return event is not None and event.may_stream

    def _fold(self, snapshot: OpenApplication, force: frozenset[str], timed_out: frozenset[str]) -> Mapping[str, str]:
        """Fold these runs, and the application's own times if these are new. Returns the runs that belong elsewhere."""
        own_times = [event.event.time for event in snapshot.by_run().get(self.application, [])]
        times = bool(snapshot.etag and own_times) and (
            snapshot.state.first is None or min(own_times) < snapshot.state.first
        )
        if not (force or timed_out or times or snapshot.state.stale):
            return {}
        self.begin()
        request = FoldRequest(force=force, timed_out=timed_out, times=times)
        outcome = self.sweep.processor.fold(self.application, request)
        self.records |= outcome.records
        return outcome.homes

    def _missing(self, snapshot: OpenApplication) -> dict[str, list[StoredEvent]]:
        """By run, the overdue events without a row: they are folded, or were never delivered."""
        missing: dict[str, list[StoredEvent]] = {}
        for run_id, run in self.listed.items():
            for event in run.overdue.values():
                if event.row_key not in snapshot.unfolded:
                    missing.setdefault(run_id, []).append(event)
        return missing

    def _read_records(self, runs: set[str]) -> dict[str, RunRecord]:
        """The records of these runs; of an application that is due, also those of runs that wait for their end."""
        if len(runs) > _MAX_RECORDS or self.is_due:
            all_records = read_whole(self.sweep.storage, self.application).records
            return {
                run_id: record
                for run_id, record in all_records.items()
                if run_id in runs or (record.verdict is State.WAITING and not record.home)
            }
        records = ((run_id, read_record(self.sweep.storage, self.application, run_id)) for run_id in sorted(runs))
        return {run_id: record for run_id, record in records if record}

    def _insert(self, run_id: str, events: list[StoredEvent] | tuple[()], record: RunRecord | None) -> list[EventRow]:
        """Write the missing rows of events that are not folded either."""
        folded = record.digests if record else frozenset()
        rows = [
            EventRow(event=event, received=self.listed[run_id].arrived)
            for event in events
            if event.digest not in folded
        ]
        for row in rows:
            self.begin()
            self.sweep.storage.insert(APPLICATIONS, row.row(self.application))
        return rows

    def _arrived(self, run_id: str, events: list[EventRow], record: RunRecord | None) -> datetime:
        """When the last event of a run arrived."""
        times = [event.received for event in events if event.received]
        times += [record.arrived] if record and record.arrived else []
        times += [self.listed[run_id].arrived] if run_id in self.listed else []
        return max(times, default=EPOCH)

    def _is_split(self, run_id: str, places: set[str]) -> bool:
        """Whether a run has events in several applications, all of them past the grace."""
        ages = (self.sweep.now - run.arrived for run in self._listed_in(run_id, places))
        return self.application in places and all(age >= self.sweep.options.grace for age in ages)

    def _listed_in(self, run_id: str, places: set[str]) -> list[ListedRun]:
        """The run as the listing shows it in these applications."""
        applications = (self.sweep.listing.applications.get(place, {}) for place in sorted(places))
        return [runs[run_id] for runs in applications if run_id in runs]

    def unfolded(self) -> list[StoredEvent]:
        """The events of the application that are not folded, as far as they were read."""
        return [row.event for row in self.snapshot.unfolded.values()] if self.snapshot else []

    def used(self) -> set[str]:
        """The digests of the events that are folded, as far as that was read."""
        return {digest for record in self.records.values() for digest in record.digests}
