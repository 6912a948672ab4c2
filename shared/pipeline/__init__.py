"""Receive, settle, publish, sweep: gather, decide, apply, over ports that are passed in."""

from shared.pipeline.assets import AssetState, states
from shared.pipeline.dead_letters import DISCARDED, DeadLetter, dead_letters, discard
from shared.pipeline.mending import KINDS, Damage, Found, Kind, World, verify
from shared.pipeline.places import EVENTS, StoredEvent, digest_of, stored_from_blob
from shared.pipeline.planning import Publishing, recorded
from shared.pipeline.publish import Published, publish
from shared.pipeline.receive import BatchReceipt, Receipt, note_refusal, receive, receive_batch
from shared.pipeline.replay import (
    Fate,
    Outcome,
    ReplayedLetter,
    ReplayedRun,
    Stop,
    last_stop,
    plan,
    publish_all,
    replay,
    replay_letters,
)
from shared.pipeline.settle import bury, settle_event, settle_run
from shared.pipeline.status import By, Group, Status, Waiting, status
from shared.pipeline.stored_runs import StoredRun, Wanted, stored_runs
from shared.pipeline.sweep import Sweeping, Swept, sweep

__all__ = [
    "DISCARDED",
    "EVENTS",
    "KINDS",
    "AssetState",
    "BatchReceipt",
    "By",
    "Damage",
    "DeadLetter",
    "Fate",
    "Found",
    "Group",
    "Kind",
    "Outcome",
    "Published",
    "Publishing",
    "Receipt",
    "ReplayedLetter",
    "ReplayedRun",
    "Status",
    "Stop",
    "StoredEvent",
    "StoredRun",
    "Sweeping",
    "Swept",
    "Waiting",
    "Wanted",
    "World",
    "bury",
    "dead_letters",
    "digest_of",
    "discard",
    "last_stop",
    "note_refusal",
    "plan",
    "publish",
    "publish_all",
    "receive",
    "receive_batch",
    "recorded",
    "replay",
    "replay_letters",
    "settle_event",
    "settle_run",
    "states",
    "status",
    "stored_from_blob",
    "stored_runs",
    "sweep",
    "verify",
]
