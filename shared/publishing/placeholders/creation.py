"""Creation of placeholders for data sets that match no catalog asset, with their columns and lifecycle state."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from msgspec import structs

from shared.atlas.columns import weight
from shared.atlas.entities import AssetEntity, asset_entity
from shared.catalog.batches import batches
from shared.catalog.port import AssetKey, Catalog
from shared.errors import CatalogRefused
from shared.model import Asset
from shared.publishing.placeholders.columns import merged_schema, reported_assets
from shared.publishing.planning.asset_resolution import resolve
from shared.publishing.planning.context import PublishContext
from shared.publishing.planning.last_run import last_run
from shared.publishing.planning.options import PublishOptions
from shared.publishing.planning.planner import Plan
from shared.publishing.planning.resolved_process import resolved_entity
from shared.publishing.planning.write_deadline import CALLS_TO_PLACE, is_in_time
from shared.records.asset_lifecycle import sentences
from shared.records.asset_matches import AssetMatch, match_key, queue_key, save_matches
from shared.records.publish_queue import enqueue
from shared.secrets import text_without_secrets
from shared.storage.port import Storage

_LOG = logging.getLogger("throughline.placeholders")


def resolve_plans(context: PublishContext, plans: Sequence[Plan], found: dict[AssetKey, AssetMatch]) -> list[Plan]:
    """Resolve the assets of these plans that were not `found` yet (and add them there). Returns the plans with resolved
    names and facts of the last run.
    """
    assets = dict.fromkeys(asset for plan in plans for asset in plan.assets if asset.key not in found)
    found |= resolve(context, assets)
    named = [with_resolved_names(plan, found, context.publishing) for plan in plans]
    return [
        replace(plan, entity=replace(plan.entity, facts=last_run(context, plan))) if plan.entity else plan
        for plan in named
    ]


def with_resolved_names(plan: Plan, found: Mapping[AssetKey, AssetMatch], options: PublishOptions) -> Plan:
    """The plan with the entity to send; without one where inputs and outputs match one asset."""
    if plan.process is None:
        return plan
    return replace(plan, entity=resolved_entity(plan.process, found, with_indirect=options.with_indirect))


def place(
    context: PublishContext, plans: Sequence[Plan], found: dict[AssetKey, AssetMatch], *, until: datetime
) -> dict[AssetKey, str]:
    """Create the assets of these plans that were not `found` (and add them there). Returns the guids of all assets.

    Those are missing that the catalog refused, or that could not be created before the deadline `until`. Lifecycle
    changes in the meantime enqueue the data set.
    """
    storage, most = context.storage, context.publishing.batch
    guids = {each.key: each.guid for each in found.values() if each.guid}
    wanted = {asset.key: asset for plan in plans for asset in plan.assets}
    missing = [wanted[key] for key in sorted(wanted) if not found[key].guid]
    processes = [plan.process for plan in plans if plan.process]
    schemas = {each.key: merged_schema(each.key, processes) for each in missing}

    def weigh(asset: Asset) -> int:
        """The number of its entities: without its columns, if these are too many for a call."""
        number = weight(asset.type, schemas[asset.key].columns)
        return number if number <= most else 1

    for batch in batches(missing, most, weigh):
        states = sentences(storage, batch)  # before the time is checked: storage may be slow
        if not is_in_time(context, until, CALLS_TO_PLACE):
            break
        entities = [
            asset_entity(each, states[queue_key(match_key(each.key))], schema.columns, schema.declared)
            for each in batch
            for schema in (schemas[each.key],)
        ]
        created, whole = _created(context.catalog, entities, most)
        marks: set[str] = set()
        for key, guid in created.items():
            before, schema = found[key], schemas[key]
            sources = {
                plan.queue_entry.process for plan in plans if plan.process and key in reported_assets(plan.process)
            }
            is_whole = key in whole or not schema.columns
            if not is_whole or not sources >= set(before.column_sources):
                marks.add(queue_key(match_key(key)))
            found[key] = structs.replace(
                before,
                guid=guid,
                column_sources=tuple(sorted(sources.union(before.column_sources))),
                columns=schema.columns if is_whole else None,
            )
        found |= {each.own: each for each in save_matches(storage, [found[key] for key in created])}
        if not is_in_time(context, until, 0):  # another publisher may have gone on without these
            marks |= {queue_key(match_key(key)) for key in created}
        now = sentences(storage, batch)
        enqueue(storage, {*marks, *(mark for mark in now if now[mark] != states[mark])})
        guids |= created
    return guids


def _created(catalog: Catalog, entities: Sequence[AssetEntity], size: int) -> tuple[dict[AssetKey, str], set[AssetKey]]:
    """The guids, and the assets created with their columns. An asset too wide for a call is created without; where
    columns are refused all are: a catalog with other column types must not prevent lineage.
    """
    fitting = [each if each.weight <= size else replace(each, columns=()) for each in entities]
    try:
        return catalog.create_assets(fitting), {each.key for each in fitting if each.columns}
    except CatalogRefused as refusal:
        if refusal.no_access or not any(each.columns for each in fitting):
            raise
        _LOG.warning("columns refused error=%s", text_without_secrets(str(refusal)))
    return catalog.create_assets([replace(each, columns=()) for each in fitting]), set()


def describe_again(storage: Storage, plans: Sequence[Plan]) -> None:
    """Enqueue data sets of interrupted writes that have a lifecycle state: a late call may have overwritten it."""
    states = sentences(storage, {asset for plan in plans if plan.was_interrupted for asset in plan.assets})
    enqueue(storage, (mark for mark in states if states[mark]))
