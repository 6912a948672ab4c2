"""A round of reading foreign lineage, for the sweeper: around the data sets of the newest lineage document.

The publisher's lease is held for it, so that all calls to the catalog stay within one rate. Changes are asked for now
and then; what is new in the document, and what is left from a round before, is read at once.
"""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta

from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.foreign import POSITION, ForeignPosition, ForeignReader, store_lineage, stored_lineage
from shared.publishing.context import PUBLISHER, PublishContext
from shared.query.published_document import DOCUMENT, stored_parts
from shared.storage.port import LeaseSession, Storage, session_of
from shared.telemetry.port import Fact

_LOG = logging.getLogger("throughline.foreign")
EVERY = timedelta(minutes=5)
"""Changes are asked for so often, and a catalog that did not answer is tried again."""
OVERLAP = timedelta(minutes=15)
"""Search lags behind writes: changes are asked for since this time before the last look."""
_SHARE = 1 / 9
"""A round begins no call after this share of the lease's session, 20 seconds: publishing waits for it."""


def read_foreign_due(context: PublishContext) -> Mapping[str, Fact]:
    """Read what is due of foreign lineage, unless a publisher is at work: counts for telemetry. Without the setting it
    makes no call at all. A catalog that does not answer is logged and counted. Raises StorageUnavailable.
    """
    options, storage = context.publishing, context.storage
    newest = DOCUMENT.load(storage) if options.foreign_depth and options.documents else None
    if newest is None:
        return {}
    position, now = POSITION.load(storage), options.now()
    if position and not _is_due(position, newest.parts, options.foreign_depth, now):
        return {}
    with session_of(storage, PUBLISHER, options.seconds) as session:
        if session is None:
            return {}
        return _read(context, session, newest.parts, position, now)


def _is_due(position: ForeignPosition, parts: str, depth: int, now: datetime) -> bool:
    if now - position.tried >= EVERY:
        return True
    is_current = (position.parts, position.depth, position.checked.date()) == (parts, depth, now.date())
    return not position.failed and (position.waiting > 0 or not is_current)


def _read(
    context: PublishContext, session: LeaseSession, parts: str, position: ForeignPosition | None, now: datetime
) -> Mapping[str, Fact]:
    storage, depth = context.storage, context.publishing.foreign_depth
    known_foreign_lineage = stored_lineage(storage, position) if position else None
    reader = ForeignReader(
        catalog=context.catalog,
        depth=depth,
        day=now.date(),
        may_continue=lambda: session.may_continue(_SHARE),
    )
    checked, failed = position.checked if position else now, ""
    try:
        if known_foreign_lineage:
            reader.begin(known_foreign_lineage)
        if known_foreign_lineage and position and now - position.checked >= EVERY:
            changed = context.catalog.changed_processes(position.checked - OVERLAP)
            if changed is None:
                reader.forget_days()
            else:
                reader.update(changed)
            checked = now
        lineage = reader.walk(_starts(storage, parts))
    except (CatalogUnavailable, CatalogRefused) as error:
        _LOG.warning("foreign lineage was not read to its end: %s", error)
        lineage, failed = reader.known(), type(error).__name__
    blob = position.blob if position else ""
    if lineage != known_foreign_lineage:
        blob = store_lineage(storage, lineage, now, blob)
    POSITION.save(
        storage,
        ForeignPosition(
            blob=blob,
            parts=parts,
            depth=depth,
            checked=checked,
            tried=now,
            waiting=reader.waiting,
            failed=bool(failed),
        ),
    )
    return {
        "foreign_processes": len(lineage.foreign),
        "foreign_waiting": reader.waiting,
        "foreign_left_out": reader.left_out,
        "foreign_failed": failed,
    }


def _starts(storage: Storage, parts: str) -> set[AssetKey]:
    """The data sets of the document: type and qualified name."""
    processes = [part.known.process for part in (stored_parts(storage, parts) or {}).values()]
    return {asset.key for process in processes for asset in (*process.inputs, *process.outputs)}
