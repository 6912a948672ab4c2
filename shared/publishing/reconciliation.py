"""Reconciliation: move lineage from placeholders to assets that a scan has found since, and remove the placeholders.

The match is saved first; then the processes that use the placeholder get their ledger fingerprints cleared and are
enqueued, so that the publisher writes them on the match. An interruption repeats it. A process that was written to the
placeholder meanwhile is moved the next time, since the placeholder stays until it has no links. A placeholder whose
processes the catalog does not report is put off, and keeps no other from being moved.
"""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from msgspec import structs

from shared.catalog.batches import batches
from shared.catalog.port import AssetKey, Catalog
from shared.errors import CatalogRefused, CatalogUnavailable, WriteConflict
from shared.publishing.planning.asset_resolution import look_up_matches, merged_match
from shared.publishing.planning.context import PublishContext
from shared.publishing.publisher_lease import remove_placeholders
from shared.publishing.writing.failures import error_text
from shared.records.asset_matches import AssetMatch, all_matches, delete_matches, save_matches
from shared.records.checkpoint import RECONCILE
from shared.records.ledger import request_rewrite
from shared.records.publish_queue import enqueue, queue_entries
from shared.storage_layout import process_key
from shared.translation.job.identity import OURS

_LOG = logging.getLogger("throughline.reconcile")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """Counts: placeholders looked up, matched by a scanned asset, and `ambiguous` ones; processes to be written
    again; placeholders whose processes the catalog did not report (`failed`); placeholders removed.
    """

    looked: int = 0
    found: int = 0
    ambiguous: int = 0
    processes: int = 0
    failed: int = 0
    removed: int = 0

    def __add__(self, other: "Reconciled") -> "Reconciled":
        return Reconciled(**{name: number + getattr(other, name) for name, number in asdict(self).items()})


def placed_assets(context: PublishContext) -> list[AssetMatch]:
    """All placeholders: remembered ones, and others that the catalog's search finds."""
    found = {each.own: each for each in all_matches(context.storage) if each.left or not each.scanned}
    for node in context.catalog.ours():
        key = node.key
        if not node.is_process and key not in found:
            found[key] = AssetMatch(own=key, guid=node.guid)
    return [found[key] for key in sorted(found)]


def refreshed_matches(context: PublishContext, placed: Sequence[AssetMatch]) -> list[AssetMatch]:
    """The matches of these placeholders now. Writes nothing."""
    fresh = look_up_matches(context, {each.own: each.also for each in placed})
    return [merged_match(fresh[each.own], each) for each in placed]


def move(context: PublishContext, placed: Sequence[AssetMatch], *, again: bool = False) -> Reconciled:
    """Look these placeholders up again, and move the processes of those that match a scanned asset: once, then again
    after the time that misses are remembered, or at once with `again`.

    Raises CatalogRefused without access, or where the look-up is refused, and CatalogUnavailable.
    """
    storage, options = context.storage, context.publishing
    fresh = refreshed_matches(context, placed)
    kept = {each.own: each for each in save_matches(storage, [each for each in fresh if each.guid])}
    fresh = [kept.get(each.own, each) for each in fresh]
    delete_matches(storage, [each for each in fresh if not each.guid])
    left = [each for each in fresh if each.left]
    now = options.now()
    to_move = [each for each in left if again or each.moved is None or now - each.moved >= options.finding.misses]
    done = Reconciled(
        looked=len(fresh),
        found=sum(each.scanned is not None for each in fresh),
        ambiguous=sum(bool(each.rivals) for each in fresh),
    )
    waiting = sorted(to_move, key=lambda each: (each.moved is not None, each.moved or now))
    return done + _move_users(context, waiting)


def _move_users(context: PublishContext, placed: Sequence[AssetMatch]) -> Reconciled:
    """Enqueue the processes that use these placeholders, for one placeholder after the other: where the catalog does
    not report them, that placeholder alone is put off, as long as if it had been moved.

    Raises CatalogRefused without access, and CatalogUnavailable where what was asked for is not the cause, or again at
    the next placeholder.
    """
    storage, now = context.storage, context.publishing.now()
    moved: set[str] = set()
    failed = 0
    answered = True
    for each in placed:
        users: set[str] = set()
        try:
            users = _users(context.catalog, each.own) - moved
            answered = True
        except (CatalogRefused, CatalogUnavailable) as error:
            if error.no_access if isinstance(error, CatalogRefused) else not (error.blames and answered):
                raise
            answered = isinstance(error, CatalogRefused)
            failed += 1
            _LOG.warning("placeholder not moved asset=%r error=%s", each.own[1], error_text(error))
        for process in users:
            request_rewrite(storage, process)
        enqueue(storage, users)
        save_matches(storage, [structs.replace(each, moved=now)])
        moved |= users
    return Reconciled(processes=len(moved), failed=failed)


def _users(catalog: Catalog, key: AssetKey) -> set[str]:
    """The processes (by key) that the catalog links to this placeholder."""
    held = catalog.placeholders([key]).get(key)
    if not held or not held.links:
        return set()
    nodes = catalog.lineage(held.guid, direction="BOTH", depth=1).nodes.values()
    return {process_key(node.qualified_name) for node in nodes if node.qualified_name.startswith(OURS)}


def remove_left(context: PublishContext, *, wait: bool) -> int:
    """Remove unlinked placeholders that match a scanned asset: how many. `wait` for the publisher's lease; else nothing
    is done while another holds it.
    """
    storage = context.storage
    left = {each.own: each for each in all_matches(storage) if each.left}
    number = 0
    for keys in batches(sorted(left), context.publishing.batch):
        try:
            done = remove_placeholders(context, keys, wait=wait)
        except WriteConflict:
            if wait:
                raise
            break
        number += len(done.removed)
        save_matches(
            storage, [structs.replace(left[key], left=False, moved=None) for key in keys if key not in done.kept]
        )
    return number


def reconcile_due(context: PublishContext) -> Reconciled:
    """Reconcile one batch of the placeholders that are due, the longest waiting first. One read where none is due. An
    unavailable catalog is logged, and tried again at the next call.
    """
    storage, options = context.storage, context.publishing
    now = options.now()
    due = RECONCILE.load(storage)
    if options.shadow or (due and now < due) or queue_entries(storage)[1]:
        return Reconciled()
    placed = [each for each in all_matches(storage) if each.left or not each.scanned]
    waiting = [each for each in placed if each.left or each.is_due(now, options.finding.misses)]
    batch = sorted(waiting, key=lambda each: (each.at, each.own))[: options.batch]
    done = Reconciled()
    try:
        if batch:
            done = move(context, batch)
            done += Reconciled(removed=remove_left(context, wait=False))
    except (CatalogUnavailable, CatalogRefused) as error:
        _LOG.warning("reconciliation put off error=%s", type(error).__name__)
        return done
    if len(waiting) > len(batch) or any(each.left for each in all_matches(storage)):
        return done
    rest = [each.at + options.finding.misses for each in placed if each not in batch]
    RECONCILE.save(storage, min([*rest, now + options.finding.misses]))
    return done
