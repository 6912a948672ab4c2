"""Damage to events and runs: rows against blobs, and states against both."""

import gzip
import logging
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from shared.errors import ContentLost, Refused, WriteConflict
from shared.events.stored_runs import Arrived, last_arrival, noted, packed_event
from shared.maintenance.replay import settle_stored
from shared.maintenance.verify.inconsistencies import Inconsistency, World
from shared.openlineage.decoding import Event, decode
from shared.openlineage.merging import merge, stronger_end
from shared.processing.processor import RunProcessor
from shared.processing.triggers import TimedOut
from shared.records.application_entries import generations_in, holds_entries
from shared.records.process_index import contributions_of, processes_written_by
from shared.records.run_state import ContentKey, EntryKey, RunState
from shared.secrets import text_without_secrets
from shared.storage.compare_and_swap import write_if_unchanged
from shared.storage.port import Row, Storage
from shared.storage_layout import LONGEST_JOB_NAME, RUNS, STATE, StoredEvent

_LOG = logging.getLogger("throughline.verify")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOnRecord:
    """A run as its rows tell: the events that are `stored` and those that are `missing`; `state` is None when there is
    none, or (`unreadable`) none that can be read.
    """

    run_id: str
    stored: tuple[StoredEvent, ...] = ()
    missing: tuple[StoredEvent, ...] = ()
    state: RunState | None = None
    unreadable: bool = False


def state_of(storage: Storage, row: Row | None) -> tuple[RunState | None, bool]:
    """The state that a row holds; and whether there is one that can't be read."""
    if row is None:
        return None, False
    try:
        return RunState.of(row, storage), False
    except ContentLost:
        return None, True


def rows_without_blob(world: World, run: RunOnRecord) -> Iterator[Inconsistency]:
    """Rows of events whose blobs are gone, or never came."""
    for event in run.missing:
        if world.settling(event.time) or packed_event(world.storage, event) is not None:
            continue
        merged = run.state is not None and event.digest in run.state.merged
        words = "was merged into its run, and its blob is gone" if merged else "has a row, but no blob"
        yield Inconsistency(subject=event.blob, words=words, about=event)


def drop_row(world: World, damage: Inconsistency) -> bool:
    """The row goes: what was said of the event stays, and its blob gets a row again should it come back."""
    event: StoredEvent = damage.about
    if packed_event(world.storage, event) is None:
        world.storage.delete(RUNS, event.run_id, event.row_key)
    return True


def blobs_without_row(world: World, found: Arrived) -> Iterator[Inconsistency]:
    """Blobs that nobody noted: of a row that was lost, or put there by another hand."""
    event = found.event
    fresh = found.arrived is not None and world.settling(found.arrived)
    if event and not fresh and not _has_row(world.storage, event):
        yield Inconsistency(subject=event.blob, words="is stored, but has no row", about=event)


def note_row(world: World, damage: Inconsistency) -> bool:
    """The row as the receiver would have written it; the run is settled anew if it may be over."""
    event: StoredEvent = damage.about
    opened = _opened(world.storage, event)
    values = {"job": text_without_secrets(opened.body.job.name[:LONGEST_JOB_NAME])} if opened and opened.body else {}
    world.storage.insert(RUNS, Row(partition=event.run_id, key=event.row_key, values=values))
    state, unreadable = state_of(world.storage, world.storage.read(RUNS, event.run_id, STATE))
    if state or unreadable or event.end:
        settle_anew(world, event.run_id)
    return True


def _has_row(storage: Storage, event: StoredEvent) -> bool:
    return storage.read(RUNS, event.run_id, event.row_key) is not None


def unsettled_runs(world: World, run: RunOnRecord) -> Iterator[Inconsistency]:
    """Runs that somebody should have settled: they have an end, or were settled with less than is stored."""
    if not run.unreadable and (words := _unsettled(run)) and _is_over(world, run.stored):
        restored = _said_before(world, run) if run.state is None else None
        if restored is None or not (restored.attempted or restored.entries):
            yield Inconsistency(subject=f"run {run.run_id}", words=words, about=run.run_id)


def lost_states(world: World, run: RunOnRecord) -> Iterator[Inconsistency]:
    """Runs whose state is gone though they have said something, or can't be read."""
    if run.unreadable:
        yield Inconsistency(
            subject=f"run {run.run_id}", words="has a state, but a blob of it is gone", about=run.run_id
        )
    elif run.state is None and run.stored and _is_over(world, run.stored):
        restored = _said_before(world, run)
        if restored.attempted or restored.entries:
            said = f"has said {len(restored.attempted)} contributions, but has no state"
            yield Inconsistency(subject=f"run {run.run_id}", words=said, about=run.run_id)


def _unsettled(run: RunOnRecord) -> str:
    """Why it should be settled; empty when there is nothing to do."""
    if not run.stored:
        return ""
    if run.state and run.state.closed:
        return ""
    if run.state is None:
        return "has ended, and was never settled" if _ends(run.stored) else "waits for an end, and nobody looks"
    if not run.state.settled or not run.state.context_digest:
        return "was cut off while it was settled"
    left = sum(event.digest not in run.state.merged for event in run.stored)
    return f"was settled without {left} of its events" if left else ""


def _ends(events: Iterable[StoredEvent]) -> bool:
    return any(event.end for event in events)


def _is_over(world: World, events: tuple[StoredEvent, ...]) -> bool:
    """Whether no event of it came for so long that it should have been settled."""
    last = last_arrival(world.storage, events)
    wait = world.grace if _ends(events) else max(world.grace, world.end_timeout)
    return last is None or datetime.now(UTC) - last >= wait


def _said_before(world: World, run: RunOnRecord) -> RunState:
    return _restored(world.storage, run.run_id, run.stored)


def mend_run(world: World, damage: Inconsistency) -> bool:
    """Settle it anew."""
    return settle_anew(world, damage.about)


def settle_anew(world: World, run_id: str) -> bool:
    """Settle a run from all that is stored of it, whatever is on record; a state that was lost is found again first, so
    that the run can take back what it says no more. False when nothing of it is stored.
    """
    storage = world.storage
    events = tuple(each for each in noted(storage, run_id).events if packed_event(storage, each) is not None)
    if not events:
        return False
    row = storage.read(RUNS, run_id, STATE)
    state, unreadable = state_of(storage, row)
    if state is None:
        fresh = _restored(storage, run_id, events).row(storage)
        if not write_if_unchanged(storage, RUNS, replace(fresh, etag=row.etag if row else "")):
            raise WriteConflict(f"Run {run_id} is being settled by somebody else", after=2)
        _LOG.info("state restored run=%s unreadable=%s", run_id, unreadable)
        state, _ = state_of(storage, storage.read(RUNS, run_id, STATE))
    if _ends(events) or not _is_over(world, events):
        settle_stored(storage, run_id, state, events, world.names)
    else:
        RunProcessor(storage=storage, names=world.names).process(run_id, TimedOut())
    return True


def _restored(storage: Storage, run_id: str, events: Iterable[StoredEvent]) -> RunState:
    """The state of a run as far as others tell of it: what it may have said, in its latest generation."""
    places = tuple(events)
    opened = [event for place in places if (event := _opened(storage, place))]
    try:
        by = merge(opened).application_run if opened else run_id
    except (RecursionError, ValueError, TypeError, LookupError, ArithmeticError):
        by = run_id  # settling will say what is wrong with it: a dead letter
    end: str | None = None
    for place in places:
        end = stronger_end(end, place.end)
    generations: dict[ContentKey, int] = {}
    for process in processes_written_by(storage, by):
        for _, record in contributions_of(storage, process, by):
            if run_id in record.supporters:
                generations[process, by, record.digest] = record.supporters[run_id].generation
    left = _left_by(storage, by, run_id)
    return RunState(
        run_id=run_id,
        end=end,
        generation=max((*generations.values(), *left.values()), default=0),
        attempted=frozenset(generations),
        entries=frozenset(left),
    )


def _left_by(storage: Storage, application_run: str, run_id: str) -> dict[EntryKey, int]:
    """Where a run has left an entry for the others, with the generation of each."""
    rows = (row for row in storage.partition(RUNS, application_run) if holds_entries(row))
    left = ((row.key, generations_in(storage, row)) for row in rows)
    return {(application_run, key): each[run_id] for key, each in left if run_id in each}


def _opened(storage: Storage, place: StoredEvent) -> Event | None:
    """The event, if its bytes can be used."""
    packed = packed_event(storage, place)
    try:
        return decode(gzip.decompress(packed)) if packed else None
    except (Refused, OSError, EOFError, zlib.error):
        return None  # settling makes a dead letter of it
