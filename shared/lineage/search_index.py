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
    at = name.find(text)
    if at < 0:
        return None
    if at == 0:
        return MatchRank.EXACT if len(name) == len(text) else MatchRank.PREFIX
    return MatchRank.WORD if _WORD.match(name[at - 1]) else MatchRank.INSIDE


def is_alike(name: str, text: str) -> bool:
    """Whether the signs of the text stand in the name in this order, not far apart."""
    if len(text) < _FEWEST_ALIKE or len(name) > _MAX_ALIKE:
        return False
    at, first = -1, -1
    for sign in text:
        at = name.find(sign, at + 1)
        if at < 0:
            return False
        first = at if first < 0 else first
    return at - first < len(text) * _SPREAD


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

    def find(self, text: str, *, most: int | None = MAX_RESULTS) -> list[Found]:
        """The results, the best first (`most` None: all). Of several words the last is a name or the beginning of one,
        the others stand anywhere in the qualified name; `table.column` finds columns of tables.
        """
        words = text.lower().split()
        if not words:
            return []
        last, others = words[-1], words[:-1]
        table = list(self._of_table(last)) if len(words) == 1 else []
        table += self._datasets(last, others)
        table += self._in_columns(last, others)
        if not table:
            table = list(self._alike(last))
        return sorted(table, key=self._order)[:most]

    def datasets(self, text: str) -> Iterator[tuple[int, float]]:
        """The data sets alone that fit, by the same rules, each with its rank; in no order."""
        *others, last = text.lower().split() or [""]
        if last:
            yield from ((dataset.dataset, dataset.rank) for dataset in self._datasets(last, others))

    def _datasets(self, text: str, others: Iterable[str]) -> Iterator[Found]:
        for number, name in enumerate(self._names):
            rank = rank_of(name, text)
            if rank is None and text in self._paths[number]:
                rank = MatchRank.PATH
            if rank is not None and all(word in self._paths[number] for word in others):
                yield Found(dataset=number, column=None, rank=float(rank))

    def _in_columns(self, text: str, others: Iterable[str]) -> Iterator[Found]:
        for number, name in enumerate(self._columns):
            rank = rank_of(name, text) if text in name else None
            own_dataset = self._document.columns[number].dataset
            if rank is not None and all(word in self._paths[own_dataset] for word in others):
                yield Found(dataset=own_dataset, column=number, rank=rank + _COLUMN_AFTER)

    def _of_table(self, text: str) -> Iterator[Found]:
        table, point, column = text.partition(".")
        if not table or not point or "." in column:
            return
        for number, name in enumerate(self._names):
            rank = rank_of(name, table)
            for own in self._own.get(number, ()) if rank is not None else ():
                fit = rank_of(self._columns[own], column) if self._columns[own] else None
                if fit is not None and rank is not None:
                    yield Found(dataset=number, column=own, rank=max(rank, fit) / _OF_TABLE)

    def _alike(self, text: str) -> Iterator[Found]:
        for number, name in enumerate(self._names):
            if is_alike(name, text):
                yield Found(dataset=number, column=None, rank=float(MatchRank.FUZZY))
        for number, name in enumerate(self._columns):
            if is_alike(name, text):
                own = self._document.columns[number].dataset
                yield Found(dataset=own, column=number, rank=MatchRank.FUZZY + _COLUMN_AFTER)

    def _order(self, found: Found) -> tuple[float, int, str, int, int]:
        """Shorter names first, then by name and number: the order never depends on chance."""
        name = self._names[found.dataset] if found.column is None else self._columns[found.column]
        return found.rank, len(name), name, found.dataset, -1 if found.column is None else found.column
