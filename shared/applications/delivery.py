"""Deliver an event whose blob has arrived: what the parser does for each trigger.

An event that can't end a run costs no call. One that arrives after its run was folded is noticed at once by the process
that has folded the run, and otherwise by the next sweep. A stream is folded with its first RUNNING event; the sweep
folds the further ones of a minute together.
"""

from contextlib import nullcontext
from dataclasses import dataclass

from shared.applications.processor import ENDED_RUNS, ApplicationProcessor, FoldRequest, own_run
from shared.applications.reunion import reunite, reunite_own_run
from shared.concurrency.single_flight import KeyedLock
from shared.openlineage.decoding import RUNNING
from shared.storage_layout import StoredEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Delivers events to a `processor`; `locks` lets the threads of the process fold an application one by one."""

    processor: ApplicationProcessor
    locks: KeyedLock | None = None

    def deliver(self, event: StoredEvent, payload: bytes) -> bool:
        """Process an event whose blob (`payload`) has arrived, if it may change lineage. Returns whether there may be
        something to publish. Raises Retry when storage is unavailable or the application keeps changing.
        """
        processor, memory = self.processor, self.processor.memory
        processor.blob_cache.put(event.digest, payload)
        if memory.has_folded(event.digest):
            return event.end is not None  # the worker that folded it may have died before it published
        streams = event.type == RUNNING and self._may_stream(event, payload)
        if streams and memory.has_folded(event.run_id):
            return False
        if event.end is None and not streams and not self._may_be_late(event):
            return False
        with self.locks.at(event.application) if self.locks else nullcontext():
            if memory.has_folded(event.digest):
                return True
            outcome = processor.fold(
                event.application, self._request(event, streams=streams), needed=event, payload=payload
            )
        has_marks = outcome.has_marks
        for run_id, home in sorted(outcome.homes.items()):
            events = (event,) if run_id == event.run_id else ()
            has_marks = reunite(processor, run_id, {event.application, home}, events) or has_marks
        if event.end and event.run_id != event.application and event.run_id not in outcome.homes:
            has_marks = reunite_own_run(processor, event, outcome.records.get(event.run_id)) or has_marks
        return has_marks

    def _may_be_late(self, event: StoredEvent) -> bool:
        """Whether this process knows that the event came after its run was folded: or the START of an application
        after one of its runs was, which may change which application is newer.
        """
        memory = self.processor.memory
        if memory.has_folded(event.run_id):
            return True
        return event.run_id == event.application and memory.has_folded(own_run(event.application))

    def _may_stream(self, event: StoredEvent, payload: bytes) -> bool:
        decoded = self.processor.event(event, payload)
        return decoded is not None and decoded.may_stream

    def _request(self, event: StoredEvent, *, streams: bool) -> FoldRequest:
        if event.end:
            return ENDED_RUNS
        if streams or self.processor.memory.has_folded(event.run_id):
            return FoldRequest(force=frozenset({event.run_id}))
        return FoldRequest(times=True)
