"""Columns of placeholders, merged from the schemas that processes report. The schema of a scanned asset is never
changed.

The row of a placeholder in `assetmatches` holds the processes that may report its columns (`column_sources`) and the
columns that it has. The ledger entry of a process holds a digest of its schemas, so that unchanged ones cost nothing,
and the assets whose columns it may have reported. The columns of a placeholder are merged from the current schemas of
all its sources, so that they do not depend on the order of publishing. This converges after any interruption:

1. New schemas change the rows first; then the data sets are enqueued that the process reports or may have reported;
   then the ledger. A row is written also if it has the process already, so that a concurrent update that finds the
   process without schemas can't remove it.
2. The merged schemas may be newer than the published ones, and be retracted before they are published. So the digests
   in the ledger are invalidated before the placeholder is updated: publishing the process enqueues the data set again.
3. An interrupted write may have created data sets with schemas that no row records. Their columns are then unknown, and
   the next process that uses such a row enqueues it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_

import msgspec
from msgspec import structs

from shared.catalog.port import AssetKey
from shared.model import NOTHING_DECLARED, AssetSchema, Process
from shared.publishing.planning.planner import Plan, Reading
from shared.records.asset_matches import AssetMatch, match_by_key, match_key, queue_key, save_matches
from shared.records.ledger import UNKNOWN_DIGEST, LedgerEntry, ledger_entry, put_entry
from shared.records.publish_queue import QueueEntry, enqueue
from shared.records.states import LedgerState
from shared.storage.port import Storage
from shared.storage_layout import QUEUED_ASSET, digest_of

Columns = tuple[tuple[str, str], ...]
"""Pairs of name and type."""
_NO_SCHEMA = AssetSchema(qualified_name="", columns=())


def schema_digest(process: Process | None) -> str:
    """A digest of the schemas that a process reports; empty where there are none."""
    return digest_of(msgspec.json.encode(process.schemas)) if process and process.schemas else ""


def reported_assets(process: Process) -> set[AssetKey]:
    """The assets whose columns a process reports."""
    names = {each.qualified_name for each in process.schemas}
    return {asset.key for asset in (*process.inputs, *process.outputs) if asset.qualified_name in names}


def reported_keys(process: Process | None) -> frozenset[str]:
    """The keys (in `assetmatches`) of the assets whose columns a process reports."""
    return frozenset(map(match_key, reported_assets(process))) if process else frozenset()


def merged_schema(key: AssetKey, processes: Iterable[Process]) -> AssetSchema:
    """The schema of an asset: all columns that its writers report, or, without any, all that its readers report; its
    owner and description, of its writers, or else of its readers. Where processes contradict one another, the first one
    by name counts.
    """
    written: list[AssetSchema] = []
    read: list[AssetSchema] = []
    for process in sorted(processes, key=lambda each: each.qualified_name):
        if key in reported_assets(process):
            schemas = written if key in {asset.key for asset in process.outputs} else read
            schemas += (each for each in process.schemas if each.qualified_name == key[1])
    declared = reduce(or_, (each.declared for each in (*written, *read)), NOTHING_DECLARED)
    return AssetSchema(
        qualified_name=key[1],
        columns=_merged_columns(written) or _merged_columns(read),
        declared=structs.replace(declared, tags=()),
    )


def _merged_columns(schemas: Iterable[AssetSchema]) -> Columns:
    types: dict[str, str] = {}
    for each in schemas:
        for name, kind in each.columns:
            types.setdefault(name, kind)
    return tuple(types.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReport:
    """A data set by its key in `assetmatches`, its row there (`found`), and the `schema` that it should have.

    `sources`: the ledger entry and the current process of each column source.
    """

    key: str
    found: AssetMatch | None
    schema: AssetSchema = _NO_SCHEMA
    sources: Mapping[str, tuple[LedgerEntry, Process | None]] = field(default_factory=dict)

    @property
    def current_sources(self) -> tuple[str, ...]:
        """Its sources without those that certainly do not report it any more."""
        return tuple(
            source
            for source, (entry, process) in sorted(self.sources.items())
            if entry.state is LedgerState.WRITING
            or schema_digest(process) != entry.schemas
            or self.key in reported_keys(process)
        )

    def forget_digests(self, storage: Storage) -> bool:
        """Invalidate the ledger's digests of sources whose current schemas are not published yet, so that publishing
        them enqueues this data set. False if one was published meanwhile.
        """
        for entry, process in self.sources.values():
            if entry.etag and schema_digest(process) != entry.schemas:
                invalidated = replace(entry, described=entry.described | {self.key}, schemas=UNKNOWN_DIGEST)
                if invalidated != entry and not put_entry(storage, invalidated):
                    return False
        return True


def column_report(reading: Reading, queue_entry: QueueEntry) -> ColumnReport:
    """The column report of a queued data set; without a schema if it is no placeholder."""
    key = queue_entry.process.removeprefix(QUEUED_ASSET)
    found = match_by_key(reading.storage, key)
    if found is None or not found.is_placeholder:
        return ColumnReport(key=key, found=found)
    sources: dict[str, tuple[LedgerEntry, Process | None]] = {}
    for source in found.column_sources:
        entry = ledger_entry(reading.storage, source)  # before its contributions: later ones are published later
        sources[source] = entry, reading.current(source, after=entry.retired).process
    schema = merged_schema(found.own, (process for _, process in sources.values() if process))
    return ColumnReport(key=key, found=found, schema=schema, sources=sources)


def update_column_sources(
    storage: Storage,
    plans: Sequence[Plan],
    found: Mapping[AssetKey, AssetMatch] | None = None,
    placed: Collection[AssetKey] = (),
) -> None:
    """Enqueue the placeholders whose columns these plans may change, and note the plans as their sources.

    `found`: matches that were just read, else remembered ones; `placed`: placeholders just created for these plans, for
    which all that is done already.
    """
    reports = {plan.queue_entry.process: _Report.of(plan) for plan in plans}
    known = {match_key(own): each for own, each in (found or {}).items() if own not in placed}
    # An interrupted write has most likely created the placeholder itself: the next process asks for its columns.
    used = {match_key(asset.key) for plan in plans if not plan.was_interrupted for asset in plan.assets}
    named = {key for each in reports.values() for key in each.named} - set(map(match_key, placed))
    fresh: list[AssetMatch] = []
    marks: set[str] = set()
    for key in sorted(named | (used & known.keys())):
        each = known[key] if key in known else match_by_key(storage, key)
        if each is None or not each.is_placeholder:
            continue
        before = set(each.column_sources)
        naming = {source: report for source, report in reports.items() if key in report.named}
        reporting = {source for source, report in naming.items() if report.interrupted or key in report.reported}
        is_new = not reporting <= before or any(report.is_new for report in naming.values())
        if is_new and reporting:
            is_unknown = any(naming[source].interrupted for source in reporting - before)
            columns = None if is_unknown else each.columns
            fresh.append(structs.replace(each, column_sources=tuple(sorted(before | reporting)), columns=columns))
        if is_new or each.columns is None:
            marks.add(queue_key(key))
    save_matches(storage, fresh)
    enqueue(storage, marks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """The columns that a plan reports: of the assets `reported` (keys in `assetmatches`), `named` with those of earlier
    reports; whether that is new, and whether an earlier write was `interrupted` that may have reported others.
    """

    reported: frozenset[str]
    named: frozenset[str]
    is_new: bool
    interrupted: bool

    @classmethod
    def of(cls, plan: Plan) -> "_Report":
        interrupted = plan.was_interrupted
        is_new = interrupted or schema_digest(plan.process) != plan.entry.schemas
        reported = reported_keys(plan.process)
        named = reported | plan.entry.described if is_new else reported
        return cls(reported=reported, named=named, is_new=is_new, interrupted=interrupted)


def record_schemas(storage: Storage, plan: Plan) -> bool:
    """Update sources and ledger for a process whose lineage has not changed. False if another publisher wrote the
    ledger entry meanwhile.
    """
    digest, reported = schema_digest(plan.process), reported_keys(plan.process)
    if plan.is_kept or (digest == plan.entry.schemas and not plan.entry.imported):
        return True
    begun: LedgerEntry | None = plan.entry
    if not reported <= plan.entry.described:
        begun = put_entry(storage, replace(plan.entry, described=plan.entry.described | reported))
    if begun is None:
        return False
    update_column_sources(storage, [plan])
    return put_entry(storage, replace(begun, schemas=digest, described=reported, imported=False)) is not None
