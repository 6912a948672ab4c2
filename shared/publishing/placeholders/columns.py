"""The columns of our own placeholders: what runs saw of them reaches the catalog. A schema that a scan owns is never
touched.

The row of a placeholder in `found` says which processes may tell its columns, and which it has; the ledger keeps a
digest of the schemas that a process told, so that one that tells nothing new costs nothing, and of which data sets it
may have told. What a placeholder should have is added up from what all of them say now, so it does not depend on who
was published last: none, where nobody tells any more. It comes to that whatever is cut off or overtaken:

1. Who tells something new is on the rows first, then the data sets are marked: those that it tells of, and those that
   it may have told of. Then the ledger says so. A row is written also where it knows the process already: who finds
   meanwhile that the process is silent must not strike it out.
2. What is added up may be newer than what the process was published with, and could be taken back before that is
   published. So the ledger is told first that nothing is known of what was told: the process marks the data set again.
3. A write that was cut off may have created data sets with what the process told then: where the row does not know the
   process nobody noted that, and so which columns they have is not known. Whoever meets such a row marks it.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec
from msgspec import structs

from shared.catalog.port import AssetKey
from shared.errors import ContentLost
from shared.model import Process
from shared.publishing.options import PublishOptions
from shared.publishing.planner import Plan, Reading, current
from shared.records.asset_matches import AssetMatch, match_by_key, match_key, queue_key, save_matches
from shared.records.ledger import UNKNOWN_DIGEST, LedgerEntry, ledger_entry, put_entry
from shared.records.process_index import RESOLVE_TOGETHER
from shared.records.publish_queue import enqueue
from shared.records.run_state import ContributionRecord
from shared.records.states import LedgerState
from shared.storage.port import Storage
from shared.storage_layout import CONTRIBUTIONS, digest_of, process_key

_LOG = logging.getLogger("throughline.schemas")

Columns = tuple[tuple[str, str], ...]
"""Pairs of name and type."""


def schema_digest(process: Process | None) -> str:
    """What stands for the schemas that a process tells; empty where it tells none."""
    return digest_of(msgspec.json.encode(process.schemas)) if process and process.schemas else ""


def told_by(process: Process) -> set[AssetKey]:
    """The assets whose columns a process tells."""
    told = {each.qualified_name for each in process.schemas}
    assets = (*process.inputs, *process.outputs)
    return {asset.key for asset in assets if asset.qualified_name in told}


def columns_told(key: AssetKey, processes: Iterable[Process]) -> Columns:
    """The columns of an asset, by these processes: all that those tell who write it; where nobody does, all that those
    tell who read it. Of a column of which they say different things the first one's word counts, by name.
    """
    written: dict[str, str] = {}
    read: dict[str, str] = {}
    for process in sorted(processes, key=lambda each: each.qualified_name):
        sinks = {asset.key for asset in process.outputs}
        for schema in process.schemas:
            if schema.qualified_name == key[1] and key in told_by(process):
                columns = written if key in sinks else read
                for name, kind in schema.columns:
                    columns.setdefault(name, kind)
    return tuple((written or read).items())


def keys_told(process: Process | None) -> frozenset[str]:
    """The keys (in `found`) of the assets whose columns a process tells."""
    return frozenset(map(match_key, told_by(process))) if process else frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReport:
    """A data set by its key in `found`, its row there if it has one, and the `columns` that it should have by what its
    tellers say now; `words` are the ledger's entry of each and what it says.
    """

    key: str
    found: AssetMatch | None
    columns: Columns = ()
    words: Mapping[str, tuple[LedgerEntry, Process | None]] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        """Whether it is a placeholder of ours."""
        return self.found is not None and self.found.is_placeholder

    @property
    def bare(self) -> bool:
        """Whether columns that it may have are to go, and there are no others."""
        return self.found is not None and self.is_ours and not self.columns and self.found.columns != ()

    @property
    def speaking(self) -> tuple[str, ...]:
        """Its tellers without those of whom it is certain that they do not tell of it any more."""
        return tuple(process for process, (entry, said) in sorted(self.words.items()) if self._may_tell(entry, said))

    def _may_tell(self, entry: LedgerEntry, said: Process | None) -> bool:
        unsettled = entry.state is LedgerState.WRITING or schema_digest(said) != entry.schemas
        return unsettled or self.key in keys_told(said)

    def noted(self, storage: Storage) -> bool:
        """Have the ledger know of those tellers whose word was heard before they were published with it: whatever they
        are published with concerns this data set. False where one was published meanwhile.
        """
        for entry, said in self.words.values():
            if entry.etag and schema_digest(said) != entry.schemas:
                heard = replace(entry.with_described(frozenset({self.key})), schemas=UNKNOWN_DIGEST)
                if heard != entry and not put_entry(storage, heard):
                    return False
        return True


def telling_now(storage: Storage, how: PublishOptions, key: str, reading: Reading) -> ColumnReport:
    """What is told of a data set (by its key in `found`), if it is ours. What was read before of those who tell is not
    read again.
    """
    found = match_by_key(storage, key)
    if found is None or not found.is_placeholder:
        return ColumnReport(key=key, found=found)
    words: dict[str, tuple[LedgerEntry, Process | None]] = {}
    for process in found.column_sources:
        entry = ledger_entry(storage, process)  # before what is said: what is said later is published later
        words[process] = entry, current(storage, process, how, reading, after=entry.retired).process
    columns = columns_told(found.own, [said for _, said in words.values() if said])
    return ColumnReport(key=key, found=found, columns=columns, words=words)


def note_schemas(
    storage: Storage,
    plans: Sequence[Plan],
    found: Mapping[AssetKey, AssetMatch] | None = None,
    placed: Collection[AssetKey] = (),
) -> None:
    """Have those of our placeholders described anew of which these plans tell other columns than they have: `found`, or
    what is remembered. Those that were `placed` for these plans are on record as told by them.
    """
    words = {plan.dirty.process: _Word.of(storage, plan) for plan in plans}
    known = {match_key(own): each for own, each in (found or {}).items()}
    # Who was cut off has most likely made it itself: it is the next one's to ask what columns that has.
    users = [plan for plan in plans if not words[plan.dirty.process].cut_off]
    used = {match_key(asset.key) for plan in users for asset in plan.assets}
    named = frozenset[str]().union(*(word.named for word in words.values()))
    fresh: list[AssetMatch] = []
    marks: set[str] = set()
    for key in sorted(named | (used & known.keys())):
        each = known[key] if key in known else match_by_key(storage, key)
        if each is None or not each.is_placeholder or (key not in named and each.columns is not None):
            continue
        spoken = {process: word for process, word in words.items() if key in word.named}
        column_sources = {*each.column_sources, *(process for process, word in spoken.items() if word.may_tell(key))}
        unknown = {process for process, word in spoken.items() if word.cut_off and process not in each.column_sources}
        cut_off = bool(unknown) and each.own not in placed
        news = any(word.is_new for word in spoken.values()) or column_sources != set(each.column_sources)
        if each.columns and not news and not cut_off:
            continue
        told = any(key in word.told for word in spoken.values())
        if cut_off or column_sources != set(each.column_sources) or (news and told and each.own not in placed):
            columns = None if cut_off else each.columns
            fresh.append(structs.replace(each, column_sources=tuple(sorted(column_sources)), columns=columns))
        said = [word.process for teller in column_sources if (word := words.get(teller)) and word.process]
        if cut_off or not column_sources <= words.keys() or columns_told(each.own, said) != each.columns:
            marks.add(queue_key(key))
    save_matches(storage, fresh)
    enqueue(storage, marks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Word:
    """What a plan tells of columns: of which assets (by key in `found`) it does, which it may have told of before,
    whether that is new, and whether a write was cut off that may have told something else.
    """

    process: Process | None
    told: frozenset[str]
    named: frozenset[str]
    is_new: bool
    cut_off: bool

    @classmethod
    def of(cls, storage: Storage, plan: Plan) -> "_Word":
        """Where it tells what it told before nothing is read."""
        cut_off = plan.entry.state is LedgerState.WRITING
        is_new = cut_off or schema_digest(plan.process) != plan.entry.schemas
        told = keys_told(plan.process)
        before = plan.entry.described if is_new else frozenset[str]()
        named = told | (_ever_named(storage, plan.dirty.process) if before is None else before)
        return cls(process=plan.process, told=told, named=named, is_new=is_new, cut_off=cut_off)

    def may_tell(self, key: str) -> bool:
        """Whether what an asset has may come from it."""
        return key in self.told or self.cut_off


def _ever_named(storage: Storage, process: str) -> frozenset[str]:
    """All data sets (by key in `found`) that were ever named in what was said of a process (by key)."""
    found: set[str] = set()
    for row in storage.partition(CONTRIBUTIONS, process):
        if row.key.endswith(f"|{RESOLVE_TOGETHER}"):
            continue
        try:
            content = ContributionRecord.of(row, storage).content
        except ContentLost as error:  # superseded, or the plan could not have been made
            _LOG.warning("schemas may stay as they were process=%s error=%s", process, error)
            continue
        if content:
            found |= {match_key(asset.key) for asset in (*content.inputs, *content.outputs)}
    return frozenset(found)


def tell_schemas(storage: Storage, plan: Plan) -> bool:
    """The same for a process whose lineage has not changed, with the ledger saying so. False where another publisher
    has changed what it says.
    """
    digest, told = schema_digest(plan.process), keys_told(plan.process)
    if digest == plan.entry.schemas:
        return True
    begun: LedgerEntry | None = plan.entry
    if plan.entry.with_described(told) != plan.entry:
        begun = put_entry(storage, plan.entry.with_described(told))
    if begun is None:
        return False
    note_schemas(storage, [plan])
    return put_entry(storage, replace(begun, schemas=digest, described=told)) is not None


def tellers_of(plans: Iterable[Plan], key: AssetKey) -> set[str]:
    """The processes (by key) among these plans that tell the columns of an asset."""
    return {process_key(p.process.qualified_name) for p in plans if p.process and key in told_by(p.process)}
