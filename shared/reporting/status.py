"""The counts that reconcile: every event received is published, skipped, waiting or dead, and each exactly once.

Counted against the stored blobs: those are the events that were acknowledged; of archived ones the archive has counts
by state. `COUNTS` defines each number that commands print. Memory: a few hundred bytes a run whose events are not
archived, eight bytes for each archived event of a run on record, and the groups that were asked for.

Also counted is who gave the columns of runs and of edges: Spark's own plan, the listener's events, or the job's
statement.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from shared.applications.state import LatestRun
from shared.events.dead_letters import DeadLetter, dead_letters
from shared.model import Column, ColumnEdge, EdgeKind, Process
from shared.publishing.planning import ProcessRows, read_process
from shared.publishing.shadow import Shadow, held_back
from shared.publishing.shadow import counted as summed
from shared.reading.reader import ReceivedEvents, all_runs
from shared.reading.values import ArchivedEvents, Progress, ReceivedEvent, RecordedRun, counted, no_progress
from shared.records.assets import all_assets
from shared.records.digest_set import DigestSet, short
from shared.records.ledger import ledger_entries
from shared.records.publish_queue import read_queue
from shared.records.states import EventState
from shared.reporting.run_report import ProcessStates, Waiting, outcome_of
from shared.storage.port import Storage
from shared.storage_layout import REFUSED, StoredEvent, digest_of, process_key
from shared.sweeping.listing import SWEEP
from shared.translation.run.facts import ColumnSource, column_source

COUNTS: Mapping[str, str] = {
    "received": "events that were acknowledged: those whose blob is stored, and ignored ones",
    "published": "events of a run with a process in the catalog and none left to publish",
    "skipped": "events that change nothing in the catalog, each with a reason",
    "waiting": "events whose run is not processed, whose run has no end yet, or whose process is not published yet",
    "dead": "events that cannot be used (dead letters), without the discarded ones",
    "plans lost": "plans of Spark that the plan listener could not send, as later events of the application say",
    "rejected": "requests that the receiver refused: their events were never received",
    "in progress": "waiting events, without those for the end of their run or of shadow mode or refused",
    "processes": "processes that the ledger holds as written to the catalog",
    "publish queue": "processes to be published: pending, publishing, retrying and refused ones",
    "pending": "queued processes that the next publisher writes",
    "publishing": "queued processes of which an interrupted write may still take effect, or a run's plan is awaited",
    "retrying": "queued processes in a call that failed, to be tried again after a wait",
    "refused": "queued processes that the catalog refused in a call of their own",
    "revisit": "published processes whose edges expire with time, to be looked at later; not in the sum",
}
"""Name of a count -> what it counts. An event has one of the states published, skipped, waiting and dead; a queued
process is one of pending, publishing, retrying and refused.
"""


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
    """Events by state, and what else a person wants to see first: `COUNTS` defines the numbers.

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
    """Counts so far, by group, and what determines the state of an event: the runs, the dead letters by id, and the
    states of processes. `received` is counted apart from the states, so that the two can be compared.
    """

    by: frozenset[By]
    runs: _Runs
    letters: Mapping[str, DeadLetter]
    processes: ProcessStates
    received: Counter[Group] = field(default_factory=Counter)
    states: Counter[tuple[Group, str, str]] = field(default_factory=Counter)
    oldest: datetime | None = None

    def add(self, received: ReceivedEvent) -> None:
        """Count an event with a blob. One that was sent again after it was archived is counted there."""
        event = received.event
        if event and self.runs.archived.meet(short(event.digest)):
            return
        run = self.runs.run_of(event) if event else None
        if received.ignored:
            day, letter = received.name[: len("2026/11/21")].replace("/", "-"), None
            state, reason = EventState.SKIPPED, received.ignored
        else:
            day = f"{event.time if event else received.arrived:%Y-%m-%d}"
            letter = self.letters.get(event.digest if event else digest_of(received.name.encode()))
            state, reason = outcome_of(run, event, letter, self.processes)
        job = (run.job if run else "") or (letter.job if letter else "")
        group = self._group(day=day, job=job, sender=run.sender if run else "")
        self.received[group] += 1
        self.states[group, state, "" if state is EventState.DEAD else reason] += 1
        if state is EventState.WAITING:
            self.oldest = min(self.oldest or received.arrived, received.arrived)

    def add_archived(self, events: ArchivedEvents) -> None:
        """Count events in the archive."""
        group = self._group(day=events.day, job=events.job, sender=ARCHIVED)
        self.received[group] += events.number
        self.states[group, events.state, events.reason if events.state == EventState.SKIPPED else ""] += events.number

    def _group(self, *, day: str, job: str, sender: str) -> Group:
        return (
            day if By.DAY in self.by else "",
            job if By.JOB in self.by else "",
            sender if By.SENDER in self.by else "",
        )

    def groups(self) -> Iterator[EventGroup]:
        """In order; none where no grouping was asked for."""
        if not self.by:
            return
        totals: dict[Group, Counter[str]] = {group: Counter() for group in self.received}
        reasons: dict[Group, Counter[str]] = {group: Counter() for group in self.received}
        for (group, state, reason), number in self.states.items():
            totals[group][state] += number
            if reason:
                reasons[group][reason] += number
        for group, received in sorted(self.received.items()):
            day, job, sender = group
            states = {state: totals[group][state] for state in STATES}
            counts_by_reason = dict(reasons[group].most_common())
            yield EventGroup(day=day, job=job, sender=sender, received=received, reasons=counts_by_reason, **states)

    def by_reason(self, state: str) -> dict[str, int]:
        """The events in a state by reason, sorted."""
        numbers: Counter[str] = Counter()
        for (_, counted_state, reason), number in self.states.items():
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
    received = ReceivedEvents(storage=storage, progress=seen)
    for event in received.stored():
        counts.add(event)
    for events in received.archived(by_job=By.JOB in by):
        counts.add_archived(events)
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
        sweep_is_behind=bool(position and position.is_behind),
        last_errors=tuple(errors[-_MAX_ERRORS:]),
        ambiguous=tuple(sorted(asset.own[1] for asset in all_assets(storage) if asset.rivals)),
        shadow=summed(tuple(held_processes.values())),
        columns=ColumnSources.of(runs.columns),
        plans_lost=sum(runs.plans_lost.values()),
        groups=tuple(counts.groups()),
    )
