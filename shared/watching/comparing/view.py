"""A document of lineage by names, because two documents number their data sets and columns differently.

Two states are aligned: a placeholder of the first gets the name of the scanned asset that replaced it.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from functools import cached_property

import msgspec
from msgspec import structs

from shared.lineage.document import Dataset, Edge, LineageDocument, Process
from shared.lineage.shortest_ways import reach

DatasetKey = tuple[str, str]
"""Type and qualified name."""
ColumnKey = tuple[str, str, str]
"""Type and qualified name of the data set, and the column; an empty column stands for all rows."""


class Downstream(msgspec.Struct, frozen=True, kw_only=True):
    """The columns downstream, nearest first, and the qualified names of the processes on the paths to them."""

    columns: tuple[ColumnKey, ...] = ()
    processes: tuple[str, ...] = ()


class Fed(msgspec.Struct, frozen=True, kw_only=True):
    """The data sets downstream of one, nearest first, and the qualified names of the processes between them."""

    datasets: tuple[DatasetKey, ...] = ()
    processes: tuple[str, ...] = ()


class View:
    """Answers questions about one document, with names."""

    def __init__(self, document: LineageDocument) -> None:
        self.document = document
        self._keys: tuple[DatasetKey, ...] = tuple(
            (dataset.type, dataset.qualified_name) for dataset in document.datasets
        )

    def key(self, column: int) -> ColumnKey:
        """The name of a column."""
        fact = self.document.columns[column]
        return *self._keys[fact.dataset], fact.name

    @cached_property
    def datasets(self) -> dict[DatasetKey, Dataset]:
        """The data sets by their keys."""
        return dict(zip(self._keys, self.document.datasets, strict=True))

    @cached_property
    def processes(self) -> dict[str, Process]:
        """The processes by their qualified names."""
        return {process.qualified_name: process for process in self.document.processes}

    @cached_property
    def schemas(self) -> dict[DatasetKey, dict[str, str]]:
        """By data set with a known schema: the types of its columns. A column that only an edge names has no type."""
        schemas: dict[DatasetKey, dict[str, str]] = {}
        for column in self.document.columns:
            if column.name and column.type:
                schemas.setdefault(self._keys[column.dataset], {})[column.name] = column.type
        return schemas

    @cached_property
    def columns(self) -> dict[ColumnKey, int]:
        """The numbers of columns by their names."""
        return {self.key(number): number for number in range(len(self.document.columns))}

    @cached_property
    def failed_tests(self) -> frozenset[tuple[DatasetKey, str, str]]:
        """The failing quality tests: data set, column (empty: the whole data set) and test."""
        return frozenset((self._keys[test.dataset], test.column, test.name) for test in self.document.failed_tests)

    @cached_property
    def sources(self) -> dict[DatasetKey, dict[DatasetKey, set[str]]]:
        """By written data set: its source data sets, each with the processes between them."""
        sources: dict[DatasetKey, dict[DatasetKey, set[str]]] = {}
        for flow in self.document.flows:
            made_of = sources.setdefault(self._keys[flow.output], {})
            made_of.setdefault(self._keys[flow.input], set()).add(self.document.processes[flow.process].qualified_name)
        return sources

    @cached_property
    def origins(self) -> dict[ColumnKey, set[ColumnKey]]:
        """By column: the columns whose values reach it in one step."""
        origins: dict[ColumnKey, set[ColumnKey]] = {}
        for edge in self.document.edges:
            if edge.is_value:
                origins.setdefault(self.key(edge.output), set()).add(self.key(edge.input))
        return origins

    @cached_property
    def _out(self) -> dict[int, list[Edge]]:
        edges: dict[int, list[Edge]] = {}
        for edge in self.document.edges:
            edges.setdefault(edge.input, []).append(edge)
        return edges

    def edges_from(self, column: int) -> list[Edge]:
        """The edges that leave a column, by its number."""
        return self._out.get(column, [])

    def is_read(self, column: ColumnKey) -> bool:
        """Whether a value or a condition of another column depends on a column."""
        number = self.columns.get(column)
        return number is not None and bool(self.edges_from(number))

    def consumers(self, column: ColumnKey) -> frozenset[ColumnKey]:
        """The columns that a column reaches in one step, by values or conditions."""
        number = self.columns.get(column)
        return frozenset() if number is None else frozenset(self.key(edge.output) for edge in self.edges_from(number))

    def process_of(self, edge: Edge) -> str:
        """The qualified name of the process of an edge."""
        return self.document.processes[edge.process].qualified_name

    def downstream(
        self, starts: Iterable[ColumnKey], follows: Callable[[Edge], bool] = lambda _edge: True
    ) -> Downstream:
        """The columns downstream of these along edges that `follows` accepts, without the starts.

        A condition decides about all rows of a data set. Those are named but not followed further: all columns of that
        data set would be included.
        """
        beginnings = [number for start in starts if (number := self.columns.get(start)) is not None]
        visited, queue = set(beginnings), deque(beginnings)
        columns: dict[ColumnKey, None] = {}
        processes: dict[str, None] = {}
        while queue:
            for edge in self.edges_from(queue.popleft()):
                if not follows(edge):
                    continue
                processes.setdefault(self.process_of(edge))
                if edge.output not in visited:
                    visited.add(edge.output)
                    columns.setdefault(self.key(edge.output))
                    if edge.is_value and self.document.columns[edge.output].name:
                        queue.append(edge.output)
        return Downstream(columns=tuple(columns), processes=tuple(processes))

    @cached_property
    def _feeds(self) -> dict[DatasetKey, dict[DatasetKey, set[str]]]:
        feeds: dict[DatasetKey, dict[DatasetKey, set[str]]] = {}
        for output, sources in self.sources.items():
            for source, processes in sources.items():
                feeds.setdefault(source, {})[output] = processes
        return feeds

    def fed(self, dataset: DatasetKey) -> Fed:
        """The data sets downstream of one, by tables alone."""
        keys = reach((dataset,), lambda key: ((None, output) for output in sorted(self._feeds.get(key, ()))))
        processes = dict.fromkeys(
            process
            for key in keys
            for _, feeders in sorted(self._feeds.get(key, {}).items())
            for process in sorted(feeders)
        )
        return Fed(datasets=tuple(keys)[1:], processes=tuple(processes))


_Uses = frozenset[tuple[str, bool]]
"""The processes (qualified names) that read (False) or write (True) a data set."""


def aligned(old_document: LineageDocument, new_document: LineageDocument) -> LineageDocument:
    """The state before, with placeholders under the names of the scanned assets that took their place.

    A placeholder went and an asset that is none came, both are called the same, and the same processes read and write
    them: the lineage was moved, it did not change.
    """
    old, new = View(old_document), View(new_document)
    placeholders, come = _uses(old, new, placeholder=True), _uses(new, old, placeholder=False)
    moved = {
        placeholders[use][0]: come[use][0]
        for use in placeholders.keys() & come.keys()
        if len(placeholders[use]) == len(come[use]) == 1
    }
    if not moved:
        return old_document
    datasets = (
        structs.replace(dataset, type=new_key[0], qualified_name=new_key[1], placeholder=False)
        if (new_key := moved.get((dataset.type, dataset.qualified_name)))
        else dataset
        for dataset in old_document.datasets
    )
    return structs.replace(old_document, datasets=tuple(datasets))


def _uses(view: View, other_view: View, *, placeholder: bool) -> dict[tuple[str, _Uses], list[DatasetKey]]:
    """The data sets that are only in `view`, by their short names and uses."""
    uses: dict[DatasetKey, set[tuple[str, bool]]] = defaultdict(set)
    numbered = tuple(view.datasets)
    for process in view.document.processes:
        for side, is_written in ((process.inputs, False), (process.outputs, True)):
            for number in side:
                uses[numbered[number]].add((process.qualified_name, is_written))
    keys_by_use: dict[tuple[str, _Uses], list[DatasetKey]] = defaultdict(list)
    for key, dataset in view.datasets.items():
        if dataset.placeholder is placeholder and key not in other_view.datasets and uses[key]:
            keys_by_use[dataset.name, frozenset(uses[key])].append(key)
    return keys_by_use
