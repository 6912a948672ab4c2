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

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec
from msgspec import structs

from shared.catalog.port import AssetKey
from shared.errors import ContentLost
from shared.model import NOTHING_DECLARED, Declared, Process
from shared.publishing.planning.planner import Plan, Reading
from shared.records.application.process_index import RESOLVE_TOGETHER
from shared.records.asset_matches import AssetMatch, match_by_key, match_key, queue_key, save_matches
from shared.records.ledger import UNKNOWN_DIGEST, LedgerEntry, ledger_entry, put_entry
from shared.records.publish_queue import enqueue
from shared.records.run_state import ContributionRecord
from shared.records.states import LedgerState
from shared.storage.port import Storage
from shared.storage_layout import CONTRIBUTIONS, digest_of, process_key

_LOG = logging.getLogger("throughline.schemas")

Columns = tuple[tuple[str, str], ...]
"""Pairs of name and type."""


def schema_digest(process: Process | None) -> str:
    """A digest of the schemas that a process reports; empty where there are none."""
    return digest_of(msgspec.json.encode(process.schemas)) if process and process.schemas else ""


def reported_assets(process: Process) -> set[AssetKey]:
    """The assets whose columns a process reports."""
    told = {each.qualified_name for each in process.schemas}
    assets = (*process.inputs, *process.outputs)
    return {asset.key for asset in assets if asset.qualified_name in told}


def merged_columns(key: AssetKey, processes: Iterable[Process]) -> Columns:
    """The columns of an asset: all that its writers report, or, without any, all that its readers report. Of
    contradicting types the one of the first process by name counts.
    """
    written: dict[str, str] = {}
    read: dict[str, str] = {}
    for process in sorted(processes, key=lambda each: each.qualified_name):
        sinks = {asset.key for asset in process.outputs}
        for schema in process.schemas:
            if schema.qualified_name == key[1] and key in reported_assets(process):
                columns = written if key in sinks else read
                for name, kind in schema.columns:
                    columns.setdefault(name, kind)
    return tuple((written or read).items())


def merged_declaration(key: AssetKey, processes: Iterable[Process]) -> Declared:
    """The owner and description of an asset, as its columns are merged: those of its writers, or else its readers; of
    the first process by name that has one.
    """
    written = read = NOTHING_DECLARED
    for process in sorted(processes, key=lambda each: each.qualified_name):
        for schema in process.schemas:
            if schema.qualified_name == key[1] and key in reported_assets(process):
                if key in {asset.key for asset in process.outputs}:
                    written |= schema.declared
                else:
                    read |= schema.declared
    return structs.replace(written | read, tags=())


def in_short(declared: Declared) -> tuple[str, str]:
    """The owner and the description, as `AssetMatch` has them."""
    return declared.owner, declared.description


def reported_keys(process: Process | None) -> frozenset[str]:
    """The keys (in `assetmatches`) of the assets whose columns a process reports."""
    return frozenset(map(match_key, reported_assets(process))) if process else frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReport:
    """A data set by its key in `assetmatches`, its row there (`found`), and the `columns` that it should have and what
    is `declared` of it.

    `sources`: the ledger entry and the current process of each column source.
    """

    key: str
    found: AssetMatch | None
    columns: Columns = ()
    declared: Declared = NOTHING_DECLARED
    sources: Mapping[str, tuple[LedgerEntry, Process | None]] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        """Whether it is a placeholder."""
        return self.found is not None and self.found.is_placeholder

    @property
    def bare(self) -> bool:
        """Whether all columns that it may have are to be removed."""
        return self.found is not None and self.is_ours and not self.columns and self.found.columns != ()

    @property
    def current_sources(self) -> tuple[str, ...]:
        """Its sources without those that certainly do not report it any more."""
        return tuple(key for key, (entry, process) in sorted(self.sources.items()) if self._may_tell(entry, process))

    def _may_tell(self, entry: LedgerEntry, process: Process | None) -> bool:
        unsettled = entry.state is LedgerState.WRITING or schema_digest(process) != entry.schemas
        return unsettled or self.key in reported_keys(process)

    def forget_digests(self, storage: Storage) -> bool:
        """Invalidate the ledger's digests of sources whose current schemas are not published yet, so that publishing
        them enqueues this data set. False if one was published meanwhile.
        """
        for entry, process in self.sources.values():
            if entry.etag and schema_digest(process) != entry.schemas:
                invalidated = replace(entry.with_described(frozenset({self.key})), schemas=UNKNOWN_DIGEST)
                if invalidated != entry and not put_entry(storage, invalidated):
                    return False
        return True


def column_report(reading: Reading, key: str) -> ColumnReport:
    """The column report of a data set (by its key in `assetmatches`); without sources if it is no placeholder."""
    found = match_by_key(reading.storage, key)
    if found is None or not found.is_placeholder:
        return ColumnReport(key=key, found=found)
    sources: dict[str, tuple[LedgerEntry, Process | None]] = {}
    for process in found.column_sources:
        entry = ledger_entry(reading.storage, process)  # before its contributions: later ones are published later
        sources[process] = entry, reading.current(process, after=entry.retired).process
    processes = [process for _, process in sources.values() if process]
    columns, declared = merged_columns(found.own, processes), merged_declaration(found.own, processes)
    return ColumnReport(key=key, found=found, columns=columns, declared=declared, sources=sources)


def update_column_sources(
    storage: Storage,
    plans: Sequence[Plan],
    found: Mapping[AssetKey, AssetMatch] | None = None,
    placed: Collection[AssetKey] = (),
) -> None:
    """Enqueue the placeholders that lack columns that these plans report, and note the plans as their sources.

    `found`: matches that were just read, else remembered ones; `placed`: placeholders just created for these plans,
    whose sources are noted already.
    """
    sources = {plan.dirty.process: _ReportedColumns.of(storage, plan) for plan in plans}
    known = {match_key(own): each for own, each in (found or {}).items()}
    # An interrupted write has most likely created the placeholder itself: the next process asks for its columns.
    users = [plan for plan in plans if not sources[plan.dirty.process].cut_off]
    used = {match_key(asset.key) for plan in users for asset in plan.assets}
    named = frozenset[str]().union(*(reported.named for reported in sources.values()))
    fresh: list[AssetMatch] = []
    marks: set[str] = set()
    for key in sorted(named | (used & known.keys())):
        each = known[key] if key in known else match_by_key(storage, key)
        if each is None or not each.is_placeholder or (key not in named and each.columns is not None):
            continue
        spoken = {process: reported for process, reported in sources.items() if key in reported.named}
        column_sources = {
            *each.column_sources,
            *(process for process, reported in spoken.items() if reported.may_tell(key)),
        }
        unknown = {
            process for process, reported in spoken.items() if reported.cut_off and process not in each.column_sources
        }
        cut_off = bool(unknown) and each.own not in placed
        news = any(reported.is_new for reported in spoken.values()) or column_sources != set(each.column_sources)
        if each.columns and not news and not cut_off:
            continue
        told = any(key in reported.told for reported in spoken.values())
        if cut_off or column_sources != set(each.column_sources) or (news and told and each.own not in placed):
            columns = None if cut_off else each.columns
            fresh.append(structs.replace(each, column_sources=tuple(sorted(column_sources)), columns=columns))
        processes = [
            reported.process for teller in column_sources if (reported := sources.get(teller)) and reported.process
        ]
        if (
            cut_off
            or not column_sources <= sources.keys()
            or merged_columns(each.own, processes) != each.columns
            or in_short(merged_declaration(each.own, processes)) != each.declared
        ):
            marks.add(queue_key(key))
    save_matches(storage, fresh)
    enqueue(storage, marks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReportedColumns:
    """The columns that a plan reports: of the assets `told` (keys in `assetmatches`), `named` with those of earlier
    reports; whether that is new, and whether an earlier write was `cut_off` that may have reported others.
    """

    process: Process | None
    told: frozenset[str]
    named: frozenset[str]
    is_new: bool
    cut_off: bool

    @classmethod
    def of(cls, storage: Storage, plan: Plan) -> "_ReportedColumns":
        """From a plan; reads nothing where the schemas are unchanged."""
        cut_off = plan.entry.state is LedgerState.WRITING
        is_new = cut_off or schema_digest(plan.process) != plan.entry.schemas
        told = reported_keys(plan.process)
        before = plan.entry.described if is_new else frozenset[str]()
        named = told | (_ever_contributed(storage, plan.dirty.process) if before is None else before)
        return cls(process=plan.process, told=told, named=named, is_new=is_new, cut_off=cut_off)

    def may_tell(self, key: str) -> bool:
        """Whether columns of an asset may come from this process."""
        return key in self.told or self.cut_off


def _ever_contributed(storage: Storage, process: str) -> frozenset[str]:
    """The assets (keys in `assetmatches`) in all contributions to a process (by key)."""
    found: set[str] = set()
    for row in storage.partition(CONTRIBUTIONS, process):
        if row.key.endswith(f"|{RESOLVE_TOGETHER}"):
            continue
        try:
            content = ContributionRecord.of(row, storage).content
        except ContentLost as error:  # superseded: planning reads all others
            _LOG.warning("columns may be outdated process=%s error=%s", process, error)
            continue
        if content:
            found |= {match_key(asset.key) for asset in (*content.inputs, *content.outputs)}
    return frozenset(found)


def record_schemas(storage: Storage, plan: Plan) -> bool:
    """Update sources and ledger for a process whose lineage has not changed. False if another publisher wrote the
    ledger entry meanwhile.
    """
    digest, told = schema_digest(plan.process), reported_keys(plan.process)
    if digest == plan.entry.schemas:
        return True
    begun: LedgerEntry | None = plan.entry
    if plan.entry.with_described(told) != plan.entry:
        begun = put_entry(storage, plan.entry.with_described(told))
    if begun is None:
        return False
    update_column_sources(storage, [plan])
    return put_entry(storage, replace(begun, schemas=digest, described=told)) is not None


def reporters_of(plans: Iterable[Plan], key: AssetKey) -> set[str]:
    """The processes (by key) among these plans that report the columns of an asset."""
    return {process_key(p.process.qualified_name) for p in plans if p.process and key in reported_assets(p.process)}
