"""Publish what is missing: write all processes on record to a catalog that is new, was lost, or was not written to; and
those that were computed elsewhere, by the lake.

First the publish queue is published, which is long after shadow mode, a replay or an outage. Then each process that the
ledger has as written is looked up in the catalog, by name and many in a call, and written again if it is missing. The
publisher does all the writing, by its own rules and at its own rate. One batch is in memory at a time, and a checkpoint
in `control` records the position.

Processes of the lake are written by the publisher's writer too, under the publisher's lease: the ledger records what is
written, unchanged processes are not sent. So it may be stopped and started again, while the publisher works.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from shared.atlas.entities import process_entity
from shared.catalog.port import batches
from shared.errors import CatalogUnavailable, WriteConflict
from shared.model import Process
from shared.publishing.context import PublishContext, Published, PublishOptions, turn
from shared.publishing.outcomes import Outcomes, error_text
from shared.publishing.planning import Plan
from shared.publishing.publisher import Publisher
from shared.publishing.shadow import leave_shadow_mode
from shared.publishing.writing import CatalogWriter
from shared.records.control import Checkpoint
from shared.records.ledger import LedgerEntry, ledger_entries, ledger_entry, request_rewrite
from shared.records.publish_queue import PublishQueue, QueueEntry, enqueue, read_queue
from shared.records.states import LedgerState
from shared.storage.port import Storage
from shared.storage_layout import QUEUE_PARTITION, SHADOW, process_key
from shared.translation.aggregate import published, with_excluded

MISSING = Checkpoint(name="publish", position=str)
"""The process (by key) after which it continues."""
_OTHERS = 1.0
"""Seconds between looks at whether another publisher has finished."""
_MAX_FAILURES = 20
"""Times in a row that the catalog may be unavailable before this gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingPublished:
    """Progress: processes looked up in the catalog (`looked`), those of them that were `missing`, what was `published`
    in all, and what it waits for now.
    """

    looked: int = 0
    missing: int = 0
    published: Published = field(default_factory=Published)
    waited: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingPlan:
    """How much there is to do: processes waiting to be published, and processes the ledger has as written."""

    waiting: int
    written: int


def plan_missing(storage: Storage, options: PublishOptions) -> MissingPlan:
    """How much there is to do. Writes nothing, and does not call the catalog."""
    held_back = 0 if options.shadow else sum(1 for _ in storage.partition(SHADOW, QUEUE_PARTITION))
    number_written = sum(1 for _ in _written(storage, ""))
    return MissingPlan(waiting=held_back + _number_due(read_queue(storage), options.now()), written=number_written)


def missing_entries(context: PublishContext) -> Iterator[tuple[int, Sequence[LedgerEntry]]]:
    """For each batch: how many were looked up, and the entries that the ledger has as written and the catalog lacks."""
    for batch in batches(_written(context.storage, ""), context.publishing.batch):
        yield len(batch), _missing(context, batch)


def publish_all(context: PublishContext) -> tuple[Published, int]:
    """Publish the queue, in several sessions where needed: the counts, and the number of targets left: another
    publisher has them, they are not due yet, or the catalog is unavailable (see `error`).

    Raises StorageUnavailable.
    """
    total, number_left, earlier = Published(), 0, -1
    leave_shadow_mode(context.storage, context.publishing)
    while not total.error:
        total.add(Publisher(context=context).publish())
        queue = read_queue(context.storage)
        number_left = sum(not entry.revisit for entry in queue.entries)
        if queue.paused and number_left and context.publishing.now() < queue.paused:
            total.error = total.error or f"publishing is paused until {queue.paused:%H:%M:%S} UTC: {queue.why}"
        if queue.held:
            total.error = total.error or f"publishing is held back: {queue.held}"
        if number_left in {0, earlier}:
            break
        earlier = number_left
    return total, number_left


def publish_missing(
    context: PublishContext,
    *,
    last_written: str = "",
    progress: Callable[[MissingPublished], None] = lambda _: None,
) -> MissingPublished:
    """Write what the catalog lacks, and report to `progress`. Ends once `stopped` of the options.

    Waits while the catalog throttles or publishing pauses. Raises CatalogUnavailable when that lasts too long,
    WriteConflict also while publishing is held back, CatalogRefused and StorageUnavailable: what was written is on
    record, and `MISSING` is where to continue.
    """
    storage, options = context.storage, context.publishing
    work = _Work(context=context, progress=progress)
    MISSING.save(storage, last_written)
    if not last_written:
        leave_shadow_mode(storage, options)
        work.publish()
    for batch in batches(_written(storage, last_written), options.batch):
        if options.stopped():
            break
        entries = work.missing_of(batch)
        for entry in entries:
            request_rewrite(storage, entry.process)
        enqueue(storage, [entry.process for entry in entries])
        if entries:
            work.publish()
        if options.stopped():
            break
        MISSING.save(storage, batch[-1].process)
    else:
        MISSING.clear(storage)
    return work.so_far


@dataclass(slots=True, kw_only=True)
class _Work:
    """One call of `publish_missing` and its progress."""

    context: PublishContext
    progress: Callable[[MissingPublished], None]
    so_far: MissingPublished = field(default_factory=MissingPublished)

    def publish(self) -> None:
        """Publish all that is due, session by session; waits for another publisher, for the catalog, and while
        publishing pauses. Raises WriteConflict where it is held back until another command has ended.
        """
        options = self.context.publishing
        failure_streak, earlier = 0, -1
        while not options.stopped():
            queue, now = read_queue(self.context.storage), options.now()
            if queue.held:
                raise WriteConflict(f"Publishing is held back: {queue.held}", after=60)
            if queue.paused and now < queue.paused:
                self._say(queue.why)
                options.rest(min((queue.paused - now).total_seconds(), _OTHERS))
                continue
            waiting = _number_due(queue, now)
            if not waiting:
                return
            total = self.so_far.published
            noting = replace(options, note=lambda counts: self._note(total, counts))  # noqa: B023 - called within this turn only
            published = Publisher(context=replace(self.context, publishing=noting)).publish()
            self._note(total, published)
            if published.error:
                failure_streak = 0 if published.progress else failure_streak + 1
                if failure_streak >= _MAX_FAILURES:
                    raise CatalogUnavailable(published.error, after=60)
            elif waiting == earlier and not published.progress:
                options.rest(_OTHERS)
            earlier = waiting

    def missing_of(self, batch: Sequence[LedgerEntry]) -> Sequence[LedgerEntry]:
        """The entries of a batch that the catalog lacks; waits for the catalog."""
        options, failure_streak = self.context.publishing, 0
        while True:
            try:
                entries = _missing(self.context, batch)
            except CatalogUnavailable as error:
                failure_streak += 1
                if failure_streak >= _MAX_FAILURES or options.stopped():
                    raise
                self._say(str(error))
                options.rest(max(error.after, options.pause.total_seconds()))
                continue
            looked, missing = self.so_far.looked + len(batch), self.so_far.missing + len(entries)
            self.so_far = replace(self.so_far, looked=looked, missing=missing)
            self._say("")
            return entries

    def _note(self, earlier: Published, now: Published) -> None:
        total = replace(earlier)
        total.add(now)
        self.so_far = replace(self.so_far, published=total)
        self._say("")

    def _say(self, waited: str) -> None:
        self.progress(replace(self.so_far, waited=waited))


def _number_due(queue: PublishQueue, now: datetime) -> int:
    """How many entries are due; those that the catalog refused even in a call of their own wait longer."""
    return sum(entry.due <= now and not entry.isolated for entry in queue.entries)


def _written(storage: Storage, last_written: str) -> Iterator[LedgerEntry]:
    """The ledger's written entries, by key, after one."""
    entries = (entry for entry in ledger_entries(storage) if entry.process > last_written)
    return (entry for entry in entries if entry.state is LedgerState.WRITTEN)


def _missing(context: PublishContext, batch: Sequence[LedgerEntry]) -> Sequence[LedgerEntry]:
    catalog_processes = context.catalog.read_processes([entry.qualified_name for entry in batch])
    return [entry for entry in batch if entry.qualified_name not in catalog_processes]


def import_processes(context: PublishContext, processes: Iterable[Process]) -> Published:
    """Write those of these processes that the catalog does not hold; returns counts, noted after each batch too.

    Raises WriteConflict when another publisher never ends, CatalogUnavailable and StorageUnavailable: what was written
    is on record, so call it again. Refused processes, and those that bring about a 500 in a call of their own, are
    counted, and do not stop others. Shadow mode writes nothing.
    """
    published, options = Published(), context.publishing
    if options.shadow:
        return published
    for batch in batches(processes, options.batch):
        with turn(context) as session:
            holding = replace(options, heartbeat=session.may_continue)
            _import_batch(replace(context, publishing=holding), batch, published)
        options.note(published)
    return published


def _import_batch(context: PublishContext, batch: Sequence[Process], published: Published) -> None:
    """Write these processes in as few calls as the catalog accepts."""
    plans: list[Plan] = []
    for process in batch:
        plan = _plan(context, process)
        if plan is None:
            continue
        if plan.entry.landing.is_open(context.publishing.now()):
            published.postponed += 1
        elif plan.unchanged:
            published.unchanged += 1
        else:
            plans.append(plan)
    writer = CatalogWriter(context=context, outcomes=Outcomes(context=context, published=published))
    for refusal in writer.write_batch(plans):
        published.refused += 1
        published.error = error_text(refusal.error)
    context.assets.flush(context.storage)


def _plan(context: PublishContext, process: Process) -> Plan | None:
    """A publisher's plan without an entry in the publish queue; None where none of its data sets is published."""
    shown_process = published(with_excluded(process, context.publishing.paths))
    if shown_process is None:
        return None
    entity = process_entity(shown_process, with_indirect=context.publishing.with_indirect)
    key = process_key(shown_process.qualified_name)
    return Plan(
        queue_entry=QueueEntry(target=key, isolated=True),  # alone it may fail without ending the import
        entry=ledger_entry(context.storage, key),
        entity=entity,
        process=shown_process,
        fingerprint=entity.fingerprint,
        imported=True,
    )
