"""The text of a file of rules → its tables, and the line of each.

TOML's parser gives no lines, so the lines of headers and keys are read beside it. A key inside a text of several lines
is only used where the parsed tables have it too. Of JSON no lines are known.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.errors import Misconfigured

_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
_NAME = rf"(?:{_PART.pattern})(?:\s*\.\s*(?:{_PART.pattern}))*"
_HEADER = re.compile(rf"\s*(\[{{1,2}})\s*({_NAME})\s*\]{{1,2}}\s*(?:#.*)?")
_KEY = re.compile(rf"\s*({_NAME})\s*=")
_LINE_OF_ERROR = re.compile(r"\bline (\d+)")

Place = tuple[str | int, ...]
"""Keys and numbers that lead to a value: ("policy", 0, "name")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesSource:
    """A parsed file. `place`: its path."""

    place: str
    tables: Mapping[str, Any]
    lines: Mapping[Place, int]

    def line(self, *at: str | int) -> int:
        """The line of a value, or of the nearest table around it; the first where there is none, 0 in JSON."""
        while at and at not in self.lines:
            at = at[:-1]
        return self.lines.get(at, 0)


def read_source(text: str, place: str) -> RulesSource:
    """Parse TOML, or JSON where the path or the first character says so. Raises Misconfigured at the first mistake of
    syntax.
    """
    is_json = place.lower().endswith(".json") or text.lstrip().startswith("{")
    try:
        tables = json.loads(text) if is_json else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        line = _LINE_OF_ERROR.search(str(error))
        number = line[1] if line else max(len(text.splitlines()), 1)
        kind = "JSON" if is_json else "TOML"
        raise Misconfigured(f"{place}:{number}: this is not valid {kind}: {error}. Correct it first") from error
    if not isinstance(tables, dict):
        raise Misconfigured(f"{place} must be an object: write {{ and }} around its keys")
    return RulesSource(place=place, tables=tables, lines={} if is_json else _lines(text))


def _lines(text: str) -> dict[Place, int]:
    lines: dict[Place, int] = {(): 1}
    numbers: Counter[Place] = Counter()
    inside: Place = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.fullmatch(line):
            inside = _parts(header[2])
            if header[1] == "[[":
                numbers[inside] += 1
                inside = (*inside, numbers[inside] - 1)
            for length in range(1, len(inside) + 1):
                lines.setdefault(inside[:length], number)
        elif key := _KEY.match(line):
            lines.setdefault((*inside, *_parts(key[1])), number)
    return lines


def _parts(name: str) -> Place:
    return tuple(part.strip("\"'") for part in _PART.findall(name))
