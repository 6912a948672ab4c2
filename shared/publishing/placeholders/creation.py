"""Placing: the data sets that no scan has found are created as placeholders, with what became of them."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from msgspec import structs

from shared.atlas.columns import weight
from shared.atlas.entities import AssetEntity
from shared.catalog.port import AssetKey, Catalog
from shared.errors import CatalogRefused
from shared.model import Asset
from shared.publishing.asset_resolution import resolve
from shared.publishing.last_run import last_run
from shared.publishing.options import PublishOptions
from shared.publishing.placeholders.columns import Columns, columns_told, tellers_of
from shared.publishing.planner import Plan
from shared.publishing.resolved_process import final_entity
from shared.publishing.write_deadline import CALLS_TO_PLACE, is_in_time
from shared.records.asset_lifecycle import placeholder, sentences
from shared.records.asset_matches import AssetMatch, match_key, queue_key, save_matches
from shared.records.publish_queue import enqueue
from shared.secrets import text_without_secrets
from shared.storage.port import Storage

_LOG = logging.getLogger("throughline.placing")


def found_for(
    storage: Storage, catalog: Catalog, how: PublishOptions, plans: Sequence[Plan]
) -> tuple[dict[AssetKey, AssetMatch], list[Plan]]:
    """What was found of the assets of these plans, and the plans under the final names."""
    found = resolve(storage, catalog, how, dict.fromkeys(asset for plan in plans for asset in plan.assets))
    named = [under_final_names(plan, found, how) for plan in plans]
    return found, [
        replace(plan, entity=replace(plan.entity, facts=last_run(storage, how, plan))) if plan.entity else plan
        for plan in named
    ]


def under_final_names(plan: Plan, found: Mapping[AssetKey, AssetMatch], how: PublishOptions) -> Plan:
    """The plan with the entity as it is to be sent; without one, where nothing is left to say."""
    if plan.process is None:
        return plan
    return replace(plan, entity=final_entity(plan.process, found, with_indirect=how.with_indirect))


def place(
    storage: Storage,
    catalog: Catalog,
    how: PublishOptions,
    plans: Sequence[Plan],
    found: dict[AssetKey, AssetMatch],
    *,
    until: datetime,
) -> dict[AssetKey, str]:
    """The guids of all assets of these plans, by their final names. Those that are nowhere are created (which is added
    to what was `found`), and it is said what became of them: also what was noted meanwhile. Those are left out that the
    catalog does not take, or for which it is too late to be over by `until`.
    """
    guids = {each.key: each.guid for each in found.values() if each.guid}
    wanted = {asset.key: asset for plan in plans for asset in plan.assets}
    missing = [wanted[key] for key in sorted(wanted) if not found[key].guid]
    processes = [plan.process for plan in plans if plan.process]
    columns = {each: columns_told(each.key, processes) for each in missing}
    for batch in _batches(missing, columns, how.batch):
        if not is_in_time(how, until, CALLS_TO_PLACE):
            break
        said = sentences(storage, batch)
        entities = [placeholder(asset, said, columns[asset]) for asset in batch]
        created, whole = _created(catalog, entities, how.batch)
        marks: set[str] = set()
        for key, guid in created.items():
            now_told, column_sources = tellers_of(plans, key), found[key].column_sources
            held = columns[wanted[key]] if key in whole or not columns[wanted[key]] else None
            if held != columns[wanted[key]] or not now_told >= set(column_sources):
                marks.add(queue_key(match_key(key)))
            column_sources = tuple(sorted(now_told.union(column_sources)))
            found[key] = structs.replace(found[key], guid=guid, column_sources=column_sources, columns=held)
        found |= {each.own: each for each in save_matches(storage, [found[key] for key in created])}
        if not is_in_time(how, until, 0):  # whoever went on meanwhile did not know what we have placed
            marks |= {queue_key(match_key(key)) for key in created}
        now = sentences(storage, batch)
        enqueue(storage, {*marks, *(mark for mark in now if now[mark] != said[mark])})
        guids |= created
    return guids


def _batches(assets: Iterable[Asset], columns: Mapping[Asset, Columns], size: int) -> Iterator[list[Asset]]:
    """So many at a time as make one call with their columns; one that is too wide for a call goes without them."""
    batch: list[Asset] = []
    held = 0
    for asset in assets:
        heavy = weight(asset.type, columns[asset])
        heavy = heavy if heavy <= size else 1
        if batch and held + heavy > size:
            yield batch
            batch, held = [], 0
        batch.append(asset)
        held += heavy
    if batch:
        yield batch


def _created(catalog: Catalog, entities: Sequence[AssetEntity], size: int) -> tuple[dict[AssetKey, str], set[AssetKey]]:
    """The guids, and which came with their columns: what is too wide for a call comes without, and is described by
    itself. Where columns are refused all come without: a catalog that knows other ones must not keep lineage away.
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
    """Where a write was cut off, its data sets may have landed late, over what has been said of them since."""
    cut_off = {asset for plan in plans if plan.entry.state == "writing" for asset in plan.assets}
    said = sentences(storage, cut_off)
    enqueue(storage, (mark for mark in said if said[mark]))
