"""Backfill: write all processes on record to a catalog that is new, was lost, or was not written to for long.

First the publish queue is published, which is long after shadow mode, a rebuild or an outage. Then each process that
the ledger has as written is looked up in the catalog, by name and many in a call, and written again if it is missing.
The publisher does all the writing, by its own rules and at its own rate. One batch is in memory at a time, and a
checkpoint in `control` records the position.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from shared.catalog.batches import batches
from shared.catalog.port import Catalog
from shared.errors import CatalogUnavailable, WriteConflict
from shared.publishing.planning.context import PublishContext
from shared.publishing.planning.options import PublishOptions
from shared.publishing.publisher import Publisher
from shared.publishing.shadow import leave_shadow_mode
from shared.publishing.writing.catalog_write import Published
from shared.records.checkpoint import Checkpoint
from shared.records.ledger import LedgerEntry, request_rewrite
from shared.records.publish_queue import enqueue, is_held, present_pause, queue_entries
from shared.records.states import LedgerState
from shared.storage.port import Storage
from shared.storage_layout import LEDGER, QUEUE_PARTITION, SHADOW

_CHECKPOINT = Checkpoint(name="backfill", position=str)
_OTHERS = 1.0
"""Seconds between looks at whether another publisher has finished."""
_MAX_FAILURES = 20
"""Times in a row that the catalog may be unavailable before this gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilled:
    """Progress: processes looked up in the catalog (`looked`), those of them that were `missing`, what was `done` in
    all, and what it waits for now.
    """

    looked: int = 0
    missing: int = 0
    done: Published = field(default_factory=Published)
    waited: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPlan:
    """How much there is to do: processes waiting to be published, and processes the ledger has as written."""

    waiting: int
    written: int


def plan_backfill(storage: Storage, options: PublishOptions) -> BackfillPlan:
    """How much there is to do. Writes nothing, and does not call the catalog."""
    held_back = 0 if options.shadow else sum(1 for _ in storage.partition(SHADOW, QUEUE_PARTITION))
    return BackfillPlan(waiting=held_back + _waiting(storage, options), written=sum(1 for _ in _written(storage, "")))


def missing(context: PublishContext) -> Iterator[tuple[int, Sequence[LedgerEntry]]]:
    """For each batch: how many were looked up, and the entries that the ledger has as written and the catalog lacks."""
    for batch in batches(_written(context.storage, ""), context.publishing.batch):
        yield len(batch), _missing(context.catalog, batch)


def last_backfill(storage: Storage) -> str | None:
    """The process (by key) after which the last backfill continues; None when it finished."""
    return _CHECKPOINT.load(storage)


def backfill(
    context: PublishContext,
    *,
    after: str = "",
    progress: Callable[[Backfilled], None] = lambda _: None,
    wait: Callable[[float], None] = time.sleep,
) -> Backfilled:
    """Write what the catalog lacks, and report to `progress`. Ends once `stopped` of the options.

    Waits while the catalog throttles or publishing pauses. Raises CatalogUnavailable when that lasts too long,
    WriteConflict also while a rebuild holds publishing back, CatalogRefused and StorageUnavailable: what was written is
    on record, and `last_backfill` is where to continue.
    """
    storage, options = context.storage, context.publishing
    work = _Work(context=context, progress=progress, wait=wait)
    _CHECKPOINT.save(storage, after)
    if not after:
        leave_shadow_mode(storage, options)
        work.publish()
    for batch in batches(_written(storage, after), options.batch):
        if options.stopped():
            break
        gone = work.missing_of(batch)
        for entry in gone:
            request_rewrite(storage, entry.process)
        enqueue(storage, [entry.process for entry in gone])
        if gone:
            work.publish()
        if options.stopped():
            break
        _CHECKPOINT.save(storage, batch[-1].process)
    else:
        _CHECKPOINT.clear(storage)
    return work.so_far


@dataclass(slots=True, kw_only=True)
class _Work:
    """One backfill and its progress."""

    context: PublishContext
    progress: Callable[[Backfilled], None]
    wait: Callable[[float], None]
    so_far: Backfilled = field(default_factory=Backfilled)

    @property
    def options(self) -> PublishOptions:
        """How to publish."""
        return self.context.publishing

    def publish(self) -> None:
        """Publish all that is due, session by session; waits for another publisher and for the catalog."""
        failure_streak, before = 0, -1
        self._rest()
        while (waiting := _waiting(self.context.storage, self.options)) and not self.options.stopped():
            total = self.so_far.done
            options = replace(self.options, note=lambda now: self._note(total, now))  # noqa: B023 - called within this turn of the loop only
            done = Publisher(context=replace(self.context, publishing=options)).publish()
            self._note(total, done)
            if done.error:
                failure_streak = 0 if done.progress else failure_streak + 1
                if failure_streak >= _MAX_FAILURES:
                    raise CatalogUnavailable(done.error, after=60)
            elif waiting == before and not done.progress:
                self.wait(_OTHERS)
            before = waiting
            self._rest()

    def missing_of(self, batch: Sequence[LedgerEntry]) -> Sequence[LedgerEntry]:
        """The entries of a batch that the catalog lacks; waits for the catalog."""
        failure_streak = 0
        while True:
            try:
                gone = _missing(self.context.catalog, batch)
            except CatalogUnavailable as error:
                failure_streak += 1
                if failure_streak >= _MAX_FAILURES or self.options.stopped():
                    raise
                self._say(str(error))
                self.wait(max(error.after, self.options.pause.total_seconds()))
                continue
            looked, missed = self.so_far.looked + len(batch), self.so_far.missing + len(gone)
            self.so_far = replace(self.so_far, looked=looked, missing=missed)
            self._say("")
            return gone

    def _note(self, before: Published, now: Published) -> None:
        done = replace(before)
        done.add(now)
        self.so_far = replace(self.so_far, done=done)
        self._say("")

    def _say(self, waited: str) -> None:
        self.progress(replace(self.so_far, waited=waited))

    def _rest(self) -> None:
        """Wait while publishing pauses. Raises WriteConflict where it is held back until another command has ended."""
        while not self.options.stopped():
            until, why = present_pause(self.context.storage)
            if until and is_held(until):
                raise WriteConflict(f"Publishing is held back: {why}", after=60)
            left = (until - self.options.now()).total_seconds() if until else 0.0
            if left <= 0:
                return
            self._say(why)
            self.wait(min(left, _OTHERS))


def _waiting(storage: Storage, options: PublishOptions) -> int:
    """How many queue entries are due; those that the catalog refused even in a call of their own wait longer."""
    now = options.now()
    return sum(each.due <= now and not each.isolated for each in queue_entries(storage)[0])


def _written(storage: Storage, after: str) -> Iterator[LedgerEntry]:
    """The ledger's written entries, by key, after one."""
    entries = (LedgerEntry.of(row) for row in storage.scan(LEDGER) if row.partition > after)
    return (entry for entry in entries if entry.state is LedgerState.WRITTEN)


def _missing(catalog: Catalog, batch: Sequence[LedgerEntry]) -> Sequence[LedgerEntry]:
    held = catalog.read_processes([entry.qualified_name for entry in batch])
    return [entry for entry in batch if entry.qualified_name not in held]
