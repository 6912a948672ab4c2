"""A document of lineage with what questions look up in it. Every question of the command line, of Python and of the
HTTP API about a document is answered from one of these.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from difflib import get_close_matches
from functools import cached_property, lru_cache

from shared.lineage.document import LineageDocument
from shared.lineage.graph import (
    AmbiguousNameError,
    LineageGraph,
    UnknownNameError,
    find_column,
    find_dataset,
    unknown_columns,
)
from shared.lineage.search_index import SearchIndex
from shared.texts.suggestion import suggestion

_SUGGESTED = 3


class LineageIndex:
    """A document with its indexes, each made at its first use. It never changes, so threads may share it."""

    def __init__(self, document: LineageDocument) -> None:
        self.document = document
        self.graph = lru_cache(maxsize=4)(self._graph)

    def _graph(self, *, at: datetime | None = None, conditions: bool = False) -> LineageGraph:
        """Its edges and flows that are valid at a time. Raises NoHistoryError."""
        return LineageGraph(self.document, at=at, conditions=conditions)

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
            raise UnknownNameError(f"{error}.{suggestion(name, names)}") from error

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
