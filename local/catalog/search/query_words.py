"""The words of a search: with AND, OR, NOT in capitals, parentheses, and phrases in quotes.

As in Microsoft's page on Purview's search syntax, where a blank between two words stands for OR; in basic search it
stands for AND here.
"""

import re
from collections.abc import Sequence

from local.catalog.errors import CatalogError, Fault
from local.catalog.search.sql import Condition, joined

_TOKENS = re.compile(r'[()]|"[^"]*"|[^\s()"]+')
_JOINTS = frozenset({"AND", "OR"})


def condition_of(text: str, *, blank: str) -> Condition:
    """What a search for these words asks of an entity; `blank`: AND or OR. Raises CatalogError (400-00-005)."""
    words = _Words(_TOKENS.findall(text), blank)
    return words.all_of_it()


class _Words:
    def __init__(self, tokens: Sequence[str], blank: str) -> None:
        self._tokens = [*tokens]
        self._blank = blank

    def all_of_it(self) -> Condition:
        if not self._tokens:
            return Condition("TRUE")
        found = self._any()
        if self._tokens:
            raise CatalogError(Fault.BAD_REQUEST, "a parenthesis in the words is closed that was not opened")
        return found

    def _next(self) -> str:
        """The next word; empty at the end of a group."""
        return self._tokens[0] if self._tokens and self._tokens[0] != ")" else ""

    def _joint(self) -> str:
        """What stands between the last word and the next one, which is taken away."""
        if self._next() in _JOINTS:
            return self._tokens.pop(0)
        return "AND" if self._next() == "NOT" else self._blank

    def _any(self) -> Condition:
        """Several under OR, which binds less than AND."""
        groups = [[self._one()]]
        while self._next():
            joint = self._joint()
            if joint == "OR":
                groups.append([self._one()])
            else:
                groups[-1].append(self._one())
        return joined([joined(group, "AND") for group in groups], "OR")

    def _one(self) -> Condition:
        if not self._next() or self._next() in _JOINTS:
            raise CatalogError(Fault.BAD_REQUEST, "a word is missing after AND, OR, NOT or a parenthesis")
        word = self._tokens.pop(0)
        if word == "NOT":
            inner = self._one()
            return Condition(f"NOT ({inner.sql})", inner.values)
        if word != "(":
            return _word(word.strip('"'))
        inner = self._any()
        if not self._tokens:
            raise CatalogError(Fault.BAD_REQUEST, "a parenthesis in the words is not closed")
        self._tokens.pop(0)
        return inner


def _word(word: str) -> Condition:
    escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_").replace("*", "%")
    return Condition("guid IN (SELECT guid FROM names WHERE words LIKE ? ESCAPE '\\')", (f"%{escaped}%",))
