"""What the catalog holds of each process, as far as we know: the row that keeps late writes off newer ones."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from shared.records.cells import cells_of, record_of
from shared.records.states import LedgerState
from shared.storage.compare_and_swap import RowAddress, compare_and_swap, write_if_unchanged
from shared.storage.port import Row, Storage, Value
from shared.storage_layout import CATALOG, LEDGER

RETIRED = "its process was retired"
PURGED = "its process was purged"
"""Why the events of such a process count as skipped; of a purged one until they are replayed."""

UNKNOWN_DIGEST = "?"
"""In place of a digest: what was described last is not known, so the next description counts as new."""

MAX_CELLS = 8
MAX_CELL_BYTES = 60 * 1024
"""Bounds of the keys of described assets: half of what a row holds, in cells below the limit of one."""
_KEY_BYTES = 16
_PREFIX = b"1"
"""Stands before the keys: no cell is empty."""
_MAX_KEYS = (MAX_CELLS * MAX_CELL_BYTES - 1) // _KEY_BYTES
_DESCRIBED = tuple(f"described{number}" for number in range(MAX_CELLS))
NOTHING_BEGUN = datetime(1970, 1, 1, tzinfo=UTC)
"""Until when a call may take effect, where none was begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """What the catalog holds of a process (by key): nothing (never written, or removed), writing, or written.

    `qualified_name`, `fingerprint`: of the write that was begun last. `unresolved_fingerprint`: the same before its
    assets were looked up; while it stays, nothing has to be looked up. `until`: a call that was begun may take effect
    up to then, be it a retry whose answer was lost.

    `schemas`: digest of the columns that the process reported. `described`: the keys (in `assetmatches`) of all assets
    whose columns it may have described; the row keeps at most 30,719 of them. `retired`: contributions up to then are
    no longer shown. `because`: why the catalog holds nothing, where another cause than retirement did that.
    `imported`: it was written last from the lake, and may have no contributions here.
    """

    process: str
    state: LedgerState = LedgerState.NOTHING
    qualified_name: str = ""
    fingerprint: str = ""
    unresolved_fingerprint: str = ""
    schemas: str = ""
    described: frozenset[str] = frozenset()
    guid: str = ""
    until: datetime = NOTHING_BEGUN
    retired: datetime | None = None
    because: str = ""
    imported: bool = False
    etag: str = ""

    @property
    def why(self) -> str:
        """Why the catalog holds nothing of it, where that was wanted; else empty."""
        return self.because or (RETIRED if self.retired else "")

    def may_still_land(self, now: datetime) -> bool:
        """Whether a call that was begun may still take effect."""
        return now < self.until

    def row(self) -> Row:
        """As a row of `ledger`."""
        values = {**cells_of(self, without=("process", "described")), **_cells(self.described)}
        return Row(partition=self.process, key=CATALOG, values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row) -> "LedgerEntry":
        """From a row of `ledger`."""
        return record_of(cls, row, process=row.partition, described=_described(row))


def _cells(described: frozenset[str]) -> dict[str, Value]:
    """Keys, of 32 hexadecimal digits each, as cells: as many as fit."""
    packed = _PREFIX + b"".join(map(bytes.fromhex, sorted(described)[:_MAX_KEYS]))
    starts = range(0, len(packed), MAX_CELL_BYTES)
    return {name: packed[start : start + MAX_CELL_BYTES] for name, start in zip(_DESCRIBED, starts, strict=False)}


def _described(row: Row) -> frozenset[str]:
    cells = (row.values[name] for name in _DESCRIBED if name in row.values)
    packed = b"".join(cell for cell in cells if isinstance(cell, bytes)).removeprefix(_PREFIX).hex()
    return frozenset(packed[start : start + 2 * _KEY_BYTES] for start in range(0, len(packed), 2 * _KEY_BYTES))


def ledger_entry(storage: Storage, process: str) -> LedgerEntry:
    """The entry of a process, by key."""
    found = storage.read(LEDGER, process, CATALOG)
    return LedgerEntry.of(found) if found else LedgerEntry(process=process)


def put_entry(storage: Storage, entry: LedgerEntry) -> LedgerEntry | None:
    """Write an entry over the one that it was made from: as it is now; None, and nothing written, when another
    publisher has written meanwhile. So a publisher that lost its lease while it was stalled writes no outdated lineage.
    """
    etag = write_if_unchanged(storage, LEDGER, entry.row())
    return replace(entry, etag=etag) if etag else None


def request_rewrite(storage: Storage, process: str) -> None:
    """Clear the fingerprint of a process (by key), so that the publisher writes it again. Raises WriteConflict."""

    def change(entry: LedgerEntry | None) -> LedgerEntry | None:
        return replace(entry, fingerprint="") if entry and entry.state is not LedgerState.NOTHING else entry

    compare_and_swap(
        storage, RowAddress(LEDGER, process, CATALOG), change, decode=LedgerEntry.of, encode=LedgerEntry.row
    )
