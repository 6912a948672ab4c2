"""Filling a catalog from all that is on record: one that is new, or was lost, or that nothing was written to for long.

First what waits is published: after shadow mode, a rebuild or a long outage that is much. Then each process that the
ledger says was written is looked for in the catalog, by name and many in a call, and what is not there is written anew.
The publisher does all the writing, by its own rules and at its own rate. One batch is in hand at a time, and how far
the looking has come is on record (in `control`): stopped anywhere, it goes on there.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from shared.catalog.port import Catalog
from shared.errors import CatalogUnavailable
from shared.publishing.catalog_write import Published
from shared.publishing.options import PublishOptions
from shared.publishing.publisher import Publisher
from shared.publishing.publisher_lease import batches
from shared.publishing.shadow import leave_shadow_mode
from shared.records.checkpoint import Checkpoint
from shared.records.ledger import LedgerEntry, request_rewrite
from shared.records.publish_queue import enqueue, queue_entries
from shared.records.states import LedgerState
from shared.storage.port import Storage
from shared.storage_layout import LEDGER, QUEUE_PARTITION, SHADOW

_CHECKPOINT = Checkpoint(name="backfill", position=str)
_OTHERS = 1.0
"""Seconds until it is looked again whether another publisher has done what is to be done."""
_IN_VAIN = 20
"""So often in a row the catalog may ask to be left alone, and not answer then, before this gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """How far it has come: processes that the catalog was asked for (`looked`), those of these that were `missing`,
    what was `done` in all, and what is waited for just now, if anything.
    """

    looked: int = 0
    missing: int = 0
    done: Published = field(default_factory=Published)
    waited: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToFill:
    """How much there is: processes that wait to be published, and processes that the ledger says were written."""

    waiting: int
    written: int


def to_fill(storage: Storage, how: PublishOptions) -> ToFill:
    """How much there is. Writes nothing, and asks the catalog nothing."""
    held_back = 0 if how.shadow else sum(1 for _ in storage.partition(SHADOW, QUEUE_PARTITION))
    return ToFill(waiting=held_back + _waiting(storage, how), written=sum(1 for _ in _written(storage, "")))


def missing(storage: Storage, catalog: Catalog, how: PublishOptions) -> Iterator[tuple[int, Sequence[LedgerEntry]]]:
    """Batch by batch, how many were looked for and those that the catalog does not have though the ledger says so."""
    for batch in batches(_written(storage, ""), how.batch):
        yield len(batch), _missing(catalog, batch)


def last_fill(storage: Storage) -> str | None:
    """The process (by key) behind which the last filling is to go on; None when it came to its end."""
    return _CHECKPOINT.load(storage)


def fill(
    storage: Storage,
    catalog: Catalog,
    how: PublishOptions,
    *,
    after: str = "",
    tell: Callable[[Filled], None] = lambda _: None,
    wait: Callable[[float], None] = time.sleep,
) -> Filled:
    """Write what the catalog lacks, and tell how far that has come. Goes no further once `how.stopped`.

    A catalog that asks to be left alone is waited for. Raises CatalogUnavailable when it goes on so for long,
    CatalogRefused without access, WriteConflict and StorageUnavailable: what was written is on record, and `last_fill`
    tells where to go on.
    """
    work = _Work(storage=storage, catalog=catalog, how=how, tell=tell, wait=wait)
    _CHECKPOINT.save(storage, after)
    if not after:
        leave_shadow_mode(storage, how)
        work.publish()
    for batch in batches(_written(storage, after), how.batch):
        if how.stopped():
            break
        gone = work.missing_of(batch)
        for entry in gone:
            request_rewrite(storage, entry.process)
        enqueue(storage, [entry.process for entry in gone])
        if gone:
            work.publish()
        if how.stopped():
            break
        _CHECKPOINT.save(storage, batch[-1].process)
    else:
        _CHECKPOINT.clear(storage)
    return work.so_far


@dataclass(slots=True, kw_only=True)
class _Work:
    """One filling, and how far it has come."""

    storage: Storage
    catalog: Catalog
    how: PublishOptions
    tell: Callable[[Filled], None]
    wait: Callable[[float], None]
    so_far: Filled = field(default_factory=Filled)

    def publish(self) -> None:
        """Publish what is due to its end, shift by shift. Another publisher is waited for, and so is the catalog."""
        vain, before = 0, -1
        while (waiting := _waiting(self.storage, self.how)) and not self.how.stopped():
            total = self.so_far.done
            options = replace(self.how, note=lambda now: self._note(total, now))  # noqa: B023 - called within this turn of the loop only
            done = Publisher(storage=self.storage, catalog=self.catalog, options=options).publish()
            self._note(total, done)
            if done.error:
                vain = 0 if done.progress else vain + 1
                if vain >= _IN_VAIN:
                    raise CatalogUnavailable(done.error, after=60)
                self._rest(done.error)
            elif waiting == before and not done.progress:
                self.wait(_OTHERS)
            before = waiting

    def missing_of(self, batch: Sequence[LedgerEntry]) -> Sequence[LedgerEntry]:
        """Those of these that the catalog does not have. Where it asks to be left alone, that is waited for."""
        vain = 0
        while True:
            try:
                gone = _missing(self.catalog, batch)
            except CatalogUnavailable as error:
                vain += 1
                if vain >= _IN_VAIN or self.how.stopped():
                    raise
                self._say(str(error))
                self.wait(max(error.after, self.how.pause.total_seconds()))
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
        self.tell(replace(self.so_far, waited=waited))

    def _rest(self, why: str) -> None:
        """Wait until the catalog may be called again."""
        self._say(why)
        _, until, _ = queue_entries(self.storage)
        while until and not self.how.stopped() and (left := (until - self.how.now()).total_seconds()) > 0:
            self.wait(min(left, _OTHERS))


def _waiting(storage: Storage, how: PublishOptions) -> int:
    """How many marks are due, but for what the catalog would not have by itself: that has waits of its own."""
    now = how.now()
    return sum(each.due <= now and not each.isolated for each in queue_entries(storage)[0])


def _written(storage: Storage, after: str) -> Iterator[LedgerEntry]:
    """What the ledger says was written, by key, from behind one."""
    entries = (LedgerEntry.of(row) for row in storage.scan(LEDGER) if row.partition > after)
    return (entry for entry in entries if entry.state is LedgerState.WRITTEN)


def _missing(catalog: Catalog, batch: Sequence[LedgerEntry]) -> Sequence[LedgerEntry]:
    held = catalog.read_processes([entry.qualified_name for entry in batch])
    return [entry for entry in batch if entry.qualified_name not in held]
