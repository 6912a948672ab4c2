"""The fold: an application's state and further events of its runs give its next state. Pure.

However the events of a history are ordered, grouped and repeated, folding them leads to what
`shared/translation/reference.py` says of all of them at once. A fold always takes all events of a run: it removes the
run's earlier contribution from the state, and adds the present one. If that changes the context of other runs (facts of
the application, batches around their writes), `stale` names these, to be folded again.

A plan that came without a run of the listener is joined to the run that ended with it. Runs that end at one moment are
folded together for this: `companions` names those that are missing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from typing import Any

from msgspec import structs

from shared.applications.draft import AllRecords, Draft
from shared.applications.state import (
    ApplicationState,
    Folded,
    RunInput,
    RunRecord,
    changes_by_asset,
    content_digest,
    earliest_of,
    is_declared,
    latest_of,
)
from shared.model import RunLineage, Span
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.decoding import ENDS
from shared.openlineage.merging import fold as condensed
from shared.openlineage.merging import stronger_end
from shared.openlineage.run import MergedRun
from shared.records.states import State
from shared.secrets import short_text, text_without_secrets
from shared.storage_layout import LONGEST_JOB_NAME, StoredEvent, event_of_reference, process_key
from shared.translation.run.application import (
    JOINED,
    NO_APPLICATION_FACTS,
    ApplicationFacts,
    Execution,
    RunContext,
    application_facts_of,
    enclosing_batches,
    execution_of,
    plan_joins,
)
from shared.translation.run.columns import merge_plan, merge_run
from shared.translation.run.datasets import Place, tests_by_asset
from shared.translation.run.facts import column_source, facts_of
from shared.translation.run.translate import (
    Skip,
    Wait,
    batch_of,
    lifecycle_events_of,
    names_no_source,
    state_changes_in,
    translate,
)

MAX_REFERENCES = 8
"""Events of a run that are read again for its next fold; in place of more, its record keeps values."""

UNUSABLE = (RecursionError, ValueError, TypeError, LookupError, ArithmeticError)
"""What merging and translation raise for events that no rule foresees: they become dead letters, other runs go on."""

CLOSED = "closed"
"""Why an event is skipped that arrived after its run was closed."""

_LONGEST_ERROR = 500


def fold(
    application: str,
    state: ApplicationState,
    runs: Mapping[str, RunInput],
    *,
    names: Names = BUILT_IN,
    all_records: AllRecords = dict,
    own_events: Iterable[StoredEvent] = (),
) -> Folded:
    """Fold runs into an application's state.

    `runs`: by id, each with all of its events. `all_records` is called where the context of every run has changed, or
    an execution ended long before others that are folded, and returns the records of all runs. `own_events`: events of
    the application's own run that are not folded yet; their times count already.
    """
    draft = Draft(application=application, previous=state)
    work = _Fold(runs=runs, draft=draft, all_records=all_records)
    single_runs = work.single_runs()
    at_once = draft.ended_at_once({run_id: run.record for run_id, run in runs.items()}, work.executions, all_records)
    if companions := at_once - runs.keys():
        return Folded(state=state, companions=companions)
    for run_id, run in runs.items():
        if run.record and not run.record.closed:
            draft.take_out(run_id, run.record)
    draft.note_executions(work.executions)
    merged = work.with_plans(single_runs, at_once)
    stated = {run_id: application_facts_of(run) for run_id, run in merged.items()}
    ended_runs = {run_id: run for run_id, run in merged.items() if run.counts or runs[run_id].is_timed_out}
    own_facts = {run_id: stated[run_id] for run_id in ended_runs if stated[run_id] != NO_APPLICATION_FACTS}
    facts = work.facts(own_facts)
    contexts = {run_id: RunContext(facts=facts | stated[run_id], names=names) for run_id in merged}
    work.note_batches(ended_runs, contexts)
    number = state.runs + sum(run.record is None for run in runs.values())
    stale = {*state.stale, *draft.runs_with_other_batches(merged)}
    if facts != state.facts and number > len(runs):
        stale |= {run_id for run_id, run in all_records().items() if not (run.home or run.closed)}
    records: dict[str, RunRecord] = {}
    for run_id in runs:
        record = work.record(run_id, single_runs.get(run_id), merged.get(run_id), own_facts.get(run_id))
        if run_id in merged and run_id not in work.errors:
            merged_run, context = merged[run_id], contexts[run_id]
            try:
                sourceless = names_no_source(merged_run)
                if sourceless:
                    context = structs.replace(context, batches=enclosing_batches(draft.batches.values(), merged_run))
                outcome = translate(merged_run, context, timed_out=record.timed_out)
                record = work.put_in(merged_run, context, outcome, record, sourceless=sourceless)
            except UNUSABLE as error:
                work.errors[run_id] = error
                draft.batches.pop(run_id, None)
                record = structs.replace(record, verdict=State.DEAD, reason=_reason(error))
        records[run_id] = record
    next_state = structs.replace(
        draft.state(),
        version=state.version + 1,
        facts=facts,
        active=latest_of(state.active, *(run.last for run in single_runs.values())),
        runs=number,
        closed=None if any(runs[run].record is None and not records[run].closed for run in runs) else state.closed,
        stale=tuple(sorted(stale - runs.keys())),
        **_own_times(application, state, records.get(application), own_events),
    )
    processes, shares = draft.changes(next_state)
    return Folded(
        state=structs.replace(next_state, shares=shares),
        records=records,
        processes=frozenset(processes | draft.ended_again),
        assets=frozenset(draft.changed_assets),
        errors=work.errors,
    )


@dataclass(slots=True, kw_only=True)
class _Fold:
    """The steps of one fold, and what they share. `executions`: what tells the runs' executions apart; `joined`: by run
    of a plan, the run with which the plan counts; `joined_runs`: all of these; `closed_out`: runs whose plan, or whose
    listener's run, was closed before they came, and when.
    """

    runs: Mapping[str, RunInput]
    draft: Draft
    all_records: AllRecords
    executions: dict[str, Execution] = field(default_factory=dict)
    joined: dict[str, str] = field(default_factory=dict)
    joined_runs: frozenset[str] = frozenset()
    closed_out: dict[str, datetime] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)

    def single_runs(self) -> dict[str, MergedRun]:
        """The runs, each of its own events."""
        merged: dict[str, MergedRun] = {}
        for run_id, run in self.runs.items():
            is_closed = bool(run.record and run.record.closed)
            execution = run.record.execution if run.record and is_closed and not run.home else None
            is_merged = run.events and not (run.home or is_closed)
            if is_merged:
                try:
                    merged[run_id] = merge_run(run.events)
                    execution = execution_of(merged[run_id])
                except UNUSABLE as error:
                    self.errors[run_id] = error
            if execution:
                self.executions[run_id] = execution
        return merged

    def with_plans(self, single_runs: Mapping[str, MergedRun], at_once: frozenset[str]) -> dict[str, MergedRun]:
        """The runs, each with the plan that is joined to it. What was closed first counts, what comes later is skipped;
        a plan that a closed run has stays with it.
        """
        records = {run_id: record for run_id in at_once if (record := self.runs[run_id].record)}
        closed = {run_id: record.closed for run_id, record in records.items() if record.closed}
        self.joined = {run_id: record.joined for run_id, record in records.items() if record.joined in closed}
        closed_members = {*self.joined, *self.joined.values()}
        executions = {run_id: self.executions[run_id] for run_id in at_once - closed_members}
        merged = {run_id: run for run_id, run in single_runs.items() if run_id not in self.joined}
        for plan, run_id in plan_joins(executions).items():
            if moment := closed.get(plan) or closed.get(run_id):
                self.closed_out |= {member: moment for member in (plan, run_id) if member not in closed}
                continue
            self.joined[plan] = run_id
            try:
                merged[run_id] = merge_plan(merged[run_id], merged.pop(plan))
            except UNUSABLE as error:
                self.errors[run_id] = error
        self.joined_runs = frozenset(self.joined.values())
        return {run_id: run for run_id, run in merged.items() if run_id not in self.closed_out}

    def facts(self, own_facts: dict[str, ApplicationFacts]) -> ApplicationFacts:
        """The facts of the application, with those of its ended runs. They only grow, unless a run that gave some
        belongs elsewhere after all, or can't be used any more: then they are those of all other runs. A closed run
        keeps giving what it gave.
        """
        own_facts = own_facts | {
            run_id: run.record.facts
            for run_id, run in self.runs.items()
            if run.record and run.record.closed and run.record.facts and not run.home
        }
        facts = self.draft.previous.facts
        if any(
            run.record and run.record.facts and run.record.facts | run_facts != run_facts
            for run_id, run in self.runs.items()
            for run_facts in (own_facts.get(run_id, NO_APPLICATION_FACTS),)
        ):
            facts = NO_APPLICATION_FACTS
            for run_id, record in self.all_records().items():
                if run_id not in self.runs and record.facts and not record.home:
                    facts |= record.facts
        for run_facts in own_facts.values():
            facts |= run_facts
        return facts

    def note_batches(self, ended_runs: Mapping[str, MergedRun], contexts: Mapping[str, RunContext]) -> None:
        for run_id, run in ended_runs.items():
            try:
                batch = batch_of(run, contexts[run_id])
            except UNUSABLE as error:
                self.errors[run_id] = error
                continue
            if batch:
                self.draft.batches[run_id] = batch

    def record(
        self, run_id: str, single_run: MergedRun | None, merged: MergedRun | None, facts: ApplicationFacts | None
    ) -> RunRecord:
        """The record of a run as far as it is known without translating it. `single_run`: of its own events; `merged`:
        also of those of its plan, None where it does not count; `facts`: what it says of its application, if anything.
        """
        run = self.runs[run_id]
        previous = run.record or RunRecord(run_id=run_id)
        if previous.closed and not run.home:
            late = tuple(sorted({*previous.late, *(set(run.references) - {*previous.events, *previous.archived})}))
            return structs.replace(previous, late=late, arrived=run.arrived or previous.arrived)
        record = RunRecord(
            run_id=run_id,
            timed_out=run.is_timed_out,
            events=tuple(sorted({*run.references, *previous.events} - set(previous.archived))),
            archived=previous.archived,
            earlier=previous.earlier,
            arrived=run.arrived or previous.arrived,
            home=run.home,
            job=previous.job,
            execution=self.executions.get(run_id),
            joined=self.joined.get(run_id, ""),
        )
        if run.home:
            return structs.replace(record, verdict=State.SKIPPED)
        if single_run is None or run_id in self.errors:
            return structs.replace(record, verdict=State.DEAD, reason=_reason(self.errors.get(run_id)))
        is_long = record.archived or len(record.events) > MAX_REFERENCES
        counting_run = merged or single_run
        record = structs.replace(
            record,
            job=text_without_secrets(single_run.job.name[:LONGEST_JOB_NAME]),
            sender=short_text(single_run.job.namespace),
            run_text=text_without_secrets(run.events[0].run_text[:LONGEST_JOB_NAME]) or previous.run_text,
            omitted=tuple(sorted(run.omitted.union(previous.omitted, single_run.omitted))),
            ended=counting_run.ended,
            seen=Span(first=counting_run.first, last=counting_run.last),
            values=condensed(run.events) if is_long else (),
            plans_lost=single_run.plans_lost,
            facts=facts,
        )
        if merged:
            return record
        record = structs.replace(record, verdict=State.SKIPPED, reason=JOINED if record.joined else CLOSED)
        if run_id not in self.closed_out:
            return record
        return structs.replace(
            record,
            events=(),
            values=(),
            late=record.events,
            closed=self.closed_out[run_id],
            outcome=(State.SKIPPED.value, CLOSED),
        )

    def put_in(
        self,
        run: MergedRun,
        context: RunContext,
        outcome: RunLineage | Skip | Wait,
        record: RunRecord,
        *,
        sourceless: bool,
    ) -> RunRecord:
        """Put what a run says into the draft: what it was translated to, and what it says beside that. Returns its
        record with that.
        """
        if isinstance(outcome, Wait):
            return structs.replace(record, verdict=State.WAITING, reason=outcome.reason)
        changes = state_changes_in(run, context)
        lifecycle = lifecycle_events_of(run, changes)
        by_asset = changes_by_asset(changes)
        tests = tests_by_asset(self.runs[run.run_id].events, Place.of(context))
        facts, ends = facts_of(run, self.runs[run.run_id].events), self._ends(run.run_id)
        processes = () if isinstance(outcome, Skip) else outcome.processes
        contents = {content_digest(process): process for process in processes}
        # nothing below raises: what a run says is put in whole or not at all
        draft = self.draft
        if sourceless:
            draft.unsourced[run.run_id] = Span(first=run.first, last=run.last)
        if lifecycle:
            draft.lifecycle[run.run_id] = lifecycle
        draft.note_changes(run.run_id, by_asset)
        draft.note_tests(tests)
        for digest, process in contents.items():
            of_process = structs.replace(facts, written=()) if is_declared(process) else facts
            draft.note_content(digest, process, run, of_process, ends)
        record = structs.replace(record, assets=tuple(sorted(by_asset)), stated=facts.stated)
        if isinstance(outcome, Skip):
            return structs.replace(record, verdict=State.SKIPPED, reason=outcome.reason)
        return structs.replace(
            record,
            verdict=State.CONTRIBUTED,
            contents=tuple(
                sorted((process_key(process.qualified_name), digest) for digest, process in contents.items())
            ),
            columns=column_source(facts),
            plan_gaps=facts.plan_gaps,
            rows_from=facts.rows_from,
        )

    def _ends(self, run_id: str) -> int:
        """How many of the two listeners reported the end of a run: OpenLineage's, and the plan listener."""
        bodies = [event.body for event in self.runs[run_id].events if event.type in ENDS and event.body]
        with_plan = {bool(body.run.facets and body.run.facets.plan) for body in bodies}
        return len(with_plan | ({True} if run_id in self.joined_runs else set()))


def _own_times(
    application: str, state: ApplicationState, record: RunRecord | None, own_events: Iterable[StoredEvent]
) -> dict[str, Any]:
    """The times and the end of the application's own run as fields of its next state: of its events, wherever these
    belong. `record`: of that run, if it is folded now.
    """
    references = (*record.events, *record.late, *record.archived) if record else ()
    events = [*(event_of_reference(application, reference) for reference in references), *own_events]
    times = [event.time for event in events]
    return {
        "first": earliest_of(state.first, *times),
        "last": latest_of(state.last, *times),
        "ended": reduce(stronger_end, (event.end for event in events), None) if record else state.ended,
    }


def _reason(error: Exception | None) -> str:
    if error is None:
        return "none of its events can be used"
    return text_without_secrets(f"{type(error).__name__}: {error}")[:_LONGEST_ERROR]
