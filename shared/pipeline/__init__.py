"""Receive, settle, publish, sweep: gather, decide, apply, over ports that are passed in."""

from shared.pipeline.assets import AssetState, states
from shared.pipeline.dead_letters import DISCARDED, DeadLetter, dead_letters, discard
from shared.pipeline.ours import batches, remove_placeholders
from shared.pipeline.places import EVENTS, StoredEvent, digest_of, stored_from_blob
from shared.pipeline.planning import Publishing, recorded
from shared.pipeline.publish import Published, publish
from shared.pipeline.purge import Purged, our_placeholders, ours, purge
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
from shared.pipeline.retire import Unseen, lonely, retire, unseen
from shared.pipeline.settle import bury, settle_event, settle_run
from shared.pipeline.shadow import Action, Held, Shadow, held_back, step_out
from shared.pipeline.status import Status, Waiting, status
from shared.pipeline.stored_runs import StoredRun, Wanted, stored_runs
from shared.pipeline.sweep import Sweeping, Swept, sweep
from shared.pipeline.telling import backlog
from shared.pipeline.upgrade import Move, moves, upgrade
from shared.pipeline.written import Versions, check_versions, mismatch, note_versions, written_with

__all__ = [
    "DISCARDED",
    "EVENTS",
    "Action",
    "AssetState",
    "BatchReceipt",
    "DeadLetter",
    "Fate",
    "Held",
    "Move",
    "Outcome",
    "Published",
    "Publishing",
    "Purged",
    "Receipt",
    "ReplayedLetter",
    "ReplayedRun",
    "Shadow",
    "Status",
    "Stop",
    "StoredEvent",
    "StoredRun",
    "Sweeping",
    "Swept",
    "Unseen",
    "Versions",
    "Waiting",
    "Wanted",
    "backlog",
    "batches",
    "bury",
    "check_versions",
    "dead_letters",
    "digest_of",
    "discard",
    "held_back",
    "last_stop",
    "lonely",
    "mismatch",
    "moves",
    "note_refusal",
    "note_versions",
    "our_placeholders",
    "ours",
    "plan",
    "publish",
    "publish_all",
    "purge",
    "receive",
    "receive_batch",
    "recorded",
    "remove_placeholders",
    "replay",
    "replay_letters",
    "retire",
    "settle_event",
    "settle_run",
    "states",
    "status",
    "step_out",
    "stored_from_blob",
    "stored_runs",
    "sweep",
    "unseen",
    "upgrade",
    "written_with",
]
