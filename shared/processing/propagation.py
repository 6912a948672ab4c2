"""Telling the other runs of an application what a run has to say, and having those settled anew whom it concerns."""

from collections.abc import Callable
from dataclasses import dataclass

from shared.errors import WriteConflict
from shared.openlineage.run import MergedRun
from shared.processing.decision import Decided
from shared.records.application_entries import leave_entries
from shared.records.application_record import Application, note_applied, read_application
from shared.records.asset_lifecycle import record_changes
from shared.records.process_index import note_dependent, runs_to_process_again
from shared.records.run_state import RunState
from shared.storage.port import Storage

_TRIES = 8

Settle = Callable[[str], bool]
"""Settles a run (by its id) anew because of a sibling: whether the publisher may have something to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What came of telling: what is `known` of the application then, what of it is to be marked dirty (by key), and
    whether settling others has marked something already.
    """

    known: Application
    marks: frozenset[str]
    marked: bool


def propagate(
    storage: Storage, run: MergedRun, decided: Decided, state: RunState, settle: Settle, *, nested: bool
) -> Spread:
    """Leave what this run tells the others of its application, and settle those anew whom it concerns.

    Whoever is settled so (`nested`) does the same, but leaves it to the outermost to go through all that have spoken.
    """
    marks = record_changes(storage, run, decided.changes, state.changed_assets, state.generation)
    marked = False
    contents = decided.contents
    wants = any(content.unresolved_tables for content in contents.values())
    known, inside = leave_entries(storage, run, decided.entries, state.entries, state.generation, unresolved=wants)
    for sibling in inside:
        marked = settle(sibling) or marked
    if not nested and (inside or known.facts != known.applied):
        known, others = _have_all_heard(storage, run, settle)
        marked = marked or others
    touched = bool(state.entries or state.attempted - contents.keys())
    before = {by for _, by, _ in state.attempted} | {by for by, _ in state.entries}
    for each in (known, *(read_application(storage, by) for by in sorted(before - {known.run}))):
        if each.resolve_together:
            spoken = {process for process, by, _ in state.attempted if by == each.run}
            marks |= note_dependent(storage, each.run, spoken, contents.values(), touched=touched)
    return Spread(known=known, marks=frozenset(marks), marked=marked)


def _have_all_heard(storage: Storage, run: MergedRun, settle: Settle) -> tuple[Application, bool]:
    """Settle anew whoever may say something else with what was told, until nothing more is: also what those tell who
    are settled meanwhile. Returns what is known of the application, and whether something was marked dirty.
    """
    marked = False
    for _ in range(_TRIES):
        known = read_application(storage, run.application_run)
        if known.facts == known.applied:
            return known, marked
        for sibling in sorted(runs_to_process_again(storage, known) - {run.run_id}):
            marked = settle(sibling) or marked
        if note_applied(storage, known):
            return known, marked
    raise WriteConflict(f"More and more was told of the application {run.application_run}", after=2)
