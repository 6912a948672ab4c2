"""Settling a run: all its events merged, translated, and put on record as contributions to processes.

Safe to do again, at the same time, in any order, and to be cut off between any two calls:

1. The end is on record before the events are read, so an event that arrives later finds it and settles anew.
2. What will be written is on record (`attempted` and `left`, with a new generation) before it is written, so that
   whoever settles next can take back what no longer holds: contributions, and words to siblings. A settling that was
   overtaken writes with its old generation, which a row that has heard a newer one refuses.
3. Contributions, then what other runs of the application are to know, then dirty marks, then *settled*. Whatever was
   cut off before that is done again by the redelivered message or by the sweeper.
4. What the run's siblings tell is read before it is translated and again after its contributions are written: what
   was told in between settles it anew.
"""

import logging
import random
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from traceback import format_tb

from shared.concurrency.single_flight import KeyedLock
from shared.errors import Superseded, WriteConflict
from shared.events.archive_index import ArchiveMissing, Kept
from shared.events.blob_cache import AtHand, BlobCache, Known
from shared.events.run_loader import Gathered, add_dead_letter, context_digest, gather, readable
from shared.model import Process, Span
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.merging import merge, stronger_end
from shared.openlineage.run import MergedRun
from shared.processing.application_cache import ApplicationCache
from shared.processing.decision import Decision, decide, unusable
from shared.processing.propagation import propagate
from shared.records.application_record import read_application
from shared.records.process_index import note_process_ref
from shared.records.publish_queue import enqueue
from shared.records.run_context import context_of, read_context
from shared.records.run_state import (
    ContentKey,
    ContributionRecord,
    EntryKey,
    RunState,
    change_run_state,
    contribution_key,
)
from shared.records.states import State
from shared.records.versioned_entry import VersionedEntry
from shared.secrets import text_without_secrets
from shared.storage.compare_and_swap import UNREAD, Place, compare_and_swap
from shared.storage.port import Storage
from shared.storage_layout import CONTRIBUTIONS, RUNS, STATE, StoredEvent, processes_written_by
from shared.telemetry.kinds import RUN
from shared.telemetry.port import SILENT, Telemetry
from shared.translation.application.context import RunContext
from shared.translation.run.facts import facts_of

_LOG = logging.getLogger("throughline.settle")
_TRIES = 8
_LONGEST_REST = 1.0
"""Seconds between the last tries."""

Rest = Callable[[float], None]
"""Waits for so many seconds."""

_FRAMES = 6
_UNUSABLE = (RecursionError, ValueError, TypeError, LookupError, ArithmeticError)
"""What merging or translating raises when it meets what nobody thought of: a dead letter, and the others go on."""


def process_event(
    storage: Storage,
    event: StoredEvent,
    packed: bytes,
    *,
    names: Names = BUILT_IN,
    blob_cache: BlobCache | None = None,
    application_cache: ApplicationCache | None = None,
    turns: KeyedLock | None = None,
    rest: Rest = lambda _: None,
    telemetry: Telemetry = SILENT,
) -> bool:
    """Record an event whose blob (`packed`) has arrived, and process its run when the event may have changed it.

    `blob_cache` keeps recently read blobs, this one included; `application_cache` keeps application facts; `turns`
    serialises the threads that process one run; `rest` waits while others process the same run. An event that cannot
    end a run costs one point read unless the run has ended. Returns whether the publisher may have something to do.
    Raises Retry when storage is away or the same rows keep changing.
    """
    blob_cache = blob_cache or BlobCache()
    blob_cache.put(event.digest, packed)
    if event.end is None:
        found = storage.read(RUNS, event.run_id, STATE)
        if found is None:
            return event.type == "START" and _mark_what_it_wrote(storage, event, packed, telemetry)
        state = RunState.of(found, storage)
        if state.closed or state.done_with(event.digest, None):
            return False
    known = AtHand(digest=event.digest, packed=packed, blob_cache=blob_cache)
    with turns.at(event.run_id) if turns else nullcontext():
        return process_run(
            storage,
            event.run_id,
            trigger=event,
            known=known,
            application_cache=application_cache,
            names=names,
            rest=rest,
            telemetry=telemetry,
        )


def _mark_what_it_wrote(storage: Storage, event: StoredEvent, packed: bytes, telemetry: Telemetry) -> bool:
    """The START of an application that comes after its runs may change which application is newer: what it wrote is
    published anew. Whether there is anything. Only an application's START costs more than the point read.
    """
    opened = readable(storage, Kept(place=event, packed=packed), telemetry)
    if opened is None or opened.body is None or (opened.body.run.facets and opened.body.run.facets.parent):
        return False
    written = processes_written_by(storage, event.run_id)
    enqueue(storage, written)
    return bool(written)


def process_run(
    storage: Storage,
    run_id: str,
    *,
    trigger: StoredEvent | None = None,
    timed_out: bool = False,
    known: Known | None = None,
    application_cache: ApplicationCache | None = None,
    names: Names = BUILT_IN,
    nested: bool = False,
    leaves: bool = False,
    rest: Rest = lambda _: None,
    telemetry: Telemetry = SILENT,
) -> bool:
    """Process a run from all that is stored of it; returns whether the publisher may have something to do.

    `timed_out`: its end is not awaited any longer. `known` holds blobs that need not be read again, by digest;
    `application_cache` keeps application facts; `names` are the naming rules; `nested`: it is processed because of
    another run of its application; `leaves`: raise Superseded where a newer worker processes the run; `rest` waits
    before another try. No trigger changes a run that is closed, or one whose events are gone.
    """
    began = time.time_ns()
    for tried in range(_TRIES):
        if tried and not nested:  # whoever got in between is still at it
            rest(random.uniform(0, _LONGEST_REST * tried / _TRIES))
        end = trigger.end if trigger else None
        known_of = nested or tried > 0 or (trigger is not None and end is None)
        state = _with_end(storage, run_id, end, timed_out=timed_out, known_of=known_of)
        if state.gone or (trigger and state.closed):
            return False
        if trigger and not tried and state.done_with(trigger.digest, trigger.end):
            # At later tries not: who settled it meanwhile may have heard less than we said that all have heard.
            return True  # whoever settled it may have died before it was published
        try:
            marked = _process_once(
                storage,
                run_id,
                known or {},
                names,
                telemetry,
                application_cache=application_cache,
                nested=nested,
                again=tried > 0,
                yields=nested or trigger is not None or (timed_out and tried > 0),
                began=began,
            )
        except Superseded:
            if leaves:
                raise
            continue
        if marked is not None:
            return marked or tried > 0
    raise WriteConflict(f"Run {run_id} kept changing while it was settled", after=2)


def _with_end(storage: Storage, run_id: str, end: str | None, *, timed_out: bool, known_of: bool) -> RunState:
    """The run's state with this end on record. `known_of`: there is one already, most likely."""
    fresh = RunState(run_id=run_id, end=end, timed_out=timed_out)

    def change(state: RunState | None) -> RunState:
        if state is None or state.closed:
            return state or fresh
        wanted = replace(state, end=stronger_end(state.end, end), timed_out=state.timed_out or timed_out)
        return state if wanted == state else replace(wanted, settled=False)

    swapped = change_run_state(storage, run_id, change, read=UNREAD if known_of else None)
    return replace(swapped.after or fresh, etag=swapped.etag)


def _process_once(
    storage: Storage,
    run_id: str,
    known: Known,
    names: Names,
    telemetry: Telemetry,
    *,
    application_cache: ApplicationCache | None,
    nested: bool,
    again: bool,
    yields: bool,
    began: int,
) -> bool | None:
    """Gather, decide, apply: whether anything was marked dirty. None when more was told meanwhile. `again`: it was
    tried before; `yields`: whoever has settled it meanwhile with all that we know is right. Raises Superseded.
    """
    try:
        gathered = gather(storage, run_id, known, telemetry)
    except ArchiveMissing as error:
        _LOG.error("run left as it is run=%s error=%s", run_id, error)
        return False
    heard = RunContext(names=names)
    try:
        run = merge(gathered.events) if gathered.events else None
        settled = yields and gathered.state.settled
        # Nested, since more was told; and whoever settled it meanwhile may not have heard all that we said all have.
        fresh = nested or (again and settled)
        get = application_cache.get if application_cache and not fresh else read_application
        heard = read_context(storage, run, names, get) if run else heard
        if settled and gathered.is_settled_with(heard):
            return not nested  # whoever settled it may have died before it was published
        decided = decide(run, heard, timed_out=gathered.state.timed_out, stored=bool(gathered.merged))
    except _UNUSABLE as error:
        why = text_without_secrets(f"{type(error).__name__}: {error}")[:500]
        where = "".join(format_tb(error.__traceback__)[-_FRAMES:])  # without the error's own text, which quotes events
        _LOG.error("run cannot be used run=%s error=%s\n%s", run_id, why, where)
        for place in gathered.places:
            add_dead_letter(storage, place.blob, place.digest, error, telemetry)
        decided = unusable(heard, why)
    marked = _apply(storage, gathered, decided, application_cache, telemetry, nested=nested)
    if marked is not None:
        telemetry.tell(
            RUN,
            run_id,
            began=began,
            job=decided.run.job.name if decided.run else "",
            state=decided.outcome.verdict.value,
            **({"reason": decided.outcome.reason} if decided.outcome.reason else {}),
            events=len(gathered.events),
            processes=len(decided.contents),
        )
    return marked


def _apply(
    storage: Storage,
    gathered: Gathered,
    decided: Decision,
    application_cache: ApplicationCache | None,
    telemetry: Telemetry,
    *,
    nested: bool,
) -> bool | None:
    """As `_process_once`: each change of the state is made against whoever else changes it."""
    state, run, outcome = gathered.state, decided.run, decided.outcome
    current = frozenset(decided.contents)
    entries: frozenset[EntryKey] = decided.entries.keys(run.application_run) if run else frozenset()
    if current or entries or decided.changes or state.attempted or state.left or state.changed:
        # Cut off in the middle, a run that is settled because of a sibling is settled once more because of it.
        state = replace(
            state,
            generation=state.generation + 1,
            attempted=state.attempted | current,
            left=state.left | entries,
            changed=state.changed | decided.changes.keys(),
            heard="",
            settled=state.settled and nested,
        )
        state = _put(storage, state)
    begun = _with_times(storage, run, state) if run else state
    written = processes_written_by(storage, state.run_id) if begun != state else gathered.written
    state = begun
    marks, marked = frozenset(written).union(process for process, _, _ in state.attempted), False
    if run:
        for key, content in decided.contents.items():
            _support(storage, run, key, content, state.generation)
        for key in sorted(state.attempted - current):
            _withdraw(storage, run, key, state.generation)
        if outcome.verdict is not State.WAITING or state.left or state.changed:
            settle = partial(process_run, storage, names=decided.heard.names, nested=True, telemetry=telemetry)
            spread = propagate(storage, run, decided, state, settle, nested=nested)
            if application_cache:
                application_cache.note(spread.known)
            if context_of(storage, run, spread.known, decided.heard.names) != decided.heard:
                return None
            marks, marked = marks | spread.marks, spread.marked
    enqueue(storage, marks, since=gathered.arrived)
    final = replace(
        state,
        # Whoever left it unsettled has told something of which not all have heard: that is still to be done.
        settled=gathered.state.settled or not nested,
        verdict=outcome.verdict,
        reason=outcome.reason,
        heard=context_digest(decided.heard),
        current=current,
        merged=gathered.merged,
        seen=_span(run) if run else None,
        facts=facts_of(run, gathered.events) if run and current else None,
    )
    _put(storage, final)
    return bool(marks) or marked


def _put(storage: Storage, state: RunState) -> RunState:
    """Put this state on record. Raises Superseded when somebody else has changed it."""
    etag = storage.replace(RUNS, state.row(storage))
    if not etag:
        raise Superseded(f"Run {state.run_id} is being settled by somebody else", after=2)
    return replace(state, etag=etag)


def _with_times(storage: Storage, run: MergedRun, state: RunState) -> RunState:
    """The state of an application that was settled before with its new times on record: they tell which application is
    newer, and so are there before what it wrote is marked.
    """
    if run.application_run != run.run_id or not state.settled or state.seen == _span(run):
        return state
    return _put(storage, replace(state, seen=_span(run)))


def _support(storage: Storage, run: MergedRun, key: ContentKey, content: Process, generation: int) -> None:
    """Put this run's word for a content on record."""
    _speak(storage, run, key, content, VersionedEntry(generation, run.last, _span(run)))


def _withdraw(storage: Storage, run: MergedRun, key: ContentKey, generation: int) -> None:
    """Take this run's word back. It is noted even where nothing was written yet: a settling that was overtaken may
    still come to write it, with its older generation.
    """
    _speak(storage, run, key, None, VersionedEntry[Span](generation, run.last))


def _span(run: MergedRun) -> Span:
    return Span(first=run.first, last=run.last)


def _speak(
    storage: Storage, run: MergedRun, key: ContentKey, content: Process | None, supporter: VersionedEntry[Span]
) -> None:
    """Change one contribution, against whoever else changes it; most often it is new. The link from the application to
    the process comes first, so that the end of the application always finds what it wrote.
    """
    process, application_run, digest = key
    fresh = ContributionRecord(process=process, application_run=application_run, digest=digest)
    if content:
        note_process_ref(storage, application_run, content)
    compare_and_swap(
        storage,
        Place(CONTRIBUTIONS, process, contribution_key(application_run, digest)),
        lambda known: (known or fresh).with_supporter(run.run_id, supporter, content),
        decode=lambda row: ContributionRecord.of(row, storage),
        encode=lambda record: record.row(storage),
        read=None,
    )
