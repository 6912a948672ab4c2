"""Why a column has a classification or not: the path on which it arrives, or the mask that stops it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from shared.governance.masks import stopping
from shared.governance.patterns import matching_columns, matching_datasets
from shared.governance.propagation import TagPropagation, TagState, way_to
from shared.governance.rules import Declassification, Rules, TagRule, Term
from shared.lineage.document import Edge, LineageDocument
from shared.lineage.graph import LineageGraph
from shared.lineage.shortest_ways import reach


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
