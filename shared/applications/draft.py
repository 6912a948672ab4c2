"""The draft of an application's next state: what runs say is taken out of it, and put in. Pure.

`shared/applications/fold.py` computes what runs say; this has what that changes, for the application and for others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from msgspec import structs

from shared.applications.state import (
    MAX_BATCHES,
    MAX_CHANGES,
    MAX_ENDS,
    ApplicationState,
    AssetChange,
    AssetChanges,
    Content,
    ExecutionEnd,
    LatestRun,
    RunRecord,
    latest_of,
)
from shared.model import Asset, Process, QualityTest, Span, latest_tests
from shared.openlineage.run import MergedRun
from shared.openlineage.run_facets import JobName
from shared.storage_layout import asset_key, process_key
from shared.translation.run.application import MAX_AT_ONCE, Execution, LifecycleEvent, StreamBatch, enclosing_batches
from shared.translation.run.facts import RunFacts

AllRecords = Callable[[], Mapping[str, RunRecord]]
"""Returns the records of all runs of an application, by id."""


@dataclass(slots=True, kw_only=True)
class Draft:
    """The fields of a state that runs change, as copies of those of the `previous` state. `ended_again`: the processes
    (by key) of whose last run a second end has come, for which the publisher may wait.
    """

    application: str
    previous: ApplicationState
    contents: dict[str, Content] = field(init=False)
    lifecycle: dict[str, tuple[LifecycleEvent, ...]] = field(init=False)
    batches: dict[str, StreamBatch] = field(init=False)
    unsourced: dict[str, Span] = field(init=False)
    assets: dict[str, AssetChanges] = field(init=False)
    latest: dict[str, LatestRun] = field(init=False)
    ends: dict[str, ExecutionEnd] = field(init=False)
    ended_until: datetime | None = field(init=False)
    changed_assets: set[str] = field(default_factory=set)
    ended_again: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        state = self.previous
        self.contents, self.lifecycle, self.batches = dict(state.contents), dict(state.lifecycle), dict(state.batches)
        self.unsourced, self.assets, self.latest = dict(state.unsourced), dict(state.assets), dict(state.latest)
        self.ends, self.ended_until = dict(state.ends), state.ended_until

    # --- what a run says

    def take_out(self, run_id: str, record: RunRecord) -> None:
        """Remove what a run contributes. The record of a stale run may lack some: the whole state is searched."""
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
        for by_run in (self.lifecycle, self.batches, self.unsourced, self.ends):
            by_run.pop(run_id, None)
        for key in list(self.assets) if is_stale else record.assets:
            if key in self.assets and (not is_stale or run_id in self.assets[key].by_run):
                self.assets[key] = self.assets[key].without(run_id)
                self.changed_assets.add(key)

    def note_changes(self, run_id: str, by_asset: Mapping[str, tuple[Asset, tuple[AssetChange, ...]]]) -> None:
        """Put in what a run changed of data sets as a whole."""
        for key, (asset, changes) in by_asset.items():
            changes_so_far = self.assets.get(key) or AssetChanges(asset=asset)
            self.assets[key] = changes_so_far.changed(run_id, asset, tuple(sorted(changes)))
            self.changed_assets.add(key)

    def note_tests(self, by_asset: Mapping[Asset, tuple[QualityTest, ...]]) -> None:
        """Put in the results of a run's quality tests. A later result replaces them; nothing takes them back."""
        for asset, tests in by_asset.items():
            key = asset_key(asset.key)
            changes = self.assets.get(key) or AssetChanges(asset=asset)
            latest = latest_tests((*changes.tests, *tests))
            if latest != changes.tests:
                self.assets[key] = structs.replace(changes, tests=latest)
                self.changed_assets.add(key)

    def note_content(self, digest: str, process: Process, run: MergedRun, facts: RunFacts, ends: int) -> None:
        """Put in a content to which a run contributes. `ends`: how many listeners reported the end of that run."""
        content = self.contents.get(digest) or Content(process=process)
        self.contents[digest] = content.supported(run.run_id, Span(first=run.first, last=run.last))
        key = process_key(process.qualified_name)
        latest = self.latest.get(key)
        if latest is None or (run.last, run.run_id) >= (latest.time, latest.run_id):
            self.latest[key] = LatestRun(run.last, run.run_id, facts, ends)
            previous = self.previous.latest.get(key)
            if previous and previous.run_id == run.run_id and previous.ends < ends:
                self.ended_again.add(key)

    # --- what concerns other runs

    def runs_with_other_batches(self, merged: Mapping[str, MergedRun]) -> set[str]:
        """The runs whose enclosing batches have changed, of those that are not folded now."""
        changed_batches = [
            batch
            for batches, others in ((self.batches, self.previous.batches), (self.previous.batches, self.batches))
            for run_id, batch in batches.items()
            if others.get(run_id) != batch
        ]
        return {
            run_id
            for run_id, span in self.unsourced.items()
            if run_id not in merged
            and any(batch.encloses(span) for batch in changed_batches)
            and _enclosing(run_id, span, self.previous.batches) != _enclosing(run_id, span, self.batches)
        }

    def ended_at_once(
        self,
        records: Mapping[str, RunRecord | None],
        executions: Mapping[str, Execution],
        all_records: AllRecords,
    ) -> frozenset[str]:
        """The runs that end, or ended so far, together with those that are folded now, where one of them is of a plan
        alone: which plan belongs to which run is decided for all of them at once. `records`: of the runs that are
        folded now; `executions`: theirs.
        """
        if not self.previous.has_plans and not any(execution.is_plan for execution in executions.values()):
            return frozenset()
        former = {run_id: record.execution for run_id, record in records.items() if record and record.execution}
        moments = {execution.ended for execution in (*former.values(), *executions.values())}
        other_execution_ends = {run: end for run, end in self.previous.ends.items() if end.time in moments}
        if self.ended_until and any(moment <= self.ended_until for moment in moments):
            other_execution_ends |= {
                run_id: ExecutionEnd(record.execution.ended, record.execution.is_plan)
                for run_id, record in all_records().items()
                if record.execution and record.execution.ended in moments
            }
        other_execution_ends = {run_id: end for run_id, end in other_execution_ends.items() if run_id not in records}
        runs: set[str] = set()
        for moment in moments:
            of_others = {run_id for run_id, end in other_execution_ends.items() if end.time == moment}
            of_former = {run_id for run_id, execution in former.items() if execution.ended == moment}
            of_runs = {run_id for run_id, execution in executions.items() if execution.ended == moment}
            has_plans = (
                any(other_execution_ends[run_id].is_plan for run_id in of_others)
                or any(former[run_id].is_plan for run_id in of_former)
                or any(executions[run_id].is_plan for run_id in of_runs)
            )
            if has_plans and len(of_others) + min(len(of_former), len(of_runs)) <= MAX_AT_ONCE:
                runs |= of_others | of_runs
        return frozenset(runs)

    def note_executions(self, executions: Mapping[str, Execution]) -> None:
        """Put in when the executions of runs ended."""
        self.ends |= {run: ExecutionEnd(execution.ended, execution.is_plan) for run, execution in executions.items()}

    # --- the next state

    def state(self) -> ApplicationState:
        """The previous state with what was put in and taken out; of batches, writes without a source, ends, and
        lifecycle events of each data set only the latest.
        """
        ends = _latest(self.ends, lambda end: end.time, MAX_ENDS)
        dropped = (end.time for run_id, end in self.ends.items() if run_id not in ends)
        return structs.replace(
            self.previous,
            contents=self.contents,
            lifecycle=self._latest_lifecycle(),
            batches=_latest(self.batches, lambda batch: batch.seen.last, MAX_BATCHES),
            unsourced=_latest(self.unsourced, lambda span: span.last, MAX_BATCHES),
            assets=self.assets,
            latest=self.latest,
            ends=ends,
            ended_until=latest_of(self.ended_until, *dropped),
            has_plans=self.previous.has_plans or any(end.is_plan for end in self.ends.values()),
        )

    def _latest_lifecycle(self) -> dict[str, tuple[LifecycleEvent, ...]]:
        by_place: dict[tuple[str, str, str], list[tuple[datetime, str]]] = {}
        for run_id, events in self.lifecycle.items():
            for event in events:
                by_place.setdefault((event.qualified_name, event.table, event.state), []).append((event.at, run_id))
        run_ids = {run_id for runs in by_place.values() for _, run_id in sorted(runs)[-MAX_CHANGES:]}
        return {run_id: events for run_id, events in self.lifecycle.items() if run_id in run_ids}

    def changes(self, state: ApplicationState) -> tuple[set[str], dict[str, str]]:
        """The processes to which the application contributes something else in its next state, and its shares, if it
        needs these.
        """
        previous = self.previous
        own_times = (previous.first, previous.ended) != (state.first, state.ended) or (
            previous.last != state.last and not state.ended
        )
        if not (previous.shares or previous.is_entangled or state.is_entangled):
            changed = (
                new or old
                for digest in self.contents.keys() | previous.contents.keys()
                for old, new in ((previous.contents.get(digest), self.contents.get(digest)),)
                if old is not new and _span(old) != _span(new)
            )
            contents = (*changed, *(self.contents.values() if own_times else ()))
            return {process_key(content.process.qualified_name) for content in contents if content}, {}
        shares = state.share_digests(self.application)
        previous_shares = previous.shares or previous.share_digests(self.application)
        processes = {
            process
            for process in shares.keys() | previous_shares.keys()
            if shares.get(process) != previous_shares.get(process)
        }
        return processes | (shares.keys() if own_times else set()), shares if state.is_entangled else {}


_NAMELESS = JobName(namespace="", name="")
_T = TypeVar("_T")


def _enclosing(run_id: str, span: Span, batches: Mapping[str, StreamBatch]) -> tuple[StreamBatch, ...]:
    write = MergedRun(run_id=run_id, job=_NAMELESS, application_run="", first=span.first, last=span.last)
    return enclosing_batches(batches.values(), write)


def _latest(by_run: dict[str, _T], time_of: Callable[[_T], datetime], limit: int) -> dict[str, _T]:
    """The latest of these, `limit` at the most."""
    runs = sorted(by_run, key=lambda run: (time_of(by_run[run]), run))[-limit:]
    return {run: by_run[run] for run in runs}


def _span(content: Content | None) -> Span | None:
    return content.seen if content else None
