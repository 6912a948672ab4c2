"""The fold: an application's state and further events of its runs give its next state. Pure.

However the events of a history are ordered, grouped and repeated, folding them leads to what
`shared/translation/reference.py` says of all of them at once. A fold always takes all events of a run: it removes the
run's earlier contribution from the state, and adds the present one. If that changes the context of other runs (facts of
the application, batches around their writes), `stale` names these, to be folded again.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from msgspec import structs

from shared.applications.asset_changes import MAX_CHANGES, AssetChanges, changes_by_asset
from shared.applications.state import (
    MAX_BATCHES,
    ApplicationState,
    Content,
    LatestRun,
    RunRecord,
    content_digest,
    share_digest,
)
from shared.model import Process, Span
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.decoding import Event
from shared.openlineage.merging import fold as condensed
from shared.openlineage.merging import stronger_end
from shared.openlineage.run import MergedRun
from shared.openlineage.wire import JobName
from shared.records.states import State
from shared.secrets import short_text, text_without_secrets
from shared.storage_layout import LONGEST_JOB_NAME, StoredEvent, event_of_reference, process_key
from shared.translation.application.context import (
    NO_APPLICATION_FACTS,
    ApplicationFacts,
    RunContext,
    StreamBatch,
    application_facts_of,
    enclosing_batches,
)
from shared.translation.application.lifecycle import LifecycleEvent
from shared.translation.run.changes import (
    batch_of,
    lifecycle_events_of,
    names_no_source,
    state_changes_in,
)
from shared.translation.run.facts import column_source, facts_of
from shared.translation.run.merging import merge_run
from shared.translation.run.translate import Skip, Wait, translate

MAX_REFERENCES = 8
"""Events of a run that are read again for its next fold; in place of more, its record keeps values."""

UNUSABLE = (RecursionError, ValueError, TypeError, LookupError, ArithmeticError)
"""What merging and translation raise for events that no rule foresees: they become dead letters, other runs go on."""

CLOSED = "closed"
"""Why an event is skipped that arrived after its run was closed."""

_LONGEST_ERROR = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """A run to be folded: its `record` so far, references to all of its events, and what can be used of these as
    `events`.

    `arrived`: when the last of them arrived. `omitted`: parts of new events that the receiver left out. `timed_out`:
    its end is not awaited any more. `home`: another application to which the run belongs.
    """

    record: RunRecord | None = None
    references: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    arrived: datetime | None = None
    omitted: frozenset[str] = frozenset()
    timed_out: bool = False
    home: str = ""

    @property
    def is_timed_out(self) -> bool:
        """Whether its end is not awaited, now or since an earlier fold."""
        return self.timed_out or bool(self.record and self.record.timed_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """The next `state`, the `records` of the runs that were folded, the keys of the processes and data sets about which
    the application says something else now, and the errors of the runs that can't be used, by run.
    """

    state: ApplicationState
    records: dict[str, RunRecord]
    processes: frozenset[str]
    assets: frozenset[str]
    errors: dict[str, Exception]


def fold(
    application: str,
    state: ApplicationState,
    runs: Mapping[str, RunInput],
    *,
    names: Names = BUILT_IN,
    all_records: Callable[[], Mapping[str, RunRecord]] = dict,
    own_events: Iterable[StoredEvent] = (),
) -> Folded:
    """Fold runs into an application's state.

    `runs`: by id, each with all of its events. `all_records` is called where the context of every run has changed, and
    returns the records of all runs. `own_events`: events of the application's own run that are not folded yet; their
    times count already.
    """
    return _Fold(application=application, previous=state, names=names).fold(runs, all_records, tuple(own_events))


@dataclass(slots=True, kw_only=True)
class _Fold:
    """One fold at work. What changes are copies of the fields of the `previous` state."""

    application: str
    previous: ApplicationState
    names: Names
    contents: dict[str, Content] = field(default_factory=dict)
    lifecycle: dict[str, tuple[LifecycleEvent, ...]] = field(default_factory=dict)
    batches: dict[str, StreamBatch] = field(default_factory=dict)
    unsourced: dict[str, Span] = field(default_factory=dict)
    assets: dict[str, AssetChanges] = field(default_factory=dict)
    latest: dict[str, LatestRun] = field(default_factory=dict)
    changed_assets: set[str] = field(default_factory=set)
    errors: dict[str, Exception] = field(default_factory=dict)

    def fold(
        self,
        runs: Mapping[str, RunInput],
        all_records: Callable[[], Mapping[str, RunRecord]],
        own_events: tuple[StoredEvent, ...],
    ) -> Folded:
        state = self.previous
        self.contents, self.lifecycle, self.batches = dict(state.contents), dict(state.lifecycle), dict(state.batches)
        self.unsourced, self.assets, self.latest = dict(state.unsourced), dict(state.assets), dict(state.latest)
        number = state.runs + sum(run.record is None for run in runs.values())
        for run_id, run in runs.items():
            if run.record and not run.record.closed:
                self._take_out(run_id, run.record)
        merged = self._merged(runs)
        ended_runs = {run_id: run for run_id, run in merged.items() if run.counts or runs[run_id].is_timed_out}
        facts = self._facts(runs, ended_runs, all_records)
        stale = set(state.stale)
        if facts != state.facts and number > len(runs):
            stale |= {run_id for run_id, run in all_records().items() if not (run.home or run.closed)}
        contexts = {
            run_id: RunContext(facts=facts | application_facts_of(run), names=self.names)
            for run_id, run in merged.items()
        }
        self._note_batches(ended_runs, contexts)
        stale |= self._runs_with_other_batches(merged)
        records = {run_id: self._record(run_id, run, merged.get(run_id), contexts) for run_id, run in runs.items()}
        self._forget_old()
        state = structs.replace(
            state,
            version=state.version + 1,
            facts=facts,
            contents=self.contents,
            lifecycle=self.lifecycle,
            batches=self.batches,
            unsourced=self.unsourced,
            assets=self.assets,
            active=max(
                [*([state.active] if state.active else []), *(run.last for run in merged.values())], default=None
            ),
            latest=self.latest,
            runs=number,
            closed=None if any(run.record is None for run in runs.values()) else state.closed,
            stale=tuple(sorted(stale - runs.keys())),
        )
        state = self._with_own_times(state, records, own_events)
        processes, shares = self._changes(state)
        return Folded(
            state=structs.replace(state, shares=shares),
            records=records,
            processes=frozenset(processes),
            assets=frozenset(self.changed_assets),
            errors=self.errors,
        )

    def _take_out(self, run_id: str, record: RunRecord) -> None:
        """Take out of the state what a run said so far. The record of a run that is stale may not say all of that."""
        is_stale = run_id in self.previous.stale
        for digest in list(self.contents) if is_stale else (digest for _, digest in record.contents):
            content = self.contents.get(digest)
            if content and run_id in content.supporters:
                remainder = content.without(run_id)
                if remainder:
                    self.contents[digest] = remainder
                else:
                    del self.contents[digest]
        for process, run in list(self.latest.items()):
            if run.run_id == run_id:
                del self.latest[process]
        for by_run in (self.lifecycle, self.batches, self.unsourced):
            by_run.pop(run_id, None)
        for key in list(self.assets) if is_stale else record.assets:
            if key in self.assets and (not is_stale or run_id in self.assets[key].by_run):
                self.assets[key] = self.assets[key].without(run_id)
                self.changed_assets.add(key)

    def _merged(self, runs: Mapping[str, RunInput]) -> dict[str, MergedRun]:
        merged: dict[str, MergedRun] = {}
        for run_id, run in runs.items():
            if run.home or not run.events or (run.record and run.record.closed):
                continue
            try:
                merged[run_id] = merge_run(run.events)
            except UNUSABLE as error:
                self.errors[run_id] = error
        return merged

    def _facts(
        self,
        runs: Mapping[str, RunInput],
        ended_runs: Mapping[str, MergedRun],
        all_records: Callable[[], Mapping[str, RunRecord]],
    ) -> ApplicationFacts:
        """The facts of the application. They only grow, unless a run that gave some belongs elsewhere after all, or
        can't be used any more: then they are those of all other runs.
        """
        own_facts = {run_id: application_facts_of(run) for run_id, run in ended_runs.items()}
        facts = self.previous.facts
        if any(
            run.record
            and run.record.facts
            and run.record.facts | own_facts.get(run_id, NO_APPLICATION_FACTS)
            != own_facts.get(run_id, NO_APPLICATION_FACTS)
            for run_id, run in runs.items()
        ):
            facts = NO_APPLICATION_FACTS
            for run_id, record in all_records().items():
                if run_id not in runs and record.facts and not record.home:
                    facts |= record.facts
        for run_facts in own_facts.values():
            facts |= run_facts
        return facts

    def _note_batches(self, ended_runs: Mapping[str, MergedRun], contexts: Mapping[str, RunContext]) -> None:
        for run_id, run in ended_runs.items():
            try:
                batch = batch_of(run, contexts[run_id])
            except UNUSABLE as error:
                self.errors[run_id] = error
                continue
            if batch:
                self.batches[run_id] = batch

    def _runs_with_other_batches(self, merged: Mapping[str, MergedRun]) -> set[str]:
        """The runs whose enclosing batches have changed, of those that are not folded now."""
        if self.batches == self.previous.batches:
            return set()
        return {
            run_id
            for run_id, span in self.unsourced.items()
            if run_id not in merged
            and self._enclosing(run_id, span, self.previous.batches) != self._enclosing(run_id, span, self.batches)
        }

    @staticmethod
    def _enclosing(run_id: str, span: Span, batches: Mapping[str, StreamBatch]) -> tuple[StreamBatch, ...]:
        write = MergedRun(run_id=run_id, job=_NAMELESS, application_run="", first=span.first, last=span.last)
        return enclosing_batches(batches.values(), write)

    def _record(
        self, run_id: str, run: RunInput, merged: MergedRun | None, contexts: Mapping[str, RunContext]
    ) -> RunRecord:
        """The record of a run, with what it says put into the state."""
        previous = run.record or RunRecord(run_id=run_id)
        if previous.closed and not run.home:
            late = tuple(sorted({*previous.late, *(set(run.references) - {*previous.events, *previous.archived})}))
            return structs.replace(previous, late=late, arrived=run.arrived or previous.arrived)
        record = RunRecord(
            run_id=run_id,
            timed_out=run.is_timed_out,
            events=tuple(sorted({*run.references, *previous.events} - set(previous.archived))),
            archived=previous.archived,
            arrived=run.arrived or previous.arrived,
            home=run.home,
            job=previous.job,
        )
        if run.home:
            return structs.replace(record, verdict=State.SKIPPED)
        if merged is None or run_id in self.errors:
            return structs.replace(record, verdict=State.DEAD, reason=_reason(self.errors.get(run_id)))
        is_long = record.archived or len(record.events) > MAX_REFERENCES
        values = condensed(run.events) if is_long else ()
        record = structs.replace(
            record,
            job=text_without_secrets(merged.job.name[:LONGEST_JOB_NAME]),
            sender=short_text(merged.job.namespace),
            run_text=text_without_secrets(run.events[0].run_text[:LONGEST_JOB_NAME]) or previous.run_text,
            omitted=tuple(sorted(run.omitted.union(previous.omitted, merged.omitted))),
            ended=merged.ended,
            seen=Span(first=merged.first, last=merged.last),
            values=values,
            plans_lost=merged.plans_lost,
            facts=self._facts_of_record(merged, record),
        )
        try:
            return self._put_in(merged, contexts[run_id], record, run.events)
        except UNUSABLE as error:
            self.errors[run_id] = error
            self.batches.pop(run_id, None)
            return structs.replace(record, verdict=State.DEAD, reason=_reason(error))

    @staticmethod
    def _facts_of_record(merged: MergedRun, record: RunRecord) -> ApplicationFacts | None:
        facts = application_facts_of(merged) if merged.counts or record.timed_out else NO_APPLICATION_FACTS
        return None if facts == NO_APPLICATION_FACTS else facts

    def _put_in(self, run: MergedRun, context: RunContext, record: RunRecord, events: tuple[Event, ...]) -> RunRecord:
        span = Span(first=run.first, last=run.last)
        sourceless = names_no_source(run)
        if sourceless:
            context = structs.replace(context, batches=enclosing_batches(self.batches.values(), run))
        outcome = translate(run, context, timed_out=record.timed_out)
        if isinstance(outcome, Wait):
            return structs.replace(record, verdict=State.WAITING, reason=outcome.reason)
        changes = state_changes_in(run, context)
        lifecycle = lifecycle_events_of(run, changes)
        by_asset = changes_by_asset(changes)
        facts = facts_of(run, events)
        contents = (
            ()
            if isinstance(outcome, Skip)
            else tuple(
                (process_key(process.qualified_name), content_digest(process), process) for process in outcome.processes
            )
        )
        # nothing below raises: what a run says is put in whole or not at all
        if sourceless:
            self.unsourced[run.run_id] = span
        if lifecycle:
            self.lifecycle[run.run_id] = lifecycle
        for key, (asset, of_asset) in by_asset.items():
            changes_so_far = self.assets.get(key) or AssetChanges(asset=asset)
            self.assets[key] = changes_so_far.changed(run.run_id, tuple(sorted(of_asset)))
            self.changed_assets.add(key)
        for process_id, digest, process in contents:
            self._support(digest, process, run.run_id, span)
            latest = self.latest.get(process_id)
            if latest is None or (run.last, run.run_id) >= (latest.time, latest.run_id):
                self.latest[process_id] = LatestRun(run.last, run.run_id, facts)
        record = structs.replace(record, assets=tuple(sorted(by_asset)))
        if isinstance(outcome, Skip):
            return structs.replace(record, verdict=State.SKIPPED, reason=outcome.reason)
        keys = tuple(sorted((process_id, digest) for process_id, digest, _ in contents))
        return structs.replace(
            record,
            verdict=State.CONTRIBUTED,
            contents=keys,
            columns=column_source(facts),
            plan_gaps=facts.plan_gaps,
            rows_from=facts.rows_from,
        )

    def _support(self, digest: str, process: Process, run_id: str, span: Span) -> None:
        content = self.contents.get(digest) or Content(process=process)
        self.contents[digest] = content.supported(run_id, span)

    def _forget_old(self) -> None:
        """Keep the latest batches, writes without a source, and lifecycle events of each data set."""
        self.batches = _latest(self.batches, lambda batch: batch.seen.last, MAX_BATCHES)
        self.unsourced = _latest(self.unsourced, lambda span: span.last, MAX_BATCHES)
        if len(self.lifecycle) <= MAX_CHANGES:
            return
        by_place: dict[tuple[str, str, str], list[tuple[datetime, str]]] = {}
        for run_id, events in self.lifecycle.items():
            for event in events:
                by_place.setdefault((event.qualified_name, event.table, event.state), []).append((event.at, run_id))
        run_ids = {run_id for runs in by_place.values() for _, run_id in sorted(runs)[-MAX_CHANGES:]}
        self.lifecycle = {run_id: events for run_id, events in self.lifecycle.items() if run_id in run_ids}

    def _with_own_times(
        self, state: ApplicationState, records: Mapping[str, RunRecord], own_events: tuple[StoredEvent, ...]
    ) -> ApplicationState:
        """With the times and the end of the application's own run: of its events, wherever these belong."""
        record = records.get(self.application)
        references = (*record.events, *record.late, *record.archived) if record else ()
        folded = [event_of_reference(self.application, reference) for reference in references]
        end = state.ended
        if record:
            end = None
            for event in (*folded, *own_events):
                end = stronger_end(end, event.end)
        times = [event.time for event in (*folded, *own_events)]
        return structs.replace(
            state,
            first=min([*times, *([state.first] if state.first else [])], default=None),
            last=max([*times, *([state.last] if state.last else [])], default=None),
            ended=end,
        )

    def _changes(self, state: ApplicationState) -> tuple[set[str], dict[str, str]]:
        """The processes to which the application contributes something else now, and its shares, if it needs these."""
        previous = self.previous
        own_times = (previous.first, previous.ended) != (state.first, state.ended) or (
            previous.last != state.last and not state.ended
        )
        if not (previous.shares or state.is_entangled):
            changed = (
                new or old
                for digest in self.contents.keys() | previous.contents.keys()
                for old, new in ((previous.contents.get(digest), self.contents.get(digest)),)
                if old is not new and _span(old) != _span(new)
            )
            contents = (*changed, *(self.contents.values() if own_times else ()))
            return {process_key(content.process.qualified_name) for content in contents if content}, {}
        shares = _shares(state, self.application)
        previous_shares = previous.shares or _shares(previous, self.application)
        processes = {
            process
            for process in shares.keys() | previous_shares.keys()
            if shares.get(process) != previous_shares.get(process)
        }
        return processes | (shares.keys() if own_times else set()), shares if state.is_entangled else {}


_NAMELESS = JobName(namespace="", name="")
_T = TypeVar("_T")


def _latest(by_run: dict[str, _T], time_of: Callable[[_T], datetime], limit: int) -> dict[str, _T]:
    """The latest of these, `limit` at the most."""
    if len(by_run) <= limit:
        return by_run
    runs = sorted(by_run, key=lambda run: (time_of(by_run[run]), run))[-limit:]
    return {run: by_run[run] for run in runs}


def _span(content: Content | None) -> Span | None:
    return content.seen if content else None


def _shares(state: ApplicationState, application: str) -> dict[str, str]:
    contributions = state.contributions(application)
    return {process: share_digest(shares) for process, shares in contributions.items()}


def _reason(error: Exception | None) -> str:
    if error is None:
        return "none of its events can be used"
    return text_without_secrets(f"{type(error).__name__}: {error}")[:_LONGEST_ERROR]
