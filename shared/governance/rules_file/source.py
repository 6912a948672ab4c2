"""The text of a rules file → its tables, and the line of each.

TOML's parser gives no lines. So the lines of headers and keys are read beside it; a key inside a text of several lines
is only taken where the parsed tables have it too.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.errors import Misconfigured

_HEADER = re.compile(r"\s*(\[{1,2})\s*([A-Za-z0-9_.\-\"' ]+?)\s*\]{1,2}\s*(?:#.*)?")
_KEY = re.compile(r"\s*([A-Za-z0-9_\-]+|\"[^\"]+\"|'[^']+')\s*=")
_LINE_OF_ERROR = re.compile(r"\(at line (\d+),")

Place = tuple[str | int, ...]
"""Keys and numbers that lead to a value: ("policy", 0, "name")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A parsed file. `place`: its path."""

    place: str
    tables: Mapping[str, Any]
    lines: Mapping[Place, int]

    def line(self, *place: str | int) -> int:
        """The line of a value, or of the nearest table around it; 1 where there is none."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def read_toml(text: str, place: str) -> Source:
    """Parse TOML. Raises Misconfigured with the line of the first mistake of syntax."""
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = _LINE_OF_ERROR.search(str(error))
        line = found[1] if found else "1"
        raise Misconfigured(
            f"{place}:{line}: this is no TOML: {error}. Correct the line, and run the command again"
        ) from error
    return Source(place=place, tables=tables, lines=_lines(text))


def _lines(text: str) -> dict[Place, int]:
    lines: dict[Place, int] = {}
    numbers: dict[str, int] = {}
    inside: Place = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.fullmatch(line):
            name = header[2].strip().strip("\"'")
            if header[1] == "[[":
                numbers[name] = numbers.get(name, -1) + 1
                inside = (name, numbers[name])
            else:
                inside = tuple(part.strip("\"' ") for part in name.split("."))
            for length in range(1, len(inside) + 1):
                lines.setdefault(inside[:length], number)
        elif key := _KEY.match(line):
            lines.setdefault((*inside, key[1].strip("\"'")), number)
    return lines
