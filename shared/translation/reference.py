"""Many events -> the processes as the catalog would finally hold them. Pure: no storage, no clock.

This is the meaning of the whole of Throughline in one function: what the functions do step by step, over storage and in
any order, must end where this ends.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from shared.model import ApplicationTimes, Contribution, Process, RunLineage, Span
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.decoding import Event
from shared.openlineage.merging import merge
from shared.openlineage.run import MergedRun
from shared.openlineage.selection import Ignore, select
from shared.translation.aggregate import SupersessionPolicy, aggregate
from shared.translation.application.context import (
    NO_APPLICATION_FACTS,
    ApplicationFacts,
    RunContext,
    StreamBatch,
    application_facts_of,
    enclosing_batches,
)
from shared.translation.application.lifecycle import LifecycleEvent, LifecycleEvents
from shared.translation.application.staging_elimination import eliminate_staging
from shared.translation.run.changes import batch_of, lifecycle_events_in, names_no_source
from shared.translation.run.translate import Skip, Wait, translate

NO_PROCESS = "no process that it wrote has both an input and an output"
"""Why a run that wrote something is skipped all the same."""


class RunVerdict(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """What became of a run: `state` is published, skipped or waiting, with a reason for the last two."""

    run_id: str
    state: str
    reason: str | None = None


class Ignored(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """An event that was not kept, by its run (empty for job and data set events), and why."""

    run_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All verdicts and all processes, sorted."""

    runs: tuple[RunVerdict, ...]
    processes: tuple[Process, ...]
    ignored: tuple[Ignored, ...]


def translate_history(
    events: Iterable[Event], patience: SupersessionPolicy | None = None, *, names: Names = BUILT_IN
) -> History:
    """The final lineage of these events, whatever their order and however often each occurs."""
    kept: dict[str, list[Event]] = {}
    ignored: set[Ignored] = set()
    for event in events:
        decision = select(event)
        if isinstance(decision, Ignore):
            ignored.add(Ignored(run_id=event.run_id, reason=decision.reason))
        else:
            kept.setdefault(event.run_id, []).append(event)
    del events  # what is merged is let go at once, where nobody else holds it
    runs = {run_id: merge(kept.pop(run_id)) for run_id in tuple(kept)}
    arounds = _arounds(runs, names)
    said = {run_id: translate(run, arounds[run_id]) for run_id, run in runs.items()}
    spoken = _contributions(runs, said)
    facts = {
        run_id: ApplicationTimes(first=run.first, last=run.last, ended=run.ended)
        for run_id in spoken
        if (run := runs.get(run_id))
    }
    fates = _fates(runs.values(), arounds)
    found = [each for words in spoken.values() for each in eliminate_staging(words, fates(words))]

    grouped: dict[str, list[Contribution]] = {}
    for each in found:
        if each.remains:
            grouped.setdefault(each.remains.content.qualified_name, []).append(each.remains)
    sums = [aggregate(contributions, facts, now=None, patience=patience).process for contributions in grouped.values()]
    processes = tuple(sorted((each for each in sums if each), key=lambda process: process.qualified_name))
    published = {process.qualified_name for process in processes}
    shown = {
        (each.said.application_run, each.said.content.qualified_name)
        for each in found
        if each.remains and each.remains.content.qualified_name in published
    }
    return History(
        runs=tuple(sorted(_verdict(run_id, word, shown) for run_id, word in said.items())),
        processes=processes,
        ignored=tuple(sorted(ignored)),
    )


def _arounds(runs: Mapping[str, MergedRun], names: Names) -> dict[str, RunContext]:
    """What each run is to know of the others of its application."""
    own = {
        run_id: word for run_id, run in runs.items() if (word := application_facts_of(run)) is not NO_APPLICATION_FACTS
    }
    told: dict[str, ApplicationFacts] = {}
    for run_id, word in own.items():
        run = runs[run_id]
        if run.ended:
            told[run.application_run] = told.get(run.application_run, NO_APPLICATION_FACTS) | word
    alone = RunContext(names=names)
    arounds = dict.fromkeys(runs, alone)
    for run_id, run in runs.items() if own else ():
        known = told.get(run.application_run, NO_APPLICATION_FACTS) | own.get(run_id, NO_APPLICATION_FACTS)
        if known is not NO_APPLICATION_FACTS:
            arounds[run_id] = RunContext(told=known, names=names)
    batches: dict[str, list[StreamBatch]] = {}
    for run_id, run in runs.items():
        if run.ended and (batch := batch_of(run, arounds[run_id])):
            batches.setdefault(run.application_run, []).append(batch)
    for run_id, run in runs.items():
        if run.application_run in batches and names_no_source(run):
            arounds[run_id] = replace(arounds[run_id], batches=enclosing_batches(batches[run.application_run], run))
    return arounds


def _contributions(
    runs: Mapping[str, MergedRun], said: Mapping[str, RunLineage | Skip | Wait]
) -> dict[str, list[Contribution]]:
    """By application run: one contribution for each distinct content."""
    told: dict[tuple[str, str], list[Contribution]] = {}
    for run_id, word in said.items():
        if isinstance(word, RunLineage):
            by = word.application_run
            seen = Span(first=runs[run_id].first, last=runs[run_id].last)
            for content in word.processes:
                one = Contribution(application_run=by, content=content, seen=seen)
                told.setdefault((by, content.qualified_name), []).append(one)
    spoken: dict[str, list[Contribution]] = {}
    for (by, _), words in told.items():
        spoken.setdefault(by, []).extend(words if len(words) == 1 else _once_each(words))
    return spoken


def _once_each(words: Iterable[Contribution]) -> Iterable[Contribution]:
    """What one application run says of one process: each content once, seen whenever one of them was."""
    known: dict[Process, Contribution] = {}
    for word in words:
        one = known.setdefault(word.content, word)
        if one is not word:
            known[word.content] = replace(one, seen=one.seen | word.seen)
    return known.values()


def _fates(
    runs: Iterable[MergedRun], arounds: Mapping[str, RunContext]
) -> Callable[[Sequence[Contribution]], LifecycleEvents]:
    """What became of the data sets of the application that made some contributions."""
    found: dict[str, list[LifecycleEvent]] = {}
    for run in runs:
        fates = lifecycle_events_in(run, arounds[run.run_id])
        if fates:
            found.setdefault(run.application_run, []).extend(fates)
    of = {application_run: LifecycleEvents.of(fates) for application_run, fates in found.items()}
    none = LifecycleEvents()
    return lambda spoken: of.get(spoken[0].application_run, none)


def _verdict(run_id: str, word: RunLineage | Skip | Wait, shown: set[tuple[str, str]]) -> RunVerdict:
    if isinstance(word, Wait):
        return RunVerdict(run_id=run_id, state="waiting", reason=word.reason)
    if isinstance(word, Skip):
        return RunVerdict(run_id=run_id, state="skipped", reason=word.reason)
    for process in word.processes:
        if (word.application_run, process.qualified_name) in shown:
            return RunVerdict(run_id=run_id, state="published")
    return RunVerdict(run_id=run_id, state="skipped", reason=NO_PROCESS)
