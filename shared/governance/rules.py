"""The rules of a rules file, as values; which data sets and columns they select; and which edges their masks stop.

An edge carries no plain value if OpenLineage calls it masked, or if the rules mask it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from pathlib import PurePath

from shared.lineage.document import Dataset, Edge, Kind, LineageDocument
from shared.lineage.graph import without_foreign
from shared.rules_file import matcher


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Selects columns by patterns of their data set, name and type. An empty selector selects all."""

    datasets: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


def dataset_matcher(patterns: Iterable[str]) -> Callable[[Dataset], bool]:
    """A function that tells whether a data set's name, qualified name, or end of a qualified name after a slash
    matches; or its spelling in events, so that a renamed data set keeps its rules. Without patterns all match.
    """
    names = tuple(patterns)
    by_name = matcher(names)
    by_path = matcher([form for pattern in names for form in (pattern, f"*/{pattern.lstrip('/')}")])
    return lambda dataset: (
        by_name(dataset.name)
        or by_path(dataset.qualified_name.rstrip("/"))
        or (bool(dataset.spelling) and by_path(dataset.spelling))
    )


def matching_datasets(document: LineageDocument, patterns: Iterable[str]) -> frozenset[int]:
    """The numbers of the data sets that match one of the patterns."""
    matches = dataset_matcher(patterns)
    return frozenset(number for number, dataset in enumerate(document.datasets) if matches(dataset))


_SHOWN = 5
"""Data sets that a sentence names."""


def dataset_named(document: LineageDocument, names: Sequence[str]) -> tuple[int | None, str]:
    """The number of the data set by the first of these names that one alone has, also as the end of its name; else a
    sentence that says why there is none.
    """
    for name in names:
        numbers = matching_datasets(document, [name]) or matching_datasets(document, [f"*.{name}"])
        if len(numbers) == 1:
            return next(iter(numbers)), ""
        if numbers:
            alike = sorted(document.datasets[number].qualified_name for number in numbers)[:_SHOWN]
            return None, f"{len(numbers)} data sets are called {name}: {', '.join(alike)}"
    return None, f"no data set of the lineage is called {' or '.join(names)}"


def matching_names(names: Iterable[str], patterns: Iterable[str]) -> tuple[str, ...]:
    """The qualified names of data sets that match one of the patterns."""
    matches = dataset_matcher(patterns)
    return tuple(name for name in names if matches(Dataset(qualified_name=name, type="", name=name.rpartition("/")[2])))


def matching_columns(document: LineageDocument, selector: Selector) -> frozenset[int]:
    """The numbers of the columns that a selector selects. All rows of a data set are no column."""
    datasets = matching_datasets(document, selector.datasets)
    named, typed = matcher(selector.columns), matcher(selector.types)
    return frozenset(
        number
        for number, column in enumerate(document.columns)
        if column.name and column.dataset in datasets and named(column.name) and typed(column.type)
    )


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
    """All rules of a file; `place` is its path, for messages, and `name` the one that it gives itself.
    `foreign_lineage`: whether what the catalog has from other programs counts.
    """

    place: str = ""
    name: str = ""
    foreign_lineage: bool = True
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
            sorted({*(defined.name for defined in self.classifications), *(tag.classification for tag in self.tags)})
        )

    @property
    def file(self) -> str:
        """By what the file is known among several: its own name for itself, or else the last part of its path."""
        return self.name or PurePath(self.place).name

    @property
    def asks_catalog(self) -> bool:
        """Whether a tag rule depends on classifications in the catalog."""
        return any(tag.classified_as for tag in self.tags)

    def judged(self, document: LineageDocument) -> LineageDocument:
        """The document with the lineage that counts."""
        return document if self.foreign_lineage else without_foreign(document)

    def declassified(self, classification: str, today: date) -> tuple[Declassification, ...]:
        """The rules by which columns do not have a classification on this day."""
        return tuple(
            declassification
            for declassification in self.declassifications
            if declassification.classification == classification and declassification.approval.is_valid(today)
        )


def span(length: timedelta) -> str:
    """A length of time as the file writes it: `24h`, `90m`, `7d`."""
    seconds = int(length.total_seconds())
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds % size == 0 and seconds:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


_CALL = re.compile(r"([A-Za-z_][\w.]*)\s*\(")
_WORD = re.compile(r"[\w$]+")


def stopping(document: LineageDocument, masks: Iterable[Mask], today: date) -> Callable[[Edge], bool]:
    """A function that tells whether an edge carries no plain value. Expired masks have no effect."""
    valid = [mask for mask in masks if mask.approval.is_valid(today)]
    columns = masked_columns(document, valid, today)
    by_function = [(matching_columns(document, mask.where), mask.functions) for mask in valid if mask.functions]

    def stops(edge: Edge) -> bool:
        if edge.masked or edge.kind is Kind.MASK or edge.output in columns:
            return True
        return any(
            edge.output in columns_at and hides(edge.description, functions, document.columns[edge.input].name)
            for columns_at, functions in by_function
        )

    return stops


def masked_columns(document: LineageDocument, masks: Iterable[Mask], today: date) -> frozenset[int]:
    """The columns that the rules declare as masked, whichever process writes them."""
    valid = [mask for mask in masks if mask.approval.is_valid(today) and not mask.functions]
    return frozenset(number for mask in valid for number in matching_columns(document, mask.where))


def hides(expression: str, functions: Iterable[str], column: str) -> bool:
    """Whether an expression has the column, and only as an argument of these functions.

    An expression with the column outside of such a call also carries its plain value.
    """
    spans = _spans(expression, functions)
    places = [word.start() for word in _WORD.finditer(expression) if word[0].lower() == column.lower()]
    return bool(places) and all(any(start <= place < end for start, end in spans) for place in places)


def _spans(expression: str, functions: Iterable[str]) -> list[tuple[int, int]]:
    """The start and end of the arguments of each call of these functions."""
    named = matcher(functions)
    return [
        (call.end(), _closing(expression, call.end()))
        for call in _CALL.finditer(expression)
        if named(call[1]) or named(call[1].rpartition(".")[2])
    ]


def _closing(expression: str, start: int) -> int:
    """The position of the bracket that closes the one before `start`; `start` itself if none does, so that nothing is
    hidden.
    """
    depth, quote = 1, ""
    for place in range(start, len(expression)):
        char = expression[place]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"`":
            quote = char
        else:
            depth += {"(": 1, ")": -1}.get(char, 0)
            if not depth:
                return place
    return start
