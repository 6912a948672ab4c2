"""Purge: remove all that Throughline created from the catalog. The ledger records it, so a replay creates all again.

In batches, each as publishing does it: *writing until* before the call, *nothing* after it. An interrupted purge is run
again, and finds only what is left.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from shared.atlas.entities import PROCESS_TYPE
from shared.catalog.batches import batches, calls_for_guids
from shared.catalog.port import AssetKey
from shared.publishing.planning.context import PublishContext
from shared.publishing.planning.write_deadline import is_in_time, last_effect_of_success, remove_until
from shared.publishing.publisher_lease import assets_on_record, placeholders, remove_placeholders, turn
from shared.records.ledger import NOTHING_BEGUN, PURGED, LedgerEntry, ledger_entry, put_entry
from shared.records.publish_queue import QueueEntry, dequeue, queue_entry
from shared.records.states import LedgerState
from shared.storage.port import Storage
from shared.storage_layout import LEDGER, QUEUE_PARTITION, SHADOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What one step did: processes and placeholders removed; placeholders `kept` since others use them; processes
    `left` for the next purge since another worker may be writing them.
    """

    processes: int = 0
    placeholders: int = 0
    kept: int = 0
    left: int = 0

    def __add__(self, other: "Purged") -> "Purged":
        return Purged(
            processes=self.processes + other.processes,
            placeholders=self.placeholders + other.placeholders,
            kept=self.kept + other.kept,
            left=self.left + other.left,
        )


def processes_to_purge(storage: Storage) -> Iterator[LedgerEntry]:
    """The processes that the catalog holds, or may hold. Reads only."""
    entries = (LedgerEntry.of(row) for row in storage.scan(LEDGER))
    return (entry for entry in entries if entry.state is not LedgerState.NOTHING)


def placeholders_to_purge(context: PublishContext) -> Iterator[AssetKey]:
    """The placeholders that still bear our row, used by others or not. Reads only."""
    for found in placeholders(context.catalog, assets_on_record(context.storage), context.publishing.batch):
        yield from sorted(found)


def purge(context: PublishContext) -> Iterator[Purged]:
    """Remove all processes, then all placeholders, lazily, a batch at a time.

    Raises StorageUnavailable, CatalogUnavailable, CatalogRefused, and WriteConflict while another publisher holds the
    lease.
    """
    most = context.publishing.batch
    for entries in batches(processes_to_purge(context.storage), most):
        yield _purge_processes(context, entries)
    for keys in batches(placeholders_to_purge(context), most):
        done = remove_placeholders(context, keys)
        yield Purged(placeholders=len(done.removed), kept=len(done.kept))


def _purge_processes(context: PublishContext, entries: Sequence[LedgerEntry]) -> Purged:
    storage, catalog = context.storage, context.catalog
    with turn(storage):
        until = remove_until(context, len(entries))
        begun: list[tuple[LedgerEntry, QueueEntry | None]] = []
        left = 0
        for listed in entries:
            entry = ledger_entry(storage, listed.process)
            queued = queue_entry(storage, entry.process)
            if entry.state is LedgerState.NOTHING:
                continue
            landing = entry.may_still_land(context.publishing.now())
            noted = None if landing else put_entry(storage, replace(entry, state=LedgerState.WRITING, until=until))
            left += noted is None
            if noted:
                begun.append((noted, queued))
        found = catalog.find([(PROCESS_TYPE, entry.qualified_name) for entry, _ in begun])
        if found and not is_in_time(context, until, calls_for_guids(len(found))):
            return Purged(left=left + len(begun))  # the calls could outlast its deadline: the next purge finds them
        if found:
            catalog.remove(sorted(found.values()))
        done = 0
        lands = last_effect_of_success(context, until) if found else NOTHING_BEGUN
        for entry, queued in begun:
            gone = replace(entry, state=LedgerState.NOTHING, fingerprint="", guid="", until=lands, because=PURGED)
            if put_entry(storage, gone):
                done += 1
                _forget(storage, entry.process, queued)
    return Purged(processes=done, left=left + len(begun) - done)


def _forget(storage: Storage, process: str, queued: QueueEntry | None) -> None:
    """Delete what is queued for a purged process, unless that is newer than the purge."""
    if queued:
        dequeue(storage, queued)
    storage.delete(SHADOW, QUEUE_PARTITION, process)
