"""The valid values of attributes, and their stored form.

As on real servers: a string attribute accepts anything, and stores an object as Java's text of it; numbers and dates
may be sent as text; an unreadable value is a 404-00-007.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from throughline.local.catalog.registry import Registry

_ARRAY = re.compile(r"array<(.+)>")
_MAP = re.compile(r"map<([^,]+),(.+)>")


class UnfitValueError(ValueError):
    """An invalid value of an attribute. The message names it and the reason."""


def normalise(registry: Registry, type_name: str, value: Any) -> Any:
    """Return the stored form of a value.

    `type_name` is neither an entity type nor an array of one; the value is not None. Raises UnfitValueError when the
    value is not of that type.
    """
    if convert := _PRIMITIVES.get(type_name):
        return convert(value)
    if array := _ARRAY.fullmatch(type_name):
        if not isinstance(value, list):
            raise UnfitValueError(f"{value!r} is no {type_name}")
        return [None if item is None else normalise(registry, array[1].strip(), item) for item in value]
    if pair := _MAP.fullmatch(type_name):
        if not isinstance(value, dict):
            raise UnfitValueError(f"{value!r} is no {type_name}")
        return {
            key: None if item is None else normalise(registry, pair[2].strip(), item) for key, item in value.items()
        }
    allowed = registry.enum_values(type_name)
    if allowed is not None:
        if not isinstance(value, str) or value not in allowed:
            raise UnfitValueError(f"{value!r} is none of {type_name}'s values ({', '.join(sorted(allowed))})")
        return value
    if not isinstance(value, dict):  # a struct
        raise UnfitValueError(f"{value!r} is no {type_name}")
    return value


def referenced_type(registry: Registry, type_name: str) -> str | None:
    """Return the entity type that an attribute of this type refers to (itself or in an array), or None."""
    array = _ARRAY.fullmatch(type_name)
    inner = array[1].strip() if array else type_name
    return inner if registry.is_entity_type(inner) else None


def java_text(value: Any) -> str:
    """Return Java's text of a JSON value: `{a=1, b=[x, y]}`."""
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case dict():
            return "{" + ", ".join(f"{key}={java_text(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(java_text, value)) + "]"
        case _:
            return str(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    raise UnfitValueError(f"{value!r} is neither true nor false")


def _integer(bits: int | None) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise UnfitValueError(f"{value!r} is not a number")
        try:
            number = int(value)
        except (ValueError, OverflowError) as error:
            raise UnfitValueError(f"{value!r} is no whole number") from error
        if bits is not None and not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise UnfitValueError(f"{value!r} does not fit in {bits} bits")
        return number

    return convert


def _decimal(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UnfitValueError(f"{value!r} is not a number")
    try:
        return float(value)
    except ValueError as error:
        raise UnfitValueError(f"{value!r} is not a number") from error


def _date(value: Any) -> int:
    """Return a date in milliseconds since 1970; a text must be ISO 8601."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        if re.fullmatch(r"-?\d+", value):
            return int(value)
        try:
            moment = datetime.fromisoformat(value)
        except ValueError as error:
            raise UnfitValueError(f"{value!r} is not a date; write 2024-01-31T12:00:00.000Z") from error
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    raise UnfitValueError(f"{value!r} is not a date; write milliseconds since 1970")


_PRIMITIVES: Mapping[str, Callable[[Any], Any]] = {
    "string": java_text,
    "boolean": _boolean,
    "byte": _integer(8),
    "short": _integer(16),
    "int": _integer(32),
    "long": _integer(64),
    "biginteger": _integer(None),
    "float": _decimal,
    "double": _decimal,
    "bigdecimal": _decimal,
    "date": _date,
}
PRIMITIVES = frozenset(_PRIMITIVES)
