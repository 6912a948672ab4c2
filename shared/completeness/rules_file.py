"""The file of rules for the score, TOML: parsed, or refused with every mistake in it, each with its line.

[completeness]
fresh_within = "24h"             # or "7d"

[completeness.weights]           # only their ratio counts
description = 0.3
columns = 0.3
column_descriptions = 0.2
owner = 0.1
tags = 0.1

The rules of `throughline classify` and `check` may stand in the same file: their tables are passed over.
"""

from shared.completeness.score import DEFAULT_RULES, DEFAULT_WEIGHTS, Part, ScoreRules
from shared.rules_file.keys import SPAN, SUBTABLE, Key, number_to
from shared.rules_file.reading import RulesReader

_TABLE, _WEIGHTS, _FRESH_WITHIN = "completeness", "weights", "fresh_within"
_KEYS = {
    _FRESH_WITHIN: Key(kind=SPAN, meaning="a data set is fresh if a run wrote it within this time"),
    _WEIGHTS: Key(kind=SUBTABLE, meaning="the weight of each part of the documentation"),
}
MAX_WEIGHT = 1_000_000
_WEIGHT_KEYS = {str(part): Key(kind=number_to(MAX_WEIGHT), meaning=f"the weight of {part.words}") for part in Part}
OF_OTHERS = frozenset({"classification", "tag", "mask", "declassify", "term", "certified", "policy", "unknown"})
"""Tables and keys of the same file that shared/governance/rules_file.py reads and checks."""


def parse_score_rules(text: str, place: str) -> ScoreRules:
    """The rules in a file's text, with the defaults for what it lacks; `place` is its path, for messages.

    Raises Misconfigured with all its mistakes.
    """
    reader = RulesReader(text, place)
    reader.only({_TABLE, *OF_OTHERS})
    values = reader.table(_KEYS, _TABLE).values
    weights = reader.table(_WEIGHT_KEYS, _TABLE, _WEIGHTS).values
    if set(weights.values()) == {0}:
        reader.wrong("all weights are 0: give at least one part a weight", _TABLE, _WEIGHTS)
    reader.finish()
    return ScoreRules(
        weights={Part(name): weight for name, weight in weights.items()} or DEFAULT_WEIGHTS,
        fresh_within=values.get(_FRESH_WITHIN, DEFAULT_RULES.fresh_within),
    )
