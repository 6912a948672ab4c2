"""Follow the document of lineage: from columns or data sets, upstream and downstream, at a point of time."""

from array import array
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from typing import TypeVar

from msgspec import structs

from shared.errors import ThroughlineError
from shared.lineage.document import NOT_SET, Dataset, Edge, Flow, LineageDocument
from shared.model import EXCLUDED

Node = TypeVar("Node", bound=Hashable)
Link = TypeVar("Link")


def reach(starts: Iterable[Node], steps: Callable[[Node], Iterable[tuple[Link, Node]]]) -> dict[Node, Link | None]:
    """All nodes that the starts reach, the nearest first, each with the link by which a shortest way enters it (None: a
    start). `steps`: the links of a node, each with the node that it leads to.
    """
    entered: dict[Node, Link | None] = dict.fromkeys(starts)
    waiting = deque(entered)
    while waiting:
        for link, node in steps(waiting.popleft()):
            if node not in entered:
                entered[node] = link
                waiting.append(node)
    return entered


def way_back(entered: Mapping[Node, Link | None], node: Node, start_of: Callable[[Link], Node]) -> Iterator[Link]:
    """The links of the shortest way to a node, the last first. `start_of`: the node from which a link was followed."""
    while (link := entered.get(node)) is not None:
        yield link
        node = start_of(link)


_Link = TypeVar("_Link", Edge, Flow)


class Way(StrEnum):
    """Which way to follow."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"


class NoHistoryError(ValueError):
    """A point of time was asked of a document that has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What was reached: numbers of columns (or of data sets) by their distance, and the edges (or flows) on the way."""

    distance: Mapping[int, int]
    edges: frozenset[int]


class LineageGraph:
    """The edges and flows of a document that are valid at one time, by their ends.

    `at`: the time; None: now. `conditions`: whether edges count that only decide which rows are written. Raises
    NoHistoryError for a time where the document has no history.
    """

    def __init__(self, document: LineageDocument, *, moment: datetime | None = None, conditions: bool = False) -> None:
        if moment is not None and not document.history:
            raise NoHistoryError(
                "the record has no history, so lineage as of a time is not known: use --lake with the lake's folder"
            )
        self.document = document
        self.edges: Sequence[int] = array(
            _NUMBER,
            (
                number
                for number, edge in enumerate(document.edges)
                if (conditions or edge.is_value) and valid(edge, document, moment)
            ),
        )
        self.flows: Sequence[int] = array(
            _NUMBER, (number for number, flow in enumerate(document.flows) if valid(flow, document, moment))
        )
        self._all_rows = {column.dataset: number for number, column in enumerate(document.columns) if not column.name}

    @cached_property
    def _edges_from(self) -> "_Starts":
        """By way: the edges that start at each column. Indexed at the first use."""
        return _by_starts(self.edges, self.document.edges, len(self.document.columns))

    @cached_property
    def _flows_from(self) -> "_Starts":
        """The flows that start at each data set."""
        return _by_starts(self.flows, self.document.flows, len(self.document.datasets))

    def columns(self, starts: Iterable[int], way: Way, *, depth: int | None = None) -> Reached:
        """The columns `depth` edges away or nearer (None: all), the starts included at distance 0."""
        return _closure(starts, self._edges_from[way], self.document.edges, way, depth)

    def datasets(self, starts: Iterable[int], way: Way, *, depth: int | None = None) -> Reached:
        """The data sets in the same way, along flows."""
        return _closure(starts, self._flows_from[way], self.document.flows, way, depth)

    def conditions(self, dataset: int) -> tuple[int, ...]:
        """The edges that decide which rows of a data set are written, if the graph has conditions."""
        rows = self._all_rows.get(dataset)
        return () if rows is None else tuple(self._edges_from[Way.UPSTREAM].at(rows))

    def into(self, column: int) -> Iterator[Edge]:
        """The edges that enter a column."""
        return (self.document.edges[number] for number in self._edges_from[Way.UPSTREAM].at(column))

    def out_of(self, column: int) -> Iterator[Edge]:
        """The edges that leave a column."""
        return (self.document.edges[number] for number in self._edges_from[Way.DOWNSTREAM].at(column))

    def flows_into(self, dataset: int) -> Iterator[Flow]:
        """The flows by which a data set is written."""
        return (self.document.flows[number] for number in self._flows_from[Way.UPSTREAM].at(dataset))

    def flows_out_of(self, dataset: int) -> Iterator[Flow]:
        """The flows by which a data set is read."""
        return (self.document.flows[number] for number in self._flows_from[Way.DOWNSTREAM].at(dataset))


def valid(link: Edge | Flow, document: LineageDocument, moment: datetime | None) -> bool:
    """Whether an edge or flow is valid at this time, now by default."""
    if moment is None:
        return link.valid_to == NOT_SET
    began = link.valid_from == NOT_SET or document.times[link.valid_from] <= moment
    return began and (link.valid_to == NOT_SET or moment < document.times[link.valid_to])


def document_at(document: LineageDocument, moment: datetime) -> LineageDocument:
    """The document whose edges and flows of now are those that were valid at a time. Data sets, columns and processes
    are all of its history.
    """
    return structs.replace(
        document,
        history=False,
        flows=_as_now(flow for flow in document.flows if valid(flow, document, moment)),
        edges=_as_now(edge for edge in document.edges if valid(edge, document, moment)),
    )


def has_foreign(document: LineageDocument) -> bool:
    """Whether the document has processes that the catalog has from other programs."""
    return any(process.catalog_type for process in document.processes)


def without_foreign(document: LineageDocument) -> LineageDocument:
    """The document without the flows and edges that the catalog has from other programs. Data sets stay."""
    foreign = {number for number, process in enumerate(document.processes) if process.catalog_type}
    if not foreign:
        return document
    return structs.replace(
        document,
        flows=tuple(flow for flow in document.flows if flow.process not in foreign),
        edges=tuple(edge for edge in document.edges if edge.process not in foreign),
    )


def _as_now(links: Iterable[_Link]) -> tuple[_Link, ...]:
    return tuple(structs.replace(link, valid_from=NOT_SET, valid_to=NOT_SET) for link in links)


def unknown_columns(document: LineageDocument, *, moment: datetime | None = None) -> frozenset[int]:
    """The columns whose source is not known: a process writes their data set, is not exact, and none of its values
    enters them. All rows are no such column. A process that changes rows (UPDATE, MERGE, DELETE) may leave columns as
    they are, so of it only counts that it has no columns at all. A column that is gone is no such column either: the
    history has edges of it, none is valid at this time, and the schema of its data set lacks it. Nothing is known of a
    column of what the filters leave out.
    """
    graph = LineageGraph(document, moment=moment, conditions=True)
    values = {(edge.process, edge.output) for edge in map(document.edges.__getitem__, graph.edges) if edge.is_value}
    with_columns = {document.edges[number].process for number in graph.edges}
    writers: dict[int, set[int]] = {}
    for flow in map(document.flows.__getitem__, graph.flows):
        process = document.processes[flow.process]
        only_rows = bool(process.operations) and _CHANGES_OF_ROWS.issuperset(process.operations)
        changes_rows = only_rows and flow.process in with_columns
        if not (process.exact or changes_rows):
            writers.setdefault(flow.output, set()).add(flow.process)
    gone_columns = _gone(document, graph) if document.history else frozenset()
    return excluded_columns(document) | frozenset(
        number
        for number, column in enumerate(document.columns)
        if column.name
        and number not in gone_columns
        and any((writer, number) not in values for writer in writers.get(column.dataset, ()))
    )


def excluded_columns(document: LineageDocument) -> frozenset[int]:
    """The column that stands for those of data sets that the filters leave out; empty if they leave out none."""
    return frozenset(
        number
        for number, column in enumerate(document.columns)
        if column.name and document.datasets[column.dataset].type == EXCLUDED.type
    )


def _gone(document: LineageDocument, graph: LineageGraph) -> frozenset[int]:
    valid_now = set(graph.edges)
    valid_columns, elsewhere = set[int](), set[int]()
    for number, edge in enumerate(document.edges):
        (valid_columns if number in valid_now else elsewhere).update((edge.input, edge.output))
    with_schema = {column.dataset for column in document.columns if column.type}
    return frozenset(
        number
        for number in elsewhere - valid_columns
        if not document.columns[number].type and document.columns[number].dataset in with_schema
    )


def unresolved_datasets(document: LineageDocument) -> frozenset[int]:
    """The data sets that a process now writes from tables whose places are not known."""
    return frozenset(
        flow.output
        for flow in document.flows
        if flow.valid_to == NOT_SET and document.processes[flow.process].unresolved_tables
    )


class UnknownNameError(ThroughlineError, LookupError):
    """No data set or column of the document has this name."""


class AmbiguousNameError(ThroughlineError, LookupError):
    """Several data sets have it; the message lists them."""


_LISTED = 20
_CHANGES_OF_ROWS = frozenset({"delete", "merge", "update"})


def find_dataset(document: LineageDocument, text: str) -> int:
    """The number of the data set with this qualified name, end of a path, short name, or all these words in its
    qualified name, in this order; the first that one alone has. Raises UnknownNameError and AmbiguousNameError.
    """
    tail, words = "/" + text.strip("/"), text.lower().split()
    names = [dataset.qualified_name for dataset in document.datasets]
    for fits in (
        [number for number, name in enumerate(names) if name == text],
        [number for number, name in enumerate(names) if name.rstrip("/").endswith(tail)],
        [number for number, dataset in enumerate(document.datasets) if dataset.name == text],
        [number for number, name in enumerate(names) if all(word in name.lower() for word in words)],
    ):
        if len(fits) == 1:
            return fits[0]
        if fits:
            shown_qualified_names = [document.datasets[number].qualified_name for number in fits[:_LISTED]]
            listed = "\n".join(f"  {name}" for name in shown_qualified_names)
            continuation = (
                f"\n  and {len(fits) - len(shown_qualified_names)} more"
                if len(fits) > len(shown_qualified_names)
                else ""
            )
            raise AmbiguousNameError(
                f"{len(fits)} data sets match {text!r}; use one of these names:\n{listed}{continuation}"
            )
    raise UnknownNameError(f"the lineage has no data set like {text!r}")


def find_column(document: LineageDocument, dataset: int, name: str) -> int:
    """The number of a column of a data set, in any case where only one fits. Raises UnknownNameError."""
    own_columns = {column.name: number for number, column in enumerate(document.columns) if column.dataset == dataset}
    if name in own_columns:
        return own_columns[name]
    folded = [number for own_name, number in own_columns.items() if own_name.lower() == name.lower()]
    if len(folded) == 1:
        return folded[0]
    raise UnknownNameError(f"{document.datasets[dataset].qualified_name} has no column {name!r}")


def label(dataset: Dataset, column: str) -> str:
    """A column as messages name it: `orders.amount`, or `orders (all rows)`."""
    return f"{dataset.name}.{column}" if column else f"{dataset.name} (all rows)"


_NUMBER = "l"
"""The type of numbers in arrays: a document may have a million edges, whose lists would take ten times the memory."""


class _Numbers:
    """Links by the node where they start: `order` has the numbers of all, those of node `n` from `offsets[n]` on."""

    def __init__(self, numbers: Iterable[int], start_of: Callable[[int], int], nodes: int) -> None:
        """From the numbers of links, the node of each, and how many nodes there are."""
        self._offsets = array(_NUMBER, (0,)) * (nodes + 1)
        for number in numbers:
            self._offsets[start_of(number) + 1] += 1
        for node in range(nodes):
            self._offsets[node + 1] += self._offsets[node]
        places, self._order = self._offsets[:], array(_NUMBER, (0,)) * self._offsets[nodes]
        for number in numbers:
            node = start_of(number)
            self._order[places[node]] = number
            places[node] += 1

    def at(self, node: int) -> Sequence[int]:
        """The links of a node, in the order in which they were given."""
        return self._order[self._offsets[node] : self._offsets[node + 1]]


_Starts = Mapping[Way, _Numbers]
_END = {Way.UPSTREAM: attrgetter("input"), Way.DOWNSTREAM: attrgetter("output")}
"""Where an edge or a flow leads to."""


def _by_starts(numbers: Sequence[int], every: tuple[Edge, ...] | tuple[Flow, ...], nodes: int) -> _Starts:
    return {
        Way.DOWNSTREAM: _Numbers(numbers, lambda number: every[number].input, nodes),
        Way.UPSTREAM: _Numbers(numbers, lambda number: every[number].output, nodes),
    }


def _closure(
    starts: Iterable[int], near: _Numbers, every: tuple[Edge, ...] | tuple[Flow, ...], way: Way, depth: int | None
) -> Reached:
    distance = dict.fromkeys(starts, 0)
    edges: set[int] = set()
    frontier, steps, end_of = list(distance), 0, _END[way]
    while frontier and (depth is None or steps < depth):
        steps += 1
        next_nodes: list[int] = []
        for node in frontier:
            for number in near.at(node):
                edges.add(number)
                end = end_of(every[number])
                if end not in distance:
                    distance[end] = steps
                    next_nodes.append(end)
        frontier = next_nodes
    return Reached(distance=distance, edges=frozenset(edges))
