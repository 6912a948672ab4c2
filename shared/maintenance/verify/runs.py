"""Checks of dead letters, runs and events: rows against blobs, run states against both."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from shared.events.archive_index import Archived
from shared.events.dead_letters import DeadLetter, dead_letters
from shared.events.run_rows import RunRows
from shared.events.stored_runs import Arrived, arrivals, noted, packed_event, readable_event
from shared.maintenance.verify.checks import CheckStage, Inconsistency, RepairVerb, VerifyContext, check
from shared.maintenance.verify.repairs import (
    UNUSABLE,
    delete_event_row,
    delete_lost_letter,
    has_end,
    is_over,
    letter_is_stored,
    process_again,
    process_event_again,
    process_letter_again,
)
from shared.records.application.entries import context_of
from shared.records.application.record import read_application
from shared.records.digest_set import combined_digest, short
from shared.records.run_state import RunState, readable_run_state
from shared.reporting.run_outcomes import counted
from shared.storage.port import Row
from shared.storage_layout import RUNS, StoredEvent
from shared.translation.run.merging import merge_run
from shared.translation.run.translate import translate


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRun:
    """A run by its rows: events that are `stored` and `missing` ones; `state`: None where there is none, or none that
    can be read (`unreadable`).
    """

    run_id: str
    stored: tuple[StoredEvent, ...] = ()
    missing: tuple[StoredEvent, ...] = ()
    state: RunState | None = None
    unreadable: bool = False


@check("letter without blob", RepairVerb.DELETE)
def letters_without_blob(context: VerifyContext, letter: DeadLetter) -> Iterator[Inconsistency]:
    """A dead letter whose blob is gone."""
    if not letter_is_stored(context.storage, letter):
        yield Inconsistency(
            subject=f"dead letter {letter.digest}",
            description=f"its blob {letter.blob!r} is gone",
            repair=partial(delete_lost_letter, context, letter),
        )


@check("usable letter", RepairVerb.PROCESS)
def usable_letters(context: VerifyContext, letter: DeadLetter) -> Iterator[Inconsistency]:
    """A dead letter whose event can be used now."""
    if not letter.discarded and _is_usable(context, letter):
        yield Inconsistency(
            subject=f"dead letter {letter.digest}",
            description=f"({letter.reason}) can be used now",
            repair=partial(process_letter_again, context, letter.digest),
        )


def _is_usable(context: VerifyContext, letter: DeadLetter) -> bool:
    """Whether the event can be decoded, and its run merged and translated."""
    storage, place = context.storage, letter.place
    event = readable_event(storage, place) if place else None
    if place is None or event is None:
        return False
    others = (readable_event(storage, each) for each in noted(storage, place.run_id).events if each != place)
    try:
        run = merge_run([event, *filter(None, others)])
        known = read_application(storage, run.application_run)
        translate(run, context_of(storage, run, known, context.names))
    except UNUSABLE:
        return False
    return True


@check("row without blob", RepairVerb.DELETE)
def rows_without_blob(context: VerifyContext, run: CheckedRun) -> Iterator[Inconsistency]:
    """A row of an event whose blob is gone or was never stored."""
    for event in run.missing:
        if not context.is_recent(event.time) and packed_event(context.storage, event) is None:
            merged = run.state is not None and event.digest in run.state.merged
            description = "was merged into its run, and its blob is gone" if merged else "has a row, but no blob"
            repair = partial(delete_event_row, context, event)
            yield Inconsistency(subject=event.blob, description=description, repair=repair)


@check("unprocessed run", RepairVerb.PROCESS)
def unprocessed_runs(context: VerifyContext, run: CheckedRun) -> Iterator[Inconsistency]:
    """A run that is over but was not processed with all its stored events, or whose state is gone or unreadable."""
    description = _why_unprocessed(run)
    if description and (run.unreadable or is_over(context, run.stored)):
        repair = partial(process_again, context, run.run_id)
        yield Inconsistency(subject=f"run {run.run_id}", description=description, repair=repair)


def _why_unprocessed(run: CheckedRun) -> str:
    if run.unreadable:
        return "has a state, but a blob of it is gone"
    if not run.stored or (run.state and run.state.closed):
        return ""
    if run.state is None:
        return "has ended, and has no state" if has_end(run.stored) else "has no end, and was not timed out"
    if not run.state.settled or not run.state.context_digest:
        return "was interrupted while it was processed"
    left = sum(event.digest not in run.state.merged for event in run.stored)
    return f"was processed without {left} of its events" if left else ""


@check("blob without row", RepairVerb.PROCESS)
def blobs_without_row(context: VerifyContext, found: Arrived) -> Iterator[Inconsistency]:
    """A stored event that has no row."""
    event = found.event
    is_recent = found.arrived is not None and context.is_recent(found.arrived)
    if event and not is_recent and context.storage.read(RUNS, event.run_id, event.row_key) is None:
        repair = partial(process_event_again, context, event)
        yield Inconsistency(subject=event.blob, description="is stored, but has no row", repair=repair)


def _letters(context: VerifyContext) -> Iterator[DeadLetter]:
    return counted(context.progress, "dead letters", dead_letters(context.storage))


def _runs(context: VerifyContext) -> Iterator[CheckedRun]:
    """Every run that has rows, after the blobs were listed: a row comes before its blob."""
    survey = context.survey
    for each in counted(context.progress, "stored events", arrivals(context.storage)):
        if each.event:
            survey.events.add(short(each.event.digest))
    entries = array("Q")
    rows = counted(context.progress, "runs", context.storage.scan(RUNS))
    for run_id, own in groupby(rows, key=lambda row: row.partition):
        yield _run(context, run_id, own, entries)
    for entry in entries:
        survey.entries.meet(entry)


def _run(context: VerifyContext, run_id: str, own: Iterator[Row], entries: "array[int]") -> CheckedRun:
    survey, storage = context.survey, context.storage
    rows = RunRows.of(run_id, own)
    entries.extend(combined_digest(run_id, row.key) for row in rows.entries)
    for process in rows.processes:
        survey.references.add(combined_digest(run_id, process))
    state = readable_run_state(rows.state, storage)
    if state and state.settled:
        survey.add_state(state)
    stored = tuple(place for place in rows.events if survey.events.meet(short(place.digest)))
    missing = tuple(sorted(rows.events.keys() - set(stored), key=lambda place: place.blob))
    if state is None:  # else it does not matter what is archived
        stored += tuple(event for row in rows.archived for event in Archived.of(row, storage).events)
    unreadable = rows.state is not None and state is None
    return CheckedRun(run_id=run_id, stored=stored, missing=missing, state=state, unreadable=unreadable)


def _events_without_row(context: VerifyContext) -> Iterator[Arrived]:
    unmet = context.survey.events.unmet()
    if unmet:
        for each in counted(context.progress, "events without rows", arrivals(context.storage)):
            if each.event and short(each.event.digest) in unmet:
                yield each


LETTERS = CheckStage(read=_letters, checks=(letters_without_blob, usable_letters))
RUN_ROWS = CheckStage(read=_runs, checks=(rows_without_blob, unprocessed_runs))
STORED_EVENTS = CheckStage(read=_events_without_row, checks=(blobs_without_row,))
