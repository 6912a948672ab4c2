"""Placing: the data sets that no scan has found are created as placeholders, with what became of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from msgspec import structs

from shared.catalog import AssetKey, Catalog
from shared.pipeline.assets import placeholder, sentences
from shared.pipeline.dirty import mark_dirty
from shared.pipeline.final import final_entity
from shared.pipeline.finding import resolve
from shared.pipeline.found import FoundAsset, remember
from shared.pipeline.planning import Plan, Publishing
from shared.storage import Storage


def found_for(
    storage: Storage, catalog: Catalog, how: Publishing, plans: Sequence[Plan]
) -> tuple[dict[AssetKey, FoundAsset], list[Plan]]:
    """What was found of the assets of these plans, and the plans under the final names."""
    found = resolve(storage, catalog, how, dict.fromkeys(asset for plan in plans for asset in plan.assets))
    return found, [under_final_names(plan, found, how) for plan in plans]


def under_final_names(plan: Plan, found: Mapping[AssetKey, FoundAsset], how: Publishing) -> Plan:
    """The plan with the entity as it is to be sent; without one, where nothing is left to say."""
    if plan.process is None:
        return plan
    return replace(plan, entity=final_entity(plan.process, found, with_indirect=how.with_indirect))


def place(
    storage: Storage,
    catalog: Catalog,
    how: Publishing,
    plans: Sequence[Plan],
    found: dict[AssetKey, FoundAsset],
    *,
    until: datetime,
) -> dict[AssetKey, str]:
    """The guids of all assets of these plans, by their final names. Those that are nowhere are created (which is added
    to what was `found`), and it is said what became of them: also what was noted meanwhile. Those are left out that the
    catalog does not take, or for which it is too late to be over by `until`.
    """
    guids = {each.key: each.guid for each in found.values() if each.guid}
    wanted = {(asset.type, asset.qualified_name): asset for plan in plans for asset in plan.assets}
    missing = [wanted[key] for key in sorted(wanted) if not found[key].guid]
    for start in range(0, len(missing), how.batch):
        if how.now() + how.call_bound > until:
            break
        batch = missing[start : start + how.batch]
        said = sentences(storage, batch)
        created = catalog.create_assets([placeholder(asset, said) for asset in batch])
        found |= {key: structs.replace(found[key], guid=guid) for key, guid in created.items()}
        remember(storage, [found[key] for key in created])
        now = sentences(storage, batch)
        mark_dirty(storage, [mark for mark in now if now[mark] != said[mark]])
        guids |= created
    return guids


def describe_again(storage: Storage, plans: Sequence[Plan]) -> None:
    """Where a write was cut off, its data sets may have landed late, over what has been said of them since."""
    cut_off = {asset for plan in plans if plan.entry.state == "writing" for asset in plan.assets}
    said = sentences(storage, cut_off)
    mark_dirty(storage, [mark for mark in said if said[mark]])
