"""Reads the tables of a file by their keys, and collects every mistake with its line and the nearest word.

TOML's parser gives no lines, so the lines of headers and keys are read beside it. A key inside a text of several lines
is only used where the parsed tables have it too. Of JSON no lines are known.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import translate
from typing import Any

from shared.errors import Misconfigured
from shared.rules_file.keys import MAX_TEXTS, Key, Keys, ValueKind
from shared.texts import suggestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A rule without an effect: its line in the file, and why."""

    line: int
    text: str


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Whether a text as a whole has one of these patterns; any text does where there are none."""
    given = tuple(patterns)
    if not given:
        return lambda _: True
    found = re.compile("|".join(translate(each.replace("[", "[[]")) for each in given), re.IGNORECASE)
    return lambda text: found.match(text) is not None


def nearest(words: Iterable[str], known: Iterable[str]) -> str:
    """The known name that is most like the first of these words that is like any; empty if none is. Wildcards at the
    ends of a pattern do not count.
    """
    names = tuple(known)
    return next((found[0] for word in words if (found := suggestion.nearest(word.strip("*/"), names))), "")


def did_you_mean(words: Iterable[str], known: Iterable[str]) -> str:
    """A question about the nearest known name, to end a sentence with; empty if none is like these words."""
    found = nearest(words, known)
    return f" Did you mean {found}?" if found else ""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesEntry:
    """A table of the file. `values`: of the known keys that it has; None for a wrong value. `line`: of its header."""

    at: Place
    line: int
    values: dict[str, Any]


class RulesReader:
    """Reads a file. A wrong value is None until `finish` raises one error with all mistakes."""

    def __init__(self, text: str, place: str, *, what: str = "rules file") -> None:
        """`place`: the file's path, for messages. Raises Misconfigured if it is neither TOML nor JSON."""
        self._source = read_source(text, place)
        self._what = what
        self._mistakes: list[tuple[int, str, str]] = []

    def line(self, *at: str | int) -> int:
        """The line of a value, or of the table that should have it."""
        return self._source.line(*at)

    def wrong(self, what: str, *at: str | int) -> None:
        """Add a mistake in the value at a place. Messages name its line, or its keys in JSON."""
        line = self.line(*at)
        self._mistakes.append((line, str(line or f" {_path(at)}"), what))

    def finish(self) -> None:
        """Raise Misconfigured with all mistakes, each with its line; nothing happens without any."""
        if not self._mistakes:
            return
        place, number = self._source.place, len(self._mistakes)
        lines = "\n".join(f"  {place}:{where}: {what}" for _, where, what in sorted(self._mistakes))
        count = f"{number} mistakes" if number > 1 else "a mistake"
        raise Misconfigured(f"The {self._what} {place} has {count}, and nothing in it is used:\n{lines}")

    def only(self, names: Collection[str]) -> None:
        """Refuse all other names at the top of the file."""
        for name in self._source.tables.keys() - set(names):
            self.wrong(f"there is no table {name}.{_instead_of(name, names)}", name)

    def value(self, kind: ValueKind, *at: str) -> Any:
        """The value at a place; None if the file lacks it or it is wrong."""
        found = self._found(*at)
        return None if found is None else self._value(kind, found, *at)

    def table(self, keys: Keys, *at: str) -> RulesEntry:
        """The table `[at]`; without values if the file lacks it."""
        found = self._found(*at)
        return RulesEntry(at=at, line=0, values={}) if found is None else self._entry(keys, found, *at)

    def all_of(self, kind: ValueKind, *at: str) -> dict[str, Any]:
        """The values of the table `[at]`, whose keys are names, each of this kind."""
        found = self._found(*at)
        names = found if isinstance(found, dict) else ()
        return self.table(dict.fromkeys(names, Key(kind=kind, meaning="")), *at).values

    def named(self, keys: Keys, *at: str, most: int = MAX_TEXTS) -> dict[str, RulesEntry]:
        """The tables `[at.NAME]`, by their names."""
        found, label = self._found(*at), ".".join(at)
        if found is None:
            return {}
        if not isinstance(found, dict) or len(found) > most:
            self.wrong(f"{label} must be tables, at most {most:,}: write [{label}.NAME] above each", *at)
            return {}
        return {name: self._entry(keys, each, *at, name) for name, each in found.items()}

    def entries(self, keys: Keys, name: str, *, most: int = MAX_TEXTS) -> list[RulesEntry]:
        """The tables `[[name]]`, in the file's order."""
        found = self._found(name)
        if found is None:
            return []
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            self.wrong(f"{name} must be a list of tables: write [[{name}]] above each", name)
            return []
        if len(found) > most:
            self.wrong(f"there are {len(found):,} tables {name}, and at most {most:,} are read", name)
            return []
        return [self._entry(keys, each, name, number) for number, each in enumerate(found)]

    def twice(self, entries: Iterable[RulesEntry], key: str) -> None:
        """Refuse a value of this key that an earlier one of these tables has."""
        first: dict[Any, RulesEntry] = {}
        for entry in entries:
            name = entry.values.get(key)
            before = first.setdefault(name, entry)
            if name and before is not entry:
                where = f"in line {before.line}" if before.line else _path(before.at)
                self.wrong(f"{_label(entry.at)} {name} is there twice: the first is {where}", *entry.at)

    def _found(self, *at: str) -> Any:
        found: Any = self._source.tables
        for name in at:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def _entry(self, keys: Keys, given: Any, *at: str | int) -> RulesEntry:
        label = _label(at)
        values: dict[str, Any] = {}
        if not isinstance(given, dict):
            self.wrong(f"{label} must be a table: write [{label}] above its keys", *at)
            return RulesEntry(at=at, line=self.line(*at), values=values)
        for name, value in given.items():
            if key := keys.get(name):
                values[name] = self._value(key.kind, value, *at, name)
            else:
                self.wrong(f"{label} has no key {name}.{_instead_of(name, keys)}", *at, name)
        for name, key in keys.items():
            if key.needed and name not in given:
                self.wrong(f"{label} needs {name}: {key.meaning}", *at)
        return RulesEntry(at=at, line=self.line(*at), values=values)

    def _value(self, kind: ValueKind, given: Any, *at: str | int) -> Any:
        value = kind.value(given)
        if value is None:
            words = [each for each in (given if isinstance(given, list) else [given]) if isinstance(each, str)]
            near = did_you_mean([each for each in words if each not in kind.known], kind.known)
            self.wrong(f"{at[-1]} must be {kind.words}{near and f'.{near}'}", *at)
        return value


def _instead_of(name: str, known: Collection[str]) -> str:
    return did_you_mean([name], known) or f" Use {', '.join(sorted(known))}"


def _path(at: Place) -> str:
    return ".".join(map(str, at))


def _label(at: Place) -> str:
    """The name of a table, as its header has it."""
    return ".".join(part for part in at if isinstance(part, str))
