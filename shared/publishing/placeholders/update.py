"""Describing: what became of a data set, and what columns it has, said of the placeholder of ours in the catalog.

The row in `found` says first that which columns it has is not known, and until when a description may land; then the
catalog is told, and the row what it was told. Whoever finds that nothing is known has it described anew, and nobody
while an older description may still land. What was overtaken, or cut off, leaves its mark.
"""

import logging
from dataclasses import replace

from msgspec import structs

from shared.atlas.entities import AssetEntity, asset_entity
from shared.catalog.port import Catalog
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.model import Asset
from shared.publishing.options import PublishOptions
from shared.publishing.placeholders.columns import ColumnReport, telling_now
from shared.publishing.planner import Reading
from shared.publishing.write_deadline import calls_to_describe, described_until, is_in_time, landed, landed_well
from shared.records.asset_lifecycle import state_of
from shared.records.asset_matches import replace_match, save_matches
from shared.records.ledger import NOTHING_BEGUN
from shared.records.publish_queue import QueueEntry
from shared.storage.port import Storage
from shared.storage_layout import PUBLISH_QUEUE, QUEUE_PARTITION, QUEUED_ASSET

_LOG = logging.getLogger("throughline.describing")


def described(storage: Storage, dirty: QueueEntry, how: PublishOptions, reading: Reading) -> AssetEntity | None:
    """The data set of this mark as it should be, if it is one that we placed; None when nothing is known of it."""
    return _described(storage, telling_now(storage, how, _key(dirty), reading))


def _key(dirty: QueueEntry) -> str:
    return dirty.process.removeprefix(QUEUED_ASSET)


def _described(storage: Storage, telling: ColumnReport) -> AssetEntity | None:
    asset, sentence = state_of(storage, telling.key)
    if asset is None and telling.found:
        type_, name = telling.found.own
        asset = Asset(type=type_, qualified_name=name, namespace="", name="")
    return asset_entity(asset, sentence, telling.columns) if asset else None


def publish_state(storage: Storage, catalog: Catalog, how: PublishOptions, dirty: QueueEntry, reading: Reading) -> bool:
    """Say in the catalog what became of a data set, and what columns it has, if it is one that we placed there. Whether
    anything was written. Raises CatalogRefused where it refuses the columns, with the rest said, CatalogUnavailable,
    and ContentLost.
    """
    telling = telling_now(storage, how, _key(dirty), reading)
    if telling.found and how.now() < telling.found.until:
        storage.replace(PUBLISH_QUEUE, replace(dirty, due=telling.found.until).row())
        return False
    wanted = _described(storage, telling)
    written = False
    if wanted and telling.is_ours:
        done = _describe_ours(storage, catalog, how, telling, wanted)
        if done is None:
            return False
        written = done
    elif wanted:
        written = catalog.describe_placeholder(wanted)
    if wanted and written:
        _LOG.info("asset described asset=%r", wanted.qualified_name)
    storage.delete(PUBLISH_QUEUE, QUEUE_PARTITION, dirty.process, dirty.etag)
    return written


def _describe_ours(
    storage: Storage, catalog: Catalog, how: PublishOptions, telling: ColumnReport, wanted: AssetEntity
) -> bool | None:
    """Describe a placeholder: whether anything was written. None when it was overtaken."""
    if telling.found is None or not telling.noted(storage):
        return None
    calls = calls_to_describe(max(len(wanted.columns), len(telling.found.columns or ())))
    until = described_until(how, calls)
    begun = replace_match(storage, structs.replace(telling.found, columns=None, until=until))
    if begun is None or not is_in_time(how, until, calls):
        return None
    try:
        written = _describe(catalog, wanted, bare=telling.bare)
    except CatalogRefused:
        save_matches(storage, [structs.replace(begun, until=NOTHING_BEGUN)])
        raise
    except CatalogUnavailable as error:
        save_matches(storage, [structs.replace(begun, until=NOTHING_BEGUN if error.over else landed(how, until))])
        raise
    lands = landed_well(catalog, how, until)
    save_matches(
        storage, [structs.replace(begun, columns=wanted.columns, column_sources=telling.speaking, until=lands)]
    )
    return written


def _describe(catalog: Catalog, asset: AssetEntity, *, bare: bool) -> bool:
    try:
        return catalog.describe_placeholder(asset, bare=bare)
    except CatalogRefused as refusal:
        if asset.columns and not refusal.no_access:
            catalog.describe_placeholder(replace(asset, columns=()))
        raise
