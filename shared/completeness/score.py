"""What a catalog holds of a data set for people.

The score of a data set: the weighted mean of its parts, from 0 to 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType


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
