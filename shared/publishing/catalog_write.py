"""One write to the catalog, from claiming the dirty marks to noting what was written; and one removal.

Each step is conditional on the row that was read: a publisher that lost its lease cannot write old lineage.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from shared.atlas.entities import PROCESS_TYPE, ProcessEntity
from shared.catalog.port import AssetKey, Catalog
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.publishing.placeholders.columns import keys_told, note_schemas, schema_digest
from shared.publishing.placeholders.creation import describe_again, place
from shared.publishing.planner import Plan, PublishOptions
from shared.publishing.process_telemetry import report_process
from shared.publishing.write_deadline import is_in_time, landed, landed_well, write_until
from shared.records.asset_matches import AssetMatch
from shared.records.ledger import LedgerEntry, put_entry
from shared.records.publish_queue import dequeue
from shared.records.states import LedgerState
from shared.storage.port import Storage
from shared.storage_layout import PUBLISH_QUEUE

_TAKEN = 200


@dataclass(slots=True, kw_only=True)
class Published:
    """Counts of what one draining did."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0
    refused: int = 0
    postponed: int = 0
    held: int = 0
    error: str = ""

    @property
    def progress(self) -> int:
        """How much came to an end, one way or the other."""
        return self.written + self.unchanged + self.removed + self.refused + self.held

    def add(self, more: "Published") -> None:
        """What another draining did, and what stands in its way."""
        for name in ("written", "unchanged", "removed", "refused", "postponed", "held"):
            setattr(self, name, getattr(self, name) + getattr(more, name))
        self.error = more.error


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A plan (with its mark and its entry as they are now) that the catalog would not have, and why; `alone`: not even
    by itself.
    """

    plan: Plan
    error: CatalogRefused | CatalogUnavailable
    alone: bool = False


def write(
    storage: Storage,
    catalog: Catalog,
    how: PublishOptions,
    plans: Sequence[Plan],
    *,
    found: dict[AssetKey, AssetMatch],
    done: Published,
) -> list[Refusal]:
    """Write these (under the names that were `found`) in one call; data sets first, since processes can only refer to
    what is there. What the catalog refused, choked on (500) or left out of its answer is returned; the rest is written,
    or overtaken by others.

    Raises CatalogRefused where nothing would go through for want of access, and CatalogUnavailable.
    """
    gone = [plan for plan in plans if plan.entity is None]
    refused = [each for plan in gone for each in _nothing_left(storage, catalog, how, plan, done)]
    until = write_until(catalog, how, [plan.entity for plan in plans if plan.entity])
    begun = _begun(storage, how, plans, until)
    if not begun:
        return refused
    describe_again(storage, [each.plan for each in begun])
    try:
        return [*refused, *_send(storage, catalog, how, begun, found=found, done=done)]
    except CatalogRefused as error:
        back = _back(storage, catalog, how, begun, error, sent=len(begun))
        if error.no_access:
            raise
        return [*refused, *back]
    except CatalogUnavailable as error:
        if not error.over:
            _let_land(storage, how, begun)
            raise
        back = _back(storage, catalog, how, begun, error, sent=len(begun))
        if not error.blames:
            raise
        return [*refused, *back]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """A plan of which the ledger says that it is being written, with the claimed mark and that entry."""

    plan: Plan
    entity: ProcessEntity
    entry: LedgerEntry


def _send(
    storage: Storage,
    catalog: Catalog,
    how: PublishOptions,
    begun: Sequence[_Begun],
    *,
    found: dict[AssetKey, AssetMatch],
    done: Published,
) -> list[Refusal]:
    """Call the catalog, and note what it says to each."""
    until = min(each.entry.until for each in begun)
    there = {key for key, each in found.items() if each.guid}
    guids = place(storage, catalog, how, [each.plan for each in begun], found, until=until)
    ready = [each for each in begun if guids.keys() >= {*each.entity.inputs, *each.entity.outputs}]
    entities = [each.entity for each in ready]
    if not is_in_time(how, until, catalog.calls_to_write(entities)):
        return []  # too late to be over by then: what was begun is done again after that
    written = catalog.write_processes(entities, guids) if ready else {}
    lands = landed_well(catalog, how, until)
    taken = [each for each in ready if written.get(each.entity.qualified_name)]
    note_schemas(storage, [each.plan for each in taken], found, placed=found.keys() - there)

    def finish(each: _Begun) -> None:
        schemas, told = schema_digest(each.plan.process), keys_told(each.plan.process)
        guid = written[each.entity.qualified_name]
        if put_entry(
            storage, replace(each.entry, state=LedgerState.WRITTEN, guid=guid, schemas=schemas, told=told, until=lands)
        ):
            dequeue(storage, each.plan.dirty, each.plan.revisit)

    for each, _ in zip(taken, how.side_by_side.each(finish, taken), strict=True):
        report_process(how, each.plan, "written")
        done.written += 1
    left = [each for each in begun if each.entity.qualified_name not in written]
    error = CatalogRefused(status=_TAKEN, code="", detail="given no guid")
    return _back(storage, catalog, how, left, error, sent=len(begun))


def _let_land(storage: Storage, how: PublishOptions, begun: Sequence[_Begun]) -> None:
    """Wait no longer than for what is on its way: of a write that was cut off there comes no further call."""

    def shorten(each: _Begun) -> None:
        until = landed(how, each.entry.until)
        if put_entry(storage, replace(each.entry, until=until)):
            storage.replace(PUBLISH_QUEUE, replace(each.plan.dirty, due=until).row())

    for _ in how.side_by_side.each(shorten, begun):
        pass


def _back(
    storage: Storage,
    catalog: Catalog,
    how: PublishOptions,
    begun: Sequence[_Begun],
    error: CatalogRefused | CatalogUnavailable,
    *,
    sent: int,
) -> list[Refusal]:
    """What was not written in a call that held so many, to be tried again at once. A new process is not there where
    there was no access. Of all others nobody knows (one that was there may have been deleted to be made anew, one that
    was refused may have been taken): the ledger goes on to say so, but that it may still land only of a try whose
    answer was lost.
    """
    refused = isinstance(error, CatalogRefused) and error.no_access
    back = []
    for each in begun:
        lands = max(landed_well(catalog, how, each.entry.until), how.now())
        nothing = refused and each.plan.entry.state is LedgerState.NOTHING
        entry = replace(each.plan.entry, etag=each.entry.etag) if nothing else replace(each.entry, until=lands)
        noted = put_entry(storage, entry)
        dirty = replace(each.plan.dirty, due=how.now())
        etag = storage.replace(PUBLISH_QUEUE, dirty.row())
        if noted and etag:
            plan = replace(each.plan, entry=noted, dirty=replace(dirty, etag=etag))
            back.append(Refusal(plan=plan, error=error, alone=sent == 1))
    return back


def _begun(storage: Storage, how: PublishOptions, plans: Sequence[Plan], until: datetime) -> list[_Begun]:
    """Those of these plans that are ours to write, with the ledger saying so."""

    def begin(plan: Plan) -> _Begun | None:
        claimed = _claim(storage, plan, until)
        if not claimed or not claimed.entity:
            return None
        entry = put_entry(storage, _writing(claimed, claimed.entity, until))
        return _Begun(plan=claimed, entity=claimed.entity, entry=entry) if entry else None

    wanted = [plan for plan in plans if plan.entity]
    begun = [each for each in how.side_by_side.each(begin, wanted) if each]
    ours = {each.plan.dirty.process for each in begun}
    for plan in plans:
        if plan.entity and plan.dirty.process not in ours:
            report_process(how, plan, "overtaken")
    return begun


def _nothing_left(
    storage: Storage, catalog: Catalog, how: PublishOptions, plan: Plan, done: Published
) -> list[Refusal]:
    """What it reads and what it writes turned out to be one asset."""
    if plan.entry.state is not LedgerState.NOTHING:
        try:
            done.removed += remove(storage, catalog, how, plan)
        except CatalogRefused as error:
            if error.no_access:
                raise
            return [Refusal(plan=plan, error=error, alone=True)]
        return []
    done.unchanged += 1
    report_process(how, plan, "unchanged")
    dequeue(storage, plan.dirty, plan.revisit)
    return []


def _claim(storage: Storage, plan: Plan, until: datetime) -> Plan | None:
    """The plan with the dirty mark that it was made from in our hands; None when the process was marked anew, or
    published by another, since the mark was read: the plan may then be old.
    """
    claimed = replace(plan.dirty, due=until, revisit=False)
    etag = storage.replace(PUBLISH_QUEUE, claimed.row())
    return replace(plan, dirty=replace(claimed, etag=etag)) if etag else None


def _writing(plan: Plan, entity: ProcessEntity, until: datetime) -> LedgerEntry:
    return replace(
        plan.entry.telling(keys_told(plan.process)),
        state=LedgerState.WRITING,
        because="",
        qualified_name=entity.qualified_name,
        fingerprint=entity.fingerprint,
        said=plan.said,
        until=until,
    )


def remove(storage: Storage, catalog: Catalog, how: PublishOptions, plan: Plan) -> int:
    """Take a process away that nothing speaks for any more. How many were removed."""
    until = how.now() + 2 * how.call_bound
    claimed = _claim(storage, plan, until)
    entry = put_entry(storage, replace(plan.entry, state=LedgerState.WRITING, until=until)) if claimed else None
    if claimed is None or entry is None or not is_in_time(how, until):
        report_process(how, plan, "overtaken")
        return 0
    catalog.delete_process(PROCESS_TYPE, entry.qualified_name)
    lands = landed_well(catalog, how, until)
    note_schemas(storage, [replace(plan, process=None)])
    gone = replace(entry, state=LedgerState.NOTHING, fingerprint="", schemas="", told=frozenset(), guid="", until=lands)
    if put_entry(storage, gone):
        dequeue(storage, claimed.dirty, claimed.revisit)
    report_process(how, plan, "removed")
    return 1
