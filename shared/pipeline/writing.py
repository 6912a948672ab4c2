"""One write to the catalog, from claiming the dirty marks to noting what was written; and one removal.

Each step is conditional on the row that was read: a publisher that lost its lease cannot write old lineage.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from shared.atlas import PROCESS_TYPE, ProcessEntity
from shared.catalog import Catalog
from shared.errors import CatalogRefused
from shared.pipeline.dirty import clean
from shared.pipeline.found import forget
from shared.pipeline.ledger import Entry, note
from shared.pipeline.places import DIRTY
from shared.pipeline.placing import describe_again, found_for, place
from shared.pipeline.planning import Plan, Publishing
from shared.pipeline.states import Held
from shared.pipeline.telling import tell_process
from shared.storage import Storage


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

    def add(self, more: "Published") -> None:
        """What another draining did, and what stands in its way."""
        for name in ("written", "unchanged", "removed", "refused", "postponed", "held"):
            setattr(self, name, getattr(self, name) + getattr(more, name))
        self.error = more.error


def write(storage: Storage, catalog: Catalog, how: Publishing, made: Sequence[Plan], done: Published) -> None:
    """Data sets first, since processes can only refer to what is there."""
    began = how.now()
    found, plans = found_for(storage, catalog, how, made)
    for plan in plans:
        if plan.entity is None:
            _nothing_left(storage, catalog, how, plan, done)
    until = how.now() + 2 * how.call_bound
    begun = _begun(storage, how, plans, until)
    if not begun:
        return
    describe_again(storage, plans)
    try:
        guids = place(storage, catalog, how, [plan for plan, _, _ in begun], found, until=until)
        if how.now() + how.call_bound > until:
            return  # too late to be over by then: what was begun is done again after that
        written = catalog.write_processes([entity for _, entity, _ in begun], guids)
    except CatalogRefused:
        for plan, _, entry in begun:  # a refused call writes nothing
            note(storage, replace(plan.entry, etag=entry.etag))
            storage.replace(DIRTY, replace(plan.dirty, due=how.now()).row())
        forget(storage, [each for each in found.values() if each.at <= began])
        raise
    for plan, entity, entry in begun:
        if note(storage, replace(entry, state=Held.WRITTEN, guid=written[entity.qualified_name])):
            clean(storage, plan.dirty, plan.revisit)
        tell_process(how, plan, "written")
    done.written += len(begun)


def _begun(
    storage: Storage, how: Publishing, plans: Sequence[Plan], until: datetime
) -> list[tuple[Plan, ProcessEntity, Entry]]:
    """Those of these plans that are ours to write, with the ledger saying so."""
    begun = [
        (plan, entity, entry)
        for plan, entity in ((_claim(storage, plan, until), plan.entity) for plan in plans if plan.entity)
        if plan and entity and (entry := note(storage, _writing(plan, entity, until)))
    ]
    ours = {plan.dirty.process for plan, _, _ in begun}
    for plan in plans:
        if plan.entity and plan.dirty.process not in ours:
            tell_process(how, plan, "overtaken")
    return begun


def _nothing_left(storage: Storage, catalog: Catalog, how: Publishing, plan: Plan, done: Published) -> None:
    """What it reads and what it writes turned out to be one asset."""
    if plan.entry.state is not Held.NOTHING:
        done.removed += remove(storage, catalog, how, plan)
        return
    done.unchanged += 1
    tell_process(how, plan, "unchanged")
    clean(storage, plan.dirty, plan.revisit)


def _claim(storage: Storage, plan: Plan, until: datetime) -> Plan | None:
    """The plan with the dirty mark that it was made from in our hands; None when the process was marked anew, or
    published by another, since the mark was read: the plan may then be old.
    """
    claimed = replace(plan.dirty, due=until, revisit=False)
    etag = storage.replace(DIRTY, claimed.row())
    return replace(plan, dirty=replace(claimed, etag=etag)) if etag else None


def _writing(plan: Plan, entity: ProcessEntity, until: datetime) -> Entry:
    return replace(
        plan.entry,
        state=Held.WRITING,
        because="",
        qualified_name=entity.qualified_name,
        fingerprint=entity.fingerprint,
        said=plan.said,
        until=until,
    )


def remove(storage: Storage, catalog: Catalog, how: Publishing, plan: Plan) -> int:
    """Take a process away that nothing speaks for any more. How many were removed."""
    until = how.now() + 2 * how.call_bound
    claimed = _claim(storage, plan, until)
    entry = note(storage, replace(plan.entry, state=Held.WRITING, until=until)) if claimed else None
    if claimed is None or entry is None or how.now() + how.call_bound > until:
        tell_process(how, plan, "overtaken")
        return 0
    catalog.delete_process(PROCESS_TYPE, entry.qualified_name)
    if note(storage, replace(entry, state=Held.NOTHING, fingerprint="", guid="")):
        clean(storage, claimed.dirty, claimed.revisit)
    tell_process(how, plan, "removed")
    return 1
