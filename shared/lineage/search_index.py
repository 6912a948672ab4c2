"""Find data sets, columns and jobs by parts of their names. The page ranks by the same rules (viewer/search.js).

`tests/shared/lineage/search_cases.json` holds both to the same answers.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from shared.lineage.document import LineageDocument

MAX_RESULTS = 40
_FEWEST_ALIKE, _MAX_ALIKE, _SPREAD = 3, 200, 3
_WORD = re.compile(r"[^a-z0-9]")
_COLUMN_AFTER = 0.5
_OF_TABLE = 10


class MatchRank(IntEnum):
    """How well a name fits, the best first; `PATH`: only the qualified name has the text."""

    EXACT = 0
    PREFIX = 1
    WORD = 2
    INSIDE = 3
    PATH = 4
    FUZZY = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A data set, or a column of it, by their numbers in the document. A smaller `rank` is better."""

    dataset: int
    column: int | None
    rank: float


def rank_of(name: str, text: str) -> MatchRank | None:
    """How a name fits a text, both in lower case; None where it does not."""
    position = name.find(text)
    if position < 0:
        return None
    if position == 0:
        return MatchRank.EXACT if len(name) == len(text) else MatchRank.PREFIX
    return MatchRank.WORD if _WORD.match(name[position - 1]) else MatchRank.INSIDE


def is_alike(name: str, text: str) -> bool:
    """Whether the signs of the text stand in the name in this order, not far apart."""
    if len(text) < _FEWEST_ALIKE or len(name) > _MAX_ALIKE:
        return False
    position, first = -1, -1
    for sign in text:
        position = name.find(sign, position + 1)
        if position < 0:
            return False
        first = position if first < 0 else first
    return position - first < len(text) * _SPREAD


class SearchIndex:
    """The names of a document in lower case."""

    def __init__(self, document: LineageDocument) -> None:
        self._document = document
        self._names = [dataset.name.lower() for dataset in document.datasets]
        self._paths = [dataset.qualified_name.lower() for dataset in document.datasets]
        self._columns = [column.name.lower() for column in document.columns]
        self._own: dict[int, list[int]] = {}
        for number, column in enumerate(document.columns):
            self._own.setdefault(column.dataset, []).append(number)

    def find(self, text: str, *, limit: int | None = MAX_RESULTS) -> list[Found]:
        """The results, the best first (`limit` None: all). Of several words the last is a name or the beginning of one,
        the others stand anywhere in the qualified name; `table.column` finds columns of tables.
        """
        words = text.lower().split()
        if not words:
            return []
        last, further_words = words[-1], words[:-1]
        table = list(self._of_table(last)) if len(words) == 1 else []
        table += self._datasets(last, further_words)
        table += self._in_columns(last, further_words)
        if not table:
            table = list(self._alike(last))
        return sorted(table, key=self._order)[:limit]

    def datasets(self, text: str) -> Iterator[tuple[int, float]]:
        """The data sets alone that fit, by the same rules, each with its rank; in no order."""
        *further_words, last = text.lower().split() or [""]
        if last:
            yield from ((dataset.dataset, dataset.rank) for dataset in self._datasets(last, further_words))

    def _datasets(self, text: str, further_words: Iterable[str]) -> Iterator[Found]:
        for number, name in enumerate(self._names):
            rank = rank_of(name, text)
            if rank is None and text in self._paths[number]:
                rank = MatchRank.PATH
            if rank is not None and all(word in self._paths[number] for word in further_words):
                yield Found(dataset=number, column=None, rank=float(rank))

    def _in_columns(self, text: str, further_words: Iterable[str]) -> Iterator[Found]:
        for number, name in enumerate(self._columns):
            rank = rank_of(name, text) if text in name else None
            own_dataset = self._document.columns[number].dataset
            if rank is not None and all(word in self._paths[own_dataset] for word in further_words):
                yield Found(dataset=own_dataset, column=number, rank=rank + _COLUMN_AFTER)

    def _of_table(self, text: str) -> Iterator[Found]:
        table, point, column = text.partition(".")
        if not table or not point or "." in column:
            return
        for number, name in enumerate(self._names):
            rank = rank_of(name, table)
            for column_number in self._own.get(number, ()) if rank is not None else ():
                fit = rank_of(self._columns[column_number], column) if self._columns[column_number] else None
                if fit is not None and rank is not None:
                    yield Found(dataset=number, column=column_number, rank=max(rank, fit) / _OF_TABLE)

    def _alike(self, text: str) -> Iterator[Found]:
        for number, name in enumerate(self._names):
            if is_alike(name, text):
                yield Found(dataset=number, column=None, rank=float(MatchRank.FUZZY))
        for number, name in enumerate(self._columns):
            if is_alike(name, text):
                dataset = self._document.columns[number].dataset
                yield Found(dataset=dataset, column=number, rank=MatchRank.FUZZY + _COLUMN_AFTER)

    def _order(self, match: Found) -> tuple[float, int, str, int, int]:
        """Shorter names first, then by name and number: the order never depends on chance."""
        name = self._names[match.dataset] if match.column is None else self._columns[match.column]
        return match.rank, len(name), name, match.dataset, -1 if match.column is None else match.column
