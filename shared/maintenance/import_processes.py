"""Import processes that were computed elsewhere (the lake) into a catalog.

It keeps the rules of publishing: one writer under the publisher's lease, the ledger records what is written, unchanged
processes are not sent. So it may be stopped and started again, while the publisher works.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from shared.atlas.entities import ProcessEntity, process_entity
from shared.catalog.batches import batches
from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.model import Process
from shared.publishing.placeholders.creation import place, resolve_plans
from shared.publishing.planning.context import PublishContext
from shared.publishing.planning.planner import Plan
from shared.publishing.planning.write_deadline import is_in_time, last_effect, last_effect_of_success, write_until
from shared.publishing.publisher_lease import turn
from shared.publishing.writing.batch_write import raise_if_unavailable
from shared.publishing.writing.bisection import Bisection
from shared.publishing.writing.catalog_write import Begun, Published, begin
from shared.records.asset_matches import AssetMatch
from shared.records.ledger import ledger_entry, put_entry
from shared.records.publish_queue import QueueEntry
from shared.records.states import LedgerState
from shared.storage_layout import process_key
from shared.translation.path_filter import published, with_excluded


def import_processes(
    context: PublishContext,
    processes: Iterable[Process],
    *,
    note_done: Callable[[Published], None] = lambda _: None,
    wait: Callable[[float], None] = time.sleep,
) -> Published:
    """Write those of these processes that the catalog does not hold; returns counts, reported after each batch too.

    Raises WriteConflict when another publisher never ends, CatalogUnavailable and StorageUnavailable: what was written
    is on record, so call it again. Refused processes, and those that bring about a 500 in a call of their own, are
    counted, and do not stop others. Shadow mode writes nothing.
    """
    done, options = Published(), context.publishing
    if options.shadow:
        return done
    for batch in batches(processes, options.batch):
        with turn(context.storage, wait=wait) as shift:
            in_turn = replace(context, publishing=replace(options, heartbeat=shift.may_continue))
            _import_batch(in_turn, batch, done)
        note_done(done)
    return done


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refusal:
    """A process that a call did not write, and why; `isolated`: it was in a call of its own."""

    process: Process
    error: CatalogRefused | CatalogUnavailable
    isolated: bool


def _import_batch(context: PublishContext, batch: Sequence[Process], done: Published) -> None:
    """Write these processes in as few calls as the catalog accepts."""
    errors: dict[str, CatalogRefused | CatalogUnavailable] = {}
    bisection = Bisection(batch)
    while call := bisection.next_call():
        refused = _import_call(context, call, done)
        errors |= {each.process.qualified_name: each.error for each in refused}
        isolated = [each for each in refused if each.isolated]
        bisection.answered(
            [each.process for each in refused if not each.isolated], final=[each.process for each in isolated]
        )
        raise_if_unavailable([errors[process.qualified_name] for process in bisection.choked])
        for each in isolated:
            done.refused += 1
            done.error = str(each.error)


def _import_call(context: PublishContext, processes: Sequence[Process], done: Published) -> Sequence[_Refusal]:
    """Write in one call those of these processes that the catalog lacks. Returns those that were refused."""
    wanted: list[Plan] = []
    for process in (published(with_excluded(each, context.publishing.paths)) for each in processes):
        if process is None:
            continue
        plan = _plan(context, process)
        if plan.entry.may_still_land(context.publishing.now()):
            done.postponed += 1
        elif plan.unchanged:
            done.unchanged += 1
        else:
            wanted.append(plan)
    return _write(context, wanted, done) if wanted else ()


def _plan(context: PublishContext, process: Process) -> Plan:
    """A publisher's plan without an entry in the publish queue."""
    entity = process_entity(process, with_indirect=context.publishing.with_indirect)
    key = process_key(process.qualified_name)
    return Plan(
        queue_entry=QueueEntry(process=key, due=context.publishing.now()),
        entry=ledger_entry(context.storage, key),
        entity=entity,
        process=process,
        unresolved_fingerprint=entity.fingerprint,
        imported=True,
    )


def _write(context: PublishContext, wanted: Sequence[Plan], done: Published) -> Sequence[_Refusal]:
    """Write in one call. Returns the processes that were refused, answered with 500, or left out of the answer."""
    error: CatalogRefused | CatalogUnavailable = CatalogRefused(status=200, code="", detail="given no guid")
    begun: list[Begun] | None = None
    written: dict[str, str] = {}
    storage, until = context.storage, context.publishing.now()
    try:
        found = dict[AssetKey, AssetMatch]()
        plans = resolve_plans(context, wanted, found)
        context.publishing.heartbeat()
        until = write_until(context, [plan.entity for plan in plans if plan.entity])
        begun = [each for plan in plans if (each := begin(storage, plan, until))]
        done.unchanged += sum(plan.entity is None for plan in plans)  # both ends of it are one asset there
        guids = place(context, [each.plan for each in begun], found, until=until)
        ready = [each.entity for each in begun if guids.keys() >= {*each.entity.inputs, *each.entity.outputs}]
        written = _written(context, ready, guids, until)
    except CatalogRefused as refused:
        if refused.no_access:
            raise
        error = refused
    except CatalogUnavailable as unavailable:
        if not (begun and unavailable.over and unavailable.blames):
            for each in begun or ():
                put_entry(storage, replace(each.entry, until=last_effect(context, until)))
            raise
        error = unavailable
    left = [plan.process for plan in wanted if plan.process] if begun is None else []
    lands = last_effect_of_success(context, until)
    for each in begun or ():
        guid = written.get(each.entity.qualified_name)
        if guid is None and each.plan.process:
            left.append(each.plan.process)
        # what was refused in a call with others may be there all the same: the ledger says that it is not known
        noted = replace(each.entry, state=LedgerState.WRITTEN, guid=guid) if guid else each.entry
        put_entry(storage, replace(noted, until=lands))
    done.written += len(written)
    return [_Refusal(process=each, error=error, isolated=len(wanted) == 1) for each in left]


def _written(
    context: PublishContext, ready: Sequence[ProcessEntity], guids: Mapping[AssetKey, str], until: datetime
) -> dict[str, str]:
    """As `Catalog.write_processes`, unless the call could outlast its deadline."""
    if not is_in_time(context, until, context.catalog.calls_to_write(ready)):
        why = "Creating placeholders took too long for the call that uses them"
        raise CatalogUnavailable(why, after=60, over=True, blames=False)
    return context.catalog.write_processes(ready, guids) if ready else {}
