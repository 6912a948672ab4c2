"""The lineage of a data set, or of one of its columns, process by process: as steps, and as a tree."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from shared.lineage.document import Edge, LineageDocument
from shared.lineage.graph import LineageGraph, Way
from shared.lineage.questions import LineageIndex

Direction = Literal["upstream", "downstream", "both"]
Columns = tuple[tuple[str, str], ...]
"""Pairs of an input and an output column. An empty output: a condition, on which all rows depend."""

_WAYS: Mapping[str, tuple[Way, ...]] = {
    "upstream": (Way.UPSTREAM,),
    "downstream": (Way.DOWNSTREAM,),
    "both": (Way.UPSTREAM, Way.DOWNSTREAM),
}
_Link = tuple[int, int, int]
"""A process between two data sets, by their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Dataset:
    """A data set by type and qualified name, with its short name."""

    qualified_name: str
    type: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One process (its qualified name), `depth` data sets away, between one of its inputs and one of its outputs.

    Where a column is followed, `columns` are the pairs on its way; else all between these two. `kinds`: that of each.
    `catalog_type`: the type in the catalog of a process that another program wrote there; else empty.
    """

    direction: Literal["upstream", "downstream"]
    depth: int
    process: str
    name: str
    operations: tuple[str, ...]
    input: Dataset
    output: Dataset
    columns: Columns
    kinds: tuple[str, ...]
    catalog_type: str = ""

    @property
    def near(self) -> Dataset:
        """The data set on the side that the question came from."""
        return self.output if self.direction == "upstream" else self.input

    @property
    def far(self) -> Dataset:
        """The other one."""
        return self.input if self.direction == "upstream" else self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """What is known of a data set (or of a column of it): steps, the nearest first."""

    dataset: Dataset
    column: str | None
    steps: tuple[Step, ...]

    @property
    def datasets(self) -> tuple[Dataset, ...]:
        """The data sets that were reached, the nearest first."""
        return tuple(dict.fromkeys(step.far for step in self.steps if step.far != self.dataset))

    @property
    def columns(self) -> tuple[tuple[Dataset, str], ...]:
        """The columns that were reached, the nearest first; of a data set all that it is mapped to."""
        pairs = ((step.far, pair[step.direction == "downstream"]) for step in self.steps for pair in step.columns)
        return tuple(dict.fromkeys(pairs))

    def document(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self)


def lineage_of(
    index: LineageIndex,
    dataset: int,
    *,
    direction: Direction = "both",
    depth: int = 3,
    column: int | None = None,
    conditions: bool = False,
) -> Lineage:
    """What a data set is made of (`upstream`), and what is made of it (`downstream`), so many data sets away; with
    `column` only where that column's values come from or go to.

    `conditions`: also the columns that only decide about the rows of what is upstream; these are not followed. Raises
    ValueError for a direction or depth that there is not.
    """
    if direction not in _WAYS:
        raise ValueError(f"the direction is one of {', '.join(_WAYS)}, not {direction!r}")
    if depth < 1:
        raise ValueError(f"the depth is 1 or more, not {depth}")
    graph = index.graph(conditions=conditions)
    steps: list[Step] = []
    for way in _WAYS[direction]:
        if column is None:
            steps += _steps_of_datasets(graph, dataset, way, depth)
        else:
            steps += _steps_of_columns(graph, column, way, depth, conditions=conditions)
    return Lineage(
        dataset=_dataset(graph.document, dataset),
        column=None if column is None else index.document.columns[column].name,
        steps=tuple(sorted(steps, key=lambda step: step.depth)),
    )


def _steps_of_datasets(graph: LineageGraph, dataset: int, way: Way, depth: int) -> Iterator[Step]:
    document, reached = graph.document, graph.datasets([dataset], way, depth=depth)
    flows = [document.flows[number] for number in sorted(reached.edges)]
    links = {(flow.process, flow.input, flow.output) for flow in flows}
    edges: defaultdict[_Link, list[Edge]] = defaultdict(list)
    for edge in (document.edges[number] for number in graph.edges):
        if (link := _link(document, edge)) in links:
            edges[link].append(edge)
    for link in sorted(links):
        near = link[2] if way is Way.UPSTREAM else link[1]
        yield _step(document, way, reached.distance[near] + 1, link, edges[link])


def _steps_of_columns(graph: LineageGraph, column: int, way: Way, depth: int, *, conditions: bool) -> Iterator[Step]:
    document, reached = graph.document, graph.columns([column], way, depth=depth)
    edges: defaultdict[tuple[int, _Link], list[Edge]] = defaultdict(list)
    for edge in (document.edges[number] for number in sorted(reached.edges)):
        near = edge.output if way is Way.UPSTREAM else edge.input
        edges[reached.distance[near] + 1, _link(document, edge)].append(edge)
    if conditions and way is Way.UPSTREAM:
        nearest: dict[int, int] = {}
        for number, distance in reached.distance.items():
            nearest.setdefault(document.columns[number].dataset, distance)
        for dataset, distance in nearest.items():
            for number in graph.conditions(dataset) if distance < depth else ():
                edge = document.edges[number]
                edges[distance + 1, _link(document, edge)].append(edge)
    for (end, link), on_way in sorted(edges.items()):
        yield _step(document, way, end, link, on_way)


def _link(document: LineageDocument, edge: Edge) -> _Link:
    return edge.process, document.columns[edge.input].dataset, document.columns[edge.output].dataset


def _step(document: LineageDocument, way: Way, depth: int, link: _Link, edges: Iterable[Edge]) -> Step:
    process = document.processes[link[0]]
    names = document.columns
    values_last = sorted(edges, key=lambda edge: edge.is_value)  # a value's kind counts, where a condition is beside it
    kinds = {(names[edge.input].name, names[edge.output].name): edge.kind.value for edge in values_last}
    return Step(
        direction="upstream" if way is Way.UPSTREAM else "downstream",
        depth=depth,
        process=process.qualified_name,
        name=process.name,
        operations=process.operations,
        input=_dataset(document, link[1]),
        output=_dataset(document, link[2]),
        columns=tuple(sorted(kinds)),
        kinds=tuple(kinds[pair] for pair in sorted(kinds)),
        catalog_type=process.catalog_type,
    )


def _dataset(document: LineageDocument, number: int) -> Dataset:
    value = document.datasets[number]
    return Dataset(qualified_name=value.qualified_name, type=value.type, name=value.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One process, and the data sets on its far side: each by its step, with the processes beyond it."""

    name: str
    qualified_name: str
    operations: tuple[str, ...]
    ends: tuple[tuple[Step, tuple["Branch", ...]], ...]


def tree(lineage: Lineage, way: Way) -> tuple[Branch, ...]:
    """The steps of one way, nested from the data set that was asked for. What lies beyond a data set is shown
    where it is nearest, so that circles end.
    """
    steps: defaultdict[tuple[int, Dataset], list[Step]] = defaultdict(list)
    for step in lineage.steps:
        if step.direction == way:
            steps[step.depth, step.near].append(step)

    def branches(near: Dataset, depth: int) -> tuple[Branch, ...]:
        processes: defaultdict[str, list[Step]] = defaultdict(list)
        for step in steps.get((depth, near), ()):
            processes[step.process].append(step)
        return tuple(
            Branch(
                name=ends[0].name,
                qualified_name=process,
                operations=ends[0].operations,
                ends=tuple((step, branches(step.far, depth + 1)) for step in sorted(ends, key=lambda step: step.far)),
            )
            for process, ends in sorted(processes.items())
        )

    return branches(lineage.dataset, 1)
