"""What is remembered of looking for assets: a row of `found` for each that was looked for and is in the catalog now."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import structs

from shared.catalog.port import AssetKey
from shared.records.publish_queue import enqueue
from shared.records.run_state import packed_cell, unpacked_cell
from shared.storage.compare_and_swap import Place, compare_and_swap, write_if_unchanged
from shared.storage.port import Row, Storage
from shared.storage_layout import ASSET_MATCHES, ASSET_PARTITION, QUEUED_ASSET, digest_of

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class AssetMatch(msgspec.Struct, frozen=True, kw_only=True):
    """What the catalog has of one of our assets (`own`, which may be found under the names in `also`): the asset that a
    scan found (`scanned`), else our placeholder; its guid is empty where there is neither. `rivals`: assets of which
    one is meant, and nothing tells which. `because`: why the scanned one won.

    `columns`: those that our placeholder has, pairs of name and type; None where that is not known, and then it is to
    be described. `column_sources`: the processes (by key) that may tell them: all who do, and some who did. `until`: a
    description that somebody began may land until then. `left`: our placeholder is there although a scan has found the
    asset; `moved`: when what used it was told to leave it. `at`: when the catalog was asked. `searched`: what a search
    gave of one that is not placed yet, and when: a search is a call for each asset, which need not be made again where
    something came in between. `etag`: of the row as it was read or written last.
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
        """What the lineage is to name."""
        return self.scanned or self.own

    @property
    def is_placeholder(self) -> bool:
        """Whether our placeholder is what the catalog has of it."""
        return bool(self.guid) and self.scanned is None

    def is_due(self, now: datetime, believed: timedelta) -> bool:
        """Whether it is to be looked up again: what was found is believed for so long."""
        return not self.guid or now - self.at >= believed

    def row(self, storage: Storage) -> Row:
        """As a row of `found`."""
        values = packed_cell(storage, "found", structs.replace(self, etag=""))
        return Row(partition=ASSET_PARTITION, key=match_key(self.own), values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row, storage: Storage) -> "AssetMatch":
        """From a row of `found`."""
        return structs.replace(_decode(unpacked_cell(storage, "found", row)), etag=row.etag)


_decode = msgspec.json.Decoder(AssetMatch).decode


def match_key(own: AssetKey) -> str:
    """The key of an asset's row: the same as in `assets`."""
    return digest_of("|".join(own).encode())


def queue_key(key: str) -> str:
    """The dirty mark of a data set, by the key of its row."""
    return f"{QUEUED_ASSET}{key}"


def read_matches(storage: Storage, own: Iterable[AssetKey]) -> dict[AssetKey, AssetMatch]:
    """What is on record of these assets, whatever its age: a point read each."""
    found = {key: storage.read(ASSET_MATCHES, ASSET_PARTITION, match_key(key)) for key in own}
    return {key: AssetMatch.of(row, storage) for key, row in found.items() if row}


def match_by_key(storage: Storage, key: str) -> AssetMatch | None:
    """What is on record under this key."""
    row = storage.read(ASSET_MATCHES, ASSET_PARTITION, key)
    return AssetMatch.of(row, storage) if row else None


def all_matches(storage: Storage) -> Iterator[AssetMatch]:
    """All that is on record."""
    for row in storage.partition(ASSET_MATCHES, ASSET_PARTITION):
        yield AssetMatch.of(row, storage)


def save_matches(storage: Storage, found: Iterable[AssetMatch]) -> tuple[AssetMatch, ...]:
    """Put these on record: as they are there then. Where another publisher was there since it was read, what both know
    is kept: else who tells the columns of a placeholder could be forgotten. Which it has is not known then, and so it
    is described anew. Raises WriteConflict.
    """
    return tuple(_remembered(storage, each) for each in sorted(found, key=lambda each: each.own))


def _remembered(storage: Storage, found: AssetMatch) -> AssetMatch:
    row = found.row(storage)
    etag = write_if_unchanged(storage, ASSET_MATCHES, row)
    if etag:
        return structs.replace(found, etag=etag)

    def mark(wanted: AssetMatch | None) -> None:
        if wanted and wanted.is_placeholder and wanted.columns is None:
            enqueue(storage, [queue_key(row.key)])

    def change(there: AssetMatch | None) -> AssetMatch:
        both = _of_both(found, there) if there else structs.replace(found, etag="")
        if there:
            mark(both)  # before it is written: this process may die, or another clean the mark, in between
        return both

    swapped = compare_and_swap(
        storage,
        Place(ASSET_MATCHES, ASSET_PARTITION, row.key),
        change,
        decode=lambda there: AssetMatch.of(there, storage),
        encode=lambda both: both.row(storage),
    )
    mark(swapped.before and swapped.after)
    return structs.replace(swapped.after or found, etag=swapped.etag)


def _of_both(mine: AssetMatch, there: AssetMatch) -> AssetMatch:
    """The later find of the two, with all who may tell the columns. Which it has is not known where those who know of a
    placeholder differ.
    """
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
    """Put one on record only where nobody was there since it was read; None where somebody was."""
    etag = storage.replace(ASSET_MATCHES, found.row(storage))
    return structs.replace(found, etag=etag) if etag else None


def expire_matches(storage: Storage, found: Iterable[AssetMatch]) -> None:
    """Have these be looked up the next time: the catalog refused what was remembered of them."""
    save_matches(storage, [structs.replace(each, at=_NEVER) for each in found])


def delete_matches(storage: Storage, found: Iterable[AssetMatch]) -> None:
    """Forget these wholly: the catalog has neither the asset nor a placeholder of ours."""
    for each in found:
        storage.delete(ASSET_MATCHES, ASSET_PARTITION, match_key(each.own))
