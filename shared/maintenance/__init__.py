"""Commands that repair or move what is on record: replay, rebuild, verify, backfill, retire, purge.

Imports processing, publishing, events and records.
"""

from shared.maintenance.backfill import Filled, ToFill, fill, last_fill, missing, to_fill
from shared.maintenance.import_processes import backfill
from shared.maintenance.purge import Purged, our_placeholders, ours, purge
from shared.maintenance.rebuild import Extent, Rebuild, Stage, extent, last_rebuild, rebuild
from shared.maintenance.replay import (
    Outcome,
    ReplayedLetter,
    RunChange,
    Stop,
    last_stop,
    plan,
    publish_all,
    replay,
    replay_letters,
)
from shared.maintenance.retirement import Unseen, lonely, retire, unseen
from shared.maintenance.verify.inconsistencies import World
from shared.maintenance.verify.kinds import KINDS
from shared.maintenance.verify.verification import Found, verify

__all__ = [
    "KINDS",
    "Extent",
    "Filled",
    "Found",
    "Outcome",
    "Purged",
    "Rebuild",
    "ReplayedLetter",
    "RunChange",
    "Stage",
    "Stop",
    "ToFill",
    "Unseen",
    "World",
    "backfill",
    "extent",
    "fill",
    "last_fill",
    "last_rebuild",
    "last_stop",
    "lonely",
    "missing",
    "our_placeholders",
    "ours",
    "plan",
    "publish_all",
    "purge",
    "rebuild",
    "replay",
    "replay_letters",
    "retire",
    "to_fill",
    "unseen",
    "verify",
]
