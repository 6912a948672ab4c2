"""The publisher: the only writer of lineage to the catalog, under one lease.

The holder of the lease drains the publish queue in batches; all others return at once. It looks at the queue again
after releasing the lease, so that an entry made in between is not left over.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from shared.errors import CatalogRefused, CatalogUnavailable, ContentLost
from shared.publishing.placeholders.columns import record_schemas
from shared.publishing.placeholders.update import publish_asset
from shared.publishing.planning.context import PublishContext
from shared.publishing.planning.planner import Plan, Reading, plan_for
from shared.publishing.planning.process_telemetry import report_process
from shared.publishing.publisher_lease import PUBLISHER
from shared.publishing.shadow import rehearse
from shared.publishing.writing.batch_write import write_batch
from shared.publishing.writing.bisection import batch_size, shrink_to_fit
from shared.publishing.writing.catalog_write import CatalogWriter, Published
from shared.publishing.writing.failures import Failures
from shared.records.application.process_index import QUEUED_APPLICATION, mark_dependent
from shared.records.asset_lifecycle import is_asset_entry
from shared.records.publish_queue import (
    QueueEntry,
    dequeue,
    enqueue,
    failures_before,
    put_queued,
    queue_entries,
    resume_publishing,
)
from shared.storage.lease_session import LeaseSession, start_session
from shared.telemetry.kinds import PUBLISHING

MAX_CALLS = 20
"""Calls to the catalog, one after the other, in one write: where it is cut off, its processes wait as long for them."""
_LOOKS = 8
"""How often the queue is looked at during the debounce time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Publishes the processes in the publish queue."""

    context: PublishContext

    def publish(self) -> Published:
        """Drain the publish queue, unless another publisher does. Returns counts.

        An unavailable catalog raises nothing: publishing pauses, and the entries stay. Raises StorageUnavailable.
        """
        done = Published()
        while not done.error:
            session = start_session(self.context.storage, PUBLISHER, self.context.publishing.seconds)
            if session is None:
                break
            try:
                drained = _Drain(self, session, done).run()
            finally:
                session.lease.release()
            if not drained or not self.due()[0]:
                break
        return done

    def due(self) -> tuple[list[QueueEntry], bool]:
        """The entries that are due (none while publishing pauses), and whether a pause has just ended."""
        now = self.context.publishing.now()
        found, until, _ = queue_entries(self.context.storage)
        if until and now < until:
            return [], False
        return [each for each in found if each.due <= now], until is not None

    def due_debounced(self) -> tuple[list[QueueEntry], bool]:
        """As `due`, once no entries are added any more or the debounce time is over: many runs of an application
        enqueue the same process within moments, and it is read and written once for all of them.
        """
        debounce, found = self.context.publishing.debounce, self.due()
        for _ in range(_LOOKS if debounce else 0):
            before, _ = found
            if not before:
                break
            time.sleep(debounce.total_seconds() / _LOOKS)
            found = self.due()
            if found[0] == before:
                break
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A batch of entries. `flush`: write what is planned even if a call is not full; `remove`: remove processes now,
    rather than after all writes.
    """

    batch: Sequence[QueueEntry]
    flush: bool = True
    remove: bool = False


class _Drain:
    """One drain under a lease session: `planned` holds plans to be written, `removals` entries to be removed last;
    `failures` counts batches in a row that came to nothing.
    """

    def __init__(self, publisher: Publisher, session: LeaseSession, done: Published) -> None:
        self._publisher = publisher
        self._options = replace(publisher.context.publishing, heartbeat=session.may_continue)
        self._context = replace(publisher.context, publishing=self._options)
        self._storage, self._catalog = self._context.storage, self._context.catalog
        self._session = session
        self._done = done
        self._failed = Failures(storage=self._storage, options=self._options, done=done)
        self._writer = CatalogWriter(self._context, done)
        self._planned: list[Plan] = []
        self._removals: list[QueueEntry] = []
        self._failures = 0

    def run(self) -> bool:
        """Publish until nothing is due. False if the lease session ended before, or the catalog is unavailable."""
        look = self._publisher.due_debounced
        while True:
            due, paused = look()
            if not due:
                return True
            look = self._publisher.due_debounced
            if applications := [each for each in due if each.process.startswith(QUEUED_APPLICATION)]:
                if not self._expand(applications):
                    return False
                look = self._publisher.due  # the debounce time is over
            elif not self._publish(due, paused=paused):
                return False

    def _expand(self, applications: Iterable[QueueEntry]) -> bool:
        """Enqueue all processes of these applications, once for all runs that asked. False if the session ended."""
        for entry in applications:
            if not self._session.may_continue():
                return False
            try:
                processes = mark_dependent(self._storage, entry.process.removeprefix(QUEUED_APPLICATION))
                enqueue(self._storage, processes, since=entry.since)
                dequeue(self._storage, entry)
            except ContentLost as error:
                self._failed.put_off(entry, error)
        return True

    def _publish(self, due: Sequence[QueueEntry], *, paused: bool) -> bool:
        """Publish these entries. False if the session ended before, or the catalog is unavailable."""
        self._planned, self._removals = [], []
        before = self._done.progress
        self._failures = failures_before(self._storage) if paused else 0
        for step in self._steps(due):
            if self._options.stopped() or not self._session.may_continue():
                return False
            concerned = [*(plan.queue_entry for plan in self._planned), *step.batch]
            try:
                with self._options.telemetry.act(PUBLISHING):
                    if self._options.shadow:
                        self._done.held += rehearse(self._context, step.batch, self._failed.put_off)
                    else:
                        self._publish_step(step)
            except (CatalogUnavailable, CatalogRefused) as error:
                saved = isinstance(error, CatalogUnavailable) and error.made_progress
                vain = self._done.progress == before and not saved
                more = vain and batch_size(self._options.batch, self._failures) > 1
                self._failed.pause(concerned, error, self._failures + more)
                return False
            except ContentLost as error:
                self._failed.isolate(concerned, error)
                continue
            self._failures = max(0, self._failures - 1)
            self._options.note(self._done)
        if paused:
            resume_publishing(self._storage)
        return True

    def _steps(self, due: Sequence[QueueEntry]) -> Iterator[_Step]:
        """Processes; then removals, so that a renamed process is written before its old name goes; then data sets,
        whose state depends on all of these.
        """
        yield from self._batches([each for each in due if not is_asset_entry(each)])
        yield from (_Step(batch=[each], remove=True) for each in self._removals)
        yield from self._batches([each for each in due if is_asset_entry(each)])

    def _batches(self, due: Sequence[QueueEntry]) -> Iterator[_Step]:
        """Entries with equally many failed attempts together, in smaller batches the more there were; then each entry
        by itself that the catalog refused in a call of its own.
        """
        groups: dict[int, list[QueueEntry]] = {}
        for each in due:
            if not each.isolated:
                groups.setdefault(each.attempts, []).append(each)
        for attempts, group in sorted(groups.items()):
            start = 0
            while start < len(group):
                most = min(batch_size(self._options.batch, self._failures), len(group))
                after = start + batch_size(most, attempts)
                flush = bool(attempts or self._failures or after >= len(group))
                yield _Step(batch=group[start:after], flush=flush)
                start = after
        yield from (_Step(batch=[each]) for each in due if each.isolated)

    def _publish_step(self, step: _Step) -> None:
        for plan in self._plans(step.batch):
            if plan.unchanged:
                self._done.unchanged += 1
                report_process(self._options, plan, "unchanged")
                if record_schemas(self._storage, plan):
                    dequeue(self._storage, plan.queue_entry, plan.revisit)
            elif plan.entry.may_still_land(self._options.now()):
                self._done.postponed += 1
                report_process(self._options, plan, "postponed")
                put_queued(self._storage, replace(plan.queue_entry, due=plan.entry.until))
            elif plan.entity:
                self._planned.append(plan)
            elif step.remove:
                self._failed.refuse(self._writer.remove(plan))
            else:
                self._removals.append(plan.queue_entry)
        while len(self._planned) >= self._options.batch or (self._planned and step.flush):
            plans = shrink_to_fit(self._planned[: self._options.batch], self._fits)
            self._failed.refuse(write_batch(self._writer, plans))
            del self._planned[: len(plans)]

    def _fits(self, plans: Sequence[Plan]) -> bool:
        return self._catalog.calls_to_write([each.entity for each in plans if each.entity]) <= MAX_CALLS

    def _plans(self, batch: Sequence[QueueEntry]) -> Iterator[Plan]:
        """The plans for the processes of a batch; its data sets are published on the way. An entry whose stored content
        can't be read is put off, and blocks no other.
        """
        # plans are made one after the other, and share what they read
        reading = Reading(storage=self._storage, options=self._options)
        for entry in batch:
            try:
                if is_asset_entry(entry):
                    self._done.written += publish_asset(self._context, entry, reading)
                else:
                    yield plan_for(reading, entry)
            except ContentLost as error:
                self._failed.put_off(entry, error)
            except CatalogRefused as error:
                if error.no_access:
                    raise
                self._failed.put_off(entry, error, isolated=True)
