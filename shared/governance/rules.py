"""The rules of a rules file, as values."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from pathlib import PurePath

from shared.governance.patterns import Selector

DEFAULT_GLOSSARY = "Glossary"
"""The glossary of a term that names none: Purview's first one has this name."""


class OnUnknown(StrEnum):
    """How a check treats lineage that is not known."""

    FAIL = "fail"
    WARN = "warn"


class Demand(StrEnum):
    """A demand of a policy on the data sets that it names. The value is the key in the rules file."""

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
    """A classification that is defined in the catalog."""

    name: str
    description: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRule:
    """Columns where a classification begins: those that `where` selects. `tag`: only columns with this tag in events,
    or whose data set has it. `classified_as`: only columns with this classification in the catalog.
    """

    classification: str
    where: Selector
    tag: str = ""
    classified_as: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The author of an exception, the reason, and the last day on which it is valid."""

    author: str
    reason: str
    expires: date

    def is_valid(self, today: date) -> bool:
        """Whether the exception is still valid on this day."""
        return today <= self.expires


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """Functions, or output columns, that let no plain value pass."""

    where: Selector
    approval: Approval
    functions: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Declassification:
    """Columns that do not have a classification, whatever values reach them."""

    classification: str
    where: Selector
    approval: Approval
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A glossary term of columns, or of whole data sets if neither columns nor types are named. `name`: TERM or
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
        """Whether the term is for whole data sets."""
        return not (self.where.columns or self.where.types)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """Data sets that are certified as reliable inputs."""

    datasets: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One demand of a policy with its value: names (tags, sources, functions), a span, a share, or a time."""

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
    """Demands on the data sets or columns that `where` selects."""

    name: str
    where: Selector
    wanted: tuple[Wanted, ...]
    unknown: OnUnknown = OnUnknown.FAIL
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All rules of a file; `place` is its path, for messages, and `name` the one that it gives itself."""

    place: str = ""
    name: str = ""
    classifications: tuple[Classification, ...] = ()
    tags: tuple[TagRule, ...] = ()
    masks: tuple[Mask, ...] = ()
    declassifications: tuple[Declassification, ...] = ()
    terms: tuple[Term, ...] = ()
    certified: tuple[Certified, ...] = ()
    policies: tuple[Policy, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all classifications in the rules, sorted, whether the file defines them or not."""
        return tuple(
            sorted({*(each.name for each in self.classifications), *(each.classification for each in self.tags)})
        )

    @property
    def file(self) -> str:
        """By what the file is known among several: its own name for itself, or else the last part of its path."""
        return self.name or PurePath(self.place).name

    @property
    def asks_catalog(self) -> bool:
        """Whether a tag rule depends on classifications in the catalog."""
        return any(each.classified_as for each in self.tags)

    def declassified(self, classification: str, today: date) -> tuple[Declassification, ...]:
        """The rules by which columns do not have a classification on this day."""
        return tuple(
            each
            for each in self.declassifications
            if each.classification == classification and each.approval.is_valid(today)
        )


def span(length: timedelta) -> str:
    """A length of time as the file writes it: `24h`, `90m`, `7d`."""
    seconds = int(length.total_seconds())
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds % size == 0 and seconds:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
