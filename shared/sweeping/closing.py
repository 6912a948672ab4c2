"""Closing and archiving: what is over leaves the storage, by rule, and its counts stay.

    a run is decided and quiet for a time ──> closed: later events change nothing, they are skipped
    its events                             ──> a file of the archive, and counts of their states by day
    `keep_runs` after closing              ──> the run's record goes; its application keeps what it contributes
    its last record and contribution       ──> the application's header goes

A contribution goes when an application that supersedes it is closed without failure: that is the publisher's part.
The last two rows are in `shared/sweeping/forgetting.py`.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType

from msgspec import structs

from shared.applications.partition import Commit, OpenApplication, read_record, read_whole
from shared.applications.state import EarlierEvents, RunRecord
from shared.concurrency import ParallelMap
from shared.errors import ContentLost
from shared.events.archive import ArchiveMissing
from shared.events.archive_writer import Batch, Item, begin, end, pending_batch, write_batch
from shared.events.dead_letters import DISCARDED, UNUSABLE, dead_letters, withdraw_letters
from shared.records.control import ARCHIVE as ARCHIVE_CHECKPOINT
from shared.records.ledger import ledger_entry
from shared.records.publish_queue import PROCESS_KIND, Mark, leave_marks, pending_targets
from shared.records.states import EventState, LedgerState, State
from shared.storage.port import BlobFact, Storage
from shared.storage_layout import (
    EVENTS,
    IGNORED,
    QUEUE_PARTITION,
    SHADOW,
    StoredEvent,
    digest_in_reference,
    event_of_reference,
    is_ignored_blob,
    reason_of_ignored,
    stored_from_blob,
)
from shared.sweeping.listing import put_closed, rounded
from shared.translation.reference import NO_PROCESS

CLOSED_REASON = "closed"
_LOG = logging.getLogger("throughline.archive")
RUNS_AT_ONCE = 60
"""Records that one commit changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosingOptions:
    """When runs are closed, archived and forgotten.

    `quiet`: how long a decided run must have been quiet (None: nothing is closed, archived or forgotten); `keep_runs`:
    how long records of closed runs stay; `keep`: how long files of the archive stay (None: for ever); `every`: how long
    to wait after all was done; `max_events` and `max_bytes` (compressed) make a file; `max_references`: archived events
    to which the record of a stream that runs refers; `at_once`: calls to storage side by side.
    """

    quiet: timedelta | None = timedelta(hours=48)
    keep_runs: timedelta = timedelta(days=30)
    keep: timedelta | None = None
    every: timedelta = timedelta(minutes=10)
    max_events: int = 4000
    max_bytes: int = 16 * 1024 * 1024
    max_references: int = 1000
    at_once: int = 1


def close_and_archive(
    storage: Storage,
    options: ClosingOptions,
    closable: Mapping[str, set[str]],
    now: datetime,
    *,
    places: Mapping[str, set[str]] = MappingProxyType({}),
    may_continue: Callable[[], bool],
) -> int:
    """Close runs, and move their events to the archive, and those of streams that run: how many events.

    `closable`: by folder of `events`, the applications of which no event of the folder arrived for the `quiet` time;
    `places`: by run, the applications in which its events lie, where these are several.
    Raises StorageUnavailable; the next call continues.
    """
    if options.quiet is None or now < (ARCHIVE_CHECKPOINT.load(storage) or now):
        return 0
    work = _Archiving(storage, options, places, quiet_since=now - options.quiet, now=now, may_continue=may_continue)
    archived = work.end_pending()
    if archived is None:
        return 0
    for batch in (*work.batches(closable), *work.ignored_batches()):
        if not may_continue():
            return archived
        archived += work.write(batch)
    if options.keep is not None:
        return archived
    ARCHIVE_CHECKPOINT.save(storage, now + options.every)
    return archived


class _Archiving:
    """One round of archiving; what it reads of applications and processes is read once."""

    def __init__(
        self,
        storage: Storage,
        options: ClosingOptions,
        places: Mapping[str, set[str]],
        *,
        now: datetime,
        quiet_since: datetime,
        may_continue: Callable[[], bool],
    ) -> None:
        self._storage, self._options, self._places = storage, options, places
        self._now, self._quiet_since = now, quiet_since
        self._calls = ParallelMap(at_once=options.at_once, beat=may_continue)
        letters = [letter for letter in dead_letters(storage) if letter.place]
        self._letters = [letter for letter in letters if not letter.discarded]
        self._blocked = {letter.place.run_id for letter in self._letters if letter.place}
        self._discarded = {letter.digest for letter in letters if letter.discarded}
        self._entry = cache(partial(ledger_entry, storage))
        self._in_progress = cache(partial(_in_progress, storage))
        self._applications: dict[str, dict[str, RunRecord]] = {}
        self._running: dict[tuple[str, str], tuple[str, str]] = {}

    def end_pending(self) -> int | None:
        """End the batch that was begun: how many events were written. None where it can't be, so that no other can
        begin: its file is damaged, and not all of its blobs are there any more.
        """
        batch = pending_batch(self._storage)
        try:
            return self._finish(batch) if batch else 0
        except ArchiveMissing as error:
            _LOG.error("nothing is archived until this is mended error=%s", error)
            return None

    def write(self, items: tuple[Item, ...]) -> int:
        """Archive a batch: how many events were written."""
        batch = begin(self._storage, items)
        return self._finish(batch) if batch else 0

    def _finish(self, batch: Batch) -> int:
        batch, number = write_batch(self._storage, batch, self._calls)
        by_home: dict[str, dict[str, set[str]]] = {}
        referring: set[str] = set()
        for item in batch.items:
            if not item.ignored:
                event = stored_from_blob(item.blob)
                by_home.setdefault(item.home or event.application, {}).setdefault(event.run_id, set()).add(item.digest)
                referring |= {event.application} if item.home else set()
        for application in sorted(referring):
            self._forget_later(application)
        for application, runs in sorted(by_home.items()):
            _note_archived(self._storage, application, runs, self._options.max_references)
        end(self._storage, batch)
        return number

    def batches(self, closable: Mapping[str, set[str]]) -> Iterator[tuple[Item, ...]]:
        """The events of closed runs and of streams, in batches for one file each: of one hour."""
        for folder, applications in sorted(closable.items()):
            facts = list(self._storage.blobs(EVENTS, folder))
            yield from self._divided(item for fact in facts if (item := self._item(fact, applications)))

    def ignored_batches(self) -> Iterator[tuple[Item, ...]]:
        """Ignored events that came long ago, in batches for one file each: of one hour and reason."""
        state = EventState.SKIPPED.value
        items = (
            Item(IGNORED, fact.name, fact.arrived, fact.size, state, reason_of_ignored(fact.name))
            for fact in self._storage.blobs(IGNORED)
            if fact.arrived <= self._quiet_since and is_ignored_blob(fact.name)
        )
        for _, group in groupby(items, key=attrgetter("folder")):
            yield from self._divided(group)

    def _divided(self, items: Iterable[Item]) -> Iterator[tuple[Item, ...]]:
        batch, size = list[Item](), 0
        for item in items:
            if batch and (len(batch) >= self._options.max_events or size + item.size > self._options.max_bytes):
                yield tuple(batch)
                batch, size = [], 0
            batch.append(item)
            size += item.size
        if batch:
            yield tuple(batch)

    def _item(self, fact: BlobFact, applications: set[str]) -> Item | None:
        """The item of a blob whose run is closed, or can be closed now, or of which the record needs no event."""
        event = stored_from_blob(fact.name)
        if event.application not in applications:
            return None
        record, home = self._record(event)
        outcome = record.outcome if record and record.closed else self._running.get((home, event.run_id))
        if record is None or outcome is None or event.digest not in record.digests:
            return None
        state, reason = outcome
        if event.digest in map(digest_in_reference, record.late):
            state, reason = EventState.SKIPPED.value, CLOSED_REASON
        elif event.digest in self._discarded:
            state, reason = EventState.SKIPPED.value, DISCARDED
        home = "" if home == event.application else home
        return Item(EVENTS, fact.name, fact.arrived, fact.size, state, reason, record.closed, home)

    def _record(self, event: StoredEvent) -> tuple[RunRecord | None, str]:
        """The record of an event's run and the application that has it."""
        application = event.application
        record = self._records(application).get(event.run_id)
        if record and record.home:
            application = record.home
            record = self._records(application).get(event.run_id)
        return record, application

    def _records(self, application: str) -> dict[str, RunRecord]:
        """The records of an application, once those of its runs are closed that can be."""
        if application not in self._applications:
            self._applications[application] = self._close(application)
        return self._applications[application]

    def _close(self, application: str) -> dict[str, RunRecord]:
        try:
            snapshot = read_whole(self._storage, application)
        except ContentLost as error:
            _LOG.error("application stays open application=%s error=%s", application, error)
            return {}
        records = dict(snapshot.records)
        self._withdraw_letters(records)
        stand_ins = snapshot.state.stand_ins()
        is_current = not (snapshot.state.stale or _has_late_events(snapshot))
        closing = {
            run_id: structs.replace(record, closed=self._now, outcome=outcome, values=())
            for run_id, record in records.items()
            if is_current and self._may_close(record, snapshot) and (outcome := self._outcome(record, stand_ins))
        }
        self._running |= {
            (application, run_id): outcome
            for run_id, record in records.items()
            if self._is_archived_while_running(record, snapshot) and (outcome := self._outcome(record, stand_ins))
        }
        if closing:
            self._forget_later(application)  # first: whoever dies after a commit leaves nothing that is never looked at
        for part in _parts(sorted(closing)):
            chunk = {run_id: closing[run_id] for run_id in part}
            if not _commit_closing(self._storage, snapshot, records, chunk, self._now):
                break  # another worker changes it: the next sweep
            records |= chunk
            _LOG.info("runs closed application=%s runs=%d", application, len(chunk))
            if len(part) < len(closing):
                snapshot = read_whole(self._storage, application)
        return records

    def _withdraw_letters(self, records: Mapping[str, RunRecord]) -> None:
        """Withdraw the letters of runs that can be used by now: their writer died before it saw that."""
        for letter in self._letters:
            record = records.get(letter.place.run_id) if letter.place and letter.reason == UNUSABLE else None
            if record and not record.home and record.verdict is not State.DEAD and letter.digest in record.digests:
                withdraw_letters(self._storage, [letter.digest])
                self._blocked.discard(record.run_id)

    def _forget_later(self, application: str) -> None:
        put_closed(self._storage, application, rounded(self._now + self._options.keep_runs, self._now))

    def _may_close(self, record: RunRecord, snapshot: OpenApplication) -> bool:
        if record.closed or record.home or not record.is_decided or record.is_running or record.run_id in self._blocked:
            return False
        if record.arrived is None or record.arrived > self._quiet_since:
            return False
        run = snapshot.records.get(record.joined)
        if run and not run.closed:  # its plan is read again with each event of that run
            return False
        return self._is_reunited(record.run_id, snapshot.application)

    def _is_reunited(self, run_id: str, home: str) -> bool:
        """Whether the other applications in which events of a run lie refer to its home."""
        other_applications = self._places.get(run_id, set()) - {home, run_id}
        records = (read_record(self._storage, application, run_id) for application in sorted(other_applications))
        return all(record is not None and record.home == home for record in records)

    def _is_archived_while_running(self, record: RunRecord, snapshot: OpenApplication) -> bool:
        """Whether a run is a stream that runs, with values in its record that stand for its folded events."""
        is_current = not snapshot.state.stale and record.run_id not in self._blocked
        return record.is_running and not record.home and bool(record.values) and is_current

    def _outcome(self, record: RunRecord, stand_ins: Mapping[str, frozenset[str]]) -> tuple[str, str] | None:
        """The state of the events of a decided run, with its reason; None while its processes are to be published."""
        if record.verdict is not State.CONTRIBUTED:
            return record.verdict.value, record.reason
        processes = {process for process, _ in record.contents}
        stand_in_processes = frozenset[str]().union(*(stand_ins.get(process, frozenset()) for process in processes))
        if not self._in_progress().isdisjoint(processes | stand_in_processes):
            return None
        entries = [self._entry(process) for process in sorted(stand_in_processes)]
        if any(entry.state is LedgerState.WRITTEN for entry in entries):
            return EventState.PUBLISHED.value, ""
        return EventState.SKIPPED.value, min((entry.why for entry in entries if entry.why), default=NO_PROCESS)


def _has_late_events(snapshot: OpenApplication) -> bool:
    """Whether events of decided runs wait to be folded: they may change these runs, and what others depend on."""
    records = (snapshot.records.get(run_id) for run_id in snapshot.by_run())
    return any(record.is_decided and not record.is_running for record in records if record)


def _in_progress(storage: Storage) -> frozenset[str]:
    """The processes that are to be published, or held back by shadow mode."""
    shadowed = (row.key for row in storage.partition(SHADOW, QUEUE_PARTITION))
    return pending_targets(storage) | frozenset(shadowed)


def _parts(runs: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(runs), RUNS_AT_ONCE):
        yield runs[start : start + RUNS_AT_ONCE]


def _commit_closing(
    storage: Storage,
    snapshot: OpenApplication,
    records: Mapping[str, RunRecord],
    closing: Mapping[str, RunRecord],
    now: datetime,
) -> bool:
    """Close runs; the publisher is told of an application whose last run is closed."""
    all_records = {**records, **closing}
    is_over = not snapshot.unfolded and all(record.closed or record.home for record in all_records.values())
    state = structs.replace(snapshot.state, closed=now if is_over else None)
    if is_over:
        mark = partial(Mark, kind=PROCESS_KIND, application=snapshot.application, version=state.version + 1)
        processes = sorted(state.contributions(snapshot.application))
        leave_marks(storage, [mark(target=process, since=now, left=now) for process in processes])
    return Commit.of(storage, snapshot, state, closing).execute(storage)


def _note_archived(storage: Storage, application: str, runs: Mapping[str, set[str]], max_references: int) -> None:
    """Note in the records of runs that these events (digests) are in the archive."""
    for part in _parts(sorted(runs)):
        while True:
            snapshot = read_whole(storage, application)
            records = {
                run_id: _with_archived(snapshot.records[run_id], runs[run_id], max_references)
                for run_id in part
                if run_id in snapshot.records
            }
            records = {run_id: record for run_id, record in records.items() if record != snapshot.records[run_id]}
            if not records or Commit.of(storage, snapshot, snapshot.state, records).execute(storage):
                break


def _with_archived(record: RunRecord, digests: set[str], max_references: int) -> RunRecord:
    archived = {reference for reference in (*record.events, *record.late) if digest_in_reference(reference) in digests}
    references = sorted({*record.archived, *archived})
    number = max(0, len(references) - max_references) if record.is_running else 0
    dropped = [event_of_reference(record.run_id, reference).time for reference in references[:number]]
    return structs.replace(
        record,
        events=tuple(reference for reference in record.events if reference not in archived),
        archived=tuple(references[number:]),
        earlier=_with_dropped(record.earlier, dropped),
    )


def _with_dropped(earlier: EarlierEvents | None, times: list[datetime]) -> EarlierEvents | None:
    """With further events, by their times in order; those up to `until` may be events that came again."""
    if earlier is None:
        return EarlierEvents(until=times[-1], number=len(times)) if times else None
    further = [time for time in times if time > earlier.until]
    return (
        EarlierEvents(until=max(earlier.until, *further), number=earlier.number + len(further)) if further else earlier
    )
