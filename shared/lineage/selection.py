"""What one view of the lineage shows: the data sets or columns around a subject. The page selects by the same rules."""

from dataclasses import dataclass
from datetime import datetime

from shared.lineage.document import Edge, Flow, LineageDocument
from shared.lineage.graph import LineageGraph, Reached, Way


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to show, by numbers of the document: all within `up` and `down` steps (None: any number) of a data set, or
    of one of its columns, at a time (None: now). Without a data set: everything.

    With `conditions` also the columns that decide which rows of the data sets upstream are written; these are not
    followed further.
    """

    dataset: int | None = None
    column: int | None = None
    up: int | None = 1
    down: int | None = 1
    at: datetime | None = None
    conditions: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Data sets by their distance (upstream negative), and what connects them.

    `columns` are those on the way of the subject's column; without such a column, all columns of `edges`. `flows` and
    `edges` are numbers of the document, sorted.
    """

    document: LineageDocument
    datasets: dict[int, int]
    columns: frozenset[int]
    flows: tuple[int, ...]
    edges: tuple[int, ...]

    @property
    def shown_edges(self) -> tuple[Edge, ...]:
        """The edges themselves."""
        return tuple(self.document.edges[number] for number in self.edges)

    @property
    def shown_flows(self) -> tuple[Flow, ...]:
        """The flows themselves."""
        return tuple(self.document.flows[number] for number in self.flows)

    @property
    def columns_by_dataset(self) -> dict[int, list[int]]:
        """The columns of each data set; sorted."""
        found: dict[int, list[int]] = {number: [] for number in sorted(self.datasets)}
        for number in sorted(self.columns):
            found[self.document.columns[number].dataset].append(number)
        return found

    @property
    def links_without_columns(self) -> list[tuple[int, int]]:
        """The pairs of data sets that a flow connects and no edge; sorted."""
        columns = self.document.columns
        linked = {(columns[edge.input].dataset, columns[edge.output].dataset) for edge in self.shown_edges}
        return sorted({(flow.input, flow.output) for flow in self.shown_flows} - linked)


def select(document: LineageDocument, question: Question) -> Selection:
    """What the question asks for. Raises NoHistoryError."""
    graph = LineageGraph(document, at=question.at, conditions=question.conditions)
    if question.column is not None:
        return _of_column(graph, question.column, question)
    if question.dataset is None:
        datasets = dict.fromkeys(range(len(document.datasets)), 0)
    else:
        up = graph.datasets([question.dataset], Way.UPSTREAM, depth=question.up)
        down = graph.datasets([question.dataset], Way.DOWNSTREAM, depth=question.down)
        datasets = _signed(up, down)
    shown = datasets.keys()
    columns = document.columns
    edges = tuple(
        number
        for number in graph.edges
        if columns[document.edges[number].input].dataset in shown
        and columns[document.edges[number].output].dataset in shown
    )
    return Selection(
        document=document,
        datasets=datasets,
        columns=frozenset(
            end for number in edges for end in (document.edges[number].input, document.edges[number].output)
        ),
        flows=tuple(
            number
            for number in graph.flows
            if document.flows[number].input in shown and document.flows[number].output in shown
        ),
        edges=edges,
    )


def _of_column(graph: LineageGraph, column: int, question: Question) -> Selection:
    document = graph.document
    up = graph.columns([column], Way.UPSTREAM, depth=question.up)
    down = graph.columns([column], Way.DOWNSTREAM, depth=question.down)
    datasets: dict[int, int] = {}
    for number, distance in sorted(_signed(up, down).items(), key=lambda item: abs(item[1])):
        datasets.setdefault(document.columns[number].dataset, distance)
    columns = set(up.distance.keys() | down.distance.keys())
    edges = up.edges | down.edges
    if question.conditions:
        rows = {number: distance for number, distance in datasets.items() if distance <= 0}
        for number, distance in rows.items():
            for edge_number in graph.conditions(number):
                edge = document.edges[edge_number]
                edges |= {edge_number}
                columns |= {edge.input, edge.output}
                datasets.setdefault(document.columns[edge.input].dataset, distance - 1)
    steps = {
        (edge.process, document.columns[edge.input].dataset, document.columns[edge.output].dataset)
        for edge in map(document.edges.__getitem__, edges)
    }
    return Selection(
        document=document,
        datasets=datasets,
        columns=frozenset(columns),
        flows=tuple(number for number in graph.flows if _step(document.flows[number]) in steps),
        edges=tuple(sorted(edges)),
    )


def _step(flow: Flow) -> tuple[int, int, int]:
    return flow.process, flow.input, flow.output


def _signed(up: Reached, down: Reached) -> dict[int, int]:
    """Distances with their sign; of a node that lies both ways, the shorter."""
    found = dict(down.distance)
    for node, distance in up.distance.items():
        if node not in found or distance < found[node]:
            found[node] = -distance
    return found
