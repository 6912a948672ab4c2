"""OpenLineage data set -> (type, qualified name). Pure."""

from shared.naming.canonical import Identity, canonical, is_noise
from shared.naming.names import RULES, Naming, name_dataset
from shared.naming.rules import Named, Rule, bounded, rule

__all__ = [
    "RULES",
    "Identity",
    "Named",
    "Naming",
    "Rule",
    "bounded",
    "canonical",
    "is_noise",
    "name_dataset",
    "rule",
]
