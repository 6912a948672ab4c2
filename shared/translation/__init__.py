"""A merged run -> lineage, and the lineage of many runs added up. Pure."""

from shared.translation.adding_up import Patience, Sum, add_up
from shared.translation.columns import ALL_ROWS
from shared.translation.history import NO_PROCESS, History, Ignored, RunVerdict, translate_history
from shared.translation.identity import VERSION, VOLATILE, stable_name
from shared.translation.translate import Skip, Wait, translate

__all__ = [
    "ALL_ROWS",
    "NO_PROCESS",
    "VERSION",
    "VOLATILE",
    "History",
    "Ignored",
    "Patience",
    "RunVerdict",
    "Skip",
    "Sum",
    "Wait",
    "add_up",
    "stable_name",
    "translate",
    "translate_history",
]
