"""Reconciliation: move lineage from placeholders to assets that a scan has found since, and remove the placeholders.

It is done under the publisher's lease. The match is saved first; then the processes that use the placeholder get their
ledger fingerprints cleared and are enqueued, so that the publisher writes them on the match. An interruption repeats
it. A process that was written to the placeholder meanwhile is moved the next time, since the placeholder stays until it
has no links. A placeholder whose processes the catalog does not report is put off, and keeps no other from being moved.
"""

import logging
from collections import Counter
from collections.abc import Sequence

from msgspec import structs

from shared.catalog.port import AssetKey, Catalog, ProcessLinks, batches
from shared.errors import CatalogRefused, CatalogUnavailable, WriteConflict
from shared.publishing.context import PublishContext, remove_unlinked, turn
from shared.publishing.outcomes import error_text
from shared.publishing.resolution import Lookup
from shared.records.asset_record import AssetRecord
from shared.records.assets import all_assets
from shared.records.control import RECONCILE
from shared.records.ledger import request_rewrite
from shared.records.publish_queue import enqueue, present_pause
from shared.storage_layout import process_key

_LOG = logging.getLogger("throughline.reconcile")


def placed_assets(context: PublishContext) -> list[AssetRecord]:
    """All placeholders: remembered ones, and others that the catalog's search finds."""
    records = {record.own: record for record in all_assets(context.storage) if record.left or record.is_placeholder}
    for node in context.catalog.ours():
        if not node.is_process and node.key not in records:
            records[node.key] = AssetRecord(own=node.key, guid=node.guid)
    return [records[key] for key in sorted(records)]


def refreshed_matches(context: PublishContext, placed: Sequence[AssetRecord]) -> list[AssetRecord]:
    """The records of these placeholders with their matches now. Writes nothing."""
    names = {record.own: record.also for record in placed}
    records = Lookup(context=context, names=names, stored={record.own: record for record in placed}).records()
    return [records[record.own] for record in placed]


def move(context: PublishContext, placed: Sequence[AssetRecord], *, tries_again: bool = False) -> Counter[str]:
    """Look these placeholders up again, and move the processes of those that match a scanned asset: once, then again
    after the time that misses are remembered, or at once with `tries_again`. The publisher's lease is held.

    How many placeholders were `looked` up, match a scanned asset (`found`) or several (`ambiguous`), `processes` are
    to be written again, and placeholders `failed`, since the catalog did not report their processes.

    Raises CatalogRefused without access, or where the look-up is refused, CatalogUnavailable and WriteConflict.
    """
    storage, options, rows = context.storage, context.publishing, context.assets
    stored = rows.read(storage, [record.own for record in placed])
    fresh_records = refreshed_matches(context, [stored.get(record.own, record) for record in placed])
    for record in fresh_records:
        if record.guid or record.own in stored:
            rows.put(record)
    rows.flush(storage)
    now = options.now()
    waiting = [
        record
        for record in fresh_records
        if record.left and (tries_again or record.moved is None or now - record.moved >= options.finding.misses)
    ]
    counts = Counter(
        looked=len(fresh_records),
        found=sum(record.scanned is not None for record in fresh_records),
        ambiguous=sum(bool(record.rivals) for record in fresh_records),
    )
    waiting.sort(key=lambda record: (record.moved is not None, record.moved or now))
    return counts + _move_users(context, waiting)


def _move_users(context: PublishContext, placed: Sequence[AssetRecord]) -> Counter[str]:
    """Enqueue the processes that use these placeholders, for one placeholder after the other: where the catalog does
    not report them, that placeholder alone is put off, as long as if it had been moved.

    Raises CatalogRefused without access, and CatalogUnavailable where what was asked for is not the cause, or again at
    the next placeholder.
    """
    storage, rows, now = context.storage, context.assets, context.publishing.now()
    moved: set[str] = set()
    failed = 0
    is_answered = True
    for record in placed:
        users: set[str] = set()
        try:
            users = _users(context.catalog, record.own) - moved
            is_answered = True
        except (CatalogRefused, CatalogUnavailable) as error:
            if error.no_access if isinstance(error, CatalogRefused) else not (error.blames and is_answered):
                raise
            is_answered = isinstance(error, CatalogRefused)
            failed += 1
            _LOG.warning("placeholder not moved asset=%r error=%s", record.own[1], error_text(error))
        for process in users:
            request_rewrite(storage, process)
        enqueue(storage, users)
        for current in rows.read(storage, [record.own]).values():
            rows.put(structs.replace(current, moved=now))
        rows.flush(storage)
        moved |= users
    return Counter(processes=len(moved), failed=failed)


def _users(catalog: Catalog, key: AssetKey) -> set[str]:
    """The processes (by key) that the catalog links to this placeholder."""
    if key not in catalog.placeholders([key]):
        return set()
    links = catalog.process_links([key]).get(key, ProcessLinks())
    return {process_key(name) for name in catalog.process_names(links.readers | links.writers)}


def remove_left(context: PublishContext) -> int:
    """Remove unlinked placeholders that match a scanned asset: how many. The publisher's lease is held."""
    storage, rows = context.storage, context.assets
    left_keys = sorted(record.own for record in all_assets(storage) if record.left)
    number = 0
    for keys in batches(left_keys, context.publishing.batch):
        removal = remove_unlinked(context, keys)
        number += len(removal.removed)
        for record in rows.read(storage, [key for key in keys if key not in removal.kept]).values():
            rows.put(structs.replace(record, left=False, moved=None))
        rows.flush(storage)
    return number


def reconcile_due(context: PublishContext) -> Counter[str]:
    """Reconcile one batch of the placeholders that are due, the longest waiting first. One read where none is due;
    nothing while a publisher works. An unavailable catalog is logged, and tried again at the next call.
    """
    storage, options = context.storage, context.publishing
    now = options.now()
    due_time = RECONCILE.load(storage)
    if options.shadow or (due_time and now < due_time) or present_pause(storage)[0]:
        return Counter()
    counts = Counter[str]()
    try:
        with turn(context, tries=0):
            placed = [record for record in all_assets(storage) if record.left or record.is_placeholder]
            waiting = [record for record in placed if record.left or record.is_due(now, options.finding.misses)]
            batch = sorted(waiting, key=lambda record: (record.at, record.own))[: options.batch]
            if batch:
                counts = move(context, batch)
                remove_left(context)
    except WriteConflict:
        return counts
    except (CatalogUnavailable, CatalogRefused) as error:
        _LOG.warning("reconciliation put off error=%s", type(error).__name__)
        return counts
    if len(waiting) > len(batch) or any(record.left for record in all_assets(storage)):
        return counts
    looked = {record.own for record in batch}
    next_times = [record.at + options.finding.misses for record in placed if record.own not in looked]
    RECONCILE.save(storage, min([*next_times, now + options.finding.misses]))
    return counts
