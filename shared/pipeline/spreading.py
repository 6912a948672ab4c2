"""Telling the other runs of an application what a run has to say, and having those settled anew whom it concerns."""

from collections.abc import Callable

from shared.errors import Contended
from shared.openlineage import MergedRun
from shared.pipeline.assets import note_states
from shared.pipeline.deciding import Decided
from shared.pipeline.dirty import mark_dirty
from shared.pipeline.links import note_fated, speakers
from shared.pipeline.records import RunState
from shared.pipeline.siblings import Application, application, leave_words, note_heard
from shared.storage import Storage

_TRIES = 8

Settle = Callable[[str], None]
"""Settles a run (by its id) anew because of a sibling."""


def tell_siblings(
    storage: Storage, run: MergedRun, decided: Decided, state: RunState, settle: Settle, *, nested: bool
) -> Application:
    """Leave what this run tells the others of its application, and settle those anew whom it concerns. Returns what is
    known of the application.

    Whoever is settled so (`nested`) does the same, but leaves it to the outermost to go through all that have spoken.
    """
    note_states(storage, run.run_id, decided.changes, state.changed, state.generation)
    contents = decided.contents
    wants = any(content.wanted for content in contents.values())
    word = leave_words(storage, run, decided.words, state.left, state.generation, wants=wants)
    for sibling in word.inside:
        settle(sibling)
    known = word.known
    if not nested and (word.inside or known.told != known.heard):
        known = _have_all_heard(storage, run, settle)
    touched = bool(state.left or state.attempted - contents.keys())
    before = {by for _, by, _ in state.attempted} | {by for by, _ in state.left}
    for each in (known, *(application(storage, by) for by in sorted(before - {known.run}))):
        if each.fates:
            spoken = {process for process, by, _ in state.attempted if by == each.run}
            mark_dirty(storage, note_fated(storage, each.run, spoken, contents.values(), touched=touched))
    return known


def _have_all_heard(storage: Storage, run: MergedRun, settle: Settle) -> Application:
    """Settle anew whoever may say something else with what was told, until nothing more is: also what those tell who
    are settled meanwhile. Returns what is known of the application.
    """
    for _ in range(_TRIES):
        known = application(storage, run.application_run)
        if known.told == known.heard:
            return known
        for sibling in sorted(speakers(storage, known) - {run.run_id}):
            settle(sibling)
        if note_heard(storage, known):
            return known
    raise Contended(f"More and more was told of the application {run.application_run}", after=2)
