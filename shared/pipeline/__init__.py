"""Receive, settle, publish, sweep: gather, decide, apply, over ports that are passed in."""

from shared.pipeline.assets import AssetState, states
from shared.pipeline.places import EVENTS, StoredEvent, digest_of, stored_from_blob
from shared.pipeline.planning import Publishing, recorded
from shared.pipeline.publish import Published, publish
from shared.pipeline.receive import BatchReceipt, Receipt, note_refusal, receive, receive_batch
from shared.pipeline.settle import bury, settle_event, settle_run
from shared.pipeline.status import Status, Waiting, status
from shared.pipeline.sweep import Sweeping, Swept, sweep

__all__ = [
    "EVENTS",
    "AssetState",
    "BatchReceipt",
    "Published",
    "Publishing",
    "Receipt",
    "Status",
    "StoredEvent",
    "Sweeping",
    "Swept",
    "Waiting",
    "bury",
    "digest_of",
    "note_refusal",
    "publish",
    "receive",
    "receive_batch",
    "recorded",
    "settle_event",
    "settle_run",
    "states",
    "status",
    "stored_from_blob",
    "sweep",
]
