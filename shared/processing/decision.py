"""Deciding what is to be put on record of a run, from all of its events and what its siblings tell. Pure."""

from dataclasses import dataclass, field

from shared.model import Process, RunLineage
from shared.openlineage.run import MergedRun
from shared.records.application_entries import ApplicationEntries
from shared.records.asset_lifecycle import Changes, changes_by_asset
from shared.records.run_state import ContentKey, content_digest
from shared.records.states import State
from shared.storage_layout import process_key
from shared.translation.application.context import RunContext
from shared.translation.run.changes import lifecycle_events_of, state_changes_in
from shared.translation.run.translate import Skip, Wait, translate


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a run, as far as it alone can tell: published, skipped, waiting or dead, and why."""

    verdict: State
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What is to be put on record of a run: the contents that it stands for, having `heard` what its siblings tell, the
    `entries` that it leaves for them, and what it did to data sets as wholes.
    """

    run: MergedRun | None
    heard: RunContext
    outcome: Outcome
    contents: dict[ContentKey, Process] = field(default_factory=dict)
    entries: ApplicationEntries = field(default_factory=ApplicationEntries)
    changes: Changes = field(default_factory=dict)


def decide(run: MergedRun | None, heard: RunContext, *, timed_out: bool, stored: bool) -> Decided:
    """What to put on record of a run, None when none of its events can be used; `stored`: whether any is stored at all.
    `timed_out`: its end is not waited for any more.

    What it raises when it meets what nobody thought of is the caller's to judge.
    """
    if run is None:
        reason = "none of its events can be used" if stored else "none of its events is stored yet"
        return Decided(
            run=None, heard=heard, outcome=Outcome(verdict=State.DEAD if stored else State.WAITING, reason=reason)
        )
    word = translate(run, heard, timed_out=timed_out)
    if isinstance(word, Wait):
        return Decided(run=run, heard=heard, outcome=Outcome(verdict=State.WAITING, reason=word.reason))
    found = state_changes_in(run, heard)
    entries = ApplicationEntries.of(run, heard, lifecycle_events_of(run, found))
    changes = changes_by_asset(found)
    if isinstance(word, Skip):
        outcome = Outcome(verdict=State.SKIPPED, reason=word.reason)
        return Decided(run=run, heard=heard, outcome=outcome, entries=entries, changes=changes)
    outcome = Outcome(verdict=State.CONTRIBUTED)
    return Decided(run=run, heard=heard, outcome=outcome, contents=_contents(word), entries=entries, changes=changes)


def dead(heard: RunContext, why: str) -> Decided:
    """Of a run that cannot be used at all."""
    return Decided(run=None, heard=heard, outcome=Outcome(verdict=State.DEAD, reason=why))


def _contents(lineage: RunLineage) -> dict[ContentKey, Process]:
    return {
        (process_key(each.qualified_name), lineage.application_run, content_digest(each)): each
        for each in lineage.processes
    }
