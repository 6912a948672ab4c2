"""Compare types of columns: whether every value of one type is also a value of another, so that readers keep working.

Sources: Spark SQL, "Data Types", and its rules of upcasting (`Cast.canUpCast`): numbers, decimals, dates and times.
"""

import re

_SYNONYMS = {"tinyint": "byte", "smallint": "short", "integer": "int", "bigint": "long", "real": "float"}
_WIDER: dict[str, frozenset[str]] = {
    "byte": frozenset({"short", "int", "long", "float", "double"}),
    "short": frozenset({"int", "long", "float", "double"}),
    "int": frozenset({"long", "double"}),
    "float": frozenset({"double"}),
    "date": frozenset({"timestamp", "timestamp_ntz"}),
}
_DIGITS = {"byte": 3, "short": 5, "int": 10, "long": 19}
"""Decimal digits of whole numbers."""
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_CHARACTERS = re.compile(r"(?:var)?char\((\d+)\)")


def folded(kind: str) -> str:
    """A type in one spelling: lower case, no spaces, Spark's short name."""
    text = "".join(kind.split()).lower()
    return _SYNONYMS.get(text, text)


def same(before: str, after: str) -> bool:
    """Whether two spellings mean the same type."""
    return folded(before) == folded(after)


def widens(before: str, after: str) -> bool:
    """Whether each value of the type `before` is also a value of the type `after`."""
    old, new = folded(before), folded(after)
    if new in _WIDER.get(old, ()):
        return True
    if target := _DECIMAL.fullmatch(new):
        digits, scale = int(target[1]), int(target[2])
        if source := _DECIMAL.fullmatch(old):
            return scale >= int(source[2]) and digits - scale >= int(source[1]) - int(source[2])
        return old in _DIGITS and digits - scale >= _DIGITS[old]
    if source := _CHARACTERS.fullmatch(old):
        longer = _CHARACTERS.fullmatch(new)
        return new == "string" or (longer is not None and int(longer[1]) >= int(source[1]))
    return False
