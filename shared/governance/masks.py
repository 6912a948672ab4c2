"""Which edges no plain value passes: those that OpenLineage calls masked, and the masks that the rules declare."""

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
    """Whether an edge of value carries no plain value. Expired masks have no effect."""
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
    """The columns that the rules declare as masked, whatever writes them."""
    valid = [each for each in masks if each.approval.is_valid(today) and not each.functions]
    return frozenset(number for each in valid for number in matching_columns(document, each.where))


def hides(expression: str, functions: Iterable[str], column: str) -> bool:
    """Whether a column is in an expression, and only ever as an argument of one of these functions.

    An expression that names the column outside such a call carries its plain value beside the masked one.
    """
    spans = _spans(expression, functions)
    places = [found.start() for found in _WORD.finditer(expression) if found[0].lower() == column.lower()]
    return bool(places) and all(any(start <= place < end for start, end in spans) for place in places)


def _spans(expression: str, functions: Iterable[str]) -> list[tuple[int, int]]:
    """From where to where the arguments of these functions reach."""
    named = matcher(functions)
    return [
        (call.end(), _closing(expression, call.end()))
        for call in _CALL.finditer(expression)
        if named(call[1]) or named(call[1].rpartition(".")[2])
    ]


def _closing(expression: str, start: int) -> int:
    """Where the bracket closes that opened before `start`; at once where it never does: nothing is hidden then."""
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
