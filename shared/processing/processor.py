"""Process a run: merge all its events, translate them, and record the result as contributions to processes.

It may be repeated, run concurrently, in any order, and be interrupted between any two calls:

1. The end is recorded before the events are read, so an event that arrives later finds it and processes the run again.
2. What will be written is recorded (`attempted` and `entries`, with a new generation) before it is written, so that the
   next worker can retract what is no longer true: contributions, and entries for other runs. A superseded worker writes
   with its old generation, which a row of a newer generation refuses.
3. Contributions come first, then entries for other runs of the application, then the publish queue, then `settled`. The
   redelivered message or the sweeper repeats what was interrupted before that.
4. The run's context is read before translation, and again after its contributions are written: if it has changed
   meanwhile, the run is processed again.
"""

import logging
import random
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from traceback import format_tb

from shared.concurrency.single_flight import KeyedLock
from shared.errors import Superseded, WriteConflict
from shared.events.archive_index import ArchiveMissing, Kept
from shared.events.blob_cache import BlobCache, GivenEvent, PackedEvents
from shared.events.run_loader import Gathered, add_dead_letter, context_digest, gather, readable
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.merging import stronger_end
from shared.processing.application_cache import ApplicationCache
from shared.processing.contribution_writes import contribute, retract, span_of, with_new_times, write_state
from shared.processing.decision import Decision, decide, unusable
from shared.processing.propagation import propagate
from shared.processing.triggers import ContextChanged, EventArrived, Replayed, TimedOut, Trigger
from shared.records.application.entries import context_of, read_context
from shared.records.application.process_index import processes_written_by
from shared.records.application.record import read_application
from shared.records.publish_queue import enqueue
from shared.records.run_state import EntryKey, RunState, change_run_state, run_state_of
from shared.records.states import State
from shared.secrets import text_without_secrets
from shared.storage.compare_and_swap import UNREAD
from shared.storage.port import Storage
from shared.storage_layout import StoredEvent
from shared.telemetry.kinds import RUN
from shared.telemetry.port import SILENT, Telemetry
from shared.translation.application.context import RunContext
from shared.translation.run.facts import facts_of
from shared.translation.run.merging import merge_run

_LOG = logging.getLogger("throughline.settle")
MAX_ATTEMPTS = 8
_MAX_REST = 1.0
"""Seconds between the last attempts."""
_MAX_FRAMES = 6
_UNUSABLE = (RecursionError, ValueError, TypeError, LookupError, ArithmeticError)
"""What merging and translation raise for events that no rule foresees: they become dead letters, other runs go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProcessor:
    """Processes runs on one storage.

    `names` are the naming rules. `blob_cache` keeps recently read blobs, `application_cache` application facts; `locks`
    serialises the threads that process one run; `rest` waits (seconds) while other workers process the same run.
    `gives_way`: raise Superseded if a newer worker processes the run, instead of trying again.
    """

    storage: Storage
    names: Names = BUILT_IN
    blob_cache: BlobCache = field(default_factory=BlobCache)
    application_cache: ApplicationCache | None = None
    locks: KeyedLock | None = None
    rest: Callable[[float], None] = lambda _: None
    gives_way: bool = False
    telemetry: Telemetry = SILENT

    def receive(self, event: StoredEvent, packed: bytes) -> bool:
        """Process the run of an event whose blob (`packed`) has arrived, if the event may have changed it.

        An event that cannot end a run costs one point read unless the run has ended. Returns whether there may be
        something to publish. Raises Retry when storage is unavailable or the same rows keep changing.
        """
        self.blob_cache.put(event.digest, packed)
        if event.end is None:
            state = run_state_of(self.storage, event.run_id)
            if state is None:
                return event.type == "START" and self._queue_processes_of(event, packed)
            if state.closed or state.done_with(event.digest, None):
                return False
        known = GivenEvent(digest=event.digest, packed=packed, blob_cache=self.blob_cache)
        with self.locks.at(event.run_id) if self.locks else nullcontext():
            return self.process(event.run_id, EventArrived(event=event), known=known)

    def _queue_processes_of(self, event: StoredEvent, packed: bytes) -> bool:
        """Queue the processes of an application whose START comes after its runs: it may change which application run
        is newer. Returns whether there are any. Only an application's START costs more than the point read.
        """
        opened = readable(self.storage, Kept(place=event, packed=packed), self.telemetry)
        if opened is None or opened.body is None or (opened.body.run.facets and opened.body.run.facets.parent):
            return False
        written = processes_written_by(self.storage, event.run_id)
        enqueue(self.storage, written)
        return bool(written)

    def process(self, run_id: str, trigger: Trigger, *, known: PackedEvents | None = None) -> bool:
        """Process a run from everything that is stored of it. `known` holds blobs by digest that need not be read.

        Returns whether there may be something to publish. No trigger changes a run that is closed, or one whose events
        are gone. Raises WriteConflict after MAX_ATTEMPTS, and Superseded (see `gives_way`).
        """
        began = time.time_ns()
        nested = isinstance(trigger, ContextChanged)
        event = trigger.event if isinstance(trigger, EventArrived | Replayed) else None
        for tried in range(MAX_ATTEMPTS):
            if tried and not nested:  # the worker that came in between is still busy with the run
                self.rest(random.uniform(0, _MAX_REST * tried / MAX_ATTEMPTS))
            exists = nested or tried > 0 or (event is not None and event.end is None)
            state = self._with_end(run_id, event.end if event else None, trigger, exists=exists)
            if state.expired or (event and state.closed):
                return False
            if event and not tried and state.done_with(event.digest, event.end):
                # Not at later attempts: the worker in between may not have seen everything that we propagated.
                return True  # that worker may have died before it published
            accepts = nested or event is not None or (isinstance(trigger, TimedOut) and tried > 0)
            try:
                queued = self._process_once(
                    run_id, known or {}, nested=nested, again=tried > 0, accepts=accepts, began=began
                )
            except Superseded:
                if self.gives_way:
                    raise
                continue
            if queued is not None:
                return queued or tried > 0
        raise WriteConflict(f"Run {run_id} kept changing while it was processed", after=2)

    def _with_end(self, run_id: str, end: str | None, trigger: Trigger, *, exists: bool) -> RunState:
        """The run's state with this end recorded. `exists`: most likely there is a row already."""
        timed_out = isinstance(trigger, TimedOut)
        fresh = RunState(run_id=run_id, end=end, timed_out=timed_out)

        def change(state: RunState | None) -> RunState:
            if state is None or state.closed:
                return state or fresh
            wanted = replace(state, end=stronger_end(state.end, end), timed_out=state.timed_out or timed_out)
            return state if wanted == state else replace(wanted, settled=False)

        swapped = change_run_state(self.storage, run_id, change, read=UNREAD if exists else None)
        return replace(swapped.after or fresh, etag=swapped.etag)

    def _process_once(
        self, run_id: str, known: PackedEvents, *, nested: bool, again: bool, accepts: bool, began: int
    ) -> bool | None:
        """Load, decide, write. Returns whether anything was queued, None if the context changed meanwhile.

        `again`: this is not the first attempt. `accepts`: accept the result of a concurrent worker that saw the same
        events and context. Raises Superseded.
        """
        try:
            gathered = gather(self.storage, run_id, known, self.telemetry)
        except ArchiveMissing as error:
            _LOG.error("run left as it is run=%s error=%s", run_id, error)
            return False
        context = RunContext(names=self.names)
        try:
            run = merge_run(gathered.events) if gathered.events else None
            settled = accepts and gathered.state.settled
            # A cached application is too old if its context changed, or if a worker that came in between missed a part
            # of what we propagated.
            fresh = nested or (again and settled)
            get = self.application_cache.get if self.application_cache and not fresh else read_application
            context = read_context(self.storage, run, self.names, get) if run else context
            if settled and gathered.is_settled_with(context):
                return not nested  # the worker that processed it may have died before it published
            decided = decide(run, context, timed_out=gathered.state.timed_out, stored=bool(gathered.merged))
        except _UNUSABLE as error:
            why = text_without_secrets(f"{type(error).__name__}: {error}")[:500]
            where = "".join(format_tb(error.__traceback__)[-_MAX_FRAMES:])  # the error's own text may quote events
            _LOG.error("run cannot be used run=%s error=%s\n%s", run_id, why, where)
            for place in gathered.places:
                add_dead_letter(self.storage, place.blob, place.digest, error, self.telemetry)
            decided = unusable(context, why)
        queued = self._write(gathered, decided, nested=nested)
        if queued is not None:
            self.telemetry.report(
                RUN,
                run_id,
                began=began,
                job=decided.run.job.name if decided.run else "",
                state=decided.outcome.verdict.value,
                **({"reason": decided.outcome.reason} if decided.outcome.reason else {}),
                events=len(gathered.events),
                processes=len(decided.contents),
            )
        return queued

    def _write(self, gathered: Gathered, decided: Decision, *, nested: bool) -> bool | None:
        """Write the decision; returns as `_process_once`. A write of the state fails if another worker changed it."""
        storage, state, run, outcome = self.storage, gathered.state, decided.run, decided.outcome
        current = frozenset(decided.contents)
        entries: frozenset[EntryKey] = decided.entries.keys(run.application_run) if run else frozenset()
        if current or entries or decided.changes or state.attempted or state.entries or state.changed_assets:
            # A run that is processed because its context changed stays settled: if this is interrupted, the run that
            # changed the context processes it again.
            state = replace(
                state,
                generation=state.generation + 1,
                attempted=state.attempted | current,
                entries=state.entries | entries,
                changed_assets=state.changed_assets | decided.changes.keys(),
                context_digest="",
                settled=state.settled and nested,
            )
            state = write_state(storage, state)
        begun = with_new_times(storage, run, state) if run else state
        written = processes_written_by(storage, state.run_id) if begun != state else gathered.written
        state = begun
        processes, queued = frozenset(written).union(process for process, _, _ in state.attempted), False
        if run:
            for key, content in decided.contents.items():
                contribute(storage, run, key, content, state.generation)
            for key in sorted(state.attempted - current):
                retract(storage, run, key, state.generation)
            if outcome.verdict is not State.WAITING or state.entries or state.changed_assets:
                others = replace(
                    self, application_cache=None, rest=lambda _: None, gives_way=False, names=decided.context.names
                )
                spread = propagate(
                    storage, run, decided, state, lambda each: others.process(each, ContextChanged()), nested=nested
                )
                if self.application_cache:
                    self.application_cache.note(spread.known)
                if context_of(storage, run, spread.known, decided.context.names) != decided.context:
                    return None
                processes, queued = processes | spread.processes, spread.has_queued
        enqueue(storage, processes, since=gathered.arrived)
        final = replace(
            state,
            # A worker that left it unsettled has propagated only a part: that is still to be done.
            settled=gathered.state.settled or not nested,
            verdict=outcome.verdict,
            reason=outcome.reason,
            context_digest=context_digest(decided.context),
            current=current,
            merged=gathered.merged,
            seen=span_of(run) if run else None,
            facts=facts_of(run, gathered.events) if run and current else None,
        )
        write_state(storage, final)
        return bool(processes) or queued
