"""Updates of placeholders: lifecycle state and columns.

The row in `assetmatches` first says that the columns are unknown, with the deadline of the update; then the catalog is
called; then the row holds the columns. Unknown columns are updated again, but not before the deadline. An interrupted
update leaves its queue entry.
"""

import logging
from dataclasses import replace

from msgspec import structs

from shared.atlas.entities import AssetEntity, asset_entity
from shared.catalog.port import Catalog
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.model import Asset
from shared.publishing.placeholders.columns import ColumnReport, column_report
from shared.publishing.planning.context import PublishContext
from shared.publishing.planning.planner import Reading
from shared.publishing.planning.write_deadline import (
    calls_to_describe,
    describe_until,
    is_in_time,
    last_effect,
    last_effect_of_success,
)
from shared.records.asset_lifecycle import state_of
from shared.records.asset_matches import AssetMatch, replace_match, save_matches
from shared.records.ledger import NOTHING_BEGUN
from shared.records.publish_queue import QueueEntry, dequeue, put_queued
from shared.storage.port import Storage

_LOG = logging.getLogger("throughline.placeholders")


def described(storage: Storage, report: ColumnReport) -> AssetEntity | None:
    """The data set of this report as it should be; None if nothing is known of it."""
    asset, sentence = state_of(storage, report.key)
    if asset is None and report.found:
        type_, name = report.found.own
        asset = Asset(type=type_, qualified_name=name, namespace="", name="")
    return asset_entity(asset, sentence, report.schema.columns, report.schema.declared) if asset else None


def publish_asset(context: PublishContext, queue_entry: QueueEntry, reading: Reading) -> bool:
    """Update lifecycle state and columns of a data set, if it is a placeholder. Whether anything was written.

    Raises CatalogRefused where the columns are refused (the rest is written), CatalogUnavailable, and ContentLost.
    """
    storage, report = context.storage, column_report(reading, queue_entry)
    found = report.found
    if found and context.publishing.now() < found.until:
        put_queued(storage, replace(queue_entry, due=found.until))
        return False
    wanted = described(storage, report)
    written: bool | None = False
    if wanted and found and found.is_placeholder:
        written = _describe_ours(context, report, found, wanted)
    elif wanted:
        written = context.catalog.describe_placeholder(wanted)
    if written is None:
        return False
    if wanted and written:
        _LOG.info("asset described asset=%r", wanted.qualified_name)
    dequeue(storage, queue_entry)
    return written


def _describe_ours(
    context: PublishContext, report: ColumnReport, found: AssetMatch, wanted: AssetEntity
) -> bool | None:
    """Update a placeholder: whether anything was written; None if another publisher was faster."""
    storage = context.storage
    if not report.forget_digests(storage):
        return None
    calls = calls_to_describe(max(len(wanted.columns), len(found.columns or ())))
    until = describe_until(context, calls)
    begun = replace_match(storage, structs.replace(found, columns=None, until=until))
    if begun is None or not is_in_time(context, until, calls):
        return None
    try:
        written = _describe(context.catalog, wanted, bare=not wanted.columns and found.columns != ())
    except CatalogRefused:
        save_matches(storage, [structs.replace(begun, until=NOTHING_BEGUN)])
        raise
    except CatalogUnavailable as error:
        save_matches(
            storage, [structs.replace(begun, until=NOTHING_BEGUN if error.over else last_effect(context, until))]
        )
        raise
    lands = last_effect_of_success(context, until)
    done = structs.replace(
        begun,
        columns=wanted.columns,
        column_sources=report.current_sources,
        until=lands,
    )
    save_matches(storage, [done])
    return written


def _describe(catalog: Catalog, asset: AssetEntity, *, bare: bool) -> bool:
    try:
        return catalog.describe_placeholder(asset, bare=bare)
    except CatalogRefused as refusal:
        if asset.columns and not refusal.no_access:
            catalog.describe_placeholder(replace(asset, columns=()))
        raise
