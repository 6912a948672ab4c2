"""Propagate classifications: along values, up to a mask; and explain why a column has one or not, and which rules have
no effect.

A column is tagged if a plain value of an origin reaches it. It is not known if it is not tagged and a plain value of an
unknown source reaches it, or one of an origin may, along an opaque edge. Else it is clean. An aggregation carries a
plain value (`max(ssn)` is one); a condition (filter, join, group) carries none. A declassified column has no
classification and passes none on.

A rule without an effect matches nothing, most often by a misspelled name, or has expired.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from operator import attrgetter

from shared.governance.rules import (
    Declassification,
    Mask,
    Rules,
    Selector,
    TagRule,
    Term,
    hides,
    masked_columns,
    matching_columns,
    matching_datasets,
    stopping,
)
from shared.lineage.document import Edge, Kind, LineageDocument
from shared.lineage.graph import LineageGraph, reach, unknown_columns, unresolved_datasets, way_back
from shared.rules_file import Remark, did_you_mean, matcher

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TagExplanation:
    """The state of one classification at a column.

    - `way`: the shortest path from the origin, or from the column whose source is not known. For a clean column: from
      an origin, past the edge `stopped_at` that masks it.
    - `origin`: the rule of the path's first column.
    """

    classification: str
    state: TagState
    way: tuple[Edge, ...] = ()
    origin: TagRule | None = None
    stopped_at: Edge | None = None
    declassified: Declassification | None = None


def explain(
    rules: Rules, propagations: Mapping[str, TagPropagation], column: int, *, today: date
) -> tuple[TagExplanation, ...]:
    """Explain each classification of the rules at one column, sorted by name."""
    return tuple(_explained(rules, propagation, column, today) for _, propagation in sorted(propagations.items()))


def terms_of(document: LineageDocument, rules: Rules, column: int) -> tuple[Term, ...]:
    """The rules that give a term to a column, or to its data set, in the file's order."""
    dataset = document.columns[column].dataset
    return tuple(
        term
        for term in rules.terms
        if (
            dataset in matching_datasets(document, term.where.datasets)
            if term.of_datasets
            else column in matching_columns(document, term.where)
        )
    )


def _explained(rules: Rules, propagation: TagPropagation, column: int, today: date) -> TagExplanation:
    document, state, name = propagation.document, propagation.state(column), propagation.classification
    if state is not TagState.CLEAN:
        way = propagation.way(column)
        start = way[0].input if way else column
        return TagExplanation(classification=name, state=state, way=way, origin=propagation.origins.get(start))
    exceptions = rules.declassified(name, today)
    way = _masked_way(propagation, column)
    stops = stopping(document, rules.masks, today)
    return TagExplanation(
        classification=name,
        state=state,
        way=way,
        origin=propagation.origins.get(way[0].input) if way else None,
        stopped_at=next(filter(stops, way), None),
        declassified=next(
            (exception for exception in exceptions if column in matching_columns(document, exception.where)), None
        ),
    )


def _masked_way(propagation: TagPropagation, column: int) -> tuple[Edge, ...]:
    """The shortest path of values from an origin, masked or not; empty if there is none."""
    graph = LineageGraph(propagation.document)
    return way_to(
        column,
        reach(propagation.origins, lambda column_number: ((edge, edge.output) for edge in graph.out_of(column_number))),
    )


def remarks(
    document: LineageDocument, rules: Rules, *, today: date, catalog: CatalogTags | None = None
) -> tuple[Remark, ...]:
    """The rules without an effect on this day, in the file's order. `catalog`: the classifications that others set
    there; None: not read, so rules that ask for them are not judged.
    """
    problems = [*_unmatched(document, rules, catalog), *_expired(rules, today)]
    return tuple(
        Remark(line=line, text=f"[[{table}]] has no effect: {reason}")
        for table, line, reason in sorted(problems, key=lambda problem: problem[1])
    )


def _unmatched(document: LineageDocument, rules: Rules, catalog: CatalogTags | None) -> Iterator[tuple[str, int, str]]:
    """The table, the line and the reason of each rule that matches nothing."""
    for tag in rules.tags:
        if (catalog is not None or not tag.classified_as) and not origins_of(document, tag, catalog or {}):
            yield "tag", tag.line, _about(document, tag.where, tag=tag.tag, classified_as=tag.classified_as)
    for mask in rules.masks:
        if not _masks(document, mask):
            yield "mask", mask.line, _mask(document, mask)
    tables = (("declassify", rules.declassifications), ("term", rules.terms), ("policy", rules.policies))
    named = [(table, rule.line, rule.where) for table, rules_of_table in tables for rule in rules_of_table]
    named += [
        ("certified", certificate.line, Selector(datasets=(pattern,)))
        for certificate in rules.certified
        for pattern in certificate.datasets
    ]
    for table, line, selector in named:
        if not (matching_columns(document, selector) or _whole(document, selector)):
            yield table, line, _about(document, selector)


def _expired(rules: Rules, today: date) -> Iterator[tuple[str, int, str]]:
    for table, exceptions in (("mask", rules.masks), ("declassify", rules.declassifications)):
        for exception in exceptions:
            if not exception.approval.is_valid(today):
                yield table, exception.line, f"it expired on {exception.approval.expires}"


def _whole(document: LineageDocument, selector: Selector) -> frozenset[int]:
    """Data sets that are named without columns: they match although they may have no columns."""
    return frozenset() if selector.columns or selector.types else matching_datasets(document, selector.datasets)


def _masks(document: LineageDocument, mask: Mask) -> bool:
    columns = matching_columns(document, mask.where)
    if not mask.functions:
        return bool(columns)
    return any(
        edge.output in columns and hides(edge.description, mask.functions, document.columns[edge.input].name)
        for edge in document.edges
        if edge.description
    )


def _mask(document: LineageDocument, mask: Mask) -> str:
    if not mask.functions:
        return _about(document, mask.where)
    return f"no expression of an edge hides a column in {' or '.join(mask.functions)}"


def _about(document: LineageDocument, selector: Selector, **further: str) -> str:
    words = list(_words(selector, further))
    if selector.datasets and not matching_datasets(document, selector.datasets):
        hint = did_you_mean(selector.datasets, (dataset.name for dataset in document.datasets))
        return f"no data set matches {' or '.join(selector.datasets)}.{hint}"
    return f"no column has {' and '.join(words)}"


def _words(selector: Selector, further: dict[str, str]) -> Iterator[str]:
    for key in ("datasets", "columns", "types"):
        if patterns := getattr(selector, key):
            yield f"{key} {' or '.join(patterns)}"
    yield from (f"{key} {pattern}" for key, pattern in further.items() if pattern)
