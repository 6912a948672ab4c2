"""The columns of our own placeholders: what runs saw of them reaches the catalog. A schema that a scan owns is never
touched.

The row of a placeholder in `found` says which processes tell its columns, and which it has as far as we know; the
ledger keeps a digest of the schemas that a process told, so that one that tells nothing new costs nothing. What a
placeholder should have is added up from what all of them say now, so it does not depend on who was published last.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
from msgspec import structs

from shared.catalog import AssetKey
from shared.errors import ContentLost
from shared.model import Process
from shared.pipeline.dirty import mark_dirty
from shared.pipeline.found import FoundAsset, found_key, remember, remembered, remembered_by
from shared.pipeline.ledger import ledger_entry, note
from shared.pipeline.links import FATED
from shared.pipeline.planning import Plan, Publishing, Reading, current
from shared.pipeline.records import ContributionRecord
from shared.places import ASSET, CONTRIBUTIONS, digest_of, process_key
from shared.storage import Storage

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
    return {(asset.type, asset.qualified_name) for asset in assets if asset.qualified_name in told}


def columns_told(key: AssetKey, processes: Iterable[Process]) -> Columns:
    """The columns of an asset, by these processes: all that those tell who write it; where nobody does, all that those
    tell who read it. Of a column of which they say different things the first one's word counts, by name.
    """
    written: dict[str, str] = {}
    read: dict[str, str] = {}
    for process in sorted(processes, key=lambda each: each.qualified_name):
        sinks = {(asset.type, asset.qualified_name) for asset in process.outputs}
        for schema in process.schemas:
            if schema.qualified_name == key[1] and key in told_by(process):
                columns = written if key in sinks else read
                for name, kind in schema.columns:
                    columns.setdefault(name, kind)
    return tuple((written or read).items())


def columns_now(storage: Storage, how: Publishing, key: str, reading: Reading) -> tuple[FoundAsset | None, Columns]:
    """A data set (by its key in `found`) and the columns that it should have, if it is ours. What was read before of
    those who tell them is not read again.
    """
    found = remembered_by(storage, key)
    if found is None or found.scanned:
        return found, ()
    said = (current(storage, each, how, reading, after=ledger_entry(storage, each).retired) for each in found.tellers)
    return found, columns_told(found.own, [each.process for each in said if each.process])


def note_schemas(storage: Storage, plans: Sequence[Plan], found: Mapping[AssetKey, FoundAsset] | None = None) -> None:
    """Have those of our placeholders described anew of which these plans tell other columns than they have, as far as
    we know: `found`, or what is remembered.
    """
    words = {plan.dirty.process: _Word.of(storage, plan) for plan in plans}
    keys = {key for word in words.values() for key in word.named}
    known = {key: each for key, each in (found or {}).items() if key in keys}
    known |= remembered(storage, sorted(keys - known.keys()))
    fresh: list[FoundAsset] = []
    marks: set[str] = set()
    for key, each in sorted(known.items()):
        spoken = {process: word for process, word in words.items() if key in word.named}
        news = any(word.is_new or process not in each.tellers for process, word in spoken.items())
        if not each.guid or each.scanned or (each.columns and not news):
            continue
        silent = {process for process, word in spoken.items() if key not in word.told}
        tellers = (set(each.tellers) | spoken.keys()) - silent
        after = structs.replace(each, tellers=tuple(sorted(tellers)))
        if after != each:
            fresh.append(after)
        processes = [word.process for teller in tellers if (word := words.get(teller)) and word.process]
        if not tellers <= words.keys() or columns_told(key, processes) != each.columns:
            marks.add(mark_of(key))
    remember(storage, fresh)
    mark_dirty(storage, marks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Word:
    """What a plan tells of columns: of which assets it does, which it may have told of before, and whether that is
    new.
    """

    process: Process | None
    told: set[AssetKey]
    named: set[AssetKey]
    is_new: bool

    @classmethod
    def of(cls, storage: Storage, plan: Plan) -> "_Word":
        """Where it tells what it told before nothing is read."""
        is_new = schema_digest(plan.process) != plan.entry.schemas
        told = told_by(plan.process) if plan.process else set()
        before = _ever_named(storage, plan.dirty.process) if is_new and plan.entry.schemas else set()
        return cls(process=plan.process, told=told, named=told | before, is_new=is_new)


def mark_of(key: AssetKey) -> str:
    """The dirty mark of a data set."""
    return f"{ASSET}{found_key(key)}"


def _ever_named(storage: Storage, process: str) -> set[AssetKey]:
    """All data sets that were ever named in what was said of a process (by key)."""
    found: set[AssetKey] = set()
    for row in storage.partition(CONTRIBUTIONS, process):
        if row.key.endswith(f"|{FATED}"):
            continue
        try:
            content = ContributionRecord.of(row, storage).content
        except ContentLost as error:  # superseded, or the plan could not have been made
            _LOG.warning("schemas may stay as they were process=%s error=%s", process, error)
            continue
        if content:
            found |= {(asset.type, asset.qualified_name) for asset in (*content.inputs, *content.outputs)}
    return found


def tell_schemas(storage: Storage, plan: Plan) -> None:
    """The same for a process whose lineage has not changed, with the ledger saying so."""
    digest = schema_digest(plan.process)
    if digest != plan.entry.schemas:
        note_schemas(storage, [plan])
        note(storage, replace(plan.entry, schemas=digest))


def tellers_of(plans: Iterable[Plan], key: AssetKey) -> set[str]:
    """The processes (by key) among these plans that tell the columns of an asset."""
    return {process_key(p.process.qualified_name) for p in plans if p.process and key in told_by(p.process)}
