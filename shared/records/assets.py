"""What is known of data sets: a row of `assets` for each, which only the publisher writes.

It holds what the catalog has of the data set, the columns that processes report of it, and when applications created,
dropped or renamed it. The publisher computes from these what our placeholder should show, and notes what it shows.
"""

import logging
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from uuid import uuid4

from msgspec import structs

from shared.catalog.port import AssetKey
from shared.errors import ContentLost, WriteConflict
from shared.records.asset_record import AssetRecord, AssetState, LastWrite
from shared.records.ledger import ledger_entries, request_rewrite
from shared.records.publish_queue import claim, enqueue, owner_of
from shared.storage.port import Operation, OperationKind, Row, Storage, chunks
from shared.storage_layout import ASSET_PARTITION, ASSETS, asset_key

_LOG = logging.getLogger("throughline.assets")

_PAGE = 1000
_AFTER_ALL = "~"
"""After the keys of all rows, which are hexadecimal."""
_MOST_CACHED = 20_000


def all_assets(storage: Storage) -> Iterator[AssetRecord]:
    """The records of all data sets, read page by page; those whose blobs are lost are left out."""
    rows = storage.partition(ASSETS, ASSET_PARTITION)
    yield from filter(None, (_readable(row, storage) for row in rows))


def read_assets(storage: Storage, keys: Iterable[AssetKey]) -> dict[AssetKey, AssetRecord]:
    """The records of these data sets, as far as there are any: a point read each."""
    return {record.own: record for record in records_by_key(storage, dict.fromkeys(map(asset_key, keys)))}


def records_by_key(storage: Storage, keys: Iterable[str]) -> Iterator[AssetRecord]:
    """The records with these keys of rows, as far as there are any: a point read each."""
    for key in keys:
        row = storage.read(ASSETS, ASSET_PARTITION, key)
        if row and (record := _readable(row, storage)):
            yield record


def asset_states(storage: Storage) -> tuple[AssetState, ...]:
    """The states of all data sets that applications changed as a whole, by qualified name."""
    states = (record.state for record in all_assets(storage))
    return tuple(sorted(filter(None, states), key=lambda state: (state.asset.qualified_name, state.asset.type)))


def _readable(row: Row, storage: Storage) -> AssetRecord | None:
    """The record in a row; None where its blob is lost."""
    try:
        return AssetRecord.of(row, storage)
    except ContentLost as error:
        _LOG.warning("asset record lost key=%s error=%s", row.key, error)
        return None


class AssetRows:
    """The rows of `assets` in the memory of a publisher: read once, written together.

    They are valid while this process is the one that published last (`claim`); writes are conditional in any case. The
    table is read page by page from its beginning, as far as single reads would have cost the same, so that soon all
    rows are known, and those that do not exist.
    """

    def __init__(self) -> None:
        self._owner = uuid4().hex
        self._records: dict[str, AssetRecord | None] = {}
        self._changed: dict[str, AssetRecord] = {}
        self._until = ""
        """All rows with smaller keys have been read."""
        self._use = threading.Lock()

    @contextmanager
    def borrowed(self) -> Iterator["AssetRows"]:
        """These rows for one drain. Where another drain of this process has them (it has lost its lease, and does not
        know yet), rows of their own, which are read anew.
        """
        if not self._use.acquire(blocking=False):
            yield AssetRows()
            return
        try:
            yield self
        finally:
            self._use.release()

    def claim(self, storage: Storage, owner: str | None = None) -> None:
        """Begin to publish. `owner`: the process that published last; it is read where it is not given."""
        self._changed.clear()
        owner = owner_of(storage) if owner is None else owner
        if owner != self._owner or len(self._records) > 2 * _MOST_CACHED:
            self.forget()
        if owner != self._owner:
            claim(storage, self._owner)

    def forget(self) -> None:
        """Forget all rows, since another process may have changed them."""
        self._records.clear()
        self._changed.clear()
        self._until = ""

    def read(self, storage: Storage, keys: Iterable[AssetKey]) -> dict[AssetKey, AssetRecord]:
        """The records of these data sets, as far as there are any."""
        by_key = {asset_key(key): key for key in keys}
        records = self.by_key(storage, by_key)
        return {by_key[key]: record for key, record in records.items()}

    def by_key(self, storage: Storage, keys: Collection[str]) -> dict[str, AssetRecord]:
        """The records of these keys, as far as there are any."""
        missing = sorted(key for key in keys if not self._has_read(key))
        if missing:
            self._read_on(storage, len(missing) * _PAGE)
        self.refresh(storage, (key for key in missing if not self._has_read(key)))
        return {key: record for key in keys if (record := self._changed.get(key) or self._records.get(key))}

    def refresh(self, storage: Storage, keys: Iterable[str]) -> None:
        """Read these rows, or read them again: a publisher that had lost its lease may have written them since."""
        for key in keys:
            row = storage.read(ASSETS, ASSET_PARTITION, key)
            self._records[key] = self._record(row, storage) if row else None

    def put(self, record: AssetRecord) -> None:
        """Note a record, to be written by `flush`."""
        key = asset_key(record.own)
        if record != (self._changed.get(key) or self._records.get(key)):
            self._changed[key] = record

    def note_write(self, key: str, process: str, write: LastWrite | None) -> None:
        """Note the last write of a process in the record of a data set (by key), if that was read. It is no reason to
        write the record: it goes with the next one.
        """
        records = self._changed if key in self._changed else self._records
        if record := records.get(key):
            records[key] = record.with_write(process, write)

    def flush(self, storage: Storage) -> None:
        """Write what was noted. Raises WriteConflict, and forgets all rows, where another process wrote one of them."""
        operations = []
        for key, record in sorted(self._changed.items()):
            stored = self._records.get(key)
            row = replace(record.row(storage), etag=stored.etag if stored else "")
            operations.append(Operation(kind=OperationKind.REPLACE if row.etag else OperationKind.INSERT, row=row))
        for part in chunks(operations):
            etags = storage.transact(ASSETS, part)
            if etags is None:
                self.forget()
                raise WriteConflict("Another publisher has changed what is known of a data set", after=2)
            for operation, etag in zip(part, etags, strict=True):
                key = operation.row.key
                self._records[key] = structs.replace(self._changed.pop(key), etag=etag)

    def _has_read(self, key: str) -> bool:
        return key in self._records or key in self._changed or key < self._until

    def _read_on(self, storage: Storage, limit: int) -> None:
        """Read the next rows of the table, so many at most."""
        limit = min(limit, _MOST_CACHED - len(self._records))
        if limit < _PAGE:
            return
        rows = storage.partition(ASSETS, ASSET_PARTITION, since=self._until)
        number = 0
        for row in islice(rows, limit):
            number += 1
            self._until = f"{row.key} "
            if row.key not in self._changed:
                self._records[row.key] = self._record(row, storage)
        if number < limit:
            self._until = _AFTER_ALL

    def _record(self, row: Row, storage: Storage) -> AssetRecord | None:
        """The record in a row. In place of a lost one: None, and the processes that use its data set are written once
        more, so that it is looked up again and they report its columns again. The row goes last.
        """
        record = _readable(row, storage)
        if record is None:
            users = [entry.process for entry in ledger_entries(storage) if row.key in entry.assets]
            for process in users:
                request_rewrite(storage, process)
            enqueue(storage, users)
            storage.delete(ASSETS, row.partition, row.key, row.etag)
        return record
