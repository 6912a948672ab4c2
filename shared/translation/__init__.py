"""A merged run -> lineage, and the lineage of many runs added up. Pure."""

from shared.translation.adding_up import Patience, Sum, add_up
from shared.translation.application import (
    AT_ONCE,
    NOTHING_AROUND,
    NOTHING_TOLD,
    Around,
    Batch,
    Told,
    enclosing,
    needed_properties,
    told_by,
)
from shared.translation.columns import ALL_ROWS
from shared.translation.datasets import Datasets
from shared.translation.facts import RunFacts, facts_of, facts_told
from shared.translation.fates import Fate, Fates, present_name
from shared.translation.history import NO_PROCESS, History, Ignored, RunVerdict, translate_history
from shared.translation.identity import OURS, VOLATILE, naming_of, stable_name
from shared.translation.lasting import Lasting, lasting
from shared.translation.schemas import SeenSchema, schemas_in
from shared.translation.shown import asset_names, shown
from shared.translation.statement import redact
from shared.translation.telling import Change, batch_of, changes_in, fates_in, names_no_source
from shared.translation.translate import Skip, Wait, translate

__all__ = [
    "ALL_ROWS",
    "AT_ONCE",
    "NOTHING_AROUND",
    "NOTHING_TOLD",
    "NO_PROCESS",
    "OURS",
    "VOLATILE",
    "Around",
    "Batch",
    "Change",
    "Datasets",
    "Fate",
    "Fates",
    "History",
    "Ignored",
    "Lasting",
    "Patience",
    "RunFacts",
    "RunVerdict",
    "SeenSchema",
    "Skip",
    "Sum",
    "Told",
    "Wait",
    "add_up",
    "asset_names",
    "batch_of",
    "changes_in",
    "enclosing",
    "facts_of",
    "facts_told",
    "fates_in",
    "lasting",
    "names_no_source",
    "naming_of",
    "needed_properties",
    "present_name",
    "redact",
    "schemas_in",
    "shown",
    "stable_name",
    "told_by",
    "translate",
    "translate_history",
]
