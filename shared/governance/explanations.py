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
