"""Reference translation: all events -> the final processes, without storage or clock.

The specification of Throughline as one function: what the functions do step by step, over storage and in any order,
must end with the same processes. `tests/faults` holds them to it.

`lost_columns` compares it with the column pairs that events name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from shared.model import ApplicationTimes, Contribution, Process, RunLineage, Span
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.decoding import Event
from shared.openlineage.run import MergedRun
from shared.openlineage.selection import Ignore, select
from shared.openlineage.wire import ColumnLineage, InputField
from shared.translation.aggregate import SupersessionPolicy, aggregate
from shared.translation.run.application import (
    JOINED,
    NO_APPLICATION_FACTS,
    ApplicationFacts,
    LifecycleEvent,
    LifecycleEvents,
    RunContext,
    StreamBatch,
    application_facts_of,
    enclosing_batches,
    joins_in,
)
from shared.translation.run.columns import merge_plan, merge_run
from shared.translation.run.datasets import Datasets
from shared.translation.run.translate import Skip, Wait, batch_of, lifecycle_events_in, names_no_source, translate
from shared.translation.staging_elimination import eliminate_staging

NO_PROCESS = "it wrote nothing whose source is known"
"""The reason of a skipped run that wrote a data set."""


class RunVerdict(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A run's `state`: published, skipped or waiting, the last two with a reason."""

    run_id: str
    state: str
    reason: str | None = None


class Ignored(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """An ignored event: its run (empty for job and data set events), and the reason."""

    run_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All verdicts and all processes, sorted. `jobs`: the name of each run's job, by the run's id."""

    runs: tuple[RunVerdict, ...]
    processes: tuple[Process, ...]
    ignored: tuple[Ignored, ...]
    jobs: Mapping[str, str]


def translate_history(
    events: Iterable[Event], patience: SupersessionPolicy | None = None, *, names: Names = BUILT_IN
) -> History:
    """The final lineage of these events, independent of their order and of repetition."""
    events_by_run: dict[str, list[Event]] = {}
    ignored: set[Ignored] = set()
    for event in events:
        decision = select(event)
        if isinstance(decision, Ignore):
            ignored.add(Ignored(run_id=event.run_id, reason=decision.reason))
        else:
            events_by_run.setdefault(event.run_id, []).append(event)
    del events  # frees merged events early, if the caller holds none
    runs, joins = _merged(events_by_run)
    contexts = _contexts(runs, names)
    outcomes = {run_id: translate(run, contexts[run_id]) for run_id, run in runs.items()}
    contributions = _contributions(runs, outcomes)
    facts = {
        run_id: ApplicationTimes(first=run.first, last=run.last, ended=run.ended)
        for run_id in contributions
        if (run := runs.get(run_id))
    }
    lifecycle = _lifecycles(runs.values(), contexts)
    staging_results = [
        staging_result
        for own_contribution in contributions.values()
        for staging_result in eliminate_staging(own_contribution, lifecycle(own_contribution))
    ]

    grouped: dict[str, list[Contribution]] = {}
    for staging_outcome in staging_results:
        if staging_outcome.remains:
            grouped.setdefault(staging_outcome.remains.content.qualified_name, []).append(staging_outcome.remains)
    sums = [aggregate(contributions, facts, now=None, patience=patience).process for contributions in grouped.values()]
    processes = tuple(sorted((process for process in sums if process), key=lambda process: process.qualified_name))
    published = {process.qualified_name for process in processes}
    shown_processes = {
        (staging_result.contribution.application_run, staging_result.contribution.content.qualified_name)
        for staging_result in staging_results
        if staging_result.remains and staging_result.remains.content.qualified_name in published
    }
    verdicts = (_verdict(run_id, outcome, shown_processes) for run_id, outcome in outcomes.items())
    return History(
        runs=tuple(sorted([*verdicts, *(RunVerdict(run_id=plan, state="skipped", reason=JOINED) for plan in joins)])),
        processes=processes,
        ignored=tuple(sorted(ignored)),
        jobs={run_id: run.job.name for run_id, run in runs.items()}
        | {plan: runs[run_id].job.name for plan, run_id in joins.items()},
    )


def contributions_of(events: Iterable[Event], *, names: Names = BUILT_IN) -> tuple[Contribution, ...]:
    """What each application run contributes to each process, once its staging data sets are eliminated."""
    events_by_run: dict[str, list[Event]] = {}
    for event in events:
        if not isinstance(select(event), Ignore):
            events_by_run.setdefault(event.run_id, []).append(event)
    runs, _ = _merged(events_by_run)
    contexts = _contexts(runs, names)
    outcomes = {run_id: translate(run, contexts[run_id]) for run_id, run in runs.items()}
    contributions = _contributions(runs, outcomes)
    lifecycle = _lifecycles(runs.values(), contexts)
    results = (result for shares in contributions.values() for result in eliminate_staging(shares, lifecycle(shares)))
    return tuple(result.remains for result in results if result.remains)


def _merged(events_by_run: dict[str, list[Event]]) -> tuple[dict[str, MergedRun], dict[str, str]]:
    """The runs of these events, which are taken out; and which plans are joined to which runs: those are no runs of
    their own.
    """
    runs = {run_id: merge_run(events_by_run.pop(run_id)) for run_id in tuple(events_by_run)}
    joins = joins_in(runs.values())
    for plan, run_id in joins.items():
        runs[run_id] = merge_plan(runs[run_id], runs.pop(plan))
    return runs, joins


def _contexts(runs: Mapping[str, MergedRun], names: Names) -> dict[str, RunContext]:
    """The context of each run: what the other runs of its application report."""
    own_facts = {
        run_id: facts
        for run_id, run in runs.items()
        if (facts := application_facts_of(run)) is not NO_APPLICATION_FACTS
    }
    known_facts: dict[str, ApplicationFacts] = {}
    for run_id, facts in own_facts.items():
        run = runs[run_id]
        if run.counts:
            known_facts[run.application_run] = known_facts.get(run.application_run, NO_APPLICATION_FACTS) | facts
    default = RunContext(names=names)
    contexts = dict.fromkeys(runs, default)
    for run_id, run in runs.items() if own_facts else ():
        facts = known_facts.get(run.application_run, NO_APPLICATION_FACTS) | own_facts.get(run_id, NO_APPLICATION_FACTS)
        if facts is not NO_APPLICATION_FACTS:
            contexts[run_id] = RunContext(facts=facts, names=names)
    batches: dict[str, list[StreamBatch]] = {}
    for run_id, run in runs.items():
        if run.counts and (batch := batch_of(run, contexts[run_id])):
            batches.setdefault(run.application_run, []).append(batch)
    for run_id, run in runs.items():
        if run.application_run in batches and names_no_source(run):
            contexts[run_id] = replace(contexts[run_id], batches=enclosing_batches(batches[run.application_run], run))
    return contexts


def _contributions(
    runs: Mapping[str, MergedRun], outcomes: Mapping[str, RunLineage | Skip | Wait]
) -> dict[str, list[Contribution]]:
    """By application run: one contribution for each distinct content, with the span of all runs that made it."""
    by_process: dict[tuple[str, str], list[Contribution]] = {}
    for run_id, outcome in outcomes.items():
        if isinstance(outcome, RunLineage):
            run, seen_span = outcome.application_run, Span(first=runs[run_id].first, last=runs[run_id].last)
            for content in outcome.processes:
                contribution = Contribution(application_run=run, content=content, seen=seen_span)
                by_process.setdefault((run, content.qualified_name), []).append(contribution)
    contributions_by_run: dict[str, list[Contribution]] = {}
    for (run, _), all_of_it in by_process.items():
        contributions_by_run.setdefault(run, []).extend(all_of_it if len(all_of_it) == 1 else _distinct(all_of_it))
    return contributions_by_run


def _distinct(contributions: Iterable[Contribution]) -> Iterable[Contribution]:
    """Each content once, with the span of all its contributions."""
    known_contributions: dict[Process, Contribution] = {}
    for contribution in contributions:
        known_contribution = known_contributions.setdefault(contribution.content, contribution)
        if known_contribution is not contribution:
            known_contributions[contribution.content] = replace(
                known_contribution, seen=known_contribution.seen | contribution.seen
            )
    return known_contributions.values()


def _lifecycles(
    runs: Iterable[MergedRun], contexts: Mapping[str, RunContext]
) -> Callable[[Sequence[Contribution]], LifecycleEvents]:
    """A function from an application's contributions to the lifecycle events of its data sets."""
    events_by_application: dict[str, list[LifecycleEvent]] = {}
    for run in runs:
        lifecycle = lifecycle_events_in(run, contexts[run.run_id])
        if lifecycle:
            events_by_application.setdefault(run.application_run, []).extend(lifecycle)
    lifecycles = {
        application_run: LifecycleEvents.of(lifecycle) for application_run, lifecycle in events_by_application.items()
    }
    no_lifecycle = LifecycleEvents()
    return lambda contributions: lifecycles.get(contributions[0].application_run, no_lifecycle)


def _verdict(run_id: str, outcome: RunLineage | Skip | Wait, shown_processes: set[tuple[str, str]]) -> RunVerdict:
    if isinstance(outcome, Wait):
        return RunVerdict(run_id=run_id, state="waiting", reason=outcome.reason)
    if isinstance(outcome, Skip):
        return RunVerdict(run_id=run_id, state="skipped", reason=outcome.reason)
    for process in outcome.processes:
        if (outcome.application_run, process.qualified_name) in shown_processes:
            return RunVerdict(run_id=run_id, state="published")
    return RunVerdict(run_id=run_id, state="skipped", reason=NO_PROCESS)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ColumnPair:
    """A column of a data set and the one that it reaches, the data sets by their qualified names. An empty `output`
    stands for all rows.
    """

    source: str
    input: str
    target: str
    output: str

    def __str__(self) -> str:
        return f"{self.source}.{self.input} → {self.target}.{self.output or '*'}"


def named_pairs(events: Iterable[Event], *, names: Names = BUILT_IN) -> frozenset[ColumnPair]:
    """The pairs in the column lineage facets of these events, without those of a data set with itself, and those of
    data sets that are none (logs, staging folders).
    """
    by_run: dict[str, list[Event]] = {}
    for event in events:
        if event.body is not None:
            by_run.setdefault(event.run_id, []).append(event)
    return frozenset(pair for of_run in by_run.values() for pair in _of_run(of_run, names))


def missing_pairs(named: Iterable[ColumnPair], processes: Iterable[Process]) -> tuple[ColumnPair, ...]:
    """The pairs that no process has, sorted. A column of which all rows depend reaches each column of its target; case
    makes no difference.
    """
    known_edges = {
        (edge.input.qualified_name, edge.input.column.lower(), edge.output.qualified_name, edge.output.column.lower())
        for process in processes
        for edge in process.columns
    }
    return tuple(sorted(pair for pair in named if known_edges.isdisjoint(_as_edges(pair))))


def _as_edges(pair: ColumnPair) -> set[tuple[str, str, str, str]]:
    source = pair.source, pair.input.lower(), pair.target
    return {(*source, pair.output.lower()), (*source, "")}


def _of_run(events: list[Event], names: Names) -> Iterator[ColumnPair]:
    run = merge_run(events)
    datasets = Datasets.of(run, RunContext(facts=application_facts_of(run), names=names))
    for event in events:
        for output in (event.body.outputs if event.body else None) or ():
            lineage = output.facets.column_lineage if output.facets else None
            target = datasets.resolve(output.namespace, output.name) if lineage else None
            if lineage is None or target is None:
                continue
            for source, column in _fields(lineage):
                asset = datasets.resolve(source.namespace, source.name)
                if asset and asset.qualified_name != target.qualified_name:
                    yield ColumnPair(
                        source=asset.qualified_name,
                        input=source.field,
                        target=target.qualified_name,
                        output=column,
                    )


def _fields(lineage: ColumnLineage) -> Iterator[tuple[InputField, str]]:
    """Each source of a facet with the column that it reaches."""
    for column, field in (lineage.fields or {}).items():
        for source in field.input_fields or ():
            yield source, column
    for source in lineage.dataset or ():
        yield source, ""
