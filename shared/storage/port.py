"""The storage port: the operations on blobs, tables and leases that Throughline needs.

Implemented by `MemoryStorage` and `AzureStorage`, and tested by one contract suite. Every method raises
StorageUnavailable when the store does not answer. Containers and tables are created when first written.

One writer at a time: the loop that changes a row against concurrent writers, and sessions of work under a lease.

The loop: read, change, write if unchanged, try again. Etags and conditional writes: Azure Table Storage, "Managing
concurrency in Table storage" (If-Match). Only one worker holds a lease at a time.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from itertools import groupby
from operator import attrgetter
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from shared.errors import WriteConflict

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


class OperationKind(Enum):
    """What an operation of a transaction does with its row, and when it is refused."""

    INSERT = "insert"
    """Write a row that is not there yet: refused when it is."""
    UPSERT = "upsert"
    """Write a row in place of any that is there: never refused."""
    REPLACE = "replace"
    """Write a row over the one with `row.etag`: refused when it has changed or gone, or is empty."""
    DELETE = "delete"
    """Remove the row with `row.etag`, or with any where that is empty: refused when it has changed or gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One write of a transaction. A DELETE needs no values."""

    kind: OperationKind
    row: Row


MAX_OPERATIONS = 100
MAX_TRANSACTION_BYTES = 4 * 1024 * 1024
"""Of a transaction (Azure Table Storage, "Performing entity group transactions")."""
_OPERATION_BYTES = 1024
_KEY_CHARACTER_BYTES = 16
_CELL_BYTES = 300
"""Bytes at most of what surrounds the values in a request: headers; a character of a key, which is sent in the address
and in the body; a cell's name and type.
"""


def chunks(operations: Sequence[Operation]) -> Iterator[tuple[Operation, ...]]:
    """Divide operations, in their order, into transactions that fit: at most a hundred operations and 4 MiB, each row
    once.

    The bytes are bounded from above, so a part may be a little smaller than it could be. A part holds at least one
    operation.
    """
    part: list[Operation] = []
    keys: set[str] = set()
    size = 0
    for operation in operations:
        bytes_more = _size(operation)
        full = len(part) == MAX_OPERATIONS or size + bytes_more > MAX_TRANSACTION_BYTES
        if part and (full or operation.row.key in keys):
            yield tuple(part)
            part, keys, size = [], set(), 0
        part.append(operation)
        keys.add(operation.row.key)
        size += bytes_more
    if part:
        yield tuple(part)


def _size(operation: Operation) -> int:
    """The bytes that an operation takes in a request, at most."""
    row = operation.row
    overhead = (
        _OPERATION_BYTES + _KEY_CHARACTER_BYTES * (len(row.partition) + len(row.key)) + _CELL_BYTES * len(row.values)
    )
    return overhead + len(msgspec.json.encode(row.values))


def refuse_misfit(operations: Sequence[Operation]) -> None:
    """Raise ValueError where Azure Table Storage would refuse a transaction, whatever its rows meet."""
    if len({operation.row.partition for operation in operations}) > 1:
        raise ValueError("the rows of a transaction must lie in one partition")
    if len(tuple(chunks(operations))) > 1:
        raise ValueError("a transaction holds more operations or bytes than one takes, or a row twice: use `chunks`")
    for operation in operations:
        refuse_too_large(operation.row)


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

    def delete_blob(self, container: str, name: str) -> bool:
        """Remove a blob: False, and nothing changed, where an immutability policy or a legal hold of the container
        refuses that. One that is not there counts as removed.
        """

    def blobs(self, container: str, prefix: str = "") -> Iterator[BlobFact]:
        """All blobs whose names start with `prefix`, by name."""

    def children(self, container: str, prefix: str = "") -> Iterator[str]:
        """The names of the folders and blobs directly below a `prefix` (empty, or one that ends with a slash), by name:
        each with the prefix, a folder with a slash at its end.
        """

    def insert(self, table: str, row: Row) -> str | None:
        """Write a row that is not there yet: its etag, or None, and nothing changed, when it is."""

    def upsert(self, table: str, row: Row) -> str:
        """Write a row in place of any that is there: its new etag."""

    def replace(self, table: str, row: Row) -> str | None:
        """Write a row over the one with `row.etag`: the new etag, or None when it has changed or gone, or is empty."""

    def delete(self, table: str, partition: str, key: str, etag: str | None = None) -> bool:
        """Remove a row: False when it has changed since `etag`, which an empty one always means. One that is not there
        counts as removed.
        """

    def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str, ...] | None:
        """Execute operations on rows of one partition, all or none: the new etags in their order, an empty one for a
        DELETE; None, and nothing changed, when an operation is refused.

        Raises ValueError for operations that `chunks` would divide, or of several partitions. None of a transaction
        whose answer was lost may mean that it took effect.
        """

    def read(self, table: str, partition: str, key: str) -> Row | None:
        """One row, None when there is none."""

    def partition(self, table: str, partition: str, *, since: str = "", before: str = "") -> Iterator[Row]:
        """The rows of a partition, by key: those whose keys are at least `since` and below `before`, where given."""

    def scan(self, table: str) -> Iterator[Row]:
        """All rows of a table: for people and repairs, never on the hot path."""

    def lease(self, name: str, seconds: int) -> Lease | None:
        """Acquire the lease of this name for 15 to 60 seconds; None when another holder has it."""


def upsert_all(storage: Storage, table: str, rows: Iterable[Row]) -> None:
    """Write rows in place of any that are there: a transaction for each hundred of a partition, in their order. If it
    is interrupted, only the first of them may be written.
    """
    partition = attrgetter("partition")
    for _, group in groupby(sorted(rows, key=partition), key=partition):
        for part in chunks([Operation(kind=OperationKind.UPSERT, row=row) for row in group]):
            storage.transact(table, part)


T = TypeVar("T")

MAX_ATTEMPTS = 8
_FIRST_BACKOFF = 0.005
"""Seconds: about one call to storage. The wait before attempt n is random, up to 2^n of these."""


class RowAddress(NamedTuple):
    """A row's address."""

    table: str
    partition: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Swapped(Generic[T]):
    """A row's value `before` and `after` the change, None for no row; `etag` of the row as it is now."""

    before: T | None
    after: T | None
    etag: str = ""


def compare_and_swap(
    storage: Storage,
    place: RowAddress,
    change: Callable[[T | None], T | None],
    *,
    decode: Callable[[Row], T],
    encode: Callable[[T], Row],
    sleep: Callable[[float], object] = time.sleep,
) -> Swapped[T]:
    """Change one row, whatever other workers write to it.

    `change` maps the value on record (None: no row) to the one wanted. An equal value writes nothing, None deletes the
    row. It is called once for each attempt, so it should be pure. `sleep` waits between attempts.

    Raises WriteConflict after MAX_ATTEMPTS, and what storage, `decode`, `change` and `encode` raise.
    """
    for attempt in range(MAX_ATTEMPTS):
        if attempt:
            sleep(random.uniform(0, _FIRST_BACKOFF * 2**attempt))
        row = storage.read(*place)
        old = decode(row) if row else None
        new = change(old)
        etag = row.etag if row else ""
        if old == new:
            return Swapped(before=old, after=new, etag=etag)
        if new is None:
            if storage.delete(*place, etag):
                return Swapped(before=old, after=None)
        elif etag_written := write_if_unchanged(storage, place.table, replace(encode(new), etag=etag)):
            return Swapped(before=old, after=new, etag=etag_written)
    raise WriteConflict(
        f"Row {place.key[:80]} of {place.table} was changed by others during each of {MAX_ATTEMPTS} attempts to write"
        " it: this work is tried again",
        after=2,
    )


def write_if_unchanged(storage: Storage, table: str, row: Row) -> str | None:
    """Write a row over the one with `row.etag`, or as a new one where that is empty.

    Returns the new etag; None, and nothing written, when another worker changed, deleted or inserted the row meanwhile.
    """
    return storage.replace(table, row) if row.etag else storage.insert(table, row)


_LEASE_SECONDS = 60
_RENEW_AFTER = 20.0
MAX_SESSION = 180.0
"""Seconds; then the next invocation, or the sweeper, continues the work."""


@dataclass(slots=True, kw_only=True)
class LeaseSession:
    """A lease that is held, and when the session began and the lease was renewed, in seconds of `clock`."""

    lease: Lease
    clock: Callable[[], float]
    began: float
    renewed: float

    def may_continue(self, share: float = 1.0) -> bool:
        """Whether there is time for the next piece of work, which may begin within this `share` of the session; renews
        the lease. False too when the lease was lost.
        """
        now = self.clock()
        if now - self.began > MAX_SESSION * share:
            return False
        if now - self.renewed > _RENEW_AFTER:
            self.renewed = now
            return self.lease.renew()
        return True


def start_session(storage: Storage, name: str, clock: Callable[[], float] = time.monotonic) -> LeaseSession | None:
    """Acquire the lease of this name; None when another worker holds it. `clock` gives monotonic seconds."""
    began = clock()  # before the call: the lease may have begun before its answer came
    lease = storage.lease(name, _LEASE_SECONDS)
    return LeaseSession(lease=lease, clock=clock, began=began, renewed=began) if lease else None


@contextmanager
def session_of(
    storage: Storage, name: str, clock: Callable[[], float] = time.monotonic
) -> Iterator[LeaseSession | None]:
    """The same for the time of a block, after which the lease is released."""
    session = start_session(storage, name, clock)
    try:
        yield session
    finally:
        if session:
            session.lease.release()
