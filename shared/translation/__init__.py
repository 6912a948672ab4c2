"""A merged run -> lineage, and the lineage of many runs added up. Pure."""

from shared.translation.adding_up import AggregatedProcess, SupersessionPolicy, aggregate
from shared.translation.application import (
    AT_ONCE,
    NO_APPLICATION_FACTS,
    NO_CONTEXT,
    ApplicationFacts,
    Batch,
    RunContext,
    application_facts_of,
    enclosing,
    needed_properties,
)
from shared.translation.columns import ALL_ROWS
from shared.translation.datasets import Datasets
from shared.translation.facts import RunFacts, facts_of, facts_told
from shared.translation.fates import LifecycleEvent, LifecycleEvents, present_name
from shared.translation.history import NO_PROCESS, History, Ignored, RunVerdict, translate_history
from shared.translation.identity import OURS, VOLATILE, naming_of, stable_name
from shared.translation.lasting import Lasting, lasting
from shared.translation.schemas import SeenSchema, schemas_in
from shared.translation.shown import asset_names, shown
from shared.translation.statement import redact
from shared.translation.telling import Change, batch_of, changes_in, lifecycle_events_in, names_no_source
from shared.translation.translate import Skip, Wait, translate

__all__ = [
    "ALL_ROWS",
    "AT_ONCE",
    "NO_APPLICATION_FACTS",
    "NO_CONTEXT",
    "NO_PROCESS",
    "OURS",
    "VOLATILE",
    "AggregatedProcess",
    "ApplicationFacts",
    "Batch",
    "Change",
    "Datasets",
    "History",
    "Ignored",
    "Lasting",
    "LifecycleEvent",
    "LifecycleEvents",
    "RunContext",
    "RunFacts",
    "RunVerdict",
    "SeenSchema",
    "Skip",
    "SupersessionPolicy",
    "Wait",
    "aggregate",
    "application_facts_of",
    "asset_names",
    "batch_of",
    "changes_in",
    "enclosing",
    "facts_of",
    "facts_told",
    "lasting",
    "lifecycle_events_in",
    "names_no_source",
    "naming_of",
    "needed_properties",
    "present_name",
    "redact",
    "schemas_in",
    "shown",
    "stable_name",
    "translate",
    "translate_history",
]
