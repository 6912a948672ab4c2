"""Storage in memory, for tests and for work without a server; also over a real storage that is only read.

Thread-safe.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from uuid import uuid4

from shared.storage.port import BlobFact, Operation, OperationKind, Row, Storage, refuse_misfit, refuse_too_large


class MemoryStorage:
    """The storage port over dictionaries. `clock` gives the seconds by which leases run out, `now` the time at which a
    blob arrives.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.clock = clock
        self.now = now
        self._lock = threading.RLock()
        self._blobs: dict[str, dict[str, tuple[bytes, datetime]]] = {}
        self._tables: dict[str, dict[str, dict[str, Row]]] = {}
        self._leases: dict[str, tuple[str, float]] = {}
        self._etags = count(1)

    def put_new(self, container: str, name: str, data: bytes) -> bool:
        """As the port says."""
        with self._lock:
            blobs = self._blobs.setdefault(container, {})
            if name in blobs:
                return False
            blobs[name] = (bytes(data), self.now())
            return True

    def get(self, container: str, name: str) -> bytes | None:
        """As the port says."""
        blob = self._blobs.get(container, {}).get(name)
        return blob[0] if blob else None

    def get_part(self, container: str, name: str, offset: int, length: int) -> bytes | None:
        """As the port says."""
        content = self.get(container, name)
        return None if content is None else content[offset : offset + length]

    def delete_blob(self, container: str, name: str) -> bool:
        """As the port says. There are no policies here."""
        with self._lock:
            self._blobs.get(container, {}).pop(name, None)
        return True

    def blobs(self, container: str, prefix: str = "") -> Iterator[BlobFact]:
        """As the port says."""
        with self._lock:
            entries = sorted(self._blobs.get(container, {}).items())
        for name, (data, arrived) in entries:
            if name.startswith(prefix):
                yield BlobFact(name=name, size=len(data), arrived=arrived)

    def children(self, container: str, prefix: str = "") -> Iterator[str]:
        """As the port says."""
        rests = (blob.name.removeprefix(prefix).partition("/") for blob in self.blobs(container, prefix))
        return iter(dict.fromkeys(f"{prefix}{name}{slash}" for name, slash, _ in rests))

    def insert(self, table: str, row: Row) -> str | None:
        """As the port says."""
        with self._lock:
            return None if self._row(table, row.partition, row.key) else self._write(table, row)

    def upsert(self, table: str, row: Row) -> str:
        """As the port says."""
        with self._lock:
            return self._write(table, row)

    def replace(self, table: str, row: Row) -> str | None:
        """As the port says."""
        with self._lock:
            stored = self._row(table, row.partition, row.key)
            return self._write(table, row) if stored and stored.etag == row.etag else None

    def delete(self, table: str, partition: str, key: str, etag: str | None = None) -> bool:
        """As the port says."""
        with self._lock:
            stored = self._row(table, partition, key)
            if stored and etag is not None and stored.etag != etag:
                return False
            self._tables.get(table, {}).get(partition, {}).pop(key, None)
            return True

    def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str, ...] | None:
        """As the port says."""
        refuse_misfit(operations)
        with self._lock:
            if not all(self._allows(table, operation) for operation in operations):
                return None
            return tuple(self._execute(table, operation) for operation in operations)

    def read(self, table: str, partition: str, key: str) -> Row | None:
        """As the port says."""
        return self._row(table, partition, key)

    def partition(self, table: str, partition: str, *, since: str = "", before: str = "") -> Iterator[Row]:
        """As the port says."""
        with self._lock:
            rows = sorted(self._tables.get(table, {}).get(partition, {}).items())
        return (row for key, row in rows if since <= key and (not before or key < before))

    def scan(self, table: str) -> Iterator[Row]:
        """As the port says."""
        with self._lock:
            rows_in_order = [
                row for _, rows in sorted(self._tables.get(table, {}).items()) for _, row in sorted(rows.items())
            ]
        return iter(rows_in_order)

    def lease(self, name: str, seconds: int) -> "MemoryLease | None":
        """As the port says."""
        with self._lock:
            holder = self._leases.get(name)
            if holder and holder[1] > self.clock():
                return None
            lease = MemoryLease(storage=self, name=name, holder=uuid4().hex, seconds=seconds)
            self._leases[name] = (lease.holder, self.clock() + seconds)
            return lease

    def _row(self, table: str, partition: str, key: str) -> Row | None:
        return self._tables.get(table, {}).get(partition, {}).get(key)

    def _allows(self, table: str, operation: Operation) -> bool:
        row = operation.row
        stored = self._row(table, row.partition, row.key)
        match operation.kind:
            case OperationKind.INSERT:
                return stored is None
            case OperationKind.UPSERT:
                return True
            case OperationKind.REPLACE:
                return stored is not None and stored.etag == row.etag
            case OperationKind.DELETE:
                return stored is not None and row.etag in {"", stored.etag}

    def _execute(self, table: str, operation: Operation) -> str:
        row = operation.row
        if operation.kind is not OperationKind.DELETE:
            return self._write(table, row)
        del self._tables[table][row.partition][row.key]
        return ""

    def _write(self, table: str, row: Row) -> str:
        refuse_too_large(row)
        etag = f'W/"{next(self._etags)}"'
        rows = self._tables.setdefault(table, {}).setdefault(row.partition, {})
        rows[row.key] = Row(partition=row.partition, key=row.key, values=dict(row.values), etag=etag)
        return etag


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLease:
    """A lease on MemoryStorage."""

    storage: MemoryStorage
    name: str
    holder: str
    seconds: int

    def renew(self) -> bool:
        """As the port says."""
        with self.storage._lock:  # noqa: SLF001 - one class in two parts
            is_own = self.storage._leases.get(self.name, ("", 0.0))[0] == self.holder  # noqa: SLF001
            if is_own:
                self.storage._leases[self.name] = (self.holder, self.storage.clock() + self.seconds)  # noqa: SLF001
            return is_own

    def release(self) -> None:
        """As the port says."""
        with self.storage._lock:  # noqa: SLF001
            if self.storage._leases.get(self.name, ("", 0.0))[0] == self.holder:  # noqa: SLF001
                del self.storage._leases[self.name]  # noqa: SLF001


class ScratchStorage(MemoryStorage):
    """Tables in memory, empty at first, over the blobs of a real storage."""

    def __init__(self, real: Storage) -> None:
        super().__init__()
        self._real = real

    def get(self, container: str, name: str) -> bytes | None:
        """As the port says."""
        content = super().get(container, name)
        return self._real.get(container, name) if content is None else content

    def get_part(self, container: str, name: str, offset: int, length: int) -> bytes | None:
        """As the port says."""
        return self._real.get_part(container, name, offset, length)

    def blobs(self, container: str, prefix: str = "") -> Iterator[BlobFact]:
        """As the port says, without what was written here."""
        return self._real.blobs(container, prefix)
