"""Tables of keys: what each key of a file holds, whether it is needed, and what it means."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

MAX_TEXT = 500
"""Characters of one text."""
MAX_TEXTS = 1000
"""Values of one list."""
_SPAN = re.compile(r"([0-9]{1,5})\s*([mhd])")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueKind:
    """What a key holds.

    - `words`: completes "must be", in messages.
    - `read`: makes the value. It returns None, or raises as conversions do, for anything of another kind.
    - `schema`: the same as JSON Schema.
    - `known`: the words to choose from, if it is one of a few.
    """

    words: str
    read: Callable[[Any], Any]
    schema: Mapping[str, Any] = field(default_factory=dict)
    known: tuple[str, ...] = ()

    def value(self, value: Any) -> Any:
        """The value of what the file has; None if that is of another kind."""
        try:
            return self.read(value)
        except (ValueError, TypeError, KeyError, AttributeError, OSError):
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key of a table. `meaning`: for messages about a missing key, and for the JSON Schema."""

    kind: ValueKind
    meaning: str
    needed: bool = False


Keys = Mapping[str, Key]


def text_of(words: str, pattern: re.Pattern[str]) -> ValueKind:
    """A text that matches a pattern as a whole."""
    return ValueKind(
        words=words,
        read=lambda value: value if _text(value) and pattern.fullmatch(value) else None,
        schema={**TEXT.schema, "pattern": f"^{pattern.pattern}$"},
    )


def one_of(words: type[StrEnum]) -> ValueKind:
    """One of a few words."""
    choices = tuple(map(str, words))
    return ValueKind(words=_either(choices), read=words, schema={"enum": list(choices)}, known=choices)


def list_of(kind: ValueKind, words: str) -> ValueKind:
    """A list of values of a kind, as a tuple."""

    def read(value: Any) -> tuple[Any, ...] | None:
        if not isinstance(value, list) or len(value) > MAX_TEXTS:
            return None
        values = tuple(map(kind.value, value))
        return None if None in values else values

    return ValueKind(words=words, read=read, schema={"type": "array", "items": kind.schema}, known=kind.known)


def one_or_more(kind: ValueKind, words: str) -> ValueKind:
    """A value of a kind, or a list of them that is not empty, as a tuple."""
    many = list_of(kind, words)
    bounds = {"minItems": 1, "maxItems": MAX_TEXTS}
    return ValueKind(
        words=words,
        read=lambda value: many.read(value if isinstance(value, list) else [value]) or None,
        schema={"oneOf": [kind.schema, {**many.schema, **bounds}]},
        known=kind.known,
    )


def number_to(maximum: int) -> ValueKind:
    """A number from 0 to `maximum`."""

    def read(value: Any) -> float | None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number and 0 <= value <= maximum else None

    return ValueKind(
        words=f"a number from 0 to {maximum:,}", read=read, schema={"type": "number", "minimum": 0, "maximum": maximum}
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and len(value.strip()) > 0 and len(value) <= MAX_TEXT else None


def _span(value: Any) -> timedelta | None:
    match = _SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(match[1]) * _UNITS[match[2]] or None if match else None


def _either(words: Iterable[str]) -> str:
    *first, last = (f'"{word}"' for word in words)
    return f"{', '.join(first)} or {last}" if first else last


TEXT = ValueKind(words="a text", read=_text, schema={"type": "string", "minLength": 1, "maxLength": MAX_TEXT})
TEXTS = one_or_more(TEXT, "a text or a list of texts")
SPAN = ValueKind(
    words="a length of time such as 90m, 24h or 7d",
    read=_span,
    schema={"type": "string", "pattern": f"^{_SPAN.pattern}$"},
)
YES_OR_NO = ValueKind(
    words="true or false", read=lambda value: value if isinstance(value, bool) else None, schema={"type": "boolean"}
)
FOREIGN_LINEAGE = "foreign_lineage"
"""A key at the top of a file: whether the lineage that the catalog has from other programs counts; true by default."""
SUBTABLE = ValueKind(words="a table", read=lambda value: value, schema={"type": "object"})
"""A table with keys of its own, which `RulesReader.table` reads."""
