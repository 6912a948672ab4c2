"""What in the catalog is ours besides the processes: placeholders, found by what is on record and by their mark.

Assets that a scan found, or that somebody has described anew, do not bear the mark and are never touched.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from shared.catalog.port import AssetKey, Catalog, Placeholder
from shared.errors import WriteConflict
from shared.records.asset_matches import expire_matches, read_matches
from shared.records.process_index import RESOLVE_TOGETHER, process_ref_of
from shared.records.run_state import ContributionRecord
from shared.storage.lease_session import LeaseSession, start_session
from shared.storage.port import Storage
from shared.storage_layout import CONTRIBUTIONS, process_refs_of

PUBLISHER = "publisher"
"""The lease of whoever writes to the catalog."""

_TRIES = 60
_SECONDS = 3.0


@contextmanager
def turn(storage: Storage, *, wait: Callable[[float], None] = time.sleep) -> Iterator[LeaseSession]:
    """A shift as the one that writes to the catalog. A publisher that is at work ends its shift in three minutes at
    most: so long it is waited for. Raises WriteConflict when it does not.
    """
    tries = _TRIES
    while (shift := start_session(storage, PUBLISHER)) is None:
        if not tries:
            raise WriteConflict("A publisher has been at work all the time", after=60)
        tries -= 1
        wait(_SECONDS)
    try:
        yield shift
    finally:
        shift.lease.release()


def assets_on_record(storage: Storage) -> set[AssetKey]:
    """Every asset of which anybody ever spoke, whatever became of the word: each that we placed is among them."""
    found: set[AssetKey] = set()
    renaming: set[str] = set()
    for row in storage.scan(CONTRIBUTIONS):
        run, _, digest = row.key.partition("|")
        if digest == RESOLVE_TOGETHER:
            renaming.add(run)
            continue
        content = ContributionRecord.of(row, storage).content
        if content:
            assets = (*content.inputs, *content.outputs, *content.around)
            found |= {(asset.type, asset.qualified_name) for asset in assets}
    for run in sorted(renaming):
        sinks = (process_ref_of(row, storage).sink for row in process_refs_of(storage, run))
        found |= {(sink.type, sink.qualified_name) for sink in sinks}
    return found


_T = TypeVar("_T")


def batches(things: Iterable[_T], size: int) -> Iterator[Sequence[_T]]:
    """So many at a time."""
    each = iter(things)
    while batch := tuple(islice(each, size)):
        yield batch


def placeholders(catalog: Catalog, keys: Iterable[AssetKey], size: int) -> Iterator[dict[AssetKey, Placeholder]]:
    """Those of these assets that we placed, in batches of what was asked for."""
    for batch in batches(sorted(keys), size):
        yield catalog.placeholders(batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """Placeholders that were removed, and those that are kept since something is linked to them."""

    removed: frozenset[AssetKey]
    kept: frozenset[AssetKey]


def remove_placeholders(storage: Storage, catalog: Catalog, keys: Sequence[AssetKey]) -> tuple[int, int]:
    """Remove those of these assets that we placed and nothing is linked to any more: how many were removed, and how
    many that we placed are kept, since others use them. Nobody publishes meanwhile: a publisher creates data sets
    before it writes what uses them.
    """
    with turn(storage):
        done = _remove_unlinked(storage, catalog, keys)
    return len(done.removed), len(done.kept)


def removed_of(storage: Storage, catalog: Catalog, keys: Sequence[AssetKey], *, wait: bool) -> Removed | None:
    """The same, which ones they were. Without waiting it is None, and nothing done, while somebody publishes."""
    if wait:
        with turn(storage):
            return _remove_unlinked(storage, catalog, keys)
    shift = start_session(storage, PUBLISHER)
    if shift is None:
        return None
    try:
        return _remove_unlinked(storage, catalog, keys)
    finally:
        shift.lease.release()


def _remove_unlinked(storage: Storage, catalog: Catalog, keys: Sequence[AssetKey]) -> Removed:
    held = catalog.placeholders(keys)
    doomed = {key: each for key, each in sorted(held.items()) if not each.links}
    if doomed:
        expire_matches(storage, [each for each in read_matches(storage, doomed).values() if not each.scanned])
        catalog.remove([guid for each in doomed.values() for guid in (each.guid, *each.parts)])
    return Removed(removed=frozenset(doomed), kept=frozenset(held.keys() - doomed.keys()))
