"""The rules of a rules file, as values."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from shared.governance.patterns import Selector

DEFAULT_GLOSSARY = "Glossary"
"""The glossary of a term that names none: Purview's first one has this name."""


class OnUnknown(StrEnum):
    """What becomes of a check where lineage is not known."""

    FAIL = "fail"
    WARN = "warn"


class Demand(StrEnum):
    """What a policy demands of the data sets that it names; also the key in the rules file."""

    NO_TAG = "no_tag"
    SOURCES_ONLY = "sources_only"
    MASKED_BY = "masked_by"
    FRESH_WITHIN = "fresh_within"
    EVERY_INPUT = "every_input"
    NO_FAILED_UPSTREAM = "no_failed_upstream"
    TRACED = "traced"
    UNCHANGED_SINCE = "unchanged_since"
    QUALITY_PASSED = "quality_passed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """A classification that the catalog gets a definition of."""

    name: str
    description: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRule:
    """Columns that have a classification by themselves: those of `where`. With `tag` those of them which have this tag
    in events, or whose data set has it; with `classified_as` those that the catalog has classified so.
    """

    classification: str
    where: Selector
    tag: str = ""
    classified_as: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Who takes an exception, why, and the last day on which it is valid."""

    author: str
    reason: str
    expires: date

    def is_valid(self, today: date) -> bool:
        """Whether the exception is still valid on this day."""
        return today <= self.expires


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """Functions, or output columns, that no plain value passes. Each has its approval."""

    where: Selector
    approval: Approval
    functions: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Declassification:
    """Columns that do not have a classification, whatever arrives in them."""

    classification: str
    where: Selector
    approval: Approval
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A glossary term of columns, or of whole data sets where neither columns nor types are named. `name`: TERM or
    TERM@GLOSSARY.
    """

    name: str
    where: Selector
    line: int = 0

    @property
    def term(self) -> str:
        """The name without the glossary."""
        return self.name.partition("@")[0]

    @property
    def glossary(self) -> str:
        """The name of the glossary."""
        return self.name.partition("@")[2] or DEFAULT_GLOSSARY

    @property
    def full_name(self) -> str:
        """TERM@GLOSSARY, as the catalog knows it."""
        return f"{self.term}@{self.glossary}"

    @property
    def of_datasets(self) -> bool:
        """Whether it is about whole data sets."""
        return not (self.where.columns or self.where.types)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """Data sets that somebody vouches for."""

    datasets: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One demand of a policy, with what it is about: names (tags, sources, functions), a span, a share, a time."""

    demand: Demand
    names: tuple[str, ...] = ()
    within: timedelta = timedelta(0)
    percent: float = 0.0
    since: datetime | None = None
    line: int = 0

    @property
    def text(self) -> str:
        """The demand as messages name it: `no_tag PII`, `traced 95 %`."""
        values = {
            Demand.FRESH_WITHIN: span(self.within),
            Demand.TRACED: f"{self.percent:g} %",
            Demand.UNCHANGED_SINCE: self.since.isoformat() if self.since else "",
        }
        value = values.get(self.demand, ", ".join(self.names))
        return f"{self.demand} {value}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Demands on the data sets, or columns, of `where`."""

    name: str
    where: Selector
    wanted: tuple[Wanted, ...]
    unknown: OnUnknown = OnUnknown.FAIL
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All rules of a file; `place` is its path, for messages."""

    place: str = ""
    classifications: tuple[Classification, ...] = ()
    tags: tuple[TagRule, ...] = ()
    masks: tuple[Mask, ...] = ()
    declassifications: tuple[Declassification, ...] = ()
    terms: tuple[Term, ...] = ()
    certified: tuple[Certified, ...] = ()
    policies: tuple[Policy, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The classifications that these rules speak of, defined or not, sorted."""
        return tuple(
            sorted({*(each.name for each in self.classifications), *(each.classification for each in self.tags)})
        )

    @property
    def asks_catalog(self) -> bool:
        """Whether a classification begins where the catalog has another one."""
        return any(each.classified_as for each in self.tags)

    def declassified(self, classification: str, today: date) -> tuple[Declassification, ...]:
        """The rules by which columns do not have a classification on this day."""
        return tuple(
            each
            for each in self.declassifications
            if each.classification == classification and each.approval.is_valid(today)
        )


def span(length: timedelta) -> str:
    """A length of time as the file has it: `24h`, `90m`, `7d`."""
    seconds = int(length.total_seconds())
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds % size == 0 and seconds:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
