"""Why a column has a classification or not, and which rules have no effect.

A classification arrives on a path, or a mask stops it. A rule without an effect matches nothing, most often by a
misspelled name, or has expired.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from shared.governance.propagation import CatalogTags, TagPropagation, TagState, origins_of, way_to
from shared.governance.rules import (
    Declassification,
    Mask,
    Rules,
    Selector,
    TagRule,
    Term,
    hides,
    matching_columns,
    matching_datasets,
    stopping,
)
from shared.lineage.document import Edge, LineageDocument
from shared.lineage.graph import LineageGraph
from shared.lineage.shortest_ways import reach
from shared.rules_file.reading import Remark, did_you_mean


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
    return tuple(_explained(rules, each, column, today) for _, each in sorted(propagations.items()))


def terms_of(document: LineageDocument, rules: Rules, column: int) -> tuple[Term, ...]:
    """The rules that give a term to a column, or to its data set, in the file's order."""
    dataset = document.columns[column].dataset
    return tuple(
        each
        for each in rules.terms
        if (
            dataset in matching_datasets(document, each.where.datasets)
            if each.of_datasets
            else column in matching_columns(document, each.where)
        )
    )


def _explained(rules: Rules, found: TagPropagation, column: int, today: date) -> TagExplanation:
    document, state, name = found.document, found.state(column), found.classification
    if state is not TagState.CLEAN:
        way = found.way(column)
        start = way[0].input if way else column
        return TagExplanation(classification=name, state=state, way=way, origin=found.origins.get(start))
    exceptions = rules.declassified(name, today)
    way = _masked_way(found, column)
    stops = stopping(document, rules.masks, today)
    return TagExplanation(
        classification=name,
        state=state,
        way=way,
        origin=found.origins.get(way[0].input) if way else None,
        stopped_at=next(filter(stops, way), None),
        declassified=next((each for each in exceptions if column in matching_columns(document, each.where)), None),
    )


def _masked_way(found: TagPropagation, column: int) -> tuple[Edge, ...]:
    """The shortest path of values from an origin, masked or not; empty if there is none."""
    graph = LineageGraph(found.document)
    return way_to(column, reach(found.origins, lambda each: ((edge, edge.output) for edge in graph.out_of(each))))


def remarks(
    document: LineageDocument, rules: Rules, *, today: date, catalog: CatalogTags | None = None
) -> tuple[Remark, ...]:
    """The rules without an effect on this day, in the file's order. `catalog`: the classifications that others set
    there; None: not read, so rules that ask for them are not judged.
    """
    found = [*_unmatched(document, rules, catalog), *_expired(rules, today)]
    return tuple(
        Remark(line=line, text=f"[[{table}]] has no effect: {why}")
        for table, line, why in sorted(found, key=lambda each: each[1])
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
    named = [(table, each.line, each.where) for table, some in tables for each in some]
    named += [
        ("certified", each.line, Selector(datasets=(pattern,))) for each in rules.certified for pattern in each.datasets
    ]
    for table, line, where in named:
        if not (matching_columns(document, where) or _whole(document, where)):
            yield table, line, _about(document, where)


def _expired(rules: Rules, today: date) -> Iterator[tuple[str, int, str]]:
    for table, exceptions in (("mask", rules.masks), ("declassify", rules.declassifications)):
        for each in exceptions:
            if not each.approval.is_valid(today):
                yield table, each.line, f"it expired on {each.approval.expires}"


def _whole(document: LineageDocument, where: Selector) -> frozenset[int]:
    """Data sets that are named without columns: they match although they may have no columns."""
    return frozenset() if where.columns or where.types else matching_datasets(document, where.datasets)


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


def _about(document: LineageDocument, where: Selector, **others: str) -> str:
    words = list(_words(where, others))
    if where.datasets and not matching_datasets(document, where.datasets):
        hint = did_you_mean(where.datasets, (each.name for each in document.datasets))
        return f"no data set matches {' or '.join(where.datasets)}.{hint}"
    return f"no column has {' and '.join(words)}"


def _words(where: Selector, others: dict[str, str]) -> Iterator[str]:
    for key in ("datasets", "columns", "types"):
        if patterns := getattr(where, key):
            yield f"{key} {' or '.join(patterns)}"
    yield from (f"{key} {pattern}" for key, pattern in others.items() if pattern)
