"""Filling a catalog from lineage that was made elsewhere: a catalog that was lost, or that never had what happened.

It keeps the rules of publishing: one writer under the publisher's lease, the ledger says what is written, and what is
there already is not sent. So it may be stopped and begun again, and the publisher goes on beside it.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from shared.atlas.entities import ProcessEntity, process_entity
from shared.catalog.port import AssetKey, Catalog
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.model import Process
from shared.publishing.catalog_write import Published
from shared.publishing.options import PublishOptions
from shared.publishing.placeholders.creation import place, resolve_plans
from shared.publishing.planner import Plan
from shared.publishing.publisher_lease import batches, turn
from shared.publishing.write_deadline import is_in_time, last_effect, last_effect_of_success, write_until
from shared.records.ledger import LedgerEntry, ledger_entry, put_entry
from shared.records.publish_queue import QueueEntry
from shared.records.states import LedgerState
from shared.storage.port import Storage
from shared.storage_layout import process_key
from shared.translation.path_filter import filter_paths


def backfill(
    storage: Storage,
    catalog: Catalog,
    how: PublishOptions,
    processes: Iterable[Process],
    *,
    note_done: Callable[[Published], None] = lambda _: None,
    wait: Callable[[float], None] = time.sleep,
) -> Published:
    """Write these processes as far as the catalog does not hold them: counts of what was done, told after each too.

    Raises WriteConflict when another writes all the time, CatalogUnavailable and StorageUnavailable: what was written
    until then is on record, begin again. A process that the catalog refuses is counted, and the others go on. In shadow
    mode nothing is written.
    """
    done = Published()
    if how.shadow:
        return done
    for batch in batches(processes, how.batch):
        with turn(storage, wait=wait) as shift:
            _fill(storage, catalog, replace(how, heartbeat=shift.may_continue), batch, done)
        note_done(done)
    return done


def _fill(storage: Storage, catalog: Catalog, how: PublishOptions, batch: Sequence[Process], done: Published) -> None:
    wanted: list[Plan] = []
    for process in (filter_paths(each, how.paths) for each in batch):
        if process is None:
            continue
        plan = _plan(storage, how, process)
        if plan.entry.may_still_land(how.now()):
            done.postponed += 1
        elif plan.unchanged:
            done.unchanged += 1
        else:
            wanted.append(plan)
    if wanted:
        _write(storage, catalog, how, wanted, done)


def _plan(storage: Storage, how: PublishOptions, process: Process) -> Plan:
    """As the publisher's own, but that no mark stands behind it."""
    entity = process_entity(process, with_indirect=how.with_indirect)
    key = process_key(process.qualified_name)
    return Plan(
        dirty=QueueEntry(process=key, due=how.now()),
        entry=ledger_entry(storage, key),
        entity=entity,
        process=process,
        unresolved_fingerprint=entity.fingerprint,
        assets=(*process.inputs, *process.outputs),
    )


def _write(storage: Storage, catalog: Catalog, how: PublishOptions, wanted: Sequence[Plan], done: Published) -> None:
    """In one call; where that is refused, in halves, down to the one that the catalog will not have."""
    error = CatalogRefused(status=200, code="", detail="given no guid")
    begun: list[_Begun] | None = None
    written: dict[str, str] = {}
    until = how.now()
    try:
        found, plans = resolve_plans(storage, catalog, how, wanted)
        how.heartbeat()
        until = write_until(catalog, how, [plan.entity for plan in plans if plan.entity])
        begun = [each for plan in plans if (each := _begin(storage, plan, until))]
        done.unchanged += sum(plan.entity is None for plan in plans)  # both ends of it are one asset there
        guids = place(storage, catalog, how, [each.plan for each in begun], found, until=until)
        ready = [each.entity for each in begun if guids.keys() >= {*each.entity.inputs, *each.entity.outputs}]
        written = _written(catalog, how, ready, guids, until)
    except CatalogRefused as refused:
        if refused.no_access:
            raise
        error = refused
    except CatalogUnavailable:
        for each in begun or ():
            put_entry(storage, replace(each.entry, until=last_effect(how, until)))
        raise
    left = [plan.process for plan in wanted if plan.process] if begun is None else []
    lands = last_effect_of_success(catalog, how, until)
    for each in begun or ():
        guid = written.get(each.entity.qualified_name)
        if guid is None and each.plan.process:
            left.append(each.plan.process)
        # what was refused in a call with others may be there all the same: the ledger says that it is not known
        noted = replace(each.entry, state=LedgerState.WRITTEN, guid=guid) if guid else each.entry
        put_entry(storage, replace(noted, until=lands))
    done.written += len(written)
    if len(wanted) == 1 and left:
        done.refused += 1
        done.error = str(error)
        return
    middle = (len(left) + 1) // 2
    for half in filter(None, (left[:middle], left[middle:])):
        _fill(storage, catalog, how, half, done)


def _written(
    catalog: Catalog,
    how: PublishOptions,
    ready: Sequence[ProcessEntity],
    guids: Mapping[AssetKey, str],
    until: datetime,
) -> dict[str, str]:
    """As `write_processes`; it is not begun where it might not be over by then."""
    if not is_in_time(how, until, catalog.calls_to_write(ready)):
        raise CatalogUnavailable("Placing data sets took too long for writing what uses them", after=60, over=True)
    return catalog.write_processes(ready, guids) if ready else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    plan: Plan
    entity: ProcessEntity
    entry: LedgerEntry


def _begin(storage: Storage, plan: Plan, until: datetime) -> _Begun | None:
    """With the ledger saying that it is being written; None when there is nothing to write, or another writes it."""
    if plan.entity is None:
        return None
    entity = plan.entity
    writing = replace(
        plan.entry,
        state=LedgerState.WRITING,
        because="",
        qualified_name=entity.qualified_name,
        fingerprint=entity.fingerprint,
        unresolved_fingerprint=plan.unresolved_fingerprint,
        until=until,
    )
    entry = put_entry(storage, writing)
    return _Begun(plan=plan, entity=entity, entry=entry) if entry else None
