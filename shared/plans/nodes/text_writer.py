"""Writes the text of an expression until it is long enough."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from shared.plans.nodes.document import Id, Node, kind

MAX_TEXT = 300
"""Characters. The rest of a longer text is left out."""
_MAX_DEPTH = 40
CUT = "…"

OR, AND, NOT, COMPARED, ADDED, MULTIPLIED, ONE = range(1, 8)
"""How strongly the parts of a text belong together: a part in a stronger one needs brackets."""


class Text(NamedTuple):
    """A text, and how strongly its parts belong together."""

    text: str
    strength: int = ONE


Texts = Mapping[Id, Text]
"""What the columns of a plan are made of, if it is more than a column of their own name."""

Way = Callable[["Writer", Node], int]
"""Writes an expression of one class; returns how strongly its parts belong together."""


def cut(text: str) -> str:
    """The text, or its beginning."""
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + CUT


class Writer:
    """Writes the columns as `texts` say, and other expressions by their class as `ways` say, `other` the rest."""

    def __init__(self, texts: Texts, ways: Mapping[str, Way], other: Way) -> None:
        self.texts = texts
        self._ways = ways
        self._other = other
        self._pieces: list[str] = []
        self._left = MAX_TEXT
        self._depth = 0

    @property
    def text(self) -> str:
        """What is written."""
        return cut("".join(self._pieces))

    def put(self, *pieces: str) -> None:
        """Write these."""
        for piece in pieces:
            self._pieces.append(piece)
            self._left -= len(piece)

    def write(self, node: Node) -> int:
        """Write an expression; returns how strongly its parts belong together."""
        if self._left < 0:
            return ONE
        if self._depth >= _MAX_DEPTH:
            self.put(CUT)
            return ONE
        self._depth += 1
        strength = self._ways.get(kind(node), self._other)(self, node)
        self._depth -= 1
        return strength

    def part(self, node: Node, strength: int) -> None:
        """Write a part of an expression, in brackets if it is weaker."""
        start = len(self._pieces)
        self.put("")
        if self.write(node) < strength:
            self._pieces[start] = "("
            self.put(")")

    def listed(self, before: str, given: Iterable[Node], after: str = "") -> None:
        """Write expressions with commas between them, and what stands before and after them."""
        self.put(before)
        for place, each in enumerate(given):
            if self._left < 0:
                break
            if place:
                self.put(", ")
            self.write(each)
        self.put(after)
