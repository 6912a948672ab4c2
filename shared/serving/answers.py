"""The answers of our own API: what Marquez' has no words for. A column is `{dataset, column}` by qualified name; the
column with an empty name stands for all rows.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import Generic, TypeVar

import msgspec

from shared.lineage.document import Edge, Flow
from shared.lineage.graph import AmbiguousNameError, UnknownNameError, Way
from shared.lineage.questions import (
    Dependent,
    OriginTree,
    dependents,
    edges_between,
    flows_between,
    origin_document,
    origins_of,
)
from shared.lineage.search_index import Found as Match
from shared.serving.requests import bad_request, not_found
from shared.serving.view import LineageView

_Item = TypeVar("_Item")
_Fact = TypeVar("_Fact")


class _Value(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A JSON object."""


class ColumnName(_Value, frozen=True):
    """A column."""

    dataset: str
    column: str


class Days(_Value, frozen=True):
    """The days with a document of their own: `as_of` takes any day since the first. `newest`: the document's name."""

    newest: str
    days: tuple[date, ...]


class Found(_Value, frozen=True):
    """A data set, or a column of it (None: the data set), that fits a search."""

    dataset: str
    type: str
    column: str | None
    tags: tuple[str, ...]
    owner: str


class Page(_Value, Generic[_Item], frozen=True):
    """Results, those that answer best or are nearest first, and how many there are in all."""

    total: int
    results: tuple[_Item, ...]


class Affected(_Value, frozen=True):
    """A data set downstream: its columns that depend on the subject, how many processes are between them, and these."""

    dataset: str
    type: str
    owner: str
    columns: tuple[str, ...]
    distance: int
    processes: tuple[str, ...]


class Neighbour(_Value, frozen=True):
    """A data set, or a column of it (None: the data set), and how many steps it is away."""

    dataset: str
    type: str
    owner: str
    column: str | None
    distance: int


class CoveredDataset(_Value, frozen=True):
    """A data set: how many columns it has, and of how many the source is not known. `written`: whether a process on
    record writes it.
    """

    dataset: str
    written: bool
    columns: int
    unknown: int


class Coverage(_Value, frozen=True):
    """How complete lineage is: numbers of columns of the data sets that processes write, and of those without a known
    source; the data sets, those with most of these first, and how many there are in all.
    """

    columns: int
    unknown: int
    total: int
    results: tuple[CoveredDataset, ...]


class Step(_Value, frozen=True):
    """A process between two columns, or two data sets (without column names, `kind` and `expression`)."""

    process: str
    source: ColumnName
    target: ColumnName
    kind: str
    expression: str


def _page(items: Sequence[_Fact], limit: int, offset: int, shown: Callable[[_Fact], _Item]) -> Page[_Item]:
    return Page(total=len(items), results=tuple(map(shown, items[offset : offset + limit])))


def dataset_number(view: LineageView, text: str) -> int:
    """The data set of this qualified name, end of a path or short name. Raises RefusedRequestError."""
    try:
        return view.dataset(text)
    except AmbiguousNameError as error:
        raise bad_request(str(error)) from error
    except UnknownNameError as error:
        raise not_found(str(error)) from error


def column_number(view: LineageView, dataset: int, column: str) -> int:
    """A column of a data set. Raises RefusedRequestError."""
    try:
        return view.column(dataset, column)
    except UnknownNameError as error:
        raise not_found(str(error)) from error


def search(view: LineageView, text: str, limit: int, offset: int) -> Page[Found]:
    """Data sets and columns whose names fit."""
    document = view.document

    def shown(match: Match) -> Found:
        dataset = document.datasets[match.dataset]
        return Found(
            dataset=dataset.qualified_name,
            type=dataset.type,
            column=None if match.column is None else document.columns[match.column].name,
            tags=dataset.tags if match.column is None else view.tags.get(match.column, ()),
            owner=dataset.owner,
        )

    return _page(view.search.find(text, limit=None), limit, offset, shown)


def explain(view: LineageView, dataset: str, column: str, depth: int) -> OriginTree:
    """Where a column comes from."""
    number = column_number(view, dataset_number(view, dataset), column)
    return origin_document(view.document, origins_of(view, number, depth))


def impact(
    view: LineageView, dataset: str, column: str | None, limit: int, offset: int, *, conditions: bool
) -> Page[Affected]:
    """What depends on a data set or a column."""
    document, number = view.document, dataset_number(view, dataset)
    start = None if column is None else column_number(view, number, column)

    def shown(match: Dependent) -> Affected:
        affected = document.datasets[match.dataset]
        return Affected(
            dataset=affected.qualified_name,
            type=affected.type,
            owner=affected.owner,
            columns=tuple(document.columns[end].name for end in match.columns),
            distance=match.distance,
            processes=tuple(document.processes[process].qualified_name for process in match.processes),
        )

    every = dependents(view.graph(conditions=conditions), dataset=number, column=start)
    return _page(every, limit, offset, shown)


def neighbours(
    view: LineageView, dataset: str, column: str | None, limit: int, offset: int, *, way: Way, depth: int
) -> Page[Neighbour]:
    """What a data set or a column is made of (`way` upstream), or what is made of it, at most `depth` steps away."""
    document, graph, number = view.document, view.graph(), dataset_number(view, dataset)
    if column is None:
        reached = graph.datasets([number], way, depth=depth)
    else:
        reached = graph.columns([column_number(view, number, column)], way, depth=depth)
    every = sorted((distance, node) for node, distance in reached.distance.items() if distance)

    def shown(end: tuple[int, int]) -> Neighbour:
        distance, node = end
        fact = document.datasets[node if column is None else document.columns[node].dataset]
        return Neighbour(
            dataset=fact.qualified_name,
            type=fact.type,
            owner=fact.owner,
            column=None if column is None else document.columns[node].name,
            distance=distance,
        )

    return _page(every, limit, offset, shown)


def coverage(view: LineageView, dataset: str | None, limit: int, offset: int) -> Coverage:
    """How many columns have a known source, of all data sets or of one."""
    document = view.document
    written_datasets = {end for process in document.processes for end in process.outputs}
    unknown = Counter(document.columns[number].dataset for number in view.unknown)
    numbers = range(len(document.datasets)) if dataset is None else (dataset_number(view, dataset),)
    every = [
        CoveredDataset(
            dataset=document.datasets[number].qualified_name,
            written=number in written_datasets,
            columns=len(view.columns.get(number, ())),
            unknown=unknown[number],
        )
        for number in numbers
    ]
    every.sort(key=lambda covered: (-covered.unknown, not covered.written, covered.dataset))
    return Coverage(
        columns=sum(covered.columns for covered in every if covered.written),
        unknown=sum(covered.unknown for covered in every if covered.written),
        total=len(every),
        results=tuple(every[offset : offset + limit]),
    )


def ways(
    view: LineageView,
    source: str,
    target: str,
    limit: int,
    offset: int,
    *,
    source_column: str | None,
    target_column: str | None,
) -> Page[Step]:
    """All ways from one data set or column to another."""
    start, end = dataset_number(view, source), dataset_number(view, target)
    if (source_column is None) != (target_column is None):
        raise bad_request("give a column at both ends of the way, or at none")
    if source_column is not None and target_column is not None:
        ends = column_number(view, start, source_column), column_number(view, end, target_column)
        return _steps(view, edges_between(view.graph(), *ends), limit, offset)
    document = view.document

    def shown(flow: Flow) -> Step:
        return Step(
            process=document.processes[flow.process].qualified_name,
            source=ColumnName(dataset=document.datasets[flow.input].qualified_name, column=""),
            target=ColumnName(dataset=document.datasets[flow.output].qualified_name, column=""),
            kind="",
            expression="",
        )

    return _page(flows_between(view.graph(), start, end), limit, offset, shown)


def masks(view: LineageView, limit: int, offset: int) -> Page[Step]:
    """The edges that let only a mask of the value arrive."""
    graph = view.graph()
    edges = [edge for number in graph.edges if (edge := view.document.edges[number]).masked]
    return _steps(view, edges, limit, offset)


def unknown(view: LineageView, limit: int, offset: int) -> Page[ColumnName]:
    """The columns whose source is not known."""
    return _page(sorted(view.unknown), limit, offset, partial(_column, view))


def _steps(view: LineageView, edges: Sequence[Edge], limit: int, offset: int) -> Page[Step]:
    def shown(edge: Edge) -> Step:
        return Step(
            process=view.document.processes[edge.process].qualified_name,
            source=_column(view, edge.input),
            target=_column(view, edge.output),
            kind=edge.kind.value,
            expression=edge.description,
        )

    return _page(edges, limit, offset, shown)


def _column(view: LineageView, number: int) -> ColumnName:
    column = view.document.columns[number]
    return ColumnName(dataset=view.document.datasets[column.dataset].qualified_name, column=column.name)
