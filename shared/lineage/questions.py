"""Questions about a document of lineage, each a pure function: where a column comes from, what depends on a data set or
a column, the ways between two of them, and what differs between two documents.

Every question of the command line, of Python and of the HTTP API about a document is answered from one `LineageIndex`,
which has what questions look up.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from functools import cached_property, lru_cache
from operator import attrgetter

import msgspec

from shared.lineage.document import NOT_SET, Edge, Flow, Kind, LineageDocument
from shared.lineage.graph import (
    AmbiguousNameError,
    LineageGraph,
    UnknownNameError,
    Way,
    find_column,
    find_dataset,
    reach,
    unknown_columns,
    way_back,
)
from shared.lineage.search_index import SearchIndex
from shared.texts import suggestion, visible

_SUGGESTED = 3
_MOST_LISTED = 20


class LineageIndex:
    """A document with its indexes, each made at its first use. It never changes, so threads may share it."""

    def __init__(self, document: LineageDocument) -> None:
        self.document = document
        self.graph = lru_cache(maxsize=4)(self._graph)

    def _graph(self, *, moment: datetime | None = None, conditions: bool = False) -> LineageGraph:
        """Its edges and flows that are valid at a time. Raises NoHistoryError."""
        return LineageGraph(self.document, moment=moment, conditions=conditions)

    @cached_property
    def datasets(self) -> Mapping[str, int]:
        """The number of each data set by its qualified name."""
        return {dataset.qualified_name: number for number, dataset in enumerate(self.document.datasets)}

    def dataset(self, text: str) -> int:
        """The number of the data set of this name, end of a path or short name. Raises UnknownNameError, with the
        nearest names, and AmbiguousNameError.
        """
        if text in self.datasets:
            return self.datasets[text]
        try:
            return find_dataset(self.document, text)
        except UnknownNameError as error:
            nearest = self.nearest(text) or self.nearest(text.rpartition(".")[0])
            sentence = f". The nearest are {', '.join(nearest)}" if nearest else ""
            raise UnknownNameError(f"{error}{sentence}") from error

    def column(self, dataset: int, name: str) -> int:
        """The number of a column of a data set. Raises UnknownNameError, with the nearest names."""
        try:
            return find_column(self.document, dataset, name)
        except UnknownNameError as error:
            names = [self.document.columns[number].name for number in self.columns.get(dataset, ())]
            listed = f" Its columns are {', '.join(map(visible, names))}." if 0 < len(names) <= _MOST_LISTED else ""
            raise UnknownNameError(f"{error}.{suggestion(name, names) or listed}") from error

    def subject(self, text: str) -> tuple[int, int | None]:
        """The data set, and the column (or None), that TABLE or TABLE.COLUMN names. A data set of the whole name comes
        first. Raises UnknownNameError, with the nearest names, and AmbiguousNameError.
        """
        names = (dataset.qualified_name.rstrip("/") for dataset in self.document.datasets)
        is_dataset = any(name == text.rstrip("/") or name.endswith("/" + text.strip("/")) for name in names)
        refused: LookupError | None = None
        for place in (place for place in range(len(text) - 2, 0, -1) if text[place] == "." and not is_dataset):
            try:
                dataset = find_dataset(self.document, text[:place])
            except UnknownNameError:
                continue
            except AmbiguousNameError as error:
                refused = refused or error
                continue
            try:
                return dataset, self.column(dataset, text[place + 1 :])
            except UnknownNameError as error:
                refused = refused or error
        try:
            return self.dataset(text), None
        except UnknownNameError as error:
            raise refused or error from error

    @cached_property
    def columns(self) -> Mapping[int, tuple[int, ...]]:
        """The columns of each data set that has some, in their order, without the one that stands for all rows."""
        columns: defaultdict[int, list[int]] = defaultdict(list)
        for number, column in enumerate(self.document.columns):
            if column.name:
                columns[column.dataset].append(number)
        return {dataset: tuple(numbers) for dataset, numbers in columns.items()}

    @cached_property
    def tags(self) -> Mapping[int, tuple[str, ...]]:
        """The tags of each column that has some."""
        tags: defaultdict[int, list[str]] = defaultdict(list)
        for tag in self.document.tags:
            tags[tag.column].append(tag.name)
        return {column: tuple(names) for column, names in tags.items()}

    @cached_property
    def unknown(self) -> frozenset[int]:
        """The columns whose source is not known now."""
        return unknown_columns(self.document)

    @cached_property
    def search(self) -> SearchIndex:
        """The search by parts of names."""
        return SearchIndex(self.document)

    @cached_property
    def _short_names(self) -> Mapping[str, list[str]]:
        """Qualified names by the short name in lower case."""
        names: defaultdict[str, list[str]] = defaultdict(list)
        for dataset in self.document.datasets:
            names[dataset.name.lower()].append(dataset.qualified_name)
        return names

    def nearest(self, text: str) -> tuple[str, ...]:
        """Qualified names of the data sets whose short names are most like the last part of a text; at most three."""
        last = text.rstrip("/").rpartition("/")[2].rpartition(":")[2].lower()
        alike = get_close_matches(last, self._short_names, n=_SUGGESTED)
        return tuple(name for short in alike for name in self._short_names[short])[:_SUGGESTED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A column, by its number, with the columns that its values come from. `edge`: how its value reaches the column
    below; None at the start. `remark`: what ends the way here, or is not known of it.
    """

    column: int
    edge: Edge | None
    origins: tuple["Origin", ...]
    remark: str


def origins_of(index: LineageIndex, column: int, depth: int) -> Origin:
    """The columns at most `depth` edges up. What lies above a column is shown once, so that circles end."""
    graph, document = index.graph(), index.document
    expanded: set[int] = set()

    def grown(number: int, edge: Edge | None, steps: int) -> Origin:
        edges = sorted(graph.into(number))
        remark = "its source is not known" if number in index.unknown else ""
        if not edges:
            remark = remark or ("a constant" if document.columns[number].constant else "")
        elif number in expanded:
            edges, remark = [], "its origins are shown above"
        elif not steps:
            edges, remark = [], "it has origins: a higher depth shows them"
        else:
            expanded.add(number)
        upper_origins = tuple(grown(source.input, source, steps - 1) for source in edges)
        return Origin(column=number, edge=edge, origins=upper_origins, remark=remark)

    return grown(column, None, depth)


class OriginTree(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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


def origin_document(document: LineageDocument, origin: Origin) -> OriginTree:
    """The tree by names, for JSON."""
    column, edge = document.columns[origin.column], origin.edge
    return OriginTree(
        dataset=document.datasets[column.dataset].qualified_name,
        column=column.name,
        kind=edge.kind.value if edge else None,
        expression=edge.description if edge else "",
        process=document.processes[edge.process].qualified_name if edge else None,
        remark=origin.remark,
        origins=tuple(origin_document(document, source) for source in origin.origins),
    )


_Entered = Mapping[int, Edge | Flow | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependent:
    """A data set, by its number, that depends on the subject of a question.

    `columns`: those of it that do, if the subject is a column. `way`: the edges (of a data set: flows) of one shortest
    way from the subject to the nearest of them.
    """

    dataset: int
    columns: tuple[int, ...]
    way: tuple[Edge | Flow, ...]

    @property
    def distance(self) -> int:
        """How many processes are between the subject and the nearest column."""
        return len(self.way)

    @property
    def processes(self) -> tuple[int, ...]:
        """The numbers of the processes on the way, in its order."""
        return tuple(link.process for link in self.way)


def dependents(
    graph: LineageGraph, *, dataset: int, column: int | None = None, kinds: Collection[Kind] = frozenset(Kind)
) -> tuple[Dependent, ...]:
    """All data sets downstream of a data set, the nearest first; of a column those that its values reach, along edges
    of these kinds. In a graph with conditions also the data sets whose rows it decides, by the column that stands for
    all rows; what is made of these is not followed.
    """
    if column is None:
        entered = _downstream(dataset, graph.flows_out_of)
        nodes: dict[int, tuple[int, tuple[int, ...]]] = {
            number: (number, ()) for number in entered if number != dataset
        }
    else:
        entered = _downstream(column, lambda node: (edge for edge in graph.out_of(node) if edge.kind in kinds))
        columns: dict[int, list[int]] = {}
        for number in entered:
            if number != column:
                columns.setdefault(graph.document.columns[number].dataset, []).append(number)
        nodes = {number: (numbers[0], tuple(sorted(numbers))) for number, numbers in columns.items()}
    dependents_found = (
        Dependent(dataset=number, columns=columns_of, way=_way_to(entered, nearest))
        for number, (nearest, columns_of) in nodes.items()
    )
    return tuple(sorted(dependents_found, key=lambda dependent: (dependent.distance, dependent.dataset)))


def _downstream(start: int, links: Callable[[int], Iterable[Edge | Flow]]) -> _Entered:
    return reach([start], lambda node: ((link, link.output) for link in links(node)))


def _way_to(entered: _Entered, node: int) -> tuple[Edge | Flow, ...]:
    links: Iterator[Edge | Flow] = way_back(entered, node, attrgetter("input"))
    return tuple(links)[::-1]


def edges_between(graph: LineageGraph, start: int, end: int) -> tuple[Edge, ...]:
    """The edges of all ways from one column to another, sorted; none where no value of the one reaches the other."""
    down, up = graph.columns([start], Way.DOWNSTREAM), graph.columns([end], Way.UPSTREAM)
    return tuple(sorted(graph.document.edges[number] for number in down.edges & up.edges))


def flows_between(graph: LineageGraph, start: int, end: int) -> tuple[Flow, ...]:
    """The flows of all ways from one data set to another, sorted."""
    down, up = graph.datasets([start], Way.DOWNSTREAM), graph.datasets([end], Way.UPSTREAM)
    return tuple(sorted(graph.document.flows[number] for number in down.edges & up.edges))


Names = tuple[str, ...]
"""What identifies one object."""


class Difference(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Objects of one kind that only the later document has (`added`), and only the earlier one (`removed`); sorted."""

    added: tuple[Names, ...]
    removed: tuple[Names, ...]


class Differences(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Those of two documents, for what was valid when each was made. The names of a column are data set, column and
    type; of a flow process, data set read and data set written; of an edge process, data set and column read, data set
    and column written, and kind: a change of type or kind is one removed and one added.
    """

    datasets: Difference
    columns: Difference
    processes: Difference
    flows: Difference
    edges: Difference


def differences(earlier: LineageDocument, later_document: LineageDocument) -> Differences:
    """What changed from one document to the other."""
    earlier_names, later_names = _named(earlier), _named(later_document)
    return Differences(
        **{
            kind: Difference(
                added=tuple(sorted(later_names[kind] - names)), removed=tuple(sorted(names - later_names[kind]))
            )
            for kind, names in earlier_names.items()
        }
    )


def _named(document: LineageDocument) -> dict[str, AbstractSet[Names]]:
    datasets = [dataset.qualified_name for dataset in document.datasets]
    processes = [process.qualified_name for process in document.processes]
    columns = [(datasets[column.dataset], column.name) for column in document.columns]
    return {
        "datasets": {(name,) for name in datasets},
        "columns": {(*columns[number], column.type) for number, column in enumerate(document.columns) if column.name},
        "processes": {(name,) for name in processes},
        "flows": {
            (processes[flow.process], datasets[flow.input], datasets[flow.output])
            for flow in document.flows
            if flow.valid_to == NOT_SET
        },
        "edges": {
            (processes[edge.process], *columns[edge.input], *columns[edge.output], edge.kind.value)
            for edge in document.edges
            if edge.valid_to == NOT_SET
        },
    }
