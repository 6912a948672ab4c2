"""Shadow mode: run everything except catalog writes, and record what would be written.

A row of `shadow` replaces the queue entry of a process or data set. The ledger says what the catalog holds, and so
stays as it is. When shadow mode ends, the rows become queue entries again, and are published from the records of then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

import msgspec

from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused, ContentLost
from shared.publishing.placeholders.columns import column_report, record_schemas
from shared.publishing.placeholders.creation import resolve_plans
from shared.publishing.placeholders.update import described
from shared.publishing.planning.context import PublishContext
from shared.publishing.planning.options import PublishOptions
from shared.publishing.planning.planner import Plan, Reading, plan_for
from shared.publishing.writing.bisection import Bisection
from shared.records.asset_lifecycle import is_asset_entry
from shared.records.asset_matches import AssetMatch
from shared.records.cells import PackedCell
from shared.records.publish_queue import QueueEntry, dequeue, enqueue, put_queued
from shared.records.states import LedgerState as Written
from shared.storage.port import Row, Storage
from shared.storage_layout import QUEUE_PARTITION, SHADOW


class ShadowAction(StrEnum):
    """What a publisher would do with an entity if shadow mode were off."""

    WRITE = "write"
    REMOVE = "remove"
    DESCRIBE = "describe"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """A write that was held back: its action and qualified name; `creates`: the assets (type and qualified name) that
    the catalog lacked at that time.
    """

    action: ShadowAction
    qualified_name: str
    creates: tuple[AssetKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """Counts of what would be done: processes written, assets created, processes removed, assets described."""

    writes: int = 0
    creates: int = 0
    removes: int = 0
    describes: int = 0


_HELD = PackedCell(name="held", decoder=msgspec.json.Decoder(HeldBack))


class PutOff(Protocol):
    """Has an entry published later. `isolated`: the catalog refused it in a call of its own."""

    def __call__(self, entry: QueueEntry, error: Exception, *, isolated: bool = False) -> None:
        """Put it off."""


def rehearse(context: PublishContext, batch: Sequence[QueueEntry], put_off: PutOff) -> int:
    """Publish these entries up to the first catalog write. How many more are held back now. `put_off` takes each entry
    whose stored content can't be read, or whose data sets the catalog refuses to look up.

    Raises CatalogRefused without access, and CatalogUnavailable, as publishing does.
    """
    storage, reading = context.storage, Reading(storage=context.storage, options=context.publishing)
    plans: list[Plan] = []
    held = 0
    for entry in batch:
        try:
            if is_asset_entry(entry):
                held += _rehearse_state(context, entry, reading)
            elif plan := _changed(context, entry, reading):
                plans.append(plan)
        except ContentLost as error:
            put_off(entry, error)
        except CatalogRefused as error:
            if error.no_access:
                raise
            put_off(entry, error, isolated=True)
    found = dict[AssetKey, AssetMatch]()
    resolved = _resolved(context, plans, found, put_off)
    for plan in resolved:
        keys = {asset.key for asset in plan.assets}
        creates = {key for key in keys if not found[key].guid}
        if plan.entity:
            what = HeldBack(
                action=ShadowAction.WRITE, qualified_name=plan.entity.qualified_name, creates=tuple(sorted(creates))
            )
        elif plan.entry.state is Written.NOTHING:
            dequeue(storage, plan.queue_entry, plan.revisit)
            held -= 1
            continue
        else:
            what = HeldBack(action=ShadowAction.REMOVE, qualified_name=plan.entry.qualified_name)
        _hold(storage, plan.queue_entry.process, what)
        dequeue(storage, plan.queue_entry, plan.revisit)
    return held + len(resolved)


def _resolved(
    context: PublishContext, plans: Sequence[Plan], found: dict[AssetKey, AssetMatch], put_off: PutOff
) -> list[Plan]:
    """The plans with resolved names (their assets are added to `found`), without those that are put off since the
    catalog refuses to look up their assets.
    """
    resolved: list[Plan] = []
    bisection = Bisection(plans)
    while call := bisection.next_call():
        try:
            resolved += resolve_plans(context, call, found)
            bisection.answered([])
        except CatalogRefused as error:
            if error.no_access:
                raise
            if len(call) == 1:
                put_off(call[0].queue_entry, error, isolated=True)
            bisection.answered(call)
    return resolved


def _changed(context: PublishContext, entry: QueueEntry, reading: Reading) -> Plan | None:
    """The plan for a process that would be written or removed; None where nothing is to be done, or not yet."""
    storage = context.storage
    before = storage.read(SHADOW, QUEUE_PARTITION, entry.process)
    plan = plan_for(reading, entry)
    if plan.entry.may_still_land(context.publishing.now()):
        put_queued(storage, replace(entry, due=plan.entry.until))
        return None
    if not plan.unchanged:
        return plan
    if before:  # conditional: a newer row stays
        storage.delete(SHADOW, QUEUE_PARTITION, entry.process, before.etag)
    if record_schemas(storage, plan):
        dequeue(storage, entry, plan.revisit)
    return None


def _rehearse_state(context: PublishContext, entry: QueueEntry, reading: Reading) -> bool:
    storage, entity = context.storage, described(context.storage, column_report(reading, entry))
    ours = entity and context.catalog.placeholders([entity.key])
    if entity and ours:
        _hold(storage, entry.process, HeldBack(action=ShadowAction.DESCRIBE, qualified_name=entity.qualified_name))
    dequeue(storage, entry)
    return bool(ours)


def _hold(storage: Storage, key: str, what: HeldBack) -> None:
    row = Row(partition=QUEUE_PARTITION, key=key, values=_HELD.pack(storage, what))
    storage.upsert(SHADOW, row)


def held_back(storage: Storage) -> Iterator[tuple[str, HeldBack]]:
    """All writes that are held back, by the key of the process or data set."""
    for row in storage.partition(SHADOW, QUEUE_PARTITION):
        yield row.key, _HELD.unpack(storage, row)


def counted(held: Sequence[HeldBack]) -> Shadow:
    """Count what is held back; an asset that several processes need is created once."""
    return Shadow(
        writes=sum(each.action is ShadowAction.WRITE for each in held),
        creates=len({key for each in held for key in each.creates}),
        removes=sum(each.action is ShadowAction.REMOVE for each in held),
        describes=sum(each.action is ShadowAction.DESCRIBE for each in held),
    )


def leave_shadow_mode(storage: Storage, options: PublishOptions) -> int:
    """Unless in shadow mode, enqueue all that was held back. Returns the number of entries; safe to repeat."""
    if options.shadow:
        return 0
    number = 0
    for row in storage.partition(SHADOW, QUEUE_PARTITION):
        enqueue(storage, [row.key])
        storage.delete(SHADOW, QUEUE_PARTITION, row.key, row.etag)
        number += 1
    return number
