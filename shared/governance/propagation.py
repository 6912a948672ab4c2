"""Where a classification goes: along values, and not past a mask.

A column is tagged if a plain value of an origin reaches it; not known if it is not tagged, and a plain value reaches it
whose source is not known; else it is clean. An aggregation carries a plain value (`max(ssn)` is one), a condition
(filter, join, group) carries none. A declassified column has no classification and passes none on.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from shared.governance.masks import masked_columns, stopping
from shared.governance.patterns import matcher, matching_columns
from shared.governance.rules import Rules, TagRule
from shared.lineage.document import NOT_SET, Edge, LineageDocument
from shared.lineage.graph import LineageGraph, unknown_columns, unresolved_datasets

CatalogTags = Mapping[int, frozenset[str]]
"""Classifications that others set in the catalog, by the number of the column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogReading:
    """The classifications that others set in the catalog. `tags` is None where they were not read; `why`: the reason,
    empty where nobody tried.
    """

    tags: CatalogTags | None = None
    why: str = ""


NOT_READ = CatalogReading()


class State(StrEnum):
    """Whether a column has a classification."""

    TAGGED = "tagged"
    CLEAN = "clean"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Propagation:
    """Where one classification is. `tagged`, `unknown`: columns, and the number of the edge by which a shortest way
    reaches each, NOT_SET where it begins. `origins`: the rules of the columns where it begins.
    """

    classification: str
    document: LineageDocument
    origins: Mapping[int, TagRule]
    tagged: Mapping[int, int]
    unknown: Mapping[int, int]
    declassified: frozenset[int]

    def state(self, column: int) -> State:
        """Whether a column has the classification."""
        if column in self.tagged:
            return State.TAGGED
        return State.UNKNOWN if column in self.unknown else State.CLEAN

    def way(self, column: int) -> tuple[Edge, ...]:
        """A shortest way to a column from where its classification, or what is not known, begins."""
        return way_by(self.document, self.tagged if column in self.tagged else self.unknown, column)


def way_by(document: LineageDocument, entered: Mapping[int, int], column: int) -> tuple[Edge, ...]:
    """The edges of the way to a column, by the edge that enters each column on it."""
    edges: list[Edge] = []
    while (number := entered.get(column, NOT_SET)) != NOT_SET:
        edges.append(document.edges[number])
        column = edges[-1].input
    return tuple(reversed(edges))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainGraph:
    """The edges that carry plain values now, by their inputs; and the columns whose source is not known."""

    document: LineageDocument
    out: Mapping[int, tuple[int, ...]]
    unknown: frozenset[int]


def plain_graph(document: LineageDocument, rules: Rules, today: date) -> PlainGraph:
    """The graph that classifications follow: the edges of a document that no mask stops, neither one that the events
    report nor one of the rules that is valid on the day `today`.
    """
    stops = stopping(document, rules.masks, today)
    out: dict[int, list[int]] = {}
    for number in LineageGraph(document).edges:
        edge = document.edges[number]
        if not stops(edge):
            out.setdefault(edge.input, []).append(number)
    unknown = unknown_sources(document) - masked_columns(document, rules.masks, today)
    return PlainGraph(document=document, out={key: tuple(each) for key, each in out.items()}, unknown=unknown)


def unknown_sources(document: LineageDocument) -> frozenset[int]:
    """The columns whose source is not known, and all of data sets that a process writes from a table without place."""
    unresolved = unresolved_datasets(document)
    return unknown_columns(document) | {
        number for number, each in enumerate(document.columns) if each.name and each.dataset in unresolved
    }


def propagate(
    document: LineageDocument, rules: Rules, *, today: date, catalog: CatalogTags | None = None
) -> dict[str, Propagation]:
    """Each classification of the rules, by name. `today`: what has expired by then has no effect."""
    graph = plain_graph(document, rules, today)
    return {name: _propagation(name, graph, rules, today, catalog or {}) for name in rules.names}


def _propagation(name: str, graph: PlainGraph, rules: Rules, today: date, catalog: CatalogTags) -> Propagation:
    document = graph.document
    declassified = frozenset(
        number
        for each in rules.declassifications
        if each.classification == name and each.approval.is_valid(today)
        for number in matching_columns(document, each.where)
    )
    origins: dict[int, TagRule] = {}
    for rule in rules.tags:
        if rule.classification == name:
            for number in origins_of(document, rule, catalog):
                origins.setdefault(number, rule)
    origins = {number: origins[number] for number in sorted(origins) if number not in declassified}
    tagged = _reach(graph, origins, lambda column: column in declassified)
    starts = sorted(graph.unknown - tagged.keys() - declassified)
    unknown = _reach(graph, starts, lambda column: column in declassified or column in tagged)
    return Propagation(
        classification=name,
        document=document,
        origins=origins,
        tagged=tagged,
        unknown=unknown,
        declassified=declassified,
    )


def origins_of(document: LineageDocument, rule: TagRule, catalog: CatalogTags) -> frozenset[int]:
    """The columns in which a rule says that its classification begins."""
    found = matching_columns(document, rule.where)
    if rule.tag:
        fits = matcher([rule.tag])
        whole = {number for number, each in enumerate(document.datasets) if any(map(fits, each.tags))}
        tagged = {each.column for each in document.tags if fits(each.name)}
        found = frozenset(number for number in found if number in tagged or document.columns[number].dataset in whole)
    if rule.classified_as:
        fits = matcher([rule.classified_as])
        found &= {number for number, names in catalog.items() if any(map(fits, names))}
    return found


def _reach(graph: PlainGraph, starts: Iterable[int], ends: Callable[[int], bool]) -> dict[int, int]:
    """All columns that a start reaches, with the edge by which a shortest way enters each."""
    entered = dict.fromkeys(starts, NOT_SET)
    waiting = deque(entered)
    edges = graph.document.edges
    while waiting:
        for number in graph.out.get(waiting.popleft(), ()):
            column = edges[number].output
            if column not in entered and not ends(column):
                entered[column] = number
                waiting.append(column)
    return entered
