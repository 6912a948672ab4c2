"""Propagate classifications: along values, up to a mask.

A column is tagged if a plain value of an origin reaches it. It is not known if it is not tagged and a plain value of an
unknown source reaches it, or one of an origin may, along an opaque edge. Else it is clean. An aggregation carries a
plain value (`max(ssn)` is one); a condition (filter, join, group) carries none. A declassified column has no
classification and passes none on.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from operator import attrgetter

from shared.governance.rules import Rules, TagRule, masked_columns, matching_columns, stopping
from shared.lineage.document import Edge, Kind, LineageDocument
from shared.lineage.graph import LineageGraph, unknown_columns, unresolved_datasets
from shared.lineage.shortest_ways import reach, way_back
from shared.rules_file.reading import matcher

CatalogTags = Mapping[int, frozenset[str]]
"""Classifications that others set in the catalog, by the number of the column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogReading:
    """The classifications that others set in the catalog. `tags`: None if they were not read. `why`: the reason, empty
    if no attempt was made.
    """

    tags: CatalogTags | None = None
    why: str = ""


NOT_READ = CatalogReading()


class TagState(StrEnum):
    """Whether a column has a classification."""

    TAGGED = "tagged"
    CLEAN = "clean"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class TagPropagation:
    """The columns of one classification. `tagged`, `unknown`: columns, each with the edge by which a shortest path
    enters it (None where it begins); one to an unknown column may come from a tagged one. `origins`: the columns where
    the classification begins, with their rules.
    """

    classification: str
    document: LineageDocument
    origins: Mapping[int, TagRule]
    tagged: Mapping[int, Edge | None]
    unknown: Mapping[int, Edge | None]

    def state(self, column: int) -> TagState:
        """Whether a column has the classification."""
        if column in self.tagged:
            return TagState.TAGGED
        return TagState.UNKNOWN if column in self.unknown else TagState.CLEAN

    def way(self, column: int) -> tuple[Edge, ...]:
        """A path to a column, from an origin or from a column whose source is not known."""
        if column in self.tagged:
            return way_to(column, self.tagged)
        way = way_to(column, self.unknown)
        return (*way_to(way[0].input, self.tagged), *way) if way else ()

    def may_arrive(self, column: int) -> bool:
        """Whether the classification is not known to reach a column, but may, along an opaque edge."""
        way = self.way(column) if column in self.unknown else ()
        return bool(way) and way[0].input in self.tagged


def way_to(column: int, entered: Mapping[int, Edge | None]) -> tuple[Edge, ...]:
    """The edges of the path to a column, by the edge that enters each column."""
    return tuple(way_back(entered, column, attrgetter("input")))[::-1]


def unknown_sources(document: LineageDocument) -> frozenset[int]:
    """The columns whose source is not known, and all columns of data sets that are written from a table without a known
    place.
    """
    unresolved = unresolved_datasets(document)
    return unknown_columns(document) | {
        number for number, column in enumerate(document.columns) if column.name and column.dataset in unresolved
    }


def propagate(
    document: LineageDocument, rules: Rules, *, today: date, catalog: CatalogTags | None = None
) -> dict[str, TagPropagation]:
    """Propagate each classification of the rules, by name. `today`: rules that have expired by then have no effect."""
    document = rules.judged(document)
    graph, stops = LineageGraph(document), stopping(document, rules.masks, today)
    plain = {
        column: [edge for edge in graph.out_of(column) if not stops(edge)] for column in range(len(document.columns))
    }
    sourceless = unknown_sources(document) - masked_columns(document, rules.masks, today)

    def follow(starts: Iterable[int], ends: Collection[int], *, opaque: bool) -> dict[int, Edge | None]:
        """The columns that plain values reach from the starts, or may reach (`opaque`); columns in `ends` are not
        entered.
        """
        return reach(
            starts,
            lambda column: (
                (edge, edge.output)
                for edge in plain[column]
                if edge.output not in ends and (opaque or edge.kind is not Kind.OPAQUE)
            ),
        )

    propagations = {}
    for name in rules.names:
        declassified = {
            number
            for declassification in rules.declassified(name, today)
            for number in matching_columns(document, declassification.where)
        }
        origins = _origins(name, document, rules, catalog or {}, declassified=declassified)
        tagged = follow(origins, declassified, opaque=False)
        starts = [*tagged, *sorted(sourceless - tagged.keys() - declassified)]
        entered = follow(starts, declassified | tagged.keys(), opaque=True)
        unknown = {column: edge for column, edge in entered.items() if column not in tagged}
        propagations[name] = TagPropagation(
            classification=name, document=document, origins=origins, tagged=tagged, unknown=unknown
        )
    return propagations


def _origins(
    name: str, document: LineageDocument, rules: Rules, catalog: CatalogTags, *, declassified: set[int]
) -> dict[int, TagRule]:
    """The columns where a classification begins, sorted, each with the first rule that says so."""
    origins: dict[int, TagRule] = {}
    for rule in rules.tags:
        if rule.classification == name:
            for number in origins_of(document, rule, catalog) - origins.keys() - declassified:
                origins[number] = rule
    return {number: origins[number] for number in sorted(origins)}


def origins_of(document: LineageDocument, rule: TagRule, catalog: CatalogTags) -> frozenset[int]:
    """The columns where a classification begins by one rule."""
    columns = matching_columns(document, rule.where)
    if rule.tag:
        fits = matcher([rule.tag])
        tagged_datasets = {number for number, dataset in enumerate(document.datasets) if any(map(fits, dataset.tags))}
        tagged = {tag.column for tag in document.tags if fits(tag.name)}
        columns = frozenset(
            number for number in columns if number in tagged or document.columns[number].dataset in tagged_datasets
        )
    if rule.classified_as:
        fits = matcher([rule.classified_as])
        columns &= {number for number, names in catalog.items() if any(map(fits, names))}
    return columns
