"""What the catalog holds of each process, as far as we know: the row that keeps late writes off newer ones."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from shared.model import Span
from shared.records.cells import cells_of, record_of
from shared.records.states import LedgerState
from shared.records.waits import NOTHING_BEGUN, Landing
from shared.storage.port import Row, RowAddress, Storage, Value, compare_and_swap, write_if_unchanged
from shared.storage_layout import CATALOG, PROCESSES

RETIRED = "its process was retired"
PURGED = "its process was purged"
"""Why the events of such a process count as skipped; of a purged one until they are replayed."""

MAX_ASSETS = 4000
"""Assets of a process that the ledger keeps: sixteen bytes each, in one cell."""
MAX_STARTS = 32
"""Starts of runs that a part keeps, and that are kept of forgotten ones: enough to know a job's rhythm."""
_KEY_DIGITS = 32
_PREFIX = b"1"
"""Stands before the keys: no cell is empty."""


class Forgotten(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What stays of contributions that were superseded for good: of how many `applications`, when these contributed
    (`seen`), and the last `starts` of their runs.
    """

    applications: int = 0
    seen: Span | None = None
    starts: tuple[datetime, ...] = ()

    def with_application(self, seen_span: Span | None, starts: tuple[datetime, ...]) -> "Forgotten":
        """With one more application."""
        span = self.seen | seen_span if self.seen and seen_span else self.seen or seen_span
        latest = tuple(sorted({*self.starts, *starts})[-MAX_STARTS:])
        return Forgotten(applications=self.applications + 1, seen=span, starts=latest)


NOTHING_FORGOTTEN = Forgotten()


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """What the catalog holds of a process (by key): nothing (never written, or removed), writing, or written.

    `qualified_name`, `fingerprint`: of the write that was begun last; the latter before its assets were looked up:
    while it stays, nothing has to be looked up. `landing`: when its calls may take effect.

    `schemas`: digest of the columns that the process reported of its assets; `assets`: the keys of those that it uses,
    and of those that an interrupted write may have used. `retired`: contributions up to then are no longer shown.
    `because`: why the catalog holds nothing, where another cause than retirement did that. `imported`: it was written
    last from the lake, and may have no contributions here. `had_both_ends`: of its last run, so that those of the next
    one are waited for. `forgotten`: what is left of old contributions.
    """

    process: str
    state: LedgerState = LedgerState.NOTHING
    qualified_name: str = ""
    fingerprint: str = ""
    schemas: str = ""
    assets: frozenset[str] = frozenset()
    guid: str = ""
    landing: Landing = NOTHING_BEGUN
    retired: datetime | None = None
    because: str = ""
    imported: bool = False
    had_both_ends: bool = False
    forgotten: Forgotten = NOTHING_FORGOTTEN
    etag: str = ""

    @property
    def why(self) -> str:
        """Why the catalog holds nothing of it, where that was wanted; else empty."""
        return self.because or (RETIRED if self.retired else "")

    def removed(self, landing: Landing) -> "LedgerEntry":
        """After the process was removed from the catalog."""
        return replace(
            self, state=LedgerState.NOTHING, fingerprint="", schemas="", assets=frozenset(), guid="", landing=landing
        )

    def row(self) -> Row:
        """As a row of `processes`."""
        values: dict[str, Value] = {
            **cells_of(self, omitted=("process", "assets", "landing", "forgotten")),
            "assets": _PREFIX + b"".join(map(bytes.fromhex, sorted(self.assets)[:MAX_ASSETS])),
        }
        if self.landing != NOTHING_BEGUN:
            values["landing"] = msgspec.json.encode(self.landing).decode()
        if self.forgotten != NOTHING_FORGOTTEN:
            values["forgotten"] = msgspec.json.encode(self.forgotten).decode()
        return Row(partition=self.process, key=CATALOG, values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row) -> "LedgerEntry":
        """From a row of `processes`."""
        landing, forgotten = row.values.get("landing"), row.values.get("forgotten")
        return record_of(
            cls,
            row,
            process=row.partition,
            assets=_assets(row),
            landing=msgspec.json.decode(str(landing), type=Landing) if landing else NOTHING_BEGUN,
            forgotten=msgspec.json.decode(str(forgotten), type=Forgotten) if forgotten else NOTHING_FORGOTTEN,
        )


def _assets(row: Row) -> frozenset[str]:
    cell = row.values.get("assets", _PREFIX)
    digits = cell.removeprefix(_PREFIX).hex() if isinstance(cell, bytes) else ""
    return frozenset(digits[start : start + _KEY_DIGITS] for start in range(0, len(digits), _KEY_DIGITS))


def ledger_entry(storage: Storage, process: str) -> LedgerEntry:
    """The entry of a process, by key."""
    row = storage.read(PROCESSES, process, CATALOG)
    return LedgerEntry.of(row) if row else LedgerEntry(process=process)


def ledger_entries(storage: Storage) -> Iterator[LedgerEntry]:
    """All entries, by key, read page by page."""
    return (LedgerEntry.of(row) for row in storage.scan(PROCESSES) if row.key == CATALOG)


def put_entry(storage: Storage, entry: LedgerEntry) -> LedgerEntry | None:
    """Write an entry over the one that it was made from: as it is now; None, and nothing written, when another worker
    has written meanwhile. So a publisher that lost its lease while it was stalled writes no outdated lineage.
    """
    etag = write_if_unchanged(storage, PROCESSES, entry.row())
    return replace(entry, etag=etag) if etag else None


def request_rewrite(storage: Storage, process: str) -> None:
    """Clear the fingerprint of a process (by key), so that the publisher writes it again. Raises WriteConflict."""

    def change(entry: LedgerEntry | None) -> LedgerEntry | None:
        return replace(entry, fingerprint="") if entry and entry.state is not LedgerState.NOTHING else entry

    compare_and_swap(
        storage, RowAddress(PROCESSES, process, CATALOG), change, decode=LedgerEntry.of, encode=LedgerEntry.row
    )
