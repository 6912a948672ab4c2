"""What the pure core says of a history whose end is looked at late: with timeouts, and with unusable events.

`translate_history` has no clock and refuses a history with an unusable run. This is the same function, made of the same
parts, for an observer to whom every deadline is over.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from datetime import datetime, timedelta

from msgspec.structs import replace

from shared.model import ApplicationTimes, Contribution, Process
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.decoding import Event, decode
from shared.openlineage.run import MergedRun
from shared.openlineage.selection import Ignore, select
from shared.translation import reference as core
from shared.translation.aggregate import SupersessionPolicy, aggregate
from shared.translation.run.application import JOINED, RunContext
from shared.translation.run.datasets import Place, tests_by_asset
from shared.translation.run.translate import lifecycle_events_in, translate
from shared.translation.staging_elimination import eliminate_staging
from tests.faults.expected_states import expected_states

UNUSABLE = (RecursionError, ValueError, TypeError, LookupError, ArithmeticError)
"""What makes a run's events dead letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PureEnd:
    """The processes of a history's end, and its events by state and, of skipped ones, by reason."""

    processes: tuple[Process, ...]
    states: Counter[str]
    reasons: Counter[str]


def pure_end(
    bodies: Collection[bytes],
    *,
    now: datetime,
    quiet: timedelta,
    times_out: bool,
    names: Names = BUILT_IN,
    unreadable: int = 0,
) -> PureEnd:
    """The end of a history as of `now`, when all of these bodies are stored.

    `times_out`: the end of no run is awaited any more; that of some may have come with damaged bytes. `unreadable`: how
    many stored blobs are no events.
    """
    events = [decode(body) for body in set(bodies)]
    runs, dead, joins = _runs(events, names, times_out=times_out)
    history = _history(runs, dead, names, SupersessionPolicy(quiet=quiet), now)
    joined = (core.RunVerdict(run_id=plan, state="skipped", reason=JOINED) for plan in joins)
    history = replace_fields(history, runs=(*history.runs, *joined))
    usable = [body for body in set(bodies) if _is_ignored(event := decode(body)) or event.run_id not in dead]
    states, reasons = expected_states(history, usable)
    states["dead"] = len(set(bodies)) - len(usable) + unreadable
    return PureEnd(processes=history.processes, states=+states, reasons=reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A run, and whether its end is not awaited any more."""

    merged: MergedRun
    timed_out: bool

    @property
    def as_seen_by_others(self) -> MergedRun:
        """As a run that is over, if it is."""
        return replace(self.merged, ended="COMPLETE") if self.timed_out else self.merged


def _is_ignored(event: Event) -> bool:
    return isinstance(select(event), Ignore)


def _runs(
    events: Iterable[Event], names: Names, *, times_out: bool
) -> tuple[dict[str, _Run], set[str], Mapping[str, str]]:
    """The runs by id; the ids of those that nothing can use: they say only facts and times of applications; and which
    plans are joined to which runs.
    """
    events_by_run: dict[str, list[Event]] = {}
    for event in events:
        if not _is_ignored(event):
            events_by_run.setdefault(event.run_id, []).append(event)
    runs, dead = {}, set[str]()
    events_of = {run_id: tuple(run_events) for run_id, run_events in events_by_run.items()}
    merged, joins = core._merged(events_by_run)
    for run_id, merged_run in merged.items():
        run = _Run(merged=merged_run, timed_out=times_out and merged_run.ended is None)
        runs[run_id] = run
        if names is not BUILT_IN and not _is_usable(run, events_of[run_id], names):
            dead.add(run_id)
    return runs, dead, joins


def _is_usable(run: _Run, events: Iterable[Event], names: Names) -> bool:
    try:
        context = RunContext(names=names)
        translate(run.merged, context, timed_out=run.timed_out)
        lifecycle_events_in(run.merged, context)
        tests_by_asset(events, Place.of(context))
    except UNUSABLE:
        return False
    return True


def _history(
    runs: Mapping[str, _Run], dead: Collection[str], names: Names, patience: SupersessionPolicy, now: datetime
) -> core.History:
    """As `translate_history` from its merged runs on, but as of `now`, without `dead` ones."""
    merged = {run_id: run.merged for run_id, run in runs.items() if run_id not in dead}
    as_seen = {run_id: run.as_seen_by_others for run_id, run in runs.items()}
    contexts = core._contexts(as_seen, names)
    outcomes = {
        run_id: translate(run, contexts[run_id], timed_out=runs[run_id].timed_out) for run_id, run in merged.items()
    }
    by_application = core._contributions(merged, outcomes)
    times = {
        run_id: ApplicationTimes(first=run.merged.first, last=run.merged.last, ended=run.merged.ended)
        for run_id in by_application
        if (run := runs.get(run_id))
    }
    lifecycle = core._lifecycles(merged.values(), contexts)
    staged = [
        result
        for contributions in by_application.values()
        for result in eliminate_staging(contributions, lifecycle(contributions))
    ]
    by_process: dict[str, list[Contribution]] = {}
    for result in staged:
        if result.remains:
            by_process.setdefault(result.remains.content.qualified_name, []).append(result.remains)
    sums = [
        aggregate(contributions, times, now=now, patience=patience).process for contributions in by_process.values()
    ]
    processes = tuple(sorted(filter(None, sums), key=lambda process: process.qualified_name))
    published = {process.qualified_name for process in processes}
    shown_runs = {
        (result.contribution.application_run, result.contribution.content.qualified_name)
        for result in staged
        if result.remains and result.remains.content.qualified_name in published
    }
    return core.History(
        runs=tuple(sorted(core._verdict(run_id, outcome, shown_runs) for run_id, outcome in outcomes.items())),
        processes=processes,
        ignored=(),
        jobs={},
    )
