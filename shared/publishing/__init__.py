"""Publish processes: plan, resolve assets, write to the catalog in batches, keep the ledger.

Imports records, events and the catalog port.
"""

from shared.publishing.asset_resolution import ResolutionOptions, ask, finds
from shared.publishing.catalog_write import Published
from shared.publishing.placeholders.creation import found_for, place, under_final_names
from shared.publishing.placeholders.reconciliation import (
    Reconciled,
    looked_again,
    move,
    placed_assets,
    remove_left,
    tidy,
)
from shared.publishing.planner import (
    Plan,
    PublishOptions,
    Reading,
    current,
    last_said,
    on_found_assets,
    plan_for,
    recorded,
)
from shared.publishing.publisher import publish
from shared.publishing.publisher_lease import (
    assets_on_record,
    batches,
    placeholders,
    remove_placeholders,
    removed_of,
    turn,
)
from shared.publishing.shadow import Action, Shadow, counted, held_back, step_out
from shared.publishing.write_deadline import is_in_time, landed, landed_well, write_until

__all__ = [
    "Action",
    "Plan",
    "PublishOptions",
    "Published",
    "Reading",
    "Reconciled",
    "ResolutionOptions",
    "Shadow",
    "ask",
    "assets_on_record",
    "batches",
    "counted",
    "current",
    "finds",
    "found_for",
    "held_back",
    "is_in_time",
    "landed",
    "landed_well",
    "last_said",
    "looked_again",
    "move",
    "on_found_assets",
    "place",
    "placed_assets",
    "placeholders",
    "plan_for",
    "publish",
    "recorded",
    "remove_left",
    "remove_placeholders",
    "removed_of",
    "step_out",
    "tidy",
    "turn",
    "under_final_names",
    "write_until",
]
