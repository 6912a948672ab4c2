"""The storage port: the operations on blobs, tables and leases that Throughline needs.

Implemented by `MemoryStorage` and `AzureStorage`, and tested by one contract suite. Every method raises
StorageUnavailable when the store does not answer. Containers and tables are created when first written.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

Value = str | int | bool | bytes | datetime
"""What a table's cell may hold. A string of up to 32 Ki characters, bytes of up to 64 KiB (Azure Table Storage)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table; `etag` is set on rows that were read or written."""

    partition: str
    key: str
    values: Mapping[str, Value] = field(default_factory=dict)
    etag: str = ""


MAX_CELL_BYTES = 64 * 1024
MAX_ROW_BYTES = 1024 * 1024
MAX_KEY = 1024
_FORBIDDEN_IN_KEYS = frozenset("/\\#?")


def refuse_too_large(row: Row) -> None:
    """Raise ValueError where Azure Table Storage would refuse a row, so that no store is more lenient than it."""
    for key in (row.partition, row.key):
        if len(key) > MAX_KEY or _FORBIDDEN_IN_KEYS & set(key) or not key.isprintable():
            raise ValueError(f"not a valid key of a table: {key[:80]!r}")
    cells = [value for value in row.values.values() if isinstance(value, str | bytes)]
    sizes = [2 * len(cell) if isinstance(cell, str) else len(cell) for cell in cells]
    if any(size > MAX_CELL_BYTES for size in sizes) or sum(sizes) > MAX_ROW_BYTES:
        raise ValueError(f"row {row.key[:80]!r} holds more than a table takes")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobFact:
    """A blob in a listing: its size in bytes, and when it was last written."""

    name: str
    size: int
    arrived: datetime


class Lease(Protocol):
    """A lease: only one holder has it at a time."""

    def renew(self) -> bool:
        """Hold it for its whole length again; False when it was lost."""

    def release(self) -> None:
        """Release it. Nothing happens when it was lost."""


class Storage(Protocol):
    """Blobs, tables and leases."""

    def put_new(self, container: str, name: str, data: bytes) -> bool:
        """Write a blob that is not there yet; False, and nothing changed, when it is."""

    def get(self, container: str, name: str) -> bytes | None:
        """A blob's content, None when there is none."""

    def get_part(self, container: str, name: str, offset: int, length: int) -> bytes | None:
        """So many bytes of a blob from an offset on, fewer where it ends before; None when there is no such blob."""

    def delete_blob(self, container: str, name: str) -> None:
        """Remove a blob. One that is not there counts as removed."""

    def blobs(self, container: str, prefix: str = "") -> Iterator[BlobFact]:
        """All blobs whose names start with `prefix`, by name."""

    def insert(self, table: str, row: Row) -> str | None:
        """Write a row that is not there yet: its etag, or None, and nothing changed, when it is."""

    def upsert(self, table: str, row: Row) -> str:
        """Write a row in place of any that is there: its new etag."""

    def upsert_all(self, table: str, rows: Sequence[Row]) -> None:
        """Write rows of one partition in place of any that are there, in their order: a few one by one, more in calls
        of a hundred. If it is interrupted, only the first of them may be written.
        """

    def replace(self, table: str, row: Row) -> str | None:
        """Write a row over the one with `row.etag`: the new etag, or None when it has changed or gone, or is empty."""

    def delete(self, table: str, partition: str, key: str, etag: str | None = None) -> bool:
        """Remove a row: False when it has changed since `etag`, which an empty one always means. One that is not there
        counts as removed.
        """

    def read(self, table: str, partition: str, key: str) -> Row | None:
        """One row, None when there is none."""

    def partition(self, table: str, partition: str, *, since: str = "", before: str = "") -> Iterator[Row]:
        """The rows of a partition, by key: those whose keys are at least `since` and below `before`, where given."""

    def scan(self, table: str) -> Iterator[Row]:
        """All rows of a table: for people and repairs, never on the hot path."""

    def lease(self, name: str, seconds: int) -> Lease | None:
        """Acquire the lease of this name for 15 to 60 seconds; None when another holder has it."""
