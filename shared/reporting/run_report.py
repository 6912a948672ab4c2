"""One run: its state and why, its events and where they lie, and the processes that it contributes to.

The same rules as for `status` decide, from what is on record of this run and of its application run alone. The state of
an event follows from what became of its run, and from the states of the processes that stand for the run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from shared.applications.fold import CLOSED
from shared.events.dead_letters import DISCARDED, UNUSABLE, DeadLetter, dead_letter
from shared.reading.reader import locate_run
from shared.reading.values import EventRecord, Progress, RecordedRun, no_progress
from shared.records.ledger import LedgerEntry, ledger_entry
from shared.records.publish_queue import QueueEntry, read_queue
from shared.records.states import EventState, LedgerState, State
from shared.storage.port import Storage
from shared.storage_layout import QUEUE_PARTITION, SHADOW, StoredEvent
from shared.sweeping.retries import retry_states
from shared.translation.reference import NO_PROCESS
from shared.translation.run.facts import StatedFact


class Waiting(StrEnum):
    """What an event waits for."""

    END = "the end of the run"
    PARSER = "the parser"
    CATALOG = "the catalog"
    REFUSED = "a catalog that refuses the process"
    SHADOW = "the end of shadow mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStates:
    """Processes (by key) by state: `written` to the catalog; `queued` to be published, of which the catalog `refused`
    some; `held` back by shadow mode; and `reasons` why the catalog holds none of some.
    """

    written: frozenset[str] = frozenset()
    queued: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    reasons: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, ledger: Sequence[LedgerEntry], queue: Sequence[QueueEntry], held_keys: Iterable[str]
    ) -> "ProcessStates":
        """From entries of the ledger and of the publish queue, and the keys that shadow mode holds back. Keys of data
        sets (`asset|…`) are among the queued ones.
        """
        return cls(
            written=frozenset(entry.process for entry in ledger if entry.state is LedgerState.WRITTEN),
            queued=frozenset(entry.target for entry in queue if not entry.revisit),
            refused=frozenset(entry.target for entry in queue if entry.isolated),
            held=frozenset(held_keys),
            reasons={entry.process: entry.why for entry in ledger if entry.why},
        )


def outcome_of(
    run: RecordedRun | None,
    event: StoredEvent | None,
    letter: DeadLetter | None,
    processes: ProcessStates,
    archived: tuple[str, str] | None = None,
) -> tuple[EventState, str]:
    """The state of an event (None: a blob with a foreign name) of this run and, unless it is published, the reason.
    `archived`: both as the archive has them.

    Its dead letter does not count where its run can be used by now: a worker that was slow, or died, wrote it after
    another one's commit.
    """
    is_used = run is not None and event is not None and run.has_folded(event) and run.state is not State.DEAD
    if letter and not (letter.reason == UNUSABLE and is_used):
        return (EventState.SKIPPED, DISCARDED) if letter.discarded else (EventState.DEAD, letter.reason)
    if archived:
        return EventState(archived[0]), archived[1]
    if run is None or event is None:
        return EventState.WAITING, Waiting.END if event and not event.end else Waiting.PARSER
    if run.is_late(event):
        return EventState.SKIPPED, CLOSED
    if not run.has_folded(event):
        return EventState.WAITING, Waiting.PARSER if event.end or run.is_over else Waiting.END
    if run.closed:
        return EventState(run.outcome[0]), run.outcome[1]
    if run.state is State.WAITING:
        return EventState.WAITING, Waiting.END
    if run.state is not State.CONTRIBUTED:
        return EventState(run.state), run.reason
    return _published(run, processes)


def _published(run: RecordedRun, processes: ProcessStates) -> tuple[EventState, str]:
    concerned = {*run.standing, *run.processes}
    if not processes.queued.isdisjoint(concerned):
        return EventState.WAITING, Waiting.CATALOG if processes.refused.isdisjoint(concerned) else Waiting.REFUSED
    if not processes.held.isdisjoint(concerned):
        return EventState.WAITING, Waiting.SHADOW
    if not processes.written.isdisjoint(run.standing):
        return EventState.PUBLISHED, ""
    reasons = (processes.reasons[key] for key in run.standing if key in processes.reasons)
    return EventState.SKIPPED, min(reasons, default=NO_PROCESS)


NOT_PROCESSED = "not processed yet"
FORGOTTEN = "forgotten"
"""Only the events of such a run are left, in the archive."""
HELD = "held back by shadow mode"
REPLACED = "replaced by staging elimination, or dropped by its application"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReport:
    """A stored event with its state (published, skipped, waiting or dead), the reason unless it is published, and the
    `error` of its dead letter.
    """

    event: EventRecord
    state: str
    reason: str
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReport:
    """A process that the run contributes to, or that stands for such a one after staging elimination.

    `state`: published, pending, publishing, retrying, refused, held or `not in the catalog`; `reason`: the catalog's
    error, or why the catalog holds none.
    """

    key: str
    qualified_name: str
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What became of a run in its `application`. `state`: waiting, contributed, skipped, dead, forgotten, or `not
    processed yet`; `reason`: why.

    `failures` counts how often processing its application failed since that last succeeded, `last_error` says how.
    `jobs` are the job names of its events. `columns_by`: `plan` where Spark's own plan decided the columns of a run
    that contributed, `opaque` where some of them are upper bounds. The others are those of `RecordedRun` and of its
    record.
    """

    run_id: str
    application: str
    jobs: tuple[str, ...]
    state: str
    reason: str
    end: str
    timed_out: bool
    closed: datetime | None
    failures: int
    last_error: str
    events: tuple[EventReport, ...]
    processes: tuple[ProcessReport, ...]
    columns_by: str = ""
    plan_gaps: tuple[str, ...] = ()
    rows_from: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    run_text: str = ""
    stated: tuple[StatedFact, ...] = ()

    @property
    def outcome(self) -> tuple[str, str]:
        """Whether the catalog has the lineage of the run, as the state of its events (published, waiting, skipped or
        dead) and the reason; of a run without one, its own state.
        """
        outcomes = {event.state: event.reason for event in self.events if event.reason != CLOSED}
        state = next((state for state in EventState if state in outcomes), None)
        if self.state != State.CONTRIBUTED or state is None:
            return self.state, self.reason
        return state, outcomes[state]


def run_report(
    storage: Storage, run_id: str, progress: Progress = no_progress, *, application: str = ""
) -> RunReport | None:
    """What became of this run; None where nothing of it is stored. `application`: one that an event of it names; where
    it is not known, it is looked for. Raises StorageUnavailable, ArchiveMissing and ContentLost.
    """
    located = locate_run(storage, run_id, progress, application=application)
    if located is None:
        return None
    run, stored = located.run, located.events
    reports, states = _processes(storage, run)
    events = tuple(_event(storage, event, run, states) for event in stored)
    retry = next((state for state in retry_states(storage) if state.application == run.application), None)
    jobs = (*(event.job for event in stored), run.job)
    return RunReport(
        run_id=run_id,
        application=run.application,
        jobs=tuple(dict.fromkeys(job for job in jobs if job)),
        state=FORGOTTEN if located.is_forgotten else _run_state(run, events),
        reason=_reason(run, events),
        end=run.end,
        timed_out=run.timed_out,
        closed=run.closed,
        failures=retry.count if retry else 0,
        last_error=retry.error if retry else "",
        events=events,
        processes=tuple(sorted(reports, key=lambda report: (report.qualified_name, report.key))),
        columns_by=run.columns.columns_by if run.columns else "",
        plan_gaps=run.plan_gaps,
        rows_from=run.rows_from,
        omitted=run.omitted,
        run_text=run.run_text,
        stated=run.stated,
    )


def _run_state(run: RecordedRun, events: tuple[EventReport, ...]) -> str:
    """That of the run, once it is processed. A run without an end is not, until its timeout: it waits, as its events
    do.
    """
    if run.state is not State.RECEIVED:
        return run.state.value
    waits = events and all(event.reason == Waiting.END for event in events)
    return State.WAITING.value if waits else NOT_PROCESSED


def _reason(run: RecordedRun, events: tuple[EventReport, ...]) -> str:
    """That of the run; where it has none, that of its events as far as they all share one."""
    reasons = {event.reason for event in events if event.reason != CLOSED}
    return run.reason or (reasons.pop() if len(reasons) == 1 else "")


def _processes(storage: Storage, run: RecordedRun) -> tuple[list[ProcessReport], ProcessStates]:
    """The processes of a run and those that stand for them, by point reads of ledger and shadow rows, and one query of
    the queue.
    """
    keys = sorted({*run.standing, *run.processes})
    ledger = [ledger_entry(storage, key) for key in keys]
    queue = {entry.target: entry for entry in read_queue(storage).entries if entry.target in keys} if keys else {}
    held_keys = {key for key in keys if storage.read(SHADOW, QUEUE_PARTITION, key)}
    reports: list[ProcessReport] = []
    moment = datetime.now(UTC)
    for entry in ledger:
        key, state, reason = entry.process, "published", ""
        if (queued := queue.get(key)) and not queued.revisit:
            state, reason = queued.state(moment).value, queued.error
        elif key in held_keys:
            state = HELD
        elif entry.state is not LedgerState.WRITTEN:
            state, reason = "not in the catalog", entry.why or (NO_PROCESS if key in run.standing else REPLACED)
        name = entry.qualified_name or run.names.get(key, "")
        reports.append(ProcessReport(key=key, qualified_name=name, state=state, reason=reason))
    return reports, ProcessStates.of(ledger, tuple(queue.values()), held_keys)


def _event(storage: Storage, record: EventRecord, run: RecordedRun, states: ProcessStates) -> EventReport:
    letter = dead_letter(storage, record.event.digest)
    state, reason = outcome_of(run, record.event, letter, states, record.outcome)
    return EventReport(event=record, state=state, reason=str(reason), error=letter.error if letter else "")
