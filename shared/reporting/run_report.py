"""One run: its state and why, its events and where they lie, and the processes that it contributes to.

The same rules as for `status` decide, from the rows of this run and of its application run alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from shared.events.archive_index import CLOSED
from shared.events.dead_letters import DISCARDED, DeadLetter, dead_letter
from shared.events.stored_runs import RunFilter
from shared.processing.retries import retry_state
from shared.records.application.process_index import (
    contributions_of,
    process_ref_of,
    process_refs_of,
    processes_written_by,
)
from shared.records.digest_set import short
from shared.records.ledger import ledger_entry
from shared.records.publish_queue import queue_entry
from shared.records.run_state import ContentKey, RunState, readable_run_state
from shared.records.states import EventState, LedgerState, State
from shared.reporting.run_outcomes import ProcessStates, RunOutcomes, Waiting
from shared.reporting.stored_events import EventRecord, find_events
from shared.storage.port import Row, Storage
from shared.storage_layout import PROCESS_REF, QUEUE_PARTITION, RUNS, SHADOW, STATE, process_key
from shared.translation.reference import NO_PROCESS

NOT_PROCESSED = "not processed yet"
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
    """A process that the run contributes to (a dead run: contributed to before), or that stands for such a one after
    staging elimination.

    `state`: published, pending, publishing, retrying, refused, held or `not in the catalog`; `reason`: the catalog's
    error, or why the catalog holds none.
    """

    key: str
    qualified_name: str
    application_run: str
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What became of a run. `state`: waiting, contributed, skipped, dead, or `not processed yet`; `reason`: why.

    `end`: the strongest terminal state seen (COMPLETE, ABORT or FAIL), empty for none; `timed_out`: its end is not
    waited for any more; `closed`: its events are archived, and later ones are skipped. `failures` counts how often
    processing it failed since it last succeeded, `last_error` says how. `jobs` are the job names of its events.
    `columns_by`: `plan` where Spark's own plan decided the columns of a run that contributed; `plan_gaps`: the parts of
    a plan that no rule knows; `rows_from`: where rows come from that no data set has. `run_text`: the run's id as its
    events have it, where that is no UUID.
    """

    run_id: str
    jobs: tuple[str, ...]
    application_runs: tuple[str, ...]
    state: str
    reason: str
    end: str
    timed_out: bool
    closed: bool
    failures: int
    last_error: str
    events: tuple[EventReport, ...]
    processes: tuple[ProcessReport, ...]
    columns_by: str = ""
    plan_gaps: tuple[str, ...] = ()
    rows_from: tuple[str, ...] = ()
    run_text: str = ""


def run_report(storage: Storage, run_id: str) -> RunReport | None:
    """What became of this run; None where nothing of it is stored. Raises StorageUnavailable."""
    stored = tuple(find_events(storage, RunFilter(run_id=run_id)))
    row = storage.read(RUNS, run_id, STATE)
    if not stored and row is None:
        return None
    state = readable_run_state(row, storage)
    outcomes = RunOutcomes()
    kept = _kept(storage, state) if state else frozenset()
    contributed = state.current | kept if state else kept
    applications = tuple(sorted({by for _, by, _ in contributed}))
    for run in dict.fromkeys((run_id, *applications)):
        outcomes.add(storage, run, storage.partition(RUNS, run))
    for application in applications:
        if application in outcomes.lifecycle:
            outcomes.add_remaining(storage, _contributions(storage, application))
    names = {process_key(name): ("", name) for name in outcomes.names.values()}
    for by in applications:
        names |= {
            row.key.removeprefix(PROCESS_REF): (by, process_ref_of(row, storage).name)
            for row in process_refs_of(storage, by)
        }
    keys = {short(key): key for key in (*names, *(key for key, _, _ in contributed))}
    outcome = outcomes.runs.get(run_id)
    own, now = outcomes.processes_of(outcome) if outcome else (frozenset[int](), frozenset[int]())
    wanted = own | now | {short(key) for key, _, _ in kept}
    reports, states = _processes(storage, {keys[each]: names.get(keys[each], ("", "")) for each in wanted}, now)
    events = tuple(_event(storage, each, outcomes, states) for each in stored)
    retry = retry_state(storage, run_id)
    return RunReport(
        run_id=run_id,
        jobs=tuple(dict.fromkeys(each.job for each in stored if each.job)),
        application_runs=applications,
        state=_run_state(state, events),
        reason=_reason(state, events),
        end=(state.end or "") if state else "",
        timed_out=state.timed_out if state else False,
        closed=state is not None and state.closed is not None,
        failures=retry.count if retry else 0,
        last_error=retry.error if retry else "",
        events=events,
        processes=tuple(sorted(reports, key=lambda each: (each.qualified_name, each.key))),
        columns_by=state.facts.columns_by if state and state.facts else "",
        plan_gaps=state.facts.plan_gaps if state and state.facts else (),
        rows_from=state.facts.rows_from if state and state.facts else (),
        run_text=next((each.run_text for each in stored if each.run_text), ""),
    )


def _kept(storage: Storage, state: RunState) -> frozenset[ContentKey]:
    """What a run that is dead now contributed before: it stays, because nothing can be computed in its place."""
    if state.verdict is not State.DEAD:
        return frozenset()
    return frozenset(
        (process, by, digest)
        for process, by, digest in state.attempted
        for _, record in contributions_of(storage, process, by)
        if record.digest == digest and (own := record.supporters.get(state.run_id)) and not own.retracted
    )


def _run_state(state: RunState | None, events: tuple[EventReport, ...]) -> str:
    """That of the run's row. A run without an end has no row until its timeout: it waits, as its events do."""
    if state and state.settled:
        return state.verdict.value
    waits = events and all(each.reason == Waiting.END for each in events)
    return State.WAITING.value if waits else NOT_PROCESSED


def _reason(state: RunState | None, events: tuple[EventReport, ...]) -> str:
    """That of the run's row; where it contributed, that of its events as far as they all share one."""
    if state and (state.reason or not state.settled):
        return state.reason
    reasons = {each.reason for each in events if each.reason != CLOSED}
    return reasons.pop() if len(reasons) == 1 else ""


def _contributions(storage: Storage, application_run: str) -> Iterator[Row]:
    for process in sorted(processes_written_by(storage, application_run)):
        for row, _ in contributions_of(storage, process, application_run):
            yield row


def _processes(
    storage: Storage, names: Mapping[str, tuple[str, str]], now: frozenset[int]
) -> tuple[list[ProcessReport], ProcessStates]:
    """Each process (key -> application run, qualified name) by point reads of ledger, queue and shadow rows."""
    ledger = [ledger_entry(storage, key) for key in names]
    queue = {key: queued for key in names if (queued := queue_entry(storage, key))}
    held = {key for key in names if storage.read(SHADOW, QUEUE_PARTITION, key)}
    reports: list[ProcessReport] = []
    moment = datetime.now(UTC)
    for entry in ledger:
        key, state, reason = entry.process, "published", ""
        if (entered := queue.get(key)) and not entered.revisit:
            state, reason = entered.state(moment).value, entered.error
        elif key in held:
            state = HELD
        elif entry.state is not LedgerState.WRITTEN:
            state, reason = "not in the catalog", entry.why or (NO_PROCESS if short(key) in now else REPLACED)
        application_run, name = names[key]
        reports.append(
            ProcessReport(
                key=key,
                qualified_name=entry.qualified_name or name,
                application_run=application_run,
                state=state,
                reason=reason,
            )
        )
    return reports, ProcessStates.of(ledger, tuple(queue.values()), held)


def _event(storage: Storage, event: EventRecord, outcomes: RunOutcomes, states: ProcessStates) -> EventReport:
    letter: DeadLetter | None = dead_letter(storage, event.place.digest)
    if letter:
        state, reason = (EventState.SKIPPED, DISCARDED) if letter.discarded else (EventState.DEAD, letter.reason)
    else:
        state, reason = outcomes.outcome_of(event.place, states)
    return EventReport(event=event, state=state, reason=str(reason), error=letter.error if letter else "")
