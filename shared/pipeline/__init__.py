"""Settle, publish, sweep: gather, decide, apply, over ports that are passed in."""

from shared.pipeline.archive_index import stored_packed
from shared.pipeline.archiving import Archiving, archive
from shared.pipeline.assets import AssetState, states
from shared.pipeline.backfill import backfill
from shared.pipeline.dead_letters import DISCARDED, DeadLetter, dead_letters, discard
from shared.pipeline.dirty import backlog, try_refused_again
from shared.pipeline.fill import Filled, ToFill, fill, last_fill, missing, to_fill
from shared.pipeline.finding import Finding, ask, finds
from shared.pipeline.found import FoundAsset
from shared.pipeline.gathering import bury
from shared.pipeline.lately import Lately
from shared.pipeline.mending import KINDS, Damage, Found, Kind, World, verify
from shared.pipeline.ours import batches, remove_placeholders
from shared.pipeline.planning import Publishing, on_found_assets, recorded
from shared.pipeline.publish import publish
from shared.pipeline.purge import Purged, our_placeholders, ours, purge
from shared.pipeline.rebuild import Extent, Rebuild, Rebuilt, Stage, extent, last_rebuild, rebuild
from shared.pipeline.recent import Recent
from shared.pipeline.reconcile import Reconciled, looked_again, move, placed_assets, remove_left, tidy
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
from shared.pipeline.settings_row import SettingsOnRecord, record_settings, settings_on_record
from shared.pipeline.settle import settle_event, settle_run
from shared.pipeline.shadow import Action, Held, Shadow, held_back, step_out
from shared.pipeline.side_by_side import SideBySide
from shared.pipeline.status import By, Group, Status, Waiting, status
from shared.pipeline.stored_runs import StoredRun, Wanted, stored_runs
from shared.pipeline.sweep import Sweeping, Swept, sweep
from shared.pipeline.taking_turns import OneByOne, OneForAll
from shared.pipeline.writing import Published
from shared.pipeline.written import Versions, check_versions, mismatch, note_versions, stored_versions

__all__ = [
    "DISCARDED",
    "KINDS",
    "Action",
    "Archiving",
    "AssetState",
    "By",
    "Damage",
    "DeadLetter",
    "Extent",
    "Fate",
    "Filled",
    "Finding",
    "Found",
    "FoundAsset",
    "Group",
    "Held",
    "Kind",
    "Lately",
    "OneByOne",
    "OneForAll",
    "Outcome",
    "Published",
    "Publishing",
    "Purged",
    "Rebuild",
    "Rebuilt",
    "Recent",
    "Reconciled",
    "ReplayedLetter",
    "ReplayedRun",
    "SettingsOnRecord",
    "Shadow",
    "SideBySide",
    "Stage",
    "Status",
    "Stop",
    "StoredRun",
    "Sweeping",
    "Swept",
    "ToFill",
    "Unseen",
    "Versions",
    "Waiting",
    "Wanted",
    "World",
    "archive",
    "ask",
    "backfill",
    "backlog",
    "batches",
    "bury",
    "check_versions",
    "dead_letters",
    "discard",
    "extent",
    "fill",
    "finds",
    "held_back",
    "last_fill",
    "last_rebuild",
    "last_stop",
    "lonely",
    "looked_again",
    "mismatch",
    "missing",
    "move",
    "note_versions",
    "on_found_assets",
    "our_placeholders",
    "ours",
    "placed_assets",
    "plan",
    "publish",
    "publish_all",
    "purge",
    "rebuild",
    "record_settings",
    "recorded",
    "remove_left",
    "remove_placeholders",
    "replay",
    "replay_letters",
    "retire",
    "settings_on_record",
    "settle_event",
    "settle_run",
    "states",
    "status",
    "step_out",
    "stored_packed",
    "stored_runs",
    "stored_versions",
    "sweep",
    "tidy",
    "to_fill",
    "try_refused_again",
    "unseen",
    "verify",
]
