"""The publisher: the only writer of lineage to the catalog, under one lease.

The holder of the lease drains the publish queue in batches; all others return at once. It looks at the queue again
after releasing the lease, so that a mark left in between is not left over.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from shared.errors import CatalogRefused, CatalogUnavailable, ContentLost, WriteConflict
from shared.publishing.context import PUBLISHER, PublishContext, Published, PublishOptions
from shared.publishing.headers import Headers
from shared.publishing.outcomes import Outcomes, batch_size, shrink_to_fit
from shared.publishing.planning import InFlight, Plan, Planner, read_process
from shared.publishing.shadow import Rehearsal
from shared.publishing.writing import CatalogWriter, kept_entry
from shared.records.asset_record import AssetRecord, Change
from shared.records.publish_queue import PublishQueue, QueueEntry, read_queue, resume_publishing
from shared.storage.port import LeaseSession, session_of
from shared.telemetry.port import PUBLISHING

_LOG = logging.getLogger("throughline.publish")

MAX_CALLS = 20
"""Calls to the catalog, one after the other, in one write: where it is cut off, its processes wait as long for them."""
_FIRST_PAUSE = 1 / 20
"""The share of the debounce time that a mark must have been left for; each further look doubles it."""
_MANY = 1000
"""Entries of a queue that is not read again for the sake of one more mark."""
_SHORT = 1.0
"""Seconds: after so short a work it is not likely that something was marked meanwhile."""
_MAX_WAITS = 3
"""How often a drain waits for marks in flight before it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Publishes what is in the publish queue."""

    context: PublishContext

    def publish(self, *, looks: bool = True) -> Published:
        """Drain the publish queue if something is due, unless another publisher does. Returns counts. Without `looks`
        it does not look first: marks have just been left.

        An unavailable catalog raises nothing: publishing pauses, and the entries stay. Raises StorageUnavailable.
        """
        published, storage = Published(), self.context.storage
        queue = read_queue(storage, now=self.context.publishing.now()) if looks else None
        in_flight = frozenset[str]()
        while queue is None or (not published.error and _due(queue, self.context.publishing, in_flight)):
            with session_of(storage, PUBLISHER, self.context.publishing.seconds) as session:
                if session is None:
                    break
                with self.context.assets.borrowed() as rows:
                    drain = _Drain(replace(self.context, assets=rows), session, published)
                    is_drained = drain.run(queue)
            if not is_drained:
                break
            queue, in_flight = read_queue(storage, now=self.context.publishing.now()), frozenset(drain.in_flight)
        return published


def _due(queue: PublishQueue, options: PublishOptions, in_flight: Collection[str]) -> list[QueueEntry]:
    """The entries that are due, without those in flight."""
    return [entry for entry in queue.due(options.now(), options.only) if entry.target not in in_flight]


class _Drain:
    """One drain under a lease session: `planned` holds plans to be written, `removals` those of processes to be removed
    after that; `failures` counts batches in a row that came to nothing; `in_flight`: targets whose marks are not true.
    """

    def __init__(self, context: PublishContext, session: LeaseSession, published: Published) -> None:
        self._options = options = replace(context.publishing, heartbeat=session.may_continue)
        self._context = context = replace(context, publishing=options)
        self._storage, self._session, self._published = context.storage, session, published
        self._planner = Planner(context=context, headers=Headers(context=context))
        self._outcomes = Outcomes(context=context, published=published)
        writer = Rehearsal if context.publishing.shadow else CatalogWriter
        self._writer = writer(context=context, outcomes=self._outcomes)
        self.in_flight: set[str] = set()

    def run(self, queue: PublishQueue | None) -> bool:
        """Publish until nothing is due, or little was: then the look after the lease is released is the next one.
        `queue`: as it was before the lease was acquired, if it was read. False if the lease session ended before, or
        the catalog is unavailable.
        """
        waits = 0
        while True:
            began = self._options.seconds()
            queue = self._look(queue or self._read(), is_old=queue is not None)
            due_entries = _due(queue, self._options, self.in_flight)
            try:
                if due_entries and not self._publish(due_entries, queue):
                    return False
            except WriteConflict as error:
                _LOG.warning("publishing ends, since another publisher has begun error=%s", error)
                return False
            if self.in_flight and self._options.debounce and waits < _MAX_WAITS:
                waits += 1
                self.in_flight.clear()
                self._options.rest(self._options.debounce.total_seconds() * _FIRST_PAUSE)
            elif not due_entries or self._options.seconds() - began < _SHORT:
                return True

    def _look(self, queue: PublishQueue, *, is_old: bool) -> PublishQueue:
        """The queue now, or once no marks are added any more or the debounce time is over: many runs of an application
        mark the same process within moments, and it is read and written once for all of them. Old marks are not waited
        for.
        """
        debounce = self._options.debounce.total_seconds()
        pause, waited = debounce * _FIRST_PAUSE, 0.0
        while waited < debounce and queue.newest and len(queue.entries) < _MANY:
            age = max(0.0, (self._options.now() - queue.newest).total_seconds())
            if age >= pause:
                break
            self._options.rest(pause - age)
            waited += pause
            pause *= 2
            earlier, queue, is_old = queue, self._read(), False
            if queue.entries == earlier.entries:
                break
        return self._read() if is_old else queue

    def _read(self) -> PublishQueue:
        return read_queue(self._storage, now=self._options.now())

    def _publish(self, due_entries: Sequence[QueueEntry], queue: PublishQueue) -> bool:
        """Publish these entries: processes; then data sets, whose columns depend on all processes. False if the session
        ended before, or the catalog is unavailable. Raises WriteConflict.
        """
        self._planned, self._removals = list[Plan](), list[Plan]()
        progress = self._published.progress
        self._failures = queue.failures if queue.paused else 0
        self._context.assets.claim(self._storage, queue.owner)
        noted = self._noted([entry for entry in due_entries if entry.is_asset])
        processes = [entry for entry in due_entries if not entry.is_asset]
        self._outcomes.begin([*processes, *noted])  # of data sets without their marks in flight, which stay
        for batch, publish in self._steps(processes, noted):
            if self._options.stopped() or not self._session.may_continue():
                return False
            concerned = [*(plan.queue_entry for plan in self._planned), *batch]
            try:
                with self._options.telemetry.act(PUBLISHING):
                    publish()
            except (CatalogUnavailable, CatalogRefused) as error:
                self._context.assets.flush(self._storage)
                is_saved = isinstance(error, CatalogUnavailable) and error.made_progress
                is_vain = self._published.progress == progress and not is_saved
                further_failures = is_vain and batch_size(self._options.batch, self._failures) > 1
                self._outcomes.pause(concerned, error, self._failures + further_failures)
                return False
            self._failures = max(0, self._failures - 1)
            self._options.note(self._published)
        if queue.paused:
            resume_publishing(self._storage)
        return True

    def _noted(self, entries: Sequence[QueueEntry]) -> list[QueueEntry]:
        """Note what applications changed of data sets, before processes are written that use them. Returns the entries
        with those of their marks that are true.
        """
        rows, headers = self._context.assets, self._planner.headers
        rows.refresh(self._storage, [entry.key for entry in entries if entry.etag])
        rows.by_key(self._storage, [entry.key for entry in entries])
        noted: list[QueueEntry] = []
        for entry in entries:
            try:
                marks = tuple(mark for mark in entry.marks if headers.reaches(mark))
                if len(marks) < len(entry.marks):
                    self.in_flight.add(entry.target)
                for application in dict.fromkeys(mark.application for mark in marks):
                    self._note_changes(application, entry.key)
                if marks or not entry.marks:
                    noted.append(replace(entry, marks=marks))
            except ContentLost as error:
                self._outcomes.put_off(entry, error)
        return noted

    def _note_changes(self, application: str, key: str) -> None:
        """Note in the record of a data set (by key) what an application changed of it."""
        rows, changes = self._context.assets, self._planner.headers.state(application).assets.get(key)
        record = rows.by_key(self._storage, [key]).get(key)
        if changes:
            record = record or AssetRecord(own=changes.asset.key)
        if record:
            latest = [Change(change.time, change.state, change.became) for change in changes.latest] if changes else []
            record = record.with_changes(application, changes.asset if changes else None, tuple(latest))
            rows.put(record.with_tests(changes.tests) if changes else record)

    def _steps(
        self, processes: Sequence[QueueEntry], assets: Sequence[QueueEntry]
    ) -> Iterator[tuple[Sequence[QueueEntry], Callable[[], None]]]:
        """Batches of entries, and what is done with each. Processes are removed one by one after all writes, so that a
        renamed one is written before its previous name goes.
        """
        for batch, is_last in self._batches(processes):
            yield batch, partial(self._publish_processes, batch, is_last=is_last)
        for plan in self._removals:
            yield [plan.queue_entry], partial(self._remove, plan)
        for batch, _ in self._batches(assets):
            yield batch, partial(self._writer.describe, batch)

    def _batches(self, due_entries: Sequence[QueueEntry]) -> Iterator[tuple[Sequence[QueueEntry], bool]]:
        """Entries with equally many failed attempts together, in smaller batches the more there were; then each entry
        by itself that the catalog refused in a call of its own. With each batch, whether a call is to be made after it
        even if it is not full.
        """
        groups: dict[int, list[QueueEntry]] = {}
        for entry in due_entries:
            if not entry.isolated:
                groups.setdefault(entry.attempts, []).append(entry)
        for attempts, group in sorted(groups.items()):
            start = 0
            while start < len(group):
                batch_limit = min(batch_size(self._options.batch, self._failures), len(group))
                end = start + batch_size(batch_limit, attempts)
                yield group[start:end], bool(attempts or self._failures or end >= len(group))
                start = end
        yield from (([entry], True) for entry in due_entries if entry.isolated)

    def _remove(self, plan: Plan) -> None:
        self._outcomes.refuse(self._writer.remove(plan))

    def _publish_processes(self, batch: Sequence[QueueEntry], *, is_last: bool) -> None:
        unchanged: list[Plan] = []
        for plan in self._plans(batch):
            if plan.was_interrupted and plan.entry.landing.is_open(self._options.now()):
                self._outcomes.postpone(plan, plan.entry.landing.until)
            elif plan.awaits and (not plan.unchanged or kept_entry(plan)):
                self._outcomes.postpone(plan, plan.awaits)
            elif plan.unchanged:
                unchanged.append(plan)
            elif plan.entity:
                self._planned.append(plan)
            else:
                self._removals.append(plan)
        self._writer.keep(unchanged)
        while len(self._planned) >= self._options.batch or (self._planned and is_last):
            plans = shrink_to_fit(self._planned[: self._options.batch], self._fits)
            self._outcomes.refuse(self._writer.write_batch(plans))
            del self._planned[: len(plans)]

    def _fits(self, plans: Sequence[Plan]) -> bool:
        entities = [plan.entity for plan in plans if plan.entity]
        return self._context.catalog.calls_to_write(entities) <= MAX_CALLS

    def _plans(self, batch: Sequence[QueueEntry]) -> Iterator[Plan]:
        """The plans for the processes of a batch. An entry whose stored content can't be read is put off, and blocks no
        other.
        """
        stored = list(self._options.parallel.each(lambda entry: read_process(self._storage, entry.key), batch))
        if not self._session.may_continue():  # another publisher may know later states than the headers that were read
            raise WriteConflict("The lease was lost while processes were read", after=2)
        for entry, rows in zip(batch, stored, strict=True):
            try:
                plan = self._planner.plan(entry, rows)
                if len(plan.queue_entry.marks) < len(entry.marks):
                    self.in_flight.add(entry.target)
                yield plan
            except InFlight:
                self.in_flight.add(entry.target)
            except ContentLost as error:
                self._outcomes.put_off(entry, error)
