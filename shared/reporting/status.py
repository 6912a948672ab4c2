"""The counts that reconcile: every event received is published, skipped, waiting or dead, and each exactly once.

Counted against the stored blobs: those are the events that were acknowledged; of archived ones the archive has counts
by state. While events are archived they are counted once: those that were listed are left out of the counts of a file
that was written meanwhile. Memory: a few hundred bytes a run whose events are not archived, eight bytes for each
archived event of a run on record and each listed one, and the groups that were asked for.

Also counted is who gave the columns of runs and of edges: Spark's own plan, the listener's events, or the job's
statement.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from shared.applications.state import LatestRun
from shared.events.archive import IndexedRun, read_index
from shared.events.archive_writer import CountedFile, counted_files, pending_batch
from shared.events.dead_letters import DeadLetter, dead_letters
from shared.model import Column, ColumnEdge, EdgeKind, Process
from shared.publishing.planning import ProcessRows, read_process
from shared.publishing.shadow import Shadow, held_back
from shared.publishing.shadow import counted as summed
from shared.reading.reader import all_runs
from shared.reading.values import Progress, RecordedRun, counted, no_progress
from shared.records.assets import all_assets
from shared.records.digest_set import DigestSet, combined_digest, short
from shared.records.ledger import ledger_entries
from shared.records.publish_queue import read_queue
from shared.records.states import EventState
from shared.reporting.run_report import ProcessStates, Waiting, outcome_of
from shared.storage.port import BlobFact, Storage
from shared.storage_layout import (
    EVENTS,
    IGNORED,
    REFUSED,
    StoredEvent,
    digest_of,
    event_of_blob,
    process_key,
    reason_of_ignored,
)
from shared.sweeping.listing import SWEEP
from shared.translation.run.facts import ColumnSource, column_source


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSources:
    """The contributing runs of Spark: `exact` by plan, of which the listener's events `differ` in some; by plan with
    columns that are upper bounds (`opaque`); `partly` by plan; by the `listener` only, which has no plan: their jobs
    run without throughline-plan.jar; and not known, made by an `rdd`.
    """

    exact: int = 0
    differ: int = 0
    opaque: int = 0
    partly: int = 0
    listener: int = 0
    rdd: int = 0

    @classmethod
    def of(cls, counts: Mapping[ColumnSource, int]) -> "ColumnSources":
        """From numbers of runs by source."""
        differ = counts.get(ColumnSource.PLAN_DIFFERS, 0)
        return cls(
            exact=counts.get(ColumnSource.PLAN, 0) + differ,
            differ=differ,
            opaque=counts.get(ColumnSource.OPAQUE, 0),
            partly=counts.get(ColumnSource.BOTH, 0),
            listener=counts.get(ColumnSource.LISTENER, 0),
            rdd=counts.get(ColumnSource.RDD, 0),
        )

    @property
    def runs(self) -> int:
        """All of them."""
        return self.exact + self.opaque + self.partly + self.listener + self.rdd


EdgeKey = tuple[Column, Column, EdgeKind]

_WORDS: Mapping[ColumnSource | None, str] = {
    ColumnSource.PLAN: "plan",
    ColumnSource.PLAN_DIFFERS: "plan",
    ColumnSource.OPAQUE: "plan",
    ColumnSource.BOTH: "listener or plan",
    ColumnSource.LISTENER: "listener",
    ColumnSource.RDD: "listener",
    None: "events",
}


def edge_key(edge: ColumnEdge) -> EdgeKey:
    """What identifies an edge within its process."""
    return edge.input, edge.output, edge.kind


def edge_sources(storage: Storage, process: Process) -> dict[EdgeKey, tuple[str, ...]]:
    """Who gave each edge of a process: plan, listener, statement, events (of another engine than Spark), or `listener
    or plan` where a plan has parts that no rule knows. The last run of each application that contributes speaks for it.
    Raises StorageUnavailable and ContentLost.
    """
    sources: dict[EdgeKey, set[str]] = {}
    for content, latest in contents_of(storage, read_process(storage, process_key(process.qualified_name))):
        word = _WORDS[column_source(latest.facts if latest else None)]
        for edge in content.columns:
            sources.setdefault(edge_key(edge), set()).add("statement" if edge.parsed else word)
    return {key: tuple(sorted(words)) for key, words in sources.items()}


def contents_of(storage: Storage, rows: ProcessRows) -> Iterator[tuple[Process, LatestRun | None]]:
    """The contributions to a process, each with the last run of its application that contributed. Raises
    StorageUnavailable and ContentLost.
    """
    for part in rows.parts.values():
        content = part.loaded(storage)
        for contribution in content.contributions:
            yield contribution.content, content.latest


__all__ = ["STATES", "By", "EventGroup", "Status", "Waiting", "status"]

STATES = (EventState.PUBLISHED, EventState.SKIPPED, EventState.WAITING, EventState.DEAD)
_MAX_ERRORS = 5
_NOT_IN_PROGRESS = (Waiting.END, Waiting.SHADOW, Waiting.REFUSED)


class By(StrEnum):
    """What events may be grouped by."""

    DAY = "day"
    JOB = "job"
    SENDER = "sender"


ARCHIVED = "(archived)"
"""In place of the sender of archived events, which is not on record."""
Group = tuple[str, str, str]
"""Day, job and sender; those that were not asked for are empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventGroup:
    """The events of one day (UTC, by event time), of one job, of one sender (the namespace of the job), or of several
    of these. `reasons` counts the skipped and the waiting events by reason.

    `job` and `sender` are empty for ignored events, of which they are not on record, and for blobs with a foreign name.
    """

    day: str = ""
    job: str = ""
    sender: str = ""
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
    """Events by state, and what else a person wants to see first. `processes`: those that the ledger has as written;
    `publish_queue`: those to be published, also refused ones; `rejected`: requests that the receiver refused, whose
    events were never received.

    `ambiguous`: qualified names of data sets that match more than one asset of the catalog, so that none was chosen.
    `columns`: who gave the columns of runs. `plans_lost`: plans of Spark that did not arrive. `last_errors`:
    sentences, at most five. `oldest_waiting`: when the event that waits longest arrived. `sweep_is_behind`: not all
    events of the last two hours could be listed in one sweep, so that missed ones are found later.
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
    sweep_is_behind: bool
    last_errors: tuple[str, ...]
    shadow: Shadow
    ambiguous: tuple[str, ...] = ()
    columns: ColumnSources = field(default_factory=ColumnSources)
    plans_lost: int = 0
    groups: tuple[EventGroup, ...] = ()

    @property
    def reconciles(self) -> bool:
        """Whether each received event has exactly one state, in total and in each group."""
        total = EventGroup(**{name: getattr(self, name) for name in ("received", *STATES)})
        is_complete = not self.groups or self.received == sum(group.received for group in self.groups)
        return is_complete and all(group.reconciles for group in (total, *self.groups))

    @property
    def in_progress(self) -> int:
        """Waiting events that parser and publisher work on without anyone's help: all but those that wait for the end
        of their run, for the end of shadow mode, or for a catalog that refuses their process.
        """
        return self.waiting - sum(self.waiting_for.get(reason, 0) for reason in _NOT_IN_PROGRESS)


@dataclass(slots=True, kw_only=True)
class _Runs:
    """The runs of which events are not archived, by id, and short digests of the `archived` events of all."""

    by_id: dict[str, tuple[RecordedRun, ...]] = field(default_factory=dict)
    archived: DigestSet = field(default_factory=DigestSet)
    columns: Counter[ColumnSource] = field(default_factory=Counter)
    plans_lost: dict[str, int] = field(default_factory=dict)

    def add(self, run: RecordedRun) -> None:
        """Add a run."""
        for digest in run.archived:
            self.archived.add(digest)
        if run.columns:
            self.columns[run.columns] += 1
        if run.plans_lost:
            self.plans_lost[run.application] = max(run.plans_lost, self.plans_lost.get(run.application, 0))
        if run.closed is None or len(run.archived) < len(run.folded) + len(run.late):
            self.by_id[run.run_id] = (*self.by_id.get(run.run_id, ()), run)

    def run_of(self, event: StoredEvent) -> RecordedRun | None:
        """The run of an event: where its events lie in several applications, the one that has folded this event."""
        runs = self.by_id.get(event.run_id, ())
        return next((run for run in runs if run.has_folded(event)), runs[0] if runs else None)


@dataclass(slots=True, kw_only=True)
class _Counts:
    """Numbers of events so far, by group, state and reason, and what determines the state of an event: the runs, the
    dead letters by id, and the states of processes. `listed`: digests of the names of the blobs that were counted.
    """

    by: frozenset[By]
    runs: _Runs
    letters: Mapping[str, DeadLetter]
    processes: ProcessStates
    numbers: Counter[tuple[Group, str, str]] = field(default_factory=Counter)
    listed: DigestSet = field(default_factory=DigestSet)
    oldest: datetime | None = None

    def add_ignored(self, fact: BlobFact) -> None:
        """Count an event that the receiver ignored."""
        self.listed.add(combined_digest(IGNORED, fact.name))
        day = fact.name[: len("2026/11/21")].replace("/", "-")
        self._count(1, EventState.SKIPPED, reason_of_ignored(fact.name), day=day)

    def add(self, fact: BlobFact) -> None:
        """Count an event with a blob. One that was sent again after it was archived is counted there."""
        self.listed.add(combined_digest(EVENTS, fact.name))
        event = event_of_blob(fact.name)
        if event and self.runs.archived.meet(short(event.digest)):
            return
        run = self.runs.run_of(event) if event else None
        letter = self.letters.get(event.digest if event else digest_of(fact.name.encode()))
        state, reason = outcome_of(run, event, letter, self.processes)
        day = f"{event.time if event else fact.arrived:%Y-%m-%d}"
        job = (run.job if run else "") or (letter.job if letter else "")
        self._count(1, state, reason, day=day, job=job, sender=run.sender if run else "")
        if state is EventState.WAITING:
            self.oldest = min(self.oldest or fact.arrived, fact.arrived)

    def add_states(self, file: CountedFile) -> None:
        """Count the events of a file of the archive."""
        for day, states in file.states.items():
            for name, number in states.items():
                state, _, reason = name.partition("|")
                self._count(number, state, reason, day=day, sender=ARCHIVED)

    def add_indexed(self, run: IndexedRun) -> None:
        """Count the events of a run in a file of the archive that were not listed before they were archived."""
        container = IGNORED if run.ignored else EVENTS
        for name, blob, (state, reason) in zip(run.names, run.blobs, run.states, strict=True):
            if not self.listed.meet(combined_digest(container, blob)):
                self._count(1, state, reason, day=run.day(name), job=run.job, sender=ARCHIVED)

    def _count(self, number: int, state: str, reason: str, *, day: str, job: str = "", sender: str = "") -> None:
        group = (
            day if By.DAY in self.by else "",
            job if By.JOB in self.by else "",
            sender if By.SENDER in self.by else "",
        )
        self.numbers[group, state, "" if state == EventState.DEAD else reason] += number

    def groups(self) -> Iterator[EventGroup]:
        """In order; none where no grouping was asked for."""
        if not self.by:
            return
        totals: dict[Group, Counter[str]] = {}
        reasons: dict[Group, Counter[str]] = {}
        for (group, state, reason), number in self.numbers.items():
            totals.setdefault(group, Counter())[state] += number
            reasons.setdefault(group, Counter())[reason] += number if reason else 0
        for group, total in sorted(totals.items()):
            day, job, sender = group
            states = {state: total[state] for state in STATES}
            counts_by_reason = dict((+reasons[group]).most_common())
            yield EventGroup(
                day=day, job=job, sender=sender, received=total.total(), reasons=counts_by_reason, **states
            )

    def by_reason(self, state: str) -> dict[str, int]:
        """The events in a state by reason, sorted."""
        numbers: Counter[str] = Counter()
        for (_, counted_state, reason), number in self.numbers.items():
            if counted_state == state:
                numbers[reason] += number
        return dict(sorted(numbers.items()))


def status(storage: Storage, *, by: Sequence[By] = (), seen: Progress = no_progress) -> Status:
    """The counts, and those of each group if `by` asks for any: one listing of each container, one scan of each table.
    By job the archive's indexes are read too.

    Runs are read before the queue and ledger that they point to, so that a run that is folded meanwhile is not found
    without its process. `seen` is called as the reading goes on. Raises StorageUnavailable.
    """
    runs = _Runs()
    for run in all_runs(storage, seen):
        runs.add(run)
    letters = {letter.digest: letter for letter in dead_letters(storage)}
    queue = read_queue(storage)
    held_processes = dict(held_back(storage))
    ledger = list(counted(seen, "processes", ledger_entries(storage)))
    processes = ProcessStates.of(ledger, queue.entries, held_processes)
    counts = _Counts(by=frozenset(by), runs=runs, letters=letters, processes=processes)
    batches = counted_files(storage).keys()
    pending = pending_batch(storage)
    complete_batches = batches - {pending.name if pending else ""}  # their blobs were deleted before the listing
    for fact in counted(seen, "events", storage.blobs(EVENTS)):
        counts.add(fact)
    for fact in counted(seen, "ignored", storage.blobs(IGNORED)):
        counts.add_ignored(fact)
    for batch, file in counted(seen, "archive", counted_files(storage).items()):
        if batch in complete_batches and By.JOB not in by:
            counts.add_states(file)
        else:
            for archived in read_index(storage, file.file):
                counts.add_indexed(archived)
    skipped, waiting = counts.by_reason("skipped"), counts.by_reason("waiting")
    rejections = sorted((row.key, str(row.values["error"])) for row in storage.scan(REFUSED))
    names = {entry.process: entry.qualified_name for entry in ledger}
    errors = [f"catalog: {entry.error}" for entry in queue.entries if entry.error and not entry.isolated]
    refused = [entry for entry in queue.entries if entry.isolated]
    errors += [f"catalog refuses {names.get(entry.key) or entry.key}: {entry.error}" for entry in refused]
    errors += [f"publishing is held back: {queue.held}"] if queue.held else []
    errors += [f"catalog not called until {queue.paused:%H:%M:%S} UTC: {queue.why}"] if queue.paused else []
    errors += [f"dead letter: {letter.error}" for letter in letters.values() if not letter.discarded]
    errors += [f"rejected by the receiver: {error}" for _, error in rejections]
    position = SWEEP.load(storage)
    return Status(
        received=counts.numbers.total(),
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
        sweep_is_behind=bool(position and position.is_behind),
        last_errors=tuple(errors[-_MAX_ERRORS:]),
        ambiguous=tuple(sorted(asset.own[1] for asset in all_assets(storage) if asset.rivals)),
        shadow=summed(tuple(held_processes.values())),
        columns=ColumnSources.of(runs.columns),
        plans_lost=sum(runs.plans_lost.values()),
        groups=tuple(counts.groups()),
    )
