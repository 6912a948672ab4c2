"""The publisher's lease, and the removal of placeholders under it.

Placeholders are known by the records and by their description. Assets that a scan found, or whose description a person
changed, are never touched.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from msgspec import structs

from shared.catalog.port import AssetKey, Catalog, Placeholder, batches
from shared.errors import WriteConflict
from shared.publishing.context import PublishContext
from shared.records.landing import NEVER
from shared.storage.locking import LeaseSession, start_session

PUBLISHER = "publisher"
"""The name of the lease that allows writes to the catalog, and to the records of data sets."""

_TRIES = 60
_SECONDS = 3.0


@contextmanager
def turn(
    context: PublishContext, *, tries: int = _TRIES, wait: Callable[[float], None] = time.sleep
) -> Iterator[LeaseSession]:
    """Hold the publisher's lease. A running publisher releases it within three minutes, in which it is tried `tries`
    more times. Raises WriteConflict after that.
    """
    while (session := start_session(context.storage, PUBLISHER)) is None:
        if not tries:
            raise WriteConflict("Another publisher held the lease for three minutes; run the command again", after=60)
        tries -= 1
        wait(_SECONDS)
    try:
        context.assets.claim(context.storage)
        yield session
    finally:
        session.lease.release()


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
    with turn(context, tries=_TRIES if wait else 0):
        return remove_unlinked(context, keys)


def remove_unlinked(context: PublishContext, keys: Sequence[AssetKey]) -> PlaceholderRemoval:
    """As `remove_placeholders`, where the lease is held already."""
    storage, rows = context.storage, context.assets
    ours = context.catalog.placeholders(keys)
    unlinked = {key: placeholder for key, placeholder in sorted(ours.items()) if not placeholder.links}
    if unlinked:
        for record in rows.read(storage, unlinked).values():
            if not record.scanned:
                rows.put(structs.replace(record, at=NEVER, shown=""))
        rows.flush(storage)
        context.catalog.remove(
            [guid for placeholder in unlinked.values() for guid in (placeholder.guid, *placeholder.parts)]
        )
    return PlaceholderRemoval(removed=frozenset(unlinked), kept=frozenset(ours.keys() - unlinked.keys()))
