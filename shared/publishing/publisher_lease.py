"""The publisher's lease, and the removal of placeholders under it.

Placeholders are known by the records and by their description. Assets that a scan found, or whose description a person
changed, are never touched.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from shared.catalog.batches import batches
from shared.catalog.port import AssetKey, Catalog, Placeholder
from shared.errors import WriteConflict
from shared.publishing.planning.context import PublishContext
from shared.records.application.process_index import RESOLVE_TOGETHER, process_ref_of, process_refs_of
from shared.records.asset_matches import expire_matches, read_matches
from shared.records.run_state import ContributionRecord
from shared.storage.lease_session import LeaseSession, start_session
from shared.storage.port import Storage
from shared.storage_layout import CONTRIBUTIONS

PUBLISHER = "publisher"
"""The name of the lease that allows writes to the catalog."""

_TRIES = 60
_SECONDS = 3.0


@contextmanager
def turn(
    storage: Storage, *, tries: int = _TRIES, wait: Callable[[float], None] = time.sleep
) -> Iterator[LeaseSession]:
    """Hold the publisher's lease. A running publisher releases it within three minutes, in which it is tried `tries`
    more times. Raises WriteConflict after that.
    """
    while (session := start_session(storage, PUBLISHER)) is None:
        if not tries:
            raise WriteConflict("Another publisher held the lease for three minutes; run the command again", after=60)
        tries -= 1
        wait(_SECONDS)
    try:
        yield session
    finally:
        session.lease.release()


def assets_on_record(storage: Storage) -> set[AssetKey]:
    """All assets in any contribution, also retracted ones: every placeholder is among them."""
    found: set[AssetKey] = set()
    renaming: set[str] = set()
    for row in storage.scan(CONTRIBUTIONS):
        run, _, digest = row.key.partition("|")
        if digest == RESOLVE_TOGETHER:
            renaming.add(run)
            continue
        content = ContributionRecord.of(row, storage).content
        if content:
            assets = (*content.inputs, *content.outputs, *content.batch_inputs)
            found |= {asset.key for asset in assets}
    for run in sorted(renaming):
        sinks = (process_ref_of(row, storage).sink for row in process_refs_of(storage, run))
        found |= {sink.key for sink in sinks}
    return found


def placeholders(catalog: Catalog, keys: Iterable[AssetKey], size: int) -> Iterator[dict[AssetKey, Placeholder]]:
    """The placeholders among these assets, batch by batch."""
    for batch in batches(sorted(keys), size):
        yield catalog.placeholders(batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceholderRemoval:
    """Placeholders that were removed, and those that were kept because something is linked to them."""

    removed: frozenset[AssetKey]
    kept: frozenset[AssetKey]


def remove_placeholders(context: PublishContext, keys: Sequence[AssetKey], *, wait: bool = True) -> PlaceholderRemoval:
    """Remove the unlinked placeholders among these assets. Holds the publisher's lease, since a publisher creates data
    sets before it writes the processes that use them.

    Raises WriteConflict while another publisher holds it: after three minutes, or at once unless `wait`.
    """
    storage, catalog = context.storage, context.catalog
    with turn(storage, tries=_TRIES if wait else 0):
        held = catalog.placeholders(keys)
        doomed = {key: each for key, each in sorted(held.items()) if not each.links}
        if doomed:
            expire_matches(storage, [each for each in read_matches(storage, doomed).values() if not each.scanned])
            catalog.remove([guid for each in doomed.values() for guid in (each.guid, *each.parts)])
    return PlaceholderRemoval(removed=frozenset(doomed), kept=frozenset(held.keys() - doomed.keys()))
