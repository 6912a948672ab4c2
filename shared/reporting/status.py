"""The counts that reconcile: every event received is published, skipped, waiting or dead, and each exactly once.

Counted against the stored blobs: those are the events that were acknowledged. `COUNTS` in `shared/reporting/counts.py`
defines each number. Memory: a few hundred bytes a run, and the groups that were asked for.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from shared.events.archive_index import ARCHIVED, Archived
from shared.events.dead_letters import DISCARDED, DeadLetter, dead_letters
from shared.events.stored_runs import Arrived, arrivals
from shared.publishing.shadow import Shadow, held_back
from shared.publishing.shadow import counted as summed
from shared.records.asset_matches import all_matches
from shared.records.digest_set import DigestSet, combined_digest
from shared.records.ledger import LedgerEntry
from shared.records.publish_queue import queue_entries
from shared.records.states import EventState
from shared.reporting.column_sources import ColumnSources
from shared.reporting.run_outcomes import ProcessStates, Progress, RunOutcomes, Waiting, counted
from shared.storage.port import Storage
from shared.storage_layout import ARCHIVE, EVENTS, IGNORED, LEDGER, REFUSED, RUNS, digest_of, reason_of_ignored

__all__ = ["STATES", "By", "EventGroup", "Status", "Waiting", "status"]

STATES = (EventState.PUBLISHED, EventState.SKIPPED, EventState.WAITING, EventState.DEAD)
_MAX_ERRORS = 5
_NOT_IN_PROGRESS = (Waiting.END, Waiting.SHADOW, Waiting.REFUSED)


class By(StrEnum):
    """What events may be grouped by."""

    DAY = "day"
    JOB = "job"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventGroup:
    """The events of one day (UTC, by event time), of one job, or of one job on one day. `reasons` counts the skipped
    and the waiting events by reason.

    `job` is empty for ignored events, whose job is not on record, and for blobs with a foreign name.
    """

    day: str = ""
    job: str = ""
    received: int = 0
    published: int = 0
    skipped: int = 0
    waiting: int = 0
    dead: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict, hash=False)

    @property
    def reconciles(self) -> bool:
        """Whether each received event has exactly one state."""
        return self.received == self.published + self.skipped + self.waiting + self.dead


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Events by state, and what else a person wants to see first: `COUNTS` defines the numbers.

    `ambiguous`: qualified names of data sets that match more than one asset of the catalog, so that none was chosen.
    `columns`: who gave the columns of runs. `last_errors`: sentences, at most five. `oldest_waiting`: when the event
    that waits longest arrived.
    """

    received: int
    published: int
    skipped: int
    waiting: int
    dead: int
    rejected: int
    skipped_because: dict[str, int]
    waiting_for: dict[str, int]
    oldest_waiting: datetime | None
    processes: int
    publish_queue: int
    last_errors: tuple[str, ...]
    shadow: Shadow
    ambiguous: tuple[str, ...] = ()
    columns: ColumnSources = field(default_factory=ColumnSources)
    groups: tuple[EventGroup, ...] = ()

    @property
    def reconciles(self) -> bool:
        """Whether each received event has exactly one state, in total and in each group."""
        total = EventGroup(**{name: getattr(self, name) for name in ("received", *STATES)})
        whole = not self.groups or self.received == sum(group.received for group in self.groups)
        return whole and all(group.reconciles for group in (total, *self.groups))

    @property
    def in_progress(self) -> int:
        """Waiting events that parser and publisher work on without anyone's help: all but those that wait for the end
        of their run, for the end of shadow mode, or for a catalog that refuses their process.
        """
        return self.waiting - sum(self.waiting_for.get(reason, 0) for reason in _NOT_IN_PROGRESS)


@dataclass(slots=True, kw_only=True)
class _Counts:
    """Counts so far, by group. `received` is counted apart from the states, so that the two can be compared."""

    by: frozenset[By]
    received: Counter[tuple[str, str]] = field(default_factory=Counter)
    states: Counter[tuple[tuple[str, str], str, str]] = field(default_factory=Counter)
    oldest: datetime | None = None

    def receive(self, day: str, job: str) -> tuple[str, str]:
        """Count one event; returns its group."""
        group = (day if By.DAY in self.by else "", job if By.JOB in self.by else "")
        self.received[group] += 1
        return group

    def add(self, group: tuple[str, str], state: EventState, reason: str, arrived: datetime | None) -> None:
        """Count the state of one event."""
        self.states[group, state, reason] += 1
        if state is EventState.WAITING:
            self.oldest = min(filter(None, (self.oldest, arrived)), default=None)

    def groups(self) -> Iterator[EventGroup]:
        """In order; none where no grouping was asked for."""
        if not self.by:
            return
        totals: dict[tuple[str, str], Counter[str]] = {group: Counter() for group in self.received}
        reasons: dict[tuple[str, str], Counter[str]] = {group: Counter() for group in self.received}
        for (group, state, reason), number in self.states.items():
            totals[group][state] += number
            if reason:
                reasons[group][reason] += number
        for group, received in sorted(self.received.items()):
            states = {state: totals[group][state] for state in STATES}
            why = dict(reasons[group].most_common())
            yield EventGroup(day=group[0], job=group[1], received=received, reasons=why, **states)

    def by_reason(self, state: str) -> dict[str, int]:
        """The events in a state by reason, sorted."""
        found: Counter[str] = Counter()
        for (_, each, reason), number in self.states.items():
            if each == state:
                found[reason] += number
        return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What determines the state of an event: the runs, the dead letters by id, and the states of processes."""

    runs: RunOutcomes
    letters: Mapping[str, DeadLetter]
    processes: ProcessStates

    def count(self, counts: _Counts, stored: Arrived) -> None:
        """Count a stored event."""
        event = stored.event
        run = self.runs.runs.get(event.run_id) if event else None
        letter = self.letters.get(event.digest if event else digest_of(stored.name.encode()))
        job = run.job_of(event) if run and event else ""
        day = event.time if event else stored.arrived
        group = counts.receive(f"{day:%Y-%m-%d}" if day else "", job or (letter.job if letter else ""))
        if letter:
            state, reason = (EventState.SKIPPED, DISCARDED) if letter.discarded else (EventState.DEAD, "")
        elif event is None:
            state, reason = EventState.WAITING, Waiting.PARSER
        else:
            state, reason = self.runs.outcome_of(event, self.processes)
        counts.add(group, state, reason, stored.arrived)

    def count_ignored(self, counts: _Counts, name: str) -> None:
        """Count an ignored event by the name that its blob has or had in `ignored`."""
        group = counts.receive(name[: len("2026/11/21")].replace("/", "-"), "")
        counts.add(group, EventState.SKIPPED, reason_of_ignored(name), None)


def _archived(storage: Storage) -> Iterator[Archived]:
    """The rows of the archive's index; the table is scanned once more only where there is an archive."""
    if next(storage.blobs(ARCHIVE), None):
        yield from (Archived.of(row, storage) for row in storage.scan(RUNS) if row.key.startswith(ARCHIVED))


def status(storage: Storage, *, by: Sequence[By] = (), seen: Progress = lambda _what, _more: None) -> Status:
    """The counts, and those of each group if `by` asks for any: one listing of each container, one scan of each table.

    Tables are read before the queue and ledger that they point to, so that a run that is processed meanwhile is not
    found without its process; blobs before the rows of the archive, so that an event that is archived meanwhile is
    found in one of them. `seen` is called as the reading goes on. Raises StorageUnavailable.
    """
    runs = RunOutcomes.read(storage, seen)
    letters = {letter.digest: letter for letter in dead_letters(storage)}
    queue, paused_until, why = queue_entries(storage)
    held = dict(held_back(storage))
    ledger = [LedgerEntry.of(row) for row in counted(seen, "processes", storage.scan(LEDGER))]
    processes = ProcessStates.of(ledger, queue, held)
    counts = _count(storage, _Known(runs=runs, letters=letters, processes=processes), by, seen)
    skipped, waiting = counts.by_reason("skipped"), counts.by_reason("waiting")
    rejections = sorted((row.key, str(row.values["error"])) for row in storage.scan(REFUSED))
    names = {entry.process: entry.qualified_name for entry in ledger}
    errors = [f"catalog: {each.error}" for each in queue if each.error and not each.isolated]
    refused = [each for each in queue if each.isolated]
    errors += [f"catalog refuses {names.get(each.process) or each.process}: {each.error}" for each in refused]
    errors += [f"catalog not called until {paused_until:%H:%M:%S} UTC: {why}"] if paused_until else []
    errors += [f"dead letter: {letter.error}" for letter in letters.values() if not letter.discarded]
    errors += [f"rejected by the receiver: {error}" for _, error in rejections]
    return Status(
        received=counts.received.total(),
        published=sum(counts.by_reason("published").values()),
        skipped=sum(skipped.values()),
        waiting=sum(waiting.values()),
        dead=sum(counts.by_reason("dead").values()),
        rejected=len(rejections),
        skipped_because=skipped,
        waiting_for=waiting,
        oldest_waiting=counts.oldest,
        processes=len(processes.written),
        publish_queue=len(processes.queued),
        last_errors=tuple(errors[-_MAX_ERRORS:]),
        ambiguous=tuple(sorted(each.own[1] for each in all_matches(storage) if each.rivals)),
        shadow=summed(tuple(held.values())),
        columns=ColumnSources.of(Counter(each.columns for each in runs.runs.values() if each.columns)),
        groups=tuple(counts.groups()),
    )


def _count(storage: Storage, known: _Known, by: Sequence[By], progress: Progress) -> _Counts:
    counts = _Counts(by=frozenset(by))
    listed = DigestSet()
    for each in counted(progress, "events", arrivals(storage)):
        known.count(counts, each)
        listed.add(combined_digest(EVENTS, each.name))
    for fact in counted(progress, "ignored", storage.blobs(IGNORED)):
        known.count_ignored(counts, fact.name)
        listed.add(combined_digest(IGNORED, fact.name))
    for archived in counted(progress, "archive", _archived(storage)):
        for name in archived.blobs:
            if listed.meet(combined_digest(IGNORED if archived.ignored else EVENTS, name)):
                continue  # archived meanwhile, or its blob was not deleted yet
            if archived.ignored:
                known.count_ignored(counts, name)
            else:
                known.count(counts, Arrived.of(name, None))
    return counts
