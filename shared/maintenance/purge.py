"""Purging: all that Throughline created leaves the catalog, and the ledger knows it, so that a replay makes all anew.

In batches, each as publishing does it: *writing until* before the call, *nothing* after it. Cut off anywhere it is done
again from the start, and finds only what is left.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from shared.atlas.entities import PROCESS_TYPE
from shared.catalog.port import AssetKey, Catalog
from shared.publishing.options import PublishOptions
from shared.publishing.publisher_lease import assets_on_record, batches, placeholders, remove_placeholders, turn
from shared.publishing.write_deadline import is_in_time, last_effect_of_success
from shared.records.ledger import NOTHING_BEGUN, PURGED, LedgerEntry, ledger_entry, put_entry
from shared.records.publish_queue import QueueEntry, dequeue
from shared.records.states import LedgerState
from shared.storage.port import Storage
from shared.storage_layout import LEDGER, PUBLISH_QUEUE, QUEUE_PARTITION, SHADOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What one step did: processes and placeholders removed; placeholders that others use by now, and so are kept; and
    processes that another may be writing at this moment, and so are left for the next purge.
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


def ours(storage: Storage) -> Iterator[LedgerEntry]:
    """The processes that the catalog holds, or may hold. Reads only."""
    entries = (LedgerEntry.of(row) for row in storage.scan(LEDGER))
    return (entry for entry in entries if entry.state is not LedgerState.NOTHING)


def our_placeholders(storage: Storage, catalog: Catalog, how: PublishOptions) -> Iterator[AssetKey]:
    """The assets that we placed and that still bear our mark, used by others or not. Reads only."""
    for found in placeholders(catalog, assets_on_record(storage), how.batch):
        yield from sorted(found)


def purge(storage: Storage, catalog: Catalog, how: PublishOptions) -> Iterator[Purged]:
    """Remove all processes, then all placeholders: step by step, as it is asked for.

    Raises StorageUnavailable, CatalogUnavailable, CatalogRefused, and WriteConflict while another publisher holds the
    lease.
    """
    for entries in batches(ours(storage), how.batch):
        yield _purge_processes(storage, catalog, how, entries)
    for keys in batches(our_placeholders(storage, catalog, how), how.batch):
        removed, kept = remove_placeholders(storage, catalog, keys)
        yield Purged(placeholders=removed, kept=kept)


def _purge_processes(storage: Storage, catalog: Catalog, how: PublishOptions, entries: Sequence[LedgerEntry]) -> Purged:
    with turn(storage):
        until = how.now() + 2 * how.call_bound
        begun: list[tuple[LedgerEntry, QueueEntry | None]] = []
        left = 0
        for listed in entries:
            entry = ledger_entry(storage, listed.process)
            mark = storage.read(PUBLISH_QUEUE, QUEUE_PARTITION, entry.process)
            if entry.state is LedgerState.NOTHING:
                continue
            landing = entry.may_still_land(how.now())
            noted = None if landing else put_entry(storage, replace(entry, state=LedgerState.WRITING, until=until))
            left += noted is None
            if noted:
                begun.append((noted, QueueEntry.of(mark) if mark else None))
        found = catalog.find([(PROCESS_TYPE, entry.qualified_name) for entry, _ in begun])
        if found and not is_in_time(how, until):
            return Purged(left=left + len(begun))  # too late to be over by then: the next purge finds them
        if found:
            catalog.remove(sorted(found.values()))
        done = 0
        lands = last_effect_of_success(catalog, how, until) if found else NOTHING_BEGUN
        for entry, dirty in begun:
            gone = replace(entry, state=LedgerState.NOTHING, fingerprint="", guid="", until=lands, because=PURGED)
            if put_entry(storage, gone):
                done += 1
                _forget(storage, entry.process, dirty)
    return Purged(processes=done, left=left + len(begun) - done)


def _forget(storage: Storage, process: str, dirty: QueueEntry | None) -> None:
    """Nothing is to be published of it, unless it was marked since: the passing of time must not bring it back."""
    if dirty:
        dequeue(storage, dirty)
    storage.delete(SHADOW, QUEUE_PARTITION, process)
