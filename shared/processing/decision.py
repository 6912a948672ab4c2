"""Decide what to record of a run, from all its events and the facts of its application. Pure."""

from dataclasses import dataclass, field

from shared.model import Process, RunLineage
from shared.openlineage.run import MergedRun
from shared.records.application.entries import ApplicationEntries
from shared.records.asset_lifecycle import Changes, changes_by_asset
from shared.records.run_state import ContentKey, content_digest
from shared.records.states import State
from shared.storage_layout import process_key
from shared.translation.application.context import RunContext
from shared.translation.run.changes import lifecycle_events_of, state_changes_in
from shared.translation.run.translate import Skip, Wait, translate


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The state of a run as far as it alone decides: published, skipped, waiting or dead, and the reason."""

    verdict: State
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to record of a run, given its `context`: its contributions' `contents`, the `entries` it leaves for
    other runs of its application, and the state `changes` of whole data sets.
    """

    run: MergedRun | None
    context: RunContext
    outcome: RunOutcome
    contents: dict[ContentKey, Process] = field(default_factory=dict)
    entries: ApplicationEntries = field(default_factory=ApplicationEntries)
    changes: Changes = field(default_factory=dict)


def decide(run: MergedRun | None, context: RunContext, *, timed_out: bool, stored: bool) -> Decision:
    """Decide what to record of a run; `run`: None when none of its events can be used; `stored`: whether any is stored;
    `timed_out`: its end is not awaited any more.

    Raises whatever translation raises for events that it can't handle; the caller makes dead letters of them.
    """
    if run is None:
        reason = "none of its events can be used" if stored else "none of its events is stored yet"
        return Decision(
            run=None,
            context=context,
            outcome=RunOutcome(verdict=State.DEAD if stored else State.WAITING, reason=reason),
        )
    translated = translate(run, context, timed_out=timed_out)
    if isinstance(translated, Wait):
        return Decision(run=run, context=context, outcome=RunOutcome(verdict=State.WAITING, reason=translated.reason))
    found = state_changes_in(run, context)
    entries = ApplicationEntries.of(run, context, lifecycle_events_of(run, found))
    changes = changes_by_asset(found)
    if isinstance(translated, Skip):
        outcome = RunOutcome(verdict=State.SKIPPED, reason=translated.reason)
        return Decision(run=run, context=context, outcome=outcome, entries=entries, changes=changes)
    outcome = RunOutcome(verdict=State.CONTRIBUTED)
    return Decision(
        run=run, context=context, outcome=outcome, contents=_contents(translated), entries=entries, changes=changes
    )


def unusable(context: RunContext, why: str) -> Decision:
    """The decision for a run that can't be used at all."""
    return Decision(run=None, context=context, outcome=RunOutcome(verdict=State.DEAD, reason=why))


def _contents(lineage: RunLineage) -> dict[ContentKey, Process]:
    return {
        (process_key(each.qualified_name), lineage.application_run, content_digest(each)): each
        for each in lineage.processes
    }
