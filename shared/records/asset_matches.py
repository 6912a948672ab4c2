"""What lookups in the catalog found: a row of `assetmatches` for each asset that was looked up and is there.

A row whose blob is lost counts as none: the catalog is asked again when a process is written that uses its asset.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import structs

from shared.catalog.port import AssetKey
from shared.errors import ContentLost
from shared.records.cells import PackedCell
from shared.records.ledger import LedgerEntry
from shared.records.publish_queue import enqueue
from shared.storage.compare_and_swap import RowAddress, compare_and_swap, write_if_unchanged
from shared.storage.port import Row, Storage
from shared.storage_layout import ASSET_MATCHES, ASSET_PARTITION, LEDGER, QUEUED_ASSET, digest_of

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class AssetMatch(msgspec.Struct, frozen=True, kw_only=True):
    """What the catalog has of one of our assets (`own`, which a scan may have found under the names in `also`): the
    asset that a scan found (`scanned`), else our placeholder. The `guid` is empty where there is neither.

    `rivals`: scanned assets of which one is meant, and nothing decides which; `because`: why the scanned one won.
    `columns`: pairs of name and type that our placeholder has; None where that is not known and they must be written
    again. `column_sources`: the processes (by key) that may report columns: all that do, and some that did. `until`: an
    update of the columns that was begun may take effect up to then.

    `left`: our placeholder is there although a scan has found the asset; `moved`: when the processes that used it were
    enqueued to leave it, or the catalog did not name them. `at`: when the catalog was asked. `searched`: when an asset
    without a placeholder was searched for, and the result: a search is a call for each asset, and is not repeated where
    work was cut off in between.
    """

    own: AssetKey
    also: tuple[AssetKey, ...] = ()
    scanned: AssetKey | None = None
    because: str = ""
    guid: str = ""
    rivals: tuple[AssetKey, ...] = ()
    columns: tuple[tuple[str, str], ...] | None = None
    column_sources: tuple[str, ...] = ()
    until: datetime = _NEVER
    left: bool = False
    moved: datetime | None = None
    at: datetime = _NEVER
    searched: tuple[datetime, tuple[AssetKey, ...]] | None = None
    etag: str = ""

    @property
    def key(self) -> AssetKey:
        """The asset that lineage is to name."""
        return self.scanned or self.own

    @property
    def is_placeholder(self) -> bool:
        """Whether our placeholder is what the catalog has of it."""
        return bool(self.guid) and self.scanned is None

    def is_due(self, now: datetime, believed: timedelta) -> bool:
        """Whether it is to be looked up again, since it was not found or longer ago than `believed`."""
        return not self.guid or now - self.at >= believed

    def row(self, storage: Storage) -> Row:
        """As a row of `assetmatches`."""
        values = _MATCH.pack(storage, structs.replace(self, etag=""))
        return Row(partition=ASSET_PARTITION, key=match_key(self.own), values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row, storage: Storage) -> "AssetMatch":
        """From a row of `assetmatches`."""
        return structs.replace(_MATCH.unpack(storage, row), etag=row.etag)


_MATCH = PackedCell(name="match", decoder=msgspec.json.Decoder(AssetMatch))


def match_key(own: AssetKey) -> str:
    """The key of an asset's row, here and in `assetlifecycle`."""
    return digest_of("|".join(own).encode())


def queue_key(key: str) -> str:
    """The key in the publish queue of an asset, by the key of its row."""
    return f"{QUEUED_ASSET}{key}"


def read_matches(storage: Storage, own: Iterable[AssetKey]) -> dict[AssetKey, AssetMatch]:
    """The matches of these assets, of any age: a point read each. Of a lost one the column sources are restored."""
    found = {key: storage.read(ASSET_MATCHES, ASSET_PARTITION, match_key(key)) for key in own}
    return {key: _readable(row, storage) or _restored(key, row, storage) for key, row in found.items() if row}


def match_by_key(storage: Storage, key: str) -> AssetMatch | None:
    """The match under this key."""
    row = storage.read(ASSET_MATCHES, ASSET_PARTITION, key)
    return _readable(row, storage) if row else None


def all_matches(storage: Storage) -> Iterator[AssetMatch]:
    """All matches of assets on record, read page by page."""
    found = (_readable(row, storage) for row in storage.partition(ASSET_MATCHES, ASSET_PARTITION))
    return (each for each in found if each)


def _readable(row: Row, storage: Storage) -> AssetMatch | None:
    """The match in a row; None where its blob is lost."""
    try:
        return AssetMatch.of(row, storage)
    except ContentLost:
        return None


def _restored(own: AssetKey, row: Row, storage: Storage) -> AssetMatch:
    """In place of a lost match: one that was never looked up, with the processes that may report columns."""
    entries = map(LedgerEntry.of, storage.scan(LEDGER))
    sources = tuple(sorted(entry.process for entry in entries if row.key in entry.described))
    return AssetMatch(own=own, column_sources=sources, etag=row.etag)


def save_matches(storage: Storage, found: Iterable[AssetMatch]) -> tuple[AssetMatch, ...]:
    """Save these matches: as they are on record then. Raises WriteConflict.

    Where another publisher has saved one since it was read, the two are merged, so that no column source is lost. If
    the columns of a placeholder are unknown then, its asset is enqueued.
    """
    return tuple(_save(storage, each) for each in sorted(found, key=lambda each: each.own))


def _save(storage: Storage, found: AssetMatch) -> AssetMatch:
    row = found.row(storage)
    etag = write_if_unchanged(storage, ASSET_MATCHES, row)
    if etag:
        return structs.replace(found, etag=etag)

    def enqueue_unknown(wanted: AssetMatch | None) -> None:
        if wanted and wanted.is_placeholder and wanted.columns is None:
            enqueue(storage, [queue_key(row.key)])

    def change(there: AssetMatch | None) -> AssetMatch:
        both = _of_both(found, there) if there else structs.replace(found, etag="")
        if there:
            enqueue_unknown(both)  # before the row is written: this worker may end, or another dequeue it, in between
        return both

    swapped = compare_and_swap(
        storage,
        RowAddress(ASSET_MATCHES, ASSET_PARTITION, row.key),
        change,
        decode=lambda there: AssetMatch.of(there, storage),
        encode=lambda both: both.row(storage),
    )
    enqueue_unknown(swapped.before and swapped.after)
    return structs.replace(swapped.after or found, etag=swapped.etag)


def _of_both(mine: AssetMatch, there: AssetMatch) -> AssetMatch:
    """The later match of the two, with the column sources of both. Its columns are not known where the two differ."""
    later = max((mine, there), key=lambda each: (bool(each.guid), each.at))
    if later.scanned:
        return structs.replace(later, etag=there.etag)
    known = {each.columns for each in (mine, there) if each.is_placeholder}
    return structs.replace(
        later,
        column_sources=tuple(sorted({*mine.column_sources, *there.column_sources})),
        columns=known.pop() if len(known) == 1 else None,
        until=max(mine.until, there.until),
        etag=there.etag,
    )


def replace_match(storage: Storage, found: AssetMatch) -> AssetMatch | None:
    """Write a match; None, and nothing written, where another worker wrote it since it was read."""
    etag = storage.replace(ASSET_MATCHES, found.row(storage))
    return structs.replace(found, etag=etag) if etag else None


def expire_matches(storage: Storage, found: Iterable[AssetMatch]) -> None:
    """Mark these as outdated, so that they are looked up again: the catalog refused them."""
    save_matches(storage, [structs.replace(each, at=_NEVER) for each in found])


def delete_matches(storage: Storage, found: Iterable[AssetMatch]) -> None:
    """Delete these: the catalog has neither the asset nor our placeholder."""
    for each in found:
        storage.delete(ASSET_MATCHES, ASSET_PARTITION, match_key(each.own))
