"""A document of lineage with what questions look up in it. Every question of the command line, of Python and of the
HTTP API about a document is answered from one of these.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from difflib import get_close_matches
from functools import cached_property, lru_cache

from shared.lineage.document import LineageDocument
from shared.lineage.graph import LineageGraph, unknown_columns
from shared.lineage.search_index import SearchIndex

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
