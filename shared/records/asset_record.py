"""What is known of one data set: what the catalog has of it, the columns that processes report of it, when applications
created, dropped or renamed it, and what a data contract promises of it, from before its first run.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from functools import reduce
from itertools import chain
from operator import itemgetter, or_
from typing import NamedTuple

import msgspec
from msgspec import structs

from shared.catalog.port import AssetKey
from shared.model import NOTHING_DECLARED, Asset, AssetSchema, Declared, QualityTest, latest_tests
from shared.records.cells import PackedCell
from shared.records.waits import NEVER, NOTHING_BEGUN, Landing
from shared.storage.port import Row, Storage
from shared.storage_layout import ASSET_PARTITION, asset_key

_COLUMNS = "columns"


class PromiseStatus(StrEnum):
    """Nobody has written the data set yet; a completed run has; it has, and not everything holds that was promised."""

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    DEGRADED = "DEGRADED"


class Promise(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A contract's promise. `source`: the contract's id; `title`: its name and version, for people; `columns`: pairs of
    name and type; `declared`: owner and description; `is_written`: a completed run has written the data set; `broken`:
    the demands that were broken when the contract was applied last.
    """

    source: str
    title: str
    columns: tuple[tuple[str, str], ...] = ()
    declared: Declared = NOTHING_DECLARED
    is_written: bool = False
    broken: tuple[str, ...] = ()

    def written(self, columns: Iterable[str] = ()) -> "Promise":
        """This, after a completed run. `columns`: all that runs wrote, none where they are not known."""
        column_names = {name.lower() for name in columns}
        broken = set(self.broken)
        if column_names and any(name.lower() not in column_names for name, _ in self.columns):
            broken.add(_COLUMNS)
        return structs.replace(self, is_written=True, broken=tuple(sorted(broken)))

    @property
    def status(self) -> PromiseStatus:
        """The status for people."""
        if not self.is_written:
            return PromiseStatus.PENDING
        return PromiseStatus.DEGRADED if self.broken else PromiseStatus.ACTIVE

    @property
    def sentence(self) -> str:
        """The sentence for the catalog."""
        broken = f" ({', '.join(self.broken)})" if self.status is PromiseStatus.DEGRADED else ""
        return f"Promised by {self.title}: {self.status}{broken}."


MAX_APPLICATIONS = 16
"""Applications whose changes of a data set are kept one by one, and may be retracted."""


_ALIVE = frozenset({"CREATE", "OVERWRITE"})


_LOSSES = frozenset({"DROP", "RENAME"})


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
        changes = [(time, state in _ALIVE, state) for state, time in self.times.items() if state in _ALIVE | _LOSSES]
        loss_time, is_alive, state = max(changes, default=(NEVER, True, ""))
        if is_alive:
            return ""
        return (
            f"Renamed to {self.became} on {loss_time:%Y-%m-%d}."
            if state == "RENAME"
            else f"Dropped on {loss_time:%Y-%m-%d}."
        )


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
        users = {
            (earlier.columns, earlier.declared): ({*earlier.writers} - {process}, {*earlier.readers} - {process})
            for earlier in self.reports
        }
        if report:
            writers, readers = users.setdefault((report.columns, report.declared), (set(), set()))
            writers.update(report.writers)
            readers.update(report.readers)
        reports = [
            ColumnReport(
                columns=columns, declared=declared, writers=tuple(sorted(writers)), readers=tuple(sorted(readers))
            )
            for (columns, declared), (writers, readers) in users.items()
            if writers or readers
        ]
        ordered = sorted(reports, key=lambda column_report: (column_report.writers, column_report.readers))
        return structs.replace(self, reports=tuple(ordered))

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
    of_writers = _by_process((name, report) for report in reports for name in report.writers)
    of_readers = _by_process((name, report) for report in reports for name in report.readers)
    declared = reduce(or_, (report.declared for report in (*of_writers, *of_readers)), NOTHING_DECLARED)
    return AssetSchema(
        qualified_name=key[1],
        columns=_columns(of_writers) or _columns(of_readers),
        declared=structs.replace(declared, tags=()),
    )


def _by_process(reports: Iterable[tuple[str, ColumnReport]]) -> list[ColumnReport]:
    return [report for _, report in sorted(reports, key=itemgetter(0))]


def _columns(reports: Iterable[ColumnReport]) -> tuple[tuple[str, str], ...]:
    types: dict[str, str] = {}
    for report in reports:
        for name, kind in report.columns:
            types.setdefault(name, kind)
    return tuple(types.items())
