"""OpenLineage data set -> (type, qualified name). Pure."""

from shared.naming.candidates import AssetName, Candidate, Rank, candidates, not_derived, rank, rank_told, search_words
from shared.naming.canonical import canonical
from shared.naming.explaining import Explanation, explain
from shared.naming.extension import parse_names
from shared.naming.identity import NOWHERE, Identity, Where
from shared.naming.names import BUILT_IN, RULES, Names, Naming, name_dataset
from shared.naming.noise import is_noise
from shared.naming.queries import without_query
from shared.naming.rules import Named, Rule, bounded, rule
from shared.naming.stores.kafka import split_names

__all__ = [
    "BUILT_IN",
    "NOWHERE",
    "RULES",
    "AssetName",
    "Candidate",
    "Explanation",
    "Identity",
    "Named",
    "Names",
    "Naming",
    "Rank",
    "Rule",
    "Where",
    "bounded",
    "candidates",
    "canonical",
    "explain",
    "is_noise",
    "name_dataset",
    "not_derived",
    "parse_names",
    "rank",
    "rank_told",
    "rule",
    "search_words",
    "split_names",
    "without_query",
]
