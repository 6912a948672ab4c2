"""The answers of our own API: what Marquez' has no words for. A column is `{dataset, column}` by qualified name; the
column with an empty name stands for all rows.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import TypeVar

import msgspec
from msgspec import to_builtins

from shared.lineage.document import Edge
from shared.lineage.graph import AmbiguousNameError, UnknownNameError, Way
from shared.lineage.questions import dependents, differences, edges_between, flows_between, origin_document, origins_of
from shared.serving.requests import bad_request, not_found
from shared.serving.view import LineageView

_Item = TypeVar("_Item")


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


class FoundPage(_Value, frozen=True):
    """Results, the best first, and how many there are in all."""

    total: int
    results: tuple[Found, ...]


class OriginTree(_Value, frozen=True):
    """A column with those that its values come from. `kind`, `expression` and `process`: how its value reaches the
    column below; `remark`: what ends the way here, or is not known.
    """

    dataset: str
    column: str
    kind: str | None
    expression: str
    process: str | None
    remark: str
    origins: tuple["OriginTree", ...]


class Affected(_Value, frozen=True):
    """A data set downstream: its columns that depend on the subject, how many processes are between them, and these."""

    dataset: str
    type: str
    owner: str
    columns: tuple[str, ...]
    distance: int
    processes: tuple[str, ...]


class Impact(_Value, frozen=True):
    """What depends on the subject, the nearest first, and how many data sets do in all."""

    total: int
    results: tuple[Affected, ...]


class Neighbour(_Value, frozen=True):
    """A data set, or a column of it (None: the data set), and how many steps it is away."""

    dataset: str
    type: str
    owner: str
    column: str | None
    distance: int


class Neighbours(_Value, frozen=True):
    """Data sets or columns on one side of the subject, the nearest first, and how many there are in all."""

    total: int
    results: tuple[Neighbour, ...]


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


class Steps(_Value, frozen=True):
    """Steps, and how many there are in all."""

    total: int
    results: tuple[Step, ...]


class Changed(_Value, frozen=True):
    """Objects of one kind by their names: added and removed."""

    added: tuple[tuple[str, ...], ...]
    removed: tuple[tuple[str, ...], ...]


class Comparison(_Value, frozen=True):
    """What changed between two days. The names of a column are data set, column and type; of a flow process, data set
    read and data set written; of an edge process, data set and column read, data set and column written, and kind.
    """

    datasets: Changed
    columns: Changed
    processes: Changed
    flows: Changed
    edges: Changed


class Columns(_Value, frozen=True):
    """Columns, and how many there are in all."""

    total: int
    results: tuple[ColumnName, ...]


def _page(items: Sequence[_Item], limit: int, offset: int) -> Sequence[_Item]:
    return items[offset : offset + limit]


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


def search(view: LineageView, text: str, limit: int, offset: int) -> FoundPage:
    """Data sets and columns whose names fit."""
    every = view.search.find(text, limit=None)
    document = view.document
    return FoundPage(
        total=len(every),
        results=tuple(
            Found(
                dataset=document.datasets[match.dataset].qualified_name,
                type=document.datasets[match.dataset].type,
                column=None if match.column is None else document.columns[match.column].name,
                tags=document.datasets[match.dataset].tags if match.column is None else view.tags.get(match.column, ()),
                owner=document.datasets[match.dataset].owner,
            )
            for match in _page(every, limit, offset)
        ),
    )


def explain(view: LineageView, dataset: str, column: str, depth: int) -> OriginTree:
    """Where a column comes from."""
    number = column_number(view, dataset_number(view, dataset), column)
    tree = origin_document(view.document, origins_of(view, number, depth))
    return msgspec.convert(tree, OriginTree)


def impact(view: LineageView, dataset: str, column: str | None, limit: int, offset: int, *, conditions: bool) -> Impact:
    """What depends on a data set or a column."""
    document, number = view.document, dataset_number(view, dataset)
    start = None if column is None else column_number(view, number, column)
    every = dependents(view.graph(conditions=conditions), dataset=number, column=start)
    return Impact(
        total=len(every),
        results=tuple(
            Affected(
                dataset=document.datasets[match.dataset].qualified_name,
                type=document.datasets[match.dataset].type,
                owner=document.datasets[match.dataset].owner,
                columns=tuple(document.columns[end].name for end in match.columns),
                distance=match.distance,
                processes=tuple(document.processes[process].qualified_name for process in match.processes),
            )
            for match in _page(every, limit, offset)
        ),
    )


def neighbours(
    view: LineageView, dataset: str, column: str | None, limit: int, offset: int, *, way: Way, depth: int
) -> Neighbours:
    """What a data set or a column is made of (`way` upstream), or what is made of it, at most `depth` steps away."""
    document, graph, number = view.document, view.graph(), dataset_number(view, dataset)
    if column is None:
        reached = graph.datasets([number], way, depth=depth)
    else:
        reached = graph.columns([column_number(view, number, column)], way, depth=depth)
    every = sorted((distance, node) for node, distance in reached.distance.items() if distance)

    def neighbour(distance: int, node: int) -> Neighbour:
        fact = document.datasets[node if column is None else document.columns[node].dataset]
        return Neighbour(
            dataset=fact.qualified_name,
            type=fact.type,
            owner=fact.owner,
            column=None if column is None else document.columns[node].name,
            distance=distance,
        )

    return Neighbours(total=len(every), results=tuple(neighbour(*end) for end in _page(every, limit, offset)))


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
        results=tuple(_page(every, limit, offset)),
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
) -> Steps:
    """All ways from one data set or column to another."""
    start, end = dataset_number(view, source), dataset_number(view, target)
    if (source_column is None) != (target_column is None):
        raise bad_request("give a column at both ends of the way, or at none")
    if source_column is not None and target_column is not None:
        ends = column_number(view, start, source_column), column_number(view, end, target_column)
        return _steps(view, edges_between(view.graph(), *ends), limit, offset)
    document = view.document
    flows = flows_between(view.graph(), start, end)
    steps = (
        Step(
            process=document.processes[flow.process].qualified_name,
            source=ColumnName(dataset=document.datasets[flow.input].qualified_name, column=""),
            target=ColumnName(dataset=document.datasets[flow.output].qualified_name, column=""),
            kind="",
            expression="",
        )
        for flow in _page(flows, limit, offset)
    )
    return Steps(total=len(flows), results=tuple(steps))


def masks(view: LineageView, limit: int, offset: int) -> Steps:
    """The edges that let only a mask of the value arrive."""
    graph = view.graph()
    edges = [edge for number in graph.edges if (edge := view.document.edges[number]).masked]
    return _steps(view, edges, limit, offset)


def unknown(view: LineageView, limit: int, offset: int) -> Columns:
    """The columns whose source is not known."""
    numbers = _page(sorted(view.unknown), limit, offset)
    return Columns(total=len(view.unknown), results=tuple(_column(view, number) for number in numbers))


def compare(first_view: LineageView, next_view: LineageView) -> Comparison:
    """What changed from one document to another."""
    return msgspec.convert(to_builtins(differences(first_view.document, next_view.document)), Comparison)


def _steps(view: LineageView, edges: Sequence[Edge], limit: int, offset: int) -> Steps:
    steps = (
        Step(
            process=view.document.processes[edge.process].qualified_name,
            source=_column(view, edge.input),
            target=_column(view, edge.output),
            kind=edge.kind.value,
            expression=edge.description,
        )
        for edge in _page(edges, limit, offset)
    )
    return Steps(total=len(edges), results=tuple(steps))


def _column(view: LineageView, number: int) -> ColumnName:
    column = view.document.columns[number]
    return ColumnName(dataset=view.document.datasets[column.dataset].qualified_name, column=column.name)
