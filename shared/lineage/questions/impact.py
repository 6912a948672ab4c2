"""What depends on a data set or a column, and the ways between two of them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter

from shared.lineage.document import Edge, Flow, Kind
from shared.lineage.graph import LineageGraph, Way
from shared.lineage.shortest_ways import reach, way_back

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
    found = (
        Dependent(dataset=number, columns=columns_of, way=_way_to(entered, nearest))
        for number, (nearest, columns_of) in nodes.items()
    )
    return tuple(sorted(found, key=lambda dependent: (dependent.distance, dependent.dataset)))


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
