"""How completely a catalog documents its data sets: parts of documentation, and a score, the weighted mean of the parts
from 0 to 1. Pure; imports only `shared.rules_file`.

`shared/catalog` reads the documentation, `throughline/lake/gold/completeness.py` stores the scores.

The file of rules for the score, TOML: parsed, or refused with every mistake in it, each with its line.

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

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

from shared.rules_file import SPAN, SUBTABLE, Key, RulesReader, number_to


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogDocumentation:
    """The documentation of a data set in a catalog.

    `described` and `owned`: it has a description, and an owner. `placed`: it is our own placeholder. The placeholder's
    note is no description; a description that events declare follows the note. `tagged`: it or one of its columns has a
    classification or a label. `columns` and `described_columns` are counts.
    """

    described: bool = False
    placed: bool = False
    owned: bool = False
    tagged: bool = False
    columns: int = 0
    described_columns: int = 0


class Part(StrEnum):
    """A part of the documentation of a data set."""

    DESCRIPTION = "description"
    COLUMNS = "columns"
    COLUMN_DESCRIPTIONS = "column_descriptions"
    OWNER = "owner"
    TAGS = "tags"

    @property
    def words(self) -> str:
        """The part in words, for people."""
        return "descriptions of columns" if self is Part.COLUMN_DESCRIPTIONS else self.value


DEFAULT_WEIGHTS: Mapping[Part, float] = MappingProxyType(
    {
        Part.DESCRIPTION: 0.3,
        Part.COLUMNS: 0.3,
        Part.COLUMN_DESCRIPTIONS: 0.2,
        Part.OWNER: 0.1,
        Part.TAGS: 0.1,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRules:
    """How to score. `weights`: a part without one has 0; only their ratio counts. `fresh_within`: a data set is fresh
    if a run wrote it within this time.
    """

    weights: Mapping[Part, float] = field(default_factory=lambda: DEFAULT_WEIGHTS)
    fresh_within: timedelta = timedelta(hours=24)


DEFAULT_RULES = ScoreRules()


def parts_of(documentation: CatalogDocumentation) -> dict[Part, float]:
    """How complete each part is, from 0 to 1. Without columns, their descriptions count 0 too."""
    return {
        Part.DESCRIPTION: float(documentation.described),
        Part.COLUMNS: float(documentation.columns > 0),
        Part.COLUMN_DESCRIPTIONS: documentation.described_columns / documentation.columns
        if documentation.columns
        else 0.0,
        Part.OWNER: float(documentation.owned),
        Part.TAGS: float(documentation.tagged),
    }


def score(documentation: CatalogDocumentation, rules: ScoreRules = DEFAULT_RULES) -> float:
    """The score of a data set, from 0 to 1. One that the catalog lacks has the score of an empty documentation."""
    total = sum(rules.weights.values())
    gained = sum(rules.weights.get(part, 0.0) * value for part, value in parts_of(documentation).items())
    return gained / total


def lacking(documentation: CatalogDocumentation, rules: ScoreRules = DEFAULT_RULES) -> tuple[Part, ...]:
    """The incomplete parts of a data set. The part that would raise the score most comes first."""
    gains = {part: rules.weights.get(part, 0.0) * (1 - value) for part, value in parts_of(documentation).items()}
    order = list(Part)
    return tuple(
        sorted((part for part, gain in gains.items() if gain > 0), key=lambda part: (-gains[part], order.index(part)))
    )


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
