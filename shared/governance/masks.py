"""Edges that carry no plain value: those that OpenLineage calls masked, and those that the rules mask."""

import re
from collections.abc import Callable, Iterable
from datetime import date

from shared.governance.patterns import matching_columns
from shared.governance.rules import Mask
from shared.lineage.document import Edge, Kind, LineageDocument
from shared.rules_file.patterns import matcher

_CALL = re.compile(r"([A-Za-z_][\w.]*)\s*\(")
_WORD = re.compile(r"[\w$]+")


def stopping(document: LineageDocument, masks: Iterable[Mask], today: date) -> Callable[[Edge], bool]:
    """A function that tells whether an edge carries no plain value. Expired masks have no effect."""
    valid = [each for each in masks if each.approval.is_valid(today)]
    columns = masked_columns(document, valid, today)
    by_function = [(matching_columns(document, each.where), each.functions) for each in valid if each.functions]

    def stops(edge: Edge) -> bool:
        if edge.masked or edge.kind is Kind.MASK or edge.output in columns:
            return True
        return any(
            edge.output in where and hides(edge.description, functions, document.columns[edge.input].name)
            for where, functions in by_function
        )

    return stops


def masked_columns(document: LineageDocument, masks: Iterable[Mask], today: date) -> frozenset[int]:
    """The columns that the rules declare as masked, whichever process writes them."""
    valid = [each for each in masks if each.approval.is_valid(today) and not each.functions]
    return frozenset(number for each in valid for number in matching_columns(document, each.where))


def hides(expression: str, functions: Iterable[str], column: str) -> bool:
    """Whether an expression has the column, and only as an argument of these functions.

    An expression with the column outside of such a call also carries its plain value.
    """
    spans = _spans(expression, functions)
    places = [found.start() for found in _WORD.finditer(expression) if found[0].lower() == column.lower()]
    return bool(places) and all(any(start <= place < end for start, end in spans) for place in places)


def _spans(expression: str, functions: Iterable[str]) -> list[tuple[int, int]]:
    """The start and end of the arguments of each call of these functions."""
    named = matcher(functions)
    return [
        (call.end(), _closing(expression, call.end()))
        for call in _CALL.finditer(expression)
        if named(call[1]) or named(call[1].rpartition(".")[2])
    ]


def _closing(expression: str, start: int) -> int:
    """The position of the bracket that closes the one before `start`; `start` itself if none does, so that nothing is
    hidden.
    """
    depth, quote = 1, ""
    for place in range(start, len(expression)):
        char = expression[place]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"`":
            quote = char
        else:
            depth += {"(": 1, ")": -1}.get(char, 0)
            if not depth:
                return place
    return start
