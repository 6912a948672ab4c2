"""Many events -> the processes as the catalog would finally hold them. Pure: no storage, no clock.

This is the meaning of the whole of Throughline in one function: what the functions do step by step, over storage and in
any order, must end where this ends.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from shared.model import ApplicationFacts, Contribution, Lineage, Process, Span
from shared.openlineage import Event, Ignore, MergedRun, merge, select
from shared.translation.adding_up import Patience, add_up
from shared.translation.translate import Skip, Wait, translate

NO_PROCESS = "no process that it wrote has both an input and an output"
"""Why a run that wrote something is skipped all the same."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class RunVerdict:
    """What became of a run: `state` is published, skipped or waiting, with a reason for the last two."""

    run_id: str
    state: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Ignored:
    """An event that was not kept, by its run (empty for job and data set events), and why."""

    run_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All verdicts and all processes, sorted."""

    runs: tuple[RunVerdict, ...]
    processes: tuple[Process, ...]
    ignored: tuple[Ignored, ...]


def translate_history(events: Iterable[Event], patience: Patience | None = None) -> History:
    """The final lineage of these events, whatever their order and however often each occurs."""
    kept: dict[str, list[Event]] = {}
    ignored: set[Ignored] = set()
    for event in events:
        decision = select(event)
        if isinstance(decision, Ignore):
            ignored.add(Ignored(run_id=event.run_id, reason=decision.reason))
        else:
            kept.setdefault(event.run_id, []).append(event)
    runs = {run_id: merge(own) for run_id, own in kept.items()}
    said = {run_id: translate(run) for run_id, run in runs.items()}
    facts = {run_id: ApplicationFacts(first=run.first, last=run.last, ended=run.ended) for run_id, run in runs.items()}

    sums = [
        add_up(contributions, facts, now=None, patience=patience).process
        for contributions in _contributions(runs, said).values()
    ]
    processes = tuple(sorted((each for each in sums if each), key=lambda process: process.qualified_name))
    published = {process.qualified_name for process in processes}
    return History(
        runs=tuple(sorted(_verdict(run_id, word, published) for run_id, word in said.items())),
        processes=processes,
        ignored=tuple(sorted(ignored)),
    )


def _contributions(runs: dict[str, MergedRun], said: dict[str, Lineage | Skip | Wait]) -> dict[str, list[Contribution]]:
    """By process: one contribution for each application run and distinct content."""
    spans: dict[tuple[str, Process], Span] = {}
    for run_id, word in said.items():
        if isinstance(word, Lineage):
            span = Span(first=runs[run_id].first, last=runs[run_id].last)
            for content in word.processes:
                key = (word.application_run, content)
                spans[key] = spans[key] | span if key in spans else span
    grouped: dict[str, list[Contribution]] = {}
    for (application_run, content), span in spans.items():
        contribution = Contribution(application_run=application_run, content=content, seen=span)
        grouped.setdefault(content.qualified_name, []).append(contribution)
    return grouped


def _verdict(run_id: str, word: Lineage | Skip | Wait, published: set[str]) -> RunVerdict:
    if isinstance(word, Wait):
        return RunVerdict(run_id=run_id, state="waiting", reason=word.reason)
    if isinstance(word, Skip):
        return RunVerdict(run_id=run_id, state="skipped", reason=word.reason)
    if any(process.qualified_name in published for process in word.processes):
        return RunVerdict(run_id=run_id, state="published")
    return RunVerdict(run_id=run_id, state="skipped", reason=NO_PROCESS)
