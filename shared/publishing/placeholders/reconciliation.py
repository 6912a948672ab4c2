"""Reconciling: what we placed and a scan has found since. The lineage moves to what was found, and the placeholder goes
once nothing points to it.

What was found is put on record first, then the ledger forgets what it knows of the processes that use the placeholder,
and they are marked: the publisher writes them on the found asset. Cut off anywhere it is done again. A process that was
being written to the placeholder meanwhile is found by the next look, since the placeholder stays until it has no links.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from shared.catalog.port import AssetKey, Catalog
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.publishing.asset_resolution import ask, continued
from shared.publishing.options import PublishOptions
from shared.publishing.publisher_lease import removed_of
from shared.records.asset_matches import AssetMatch, all_matches, delete_matches, save_matches
from shared.records.checkpoint import RECONCILE
from shared.records.ledger import request_rewrite
from shared.records.publish_queue import enqueue, queue_entries
from shared.storage.port import Storage
from shared.storage_layout import process_key
from shared.translation.job.identity import OURS

_LOG = logging.getLogger("throughline.reconcile")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """How many placeholders were looked for, of how many a scan has found the asset, and of how many nothing tells
    which of several it is; how many processes are to be written anew, and how many placeholders were removed.
    """

    looked: int = 0
    found: int = 0
    unsure: int = 0
    processes: int = 0
    removed: int = 0

    def __add__(self, other: "Reconciled") -> "Reconciled":
        return Reconciled(
            looked=self.looked + other.looked,
            found=self.found + other.found,
            unsure=self.unsure + other.unsure,
            processes=self.processes + other.processes,
            removed=self.removed + other.removed,
        )


def placed_assets(storage: Storage, catalog: Catalog) -> list[AssetMatch]:
    """All that we placed: what is remembered, and what the catalog's search tells of besides."""
    found = {each.own: each for each in all_matches(storage) if each.left or not each.scanned}
    for node in catalog.ours():
        key = node.key
        if not node.is_process and key not in found:
            found[key] = AssetMatch(own=key, guid=node.guid)
    return [found[key] for key in sorted(found)]


def looked_again(catalog: Catalog, how: PublishOptions, placed: Sequence[AssetMatch]) -> list[AssetMatch]:
    """What the catalog has of these now. Writes nothing."""
    fresh = ask(catalog, how, {each.own: each.also for each in placed})
    return [continued(fresh[each.own], each) for each in placed]


def move(
    storage: Storage, catalog: Catalog, how: PublishOptions, placed: Sequence[AssetMatch], *, again: bool = False
) -> Reconciled:
    """Look for these anew; where a scan has found one, have what uses our placeholder be written on what was found:
    once, and `again` where that is asked for, or was of no use for long.
    """
    fresh = looked_again(catalog, how, placed)
    kept = {each.own: each for each in save_matches(storage, [each for each in fresh if each.guid])}
    fresh = [kept.get(each.own, each) for each in fresh]
    delete_matches(storage, [each for each in fresh if not each.guid])
    left = [each for each in fresh if each.left]
    now = how.now()
    to_move = [each for each in left if again or each.moved is None or now - each.moved >= how.finding.misses]
    users = _users(catalog, [each.own for each in to_move])
    for process in users:
        request_rewrite(storage, process)
    enqueue(storage, users)
    save_matches(storage, [structs.replace(each, moved=now) for each in to_move])
    return Reconciled(
        looked=len(fresh),
        found=sum(each.scanned is not None for each in fresh),
        unsure=sum(bool(each.rivals) for each in fresh),
        processes=len(users),
    )


def _users(catalog: Catalog, keys: Sequence[AssetKey]) -> set[str]:
    """The processes of ours (by key) that the catalog links to these placeholders."""
    found = set()
    for held in catalog.placeholders(keys).values():
        if held.links:
            nodes = catalog.lineage(held.guid, direction="BOTH", depth=1).nodes.values()
            found |= {process_key(node.qualified_name) for node in nodes if node.qualified_name.startswith(OURS)}
    return found


def remove_left(storage: Storage, catalog: Catalog, how: PublishOptions, *, wait: bool) -> int:
    """Remove those of our placeholders of which a scan has found the asset and to which nothing is linked any more: how
    many. `wait`: until nobody publishes; else nothing is done while somebody does.
    """
    left = {each.own: each for each in all_matches(storage) if each.left}
    number = 0
    keys = sorted(left)
    for start in range(0, len(keys), how.batch):
        batch = keys[start : start + how.batch]
        done = removed_of(storage, catalog, batch, wait=wait)
        if done is None:
            break
        number += len(done.removed)
        save_matches(
            storage, [structs.replace(left[key], left=False, moved=None) for key in batch if key not in done.kept]
        )
    return number


def tidy(storage: Storage, catalog: Catalog, how: PublishOptions) -> Reconciled:
    """Reconcile a batch of what is due, those first that were looked for longest ago: what the sweeper does at each
    tick. Where nothing is due it costs one read. A catalog that is away is left alone; the next tick tries again.
    """
    now = how.now()
    due = RECONCILE.load(storage)
    if how.shadow or (due and now < due) or queue_entries(storage)[1]:
        return Reconciled()
    placed = [each for each in all_matches(storage) if each.left or not each.scanned]
    waiting = [each for each in placed if each.left or each.is_due(now, how.finding.misses)]
    batch = sorted(waiting, key=lambda each: (each.at, each.own))[: how.batch]
    done = Reconciled()
    try:
        if batch:
            done = move(storage, catalog, how, batch)
            done += Reconciled(removed=remove_left(storage, catalog, how, wait=False))
    except (CatalogUnavailable, CatalogRefused) as error:
        _LOG.warning("reconciling put off error=%s", type(error).__name__)
        return done
    if len(waiting) > len(batch) or any(each.left for each in all_matches(storage)):
        return done
    rest = [each.at + how.finding.misses for each in placed if each not in batch]
    RECONCILE.save(storage, min([*rest, now + how.finding.misses]))
    return done
