"""The keywords of a search, with AND, OR, NOT in capitals, parentheses, and phrases in quotes.

The syntax is that of Microsoft's page on Purview's search, where a blank between two keywords stands for OR. In our
basic search it stands for AND.
"""

import re
from collections.abc import Sequence

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.search.sql import Condition, joined

_TOKENS = re.compile(r'[()]|"[^"]*"|[^\s()"]+')
_OPERATORS = frozenset({"AND", "OR"})


def condition_of(text: str, *, blank: str) -> Condition:
    """Return the condition of a search for these keywords; `blank`: AND or OR. Raises CatalogError (400-00-005)."""
    return _Keywords(_TOKENS.findall(text), blank).whole()


class _Keywords:
    def __init__(self, tokens: Sequence[str], blank: str) -> None:
        self._tokens = [*tokens]
        self._blank = blank

    def whole(self) -> Condition:
        if not self._tokens:
            return Condition("TRUE")
        found = self._any()
        if self._tokens:
            raise CatalogError(Fault.BAD_REQUEST, "the keywords close a parenthesis that they do not open")
        return found

    def _next(self) -> str:
        """Return the next token; "" at the end of a group."""
        return self._tokens[0] if self._tokens and self._tokens[0] != ")" else ""

    def _operator(self) -> str:
        """Return the operator between the last keyword and the next one, and remove its token."""
        if self._next() in _OPERATORS:
            return self._tokens.pop(0)
        return "AND" if self._next() == "NOT" else self._blank

    def _any(self) -> Condition:
        """Return the condition of groups under OR, which binds less than AND."""
        groups = [[self._one()]]
        while self._next():
            if self._operator() == "OR":
                groups.append([self._one()])
            else:
                groups[-1].append(self._one())
        return joined([joined(group, "AND") for group in groups], "OR")

    def _one(self) -> Condition:
        if not self._next() or self._next() in _OPERATORS:
            raise CatalogError(Fault.BAD_REQUEST, "a keyword is missing after AND, OR, NOT or a parenthesis")
        part = self._tokens.pop(0)
        if part == "NOT":
            inner = self._one()
            return Condition(f"NOT ({inner.sql})", inner.values)
        if part != "(":
            return _keyword(part.strip('"'))
        inner = self._any()
        if not self._tokens:
            raise CatalogError(Fault.BAD_REQUEST, "the keywords do not close a parenthesis")
        self._tokens.pop(0)
        return inner


def _keyword(keyword: str) -> Condition:
    escaped = keyword.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_").replace("*", "%")
    return Condition("guid IN (SELECT guid FROM names WHERE words LIKE ? ESCAPE '\\')", (f"%{escaped}%",))
