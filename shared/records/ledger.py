"""What the catalog holds of each process, as far as we know: the row that keeps slow old writes off newer ones."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from shared.records.states import LedgerState
from shared.storage.compare_and_swap import Place, compare_and_swap, write_if_unchanged
from shared.storage.port import Row, Storage, Value
from shared.storage_layout import CATALOG, LEDGER

RETIRED = "its process was retired"
PURGED = "its process was purged"
"""Why the events of such a process count as skipped; of a purged one until they are replayed."""

UNKNOWN_DIGEST = "?"
"""In place of a digest: what was told last is not known, and so whatever is told next is new."""

_KEY_BYTES = 16
_BEGINS = b"1"
_CELL = 60 * 1024
_TOLD = tuple(f"told{number}" for number in range(8))
"""The cells of all keys together: half of what a row may hold."""
NOTHING_BEGUN = datetime(1970, 1, 1, tzinfo=UTC)
"""Until then something may land of which nothing is on its way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """`state`: nothing (never written, or removed), writing, or written. Up to `until` a call that was begun may still
    land: of one that went well, a try whose answer was lost.

    `fingerprint` and `qualified_name` are those of the last write that was begun, `said` is the fingerprint of the same
    before its assets were found: what is said again needs no looking up. `schemas` stands for the columns that it told
    of its data sets, and `told` has the keys (in `found`) of all whose columns it may have told: what it tells next
    concerns them too. None where that is not known: what older ones wrote, or too many to keep. `retired`: what was
    said up to then is not shown any more. `because` says why the catalog holds nothing, where something else did that.
    """

    process: str
    state: LedgerState = LedgerState.NOTHING
    qualified_name: str = ""
    fingerprint: str = ""
    said: str = ""
    schemas: str = ""
    told: frozenset[str] | None = frozenset()
    guid: str = ""
    until: datetime = NOTHING_BEGUN
    retired: datetime | None = None
    because: str = ""
    etag: str = ""

    @property
    def why(self) -> str:
        """Why the catalog holds nothing of it, where somebody wanted that."""
        return self.because or (RETIRED if self.retired else "")

    def may_still_land(self, now: datetime) -> bool:
        """Whether a call that somebody began may not be over yet."""
        return now < self.until

    def row(self) -> Row:
        """As a row of `ledger`."""
        return Row(
            partition=self.process,
            key=CATALOG,
            etag=self.etag,
            values={
                "state": self.state.value,
                "qualified_name": self.qualified_name,
                "fingerprint": self.fingerprint,
                "said": self.said,
                "schemas": self.schemas,
                "guid": self.guid,
                "until": self.until.isoformat(),
                "retired": self.retired.isoformat() if self.retired else "",
                "because": self.because,
                **_cells(self.told),
            },
        )

    def telling(self, told: frozenset[str]) -> "LedgerEntry":
        """That it may tell the columns of these too."""
        return self if self.told is None else replace(self, told=self.told | told)

    @classmethod
    def of(cls, row: Row) -> "LedgerEntry":
        """From a row of `ledger`; the oldest ones know of no retiring, nor of finding."""
        retired = str(row.values.get("retired", ""))
        return cls(
            process=row.partition,
            state=LedgerState(str(row.values["state"])),
            qualified_name=str(row.values["qualified_name"]),
            fingerprint=str(row.values["fingerprint"]),
            said=str(row.values.get("said", row.values["fingerprint"])),
            schemas=str(row.values.get("schemas", "")),
            told=_told(row),
            guid=str(row.values["guid"]),
            until=datetime.fromisoformat(str(row.values["until"])),
            retired=datetime.fromisoformat(retired) if retired else None,
            because=str(row.values.get("because", "")),
            etag=row.etag,
        )


def _cells(told: frozenset[str] | None) -> dict[str, Value]:
    """Keys are 32 hexadecimal digits each. What stands before them keeps a cell from being empty."""
    packed = _BEGINS + b"".join(map(bytes.fromhex, sorted(told or ())))
    if told is None or len(packed) > len(_TOLD) * _CELL:
        return {}
    starts = range(0, len(packed), _CELL)
    return {name: packed[start : start + _CELL] for name, start in zip(_TOLD, starts, strict=False)}


def _told(row: Row) -> frozenset[str] | None:
    cells = [row.values[name] for name in _TOLD if name in row.values]
    if not cells:
        return None
    packed = b"".join(cell for cell in cells if isinstance(cell, bytes)).removeprefix(_BEGINS).hex()
    return frozenset(packed[start : start + 2 * _KEY_BYTES] for start in range(0, len(packed), 2 * _KEY_BYTES))


def ledger_entry(storage: Storage, process: str) -> LedgerEntry:
    """The entry of a process, by key."""
    found = storage.read(LEDGER, process, CATALOG)
    return LedgerEntry.of(found) if found else LedgerEntry(process=process)


def put_entry(storage: Storage, entry: LedgerEntry) -> LedgerEntry | None:
    """Put an entry on record in place of the one that it was made from: as it is now, or None when another publisher
    has written meanwhile. A publisher that lost its lease while it was stalled is thus kept from writing old lineage.
    """
    etag = write_if_unchanged(storage, LEDGER, entry.row())
    return replace(entry, etag=etag) if etag else None


def request_rewrite(storage: Storage, process: str) -> None:
    """Have the ledger not know what was written of a process (by key), so that the publisher writes it again. Raises
    WriteConflict.
    """

    def change(entry: LedgerEntry | None) -> LedgerEntry | None:
        return replace(entry, fingerprint="") if entry and entry.state is not LedgerState.NOTHING else entry

    compare_and_swap(storage, Place(LEDGER, process, CATALOG), change, decode=LedgerEntry.of, encode=LedgerEntry.row)
