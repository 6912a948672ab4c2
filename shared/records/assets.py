"""What is known of data sets: a row of `assets` for each, which only the publisher writes.

It holds what the catalog has of the data set, the columns that processes report of it, and when applications created,
dropped or renamed it. The publisher computes from these what our placeholder should show, and notes what it shows.
"""

import logging
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import reduce
from itertools import chain, islice
from operator import or_
from typing import NamedTuple
from uuid import uuid4

import msgspec
from msgspec import structs

from shared.catalog.port import AssetKey
from shared.errors import ContentLost, WriteConflict
from shared.model import NOTHING_DECLARED, Asset, AssetSchema, Declared, QualityTest, latest_tests
from shared.records.cells import PackedCell
from shared.records.ledger import ledger_entries, request_rewrite
from shared.records.promises import Promise
from shared.records.publish_queue import claim, enqueue, owner_of
from shared.records.waits import NEVER, NOTHING_BEGUN, Landing
from shared.storage.port import Operation, OperationKind, Row, Storage, chunks
from shared.storage_layout import ASSET_PARTITION, ASSETS, asset_key

_LOG = logging.getLogger("throughline.assets")

MAX_APPLICATIONS = 16
"""Applications whose changes of a data set are kept one by one, and may be retracted."""
_ALIVE = frozenset({"CREATE", "OVERWRITE"})
_LOST = frozenset({"DROP", "RENAME"})
_PAGE = 1000
_MOST_CACHED = 20_000


class Change(NamedTuple):
    """A change of a data set as a whole, in the listener's word; `became`: the qualified name that a RENAME gave."""

    at: datetime
    state: str
    became: str = ""


class LastWrite(NamedTuple):
    """When a process (by qualified name) last wrote a data set, and the line that says so to people."""

    time: datetime
    process: str
    text: str


class ColumnReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Columns (pairs of name and type), owner and description that processes report of a data set in equal words: the
    qualified names of those that write it and of those that read it.
    """

    columns: tuple[tuple[str, str], ...] = ()
    declared: Declared = NOTHING_DECLARED
    writers: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()


class AssetState(msgspec.Struct, frozen=True, kw_only=True):
    """A data set with the last time of each change of its state; `became` is its present name once it was renamed."""

    asset: Asset
    times: dict[str, datetime] = {}
    became: str = ""

    @property
    def sentence(self) -> str:
        """The sentence for the catalog: dropped or renamed, and when; empty while the data set exists."""
        alive = max((moment for state, moment in self.times.items() if state in _ALIVE), default=None)
        lost = max(((moment, state) for state, moment in self.times.items() if state in _LOST), default=None)
        if lost is None or (alive and alive >= lost[0]):
            return ""
        at, state = lost
        return f"Renamed to {self.became} on {at:%Y-%m-%d}." if state == "RENAME" else f"Dropped on {at:%Y-%m-%d}."


class AssetRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one of our data sets, `key` in the catalog; `asset`: as events name it.

    The catalog has of it the asset that a scan found (`scanned`), which it may have found under the names in `also`,
    else our placeholder. The `guid` is empty where there is neither. `rivals`: scanned assets of which one is meant,
    and nothing decides which; `because`: why the scanned one won. `left`: our placeholder is there although a scan has
    found the asset; `moved`: when the processes that used it were enqueued to leave it, or the catalog did not name
    them. `at`: when the catalog was asked. `searched`: when an asset without a placeholder was searched for, and the
    result: a search is a call for each asset, and is not repeated where work was cut off in between.

    `reports`: the columns that processes report; `changes`: of the data set as a whole, by application, and by older
    ones (`folded`). `last_write`: by whichever process; `tests`: the last results of its quality tests. `shown`: digest
    of the placeholder as it was described last, empty where that is not known; `with_columns`: it may have columns that
    we wrote; `landing`: when calls that describe it may take effect. `promise`: what a contract says of it.
    """

    own: AssetKey
    asset: Asset | None = None
    also: tuple[AssetKey, ...] = ()
    scanned: AssetKey | None = None
    because: str = ""
    guid: str = ""
    rivals: tuple[AssetKey, ...] = ()
    left: bool = False
    moved: datetime | None = None
    at: datetime = NEVER
    searched: tuple[datetime, tuple[AssetKey, ...]] | None = None
    reports: tuple[ColumnReport, ...] = ()
    changes: dict[str, tuple[Change, ...]] = {}
    folded: tuple[Change, ...] = ()
    last_write: LastWrite | None = None
    tests: tuple[QualityTest, ...] = ()
    shown: str = ""
    with_columns: bool = True
    landing: Landing = NOTHING_BEGUN
    promise: Promise | None = None
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
        """Whether it is to be looked up again, since it was not there or longer ago than `believed`."""
        return not self.guid or now - self.at >= believed

    @property
    def state(self) -> AssetState | None:
        """Its state after all changes, in any order of arrival; None without any."""
        changes = sorted(chain(self.folded, *self.changes.values()))
        if self.asset is None or not changes:
            return None
        became = next((change.became for change in reversed(changes) if change.state == "RENAME"), "")
        return AssetState(asset=self.asset, times={change.state: change.at for change in changes}, became=became)

    @property
    def schema(self) -> AssetSchema:
        """The columns, owner and description that it should have: columns as runs report them, else as promised; owner
        and description as promised, else as events declare them.
        """
        reported = merged_reports(self.own, self.reports)
        if self.promise is None:
            return reported
        return structs.replace(
            reported,
            columns=reported.columns or self.promise.columns,
            declared=self.promise.declared | reported.declared,
        )

    @property
    def promise_now(self) -> Promise | None:
        """The promise after all that runs reported; None without one."""
        if self.promise is None:
            return None
        is_made = any(change.state in _ALIVE for change in chain(self.folded, *self.changes.values()))
        if not (is_made or self.promise.is_written):
            return self.promise
        return self.promise.written(name for report in self.reports if report.writers for name, _ in report.columns)

    def completed(self) -> "AssetRecord":
        """After a completed run wrote it."""
        if self.promise is None or self.promise.is_written:
            return self
        return structs.replace(self, promise=structs.replace(self.promise, is_written=True))

    def with_changes(self, application: str, asset: Asset | None, changes: tuple[Change, ...]) -> "AssetRecord":
        """With the changes of an application in place of its earlier ones; of too many applications the changes of the
        oldest can't be retracted any more.
        """
        by_application = {name: changes for name, changes in self.changes.items() if name != application}
        if changes:
            by_application[application] = changes
        folded = self.folded
        if len(by_application) > MAX_APPLICATIONS:
            oldest = min(by_application, key=lambda name: (by_application[name][-1].at, name))
            latest = {change.state: change for change in sorted((*folded, *by_application.pop(oldest)))}
            folded = tuple(sorted(latest.values()))
        return structs.replace(self, asset=self.asset or asset, changes=by_application, folded=folded)

    def with_tests(self, tests: tuple[QualityTest, ...]) -> "AssetRecord":
        """With these results of quality tests, as far as they are the last ones."""
        return structs.replace(self, tests=latest_tests((*self.tests, *tests)))

    def with_write(self, process: str, write: LastWrite | None) -> "AssetRecord":
        """With the last write of a process (by qualified name) in place of its earlier one, unless another process
        wrote later; None: it wrote nothing.
        """
        writes = [self.last_write] if self.last_write and self.last_write.process != process else []
        return structs.replace(self, last_write=max([*writes, *([write] if write else [])], default=None))

    def with_report(self, process: str, report: ColumnReport | None) -> "AssetRecord":
        """With what a process (by qualified name) reports in place of what it reported so far; None: nothing."""
        rest = [
            structs.replace(
                earlier,
                writers=tuple(name for name in earlier.writers if name != process),
                readers=tuple(name for name in earlier.readers if name != process),
            )
            for earlier in self.reports
        ]
        reports = [earlier for earlier in rest if earlier.writers or earlier.readers]
        if report:
            words = (report.columns, report.declared)
            same = [earlier for earlier in reports if (earlier.columns, earlier.declared) == words]
            reports = [earlier for earlier in reports if earlier not in same]
            writers = {*report.writers, *(name for earlier in same for name in earlier.writers)}
            readers = {*report.readers, *(name for earlier in same for name in earlier.readers)}
            reports.append(structs.replace(report, writers=tuple(sorted(writers)), readers=tuple(sorted(readers))))
        return structs.replace(self, reports=tuple(sorted(reports, key=lambda one: (one.writers, one.readers))))

    def row(self, storage: Storage) -> Row:
        """As a row of `assets`."""
        values = _RECORD.pack(storage, structs.replace(self, etag=""))
        return Row(partition=ASSET_PARTITION, key=asset_key(self.own), values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row, storage: Storage) -> "AssetRecord":
        """From a row of `assets`. Raises ContentLost."""
        return structs.replace(_RECORD.unpack(storage, row), etag=row.etag)


_RECORD = PackedCell(name="asset", decoder=msgspec.json.Decoder(AssetRecord))


def merged_reports(key: AssetKey, reports: Iterable[ColumnReport]) -> AssetSchema:
    """The schema of an asset: all columns that its writers report, or, without any, all that its readers report; its
    owner and description, of its writers, or else of its readers. Where processes contradict one another, the first one
    by name counts. Pure.
    """
    reports = tuple(reports)
    written = sorted(((name, report) for report in reports for name in report.writers), key=lambda pair: pair[0])
    read = sorted(((name, report) for report in reports for name in report.readers), key=lambda pair: pair[0])
    ordered = [report for _, report in (*written, *read)]
    columns = _columns(report for _, report in written) or _columns(report for _, report in read)
    declared = reduce(or_, (report.declared for report in ordered), NOTHING_DECLARED)
    return AssetSchema(qualified_name=key[1], columns=columns, declared=structs.replace(declared, tags=()))


def _columns(reports: Iterable[ColumnReport]) -> tuple[tuple[str, str], ...]:
    types: dict[str, str] = {}
    for report in reports:
        for name, kind in report.columns:
            types.setdefault(name, kind)
    return tuple(types.items())


def all_assets(storage: Storage) -> Iterator[AssetRecord]:
    """The records of all data sets, read page by page; those whose blobs are lost are left out."""
    for row in storage.partition(ASSETS, ASSET_PARTITION):
        record = _readable(row, storage)
        if record:
            yield record


def read_assets(storage: Storage, keys: Iterable[AssetKey]) -> dict[AssetKey, AssetRecord]:
    """The records of these data sets, as far as there are any: a point read each."""
    rows = {key: storage.read(ASSETS, ASSET_PARTITION, asset_key(key)) for key in keys}
    records = {key: _readable(row, storage) for key, row in rows.items() if row}
    return {key: record for key, record in records.items() if record}


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
        self._lost: dict[str, str] = {}
        """The etags of rows whose blobs are lost."""
        self._until = ""
        """All rows with smaller keys have been read."""
        self._is_whole = False
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
        self._lost.clear()
        self._until, self._is_whole = "", False

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
        for key in missing:
            if not self._has_read(key):
                row = storage.read(ASSETS, ASSET_PARTITION, key)
                self._records[key] = self._record(row, storage) if row else None
        return {key: record for key in keys if (record := self._changed.get(key) or self._records.get(key))}

    def refresh(self, storage: Storage, keys: Iterable[str]) -> None:
        """Read these rows again: a publisher that had lost its lease may have written them since."""
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
            row = replace(record.row(storage), etag=stored.etag if stored else self._lost.get(key, ""))
            operations.append(Operation(kind=OperationKind.REPLACE if row.etag else OperationKind.INSERT, row=row))
        for part in chunks(operations):
            etags = storage.transact(ASSETS, part)
            if etags is None:
                self.forget()
                raise WriteConflict("Another publisher has changed what is known of a data set", after=2)
            for operation, etag in zip(part, etags, strict=True):
                key = operation.row.key
                self._records[key] = structs.replace(self._changed.pop(key), etag=etag)
                self._lost.pop(key, None)

    def _has_read(self, key: str) -> bool:
        return key in self._records or key in self._changed or self._is_whole or key < self._until

    def _read_on(self, storage: Storage, most: int) -> None:
        """Read the next rows of the table, so many at most."""
        most = min(most, _MOST_CACHED - len(self._records))
        if most < _PAGE:
            return
        rows = storage.partition(ASSETS, ASSET_PARTITION, since=self._until)
        number = 0
        for row in islice(rows, most):
            number += 1
            self._until = f"{row.key} "
            if row.key not in self._changed:
                self._records[row.key] = self._record(row, storage)
        self._is_whole = number < most

    def _record(self, row: Row, storage: Storage) -> AssetRecord | None:
        """The record in a row. In place of a lost one: None, and the processes that use its data set are written once
        more, so that it is looked up again and they report its columns again.
        """
        record = _readable(row, storage)
        if record is None:
            self._lost[row.key] = row.etag
            users = [entry.process for entry in ledger_entries(storage) if row.key in entry.assets]
            for process in users:
                request_rewrite(storage, process)
            enqueue(storage, users)
        return record
