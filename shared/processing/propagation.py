"""Leave a run's entries for other runs of its application, and process the affected ones again."""

from collections.abc import Callable
from dataclasses import dataclass

from shared.errors import WriteConflict
from shared.openlineage.run import MergedRun
from shared.processing.decision import Decision
from shared.records.application.entries import leave_entries
from shared.records.application.process_index import note_dependent, runs_to_process_again
from shared.records.application.record import Application, note_applied, read_application
from shared.records.asset_lifecycle import record_changes
from shared.records.run_state import RunState
from shared.storage.port import Storage

_TRIES = 8

ProcessAgain = Callable[[str], bool]
"""Processes a run (by id) again because of another run: whether the publisher may have something to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Propagation:
    """The application as it is `known` after propagation, the `processes` to be queued (by key), and whether
    processing other runs has queued something already (`has_queued`).
    """

    known: Application
    processes: frozenset[str]
    has_queued: bool


def propagate(
    storage: Storage, run: MergedRun, decided: Decision, state: RunState, process_again: ProcessAgain, *, nested: bool
) -> Propagation:
    """Leave this run's entries for others of its application, and process the affected runs again.

    A run processed so (`nested`) does the same, but only the outermost goes on until all runs have the same facts.
    """
    processes = record_changes(storage, run, decided.changes, state.changed_assets, state.generation)
    has_queued = False
    contents = decided.contents
    wants = any(content.unresolved_tables for content in contents.values())
    known, affected = leave_entries(storage, run, decided.entries, state.entries, state.generation, unresolved=wants)
    for run_id in affected:
        has_queued = process_again(run_id) or has_queued
    if not nested and (affected or known.facts != known.applied):
        known, others = _process_until_stable(storage, run, process_again)
        has_queued = has_queued or others
    touched = bool(state.entries or state.attempted - contents.keys())
    before = {by for _, by, _ in state.attempted} | {by for by, _ in state.entries}
    for each in (known, *(read_application(storage, by) for by in sorted(before - {known.run}))):
        if each.resolve_together:
            named = {process for process, by, _ in state.attempted if by == each.run}
            processes |= note_dependent(storage, each.run, named, contents.values(), touched=touched)
    return Propagation(known=known, processes=frozenset(processes), has_queued=has_queued)


def _process_until_stable(storage: Storage, run: MergedRun, process_again: ProcessAgain) -> tuple[Application, bool]:
    """Process runs again that may contribute something else given the application's facts, until the facts no longer
    change. Returns the application, and whether something was queued. Raises WriteConflict.
    """
    has_queued = False
    for _ in range(_TRIES):
        known = read_application(storage, run.application_run)
        if known.facts == known.applied:
            return known, has_queued
        for run_id in sorted(runs_to_process_again(storage, known) - {run.run_id}):
            has_queued = process_again(run_id) or has_queued
        if note_applied(storage, known):
            return known, has_queued
    raise WriteConflict(f"The facts of application {run.application_run} kept changing", after=2)
