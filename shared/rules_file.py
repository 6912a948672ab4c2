"""Files of rules: their tables of keys, and one error that names every mistake in a file.

A key says what it holds, whether it is needed, and what it means. This knows no rule: the files of governance, the
watch, completeness and names are tables of `Key` here. It imports only `shared.errors` and `shared.texts`.

Reads the tables of a file by their keys, and collects every mistake with its line and the nearest word.

TOML's parser gives no lines, so the lines of headers and keys are read beside it. A key inside a text of several lines
is only used where the parsed tables have it too. Of JSON no lines are known.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from fnmatch import translate
from typing import Any

from shared import texts
from shared.errors import Misconfigured

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A rule without an effect: its line in the file, and why."""

    line: int
    text: str


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Whether a text as a whole has one of these patterns; any text does where there are none."""
    texts = tuple(patterns)
    if not texts:
        return lambda _: True
    regex = re.compile("|".join(translate(text_pattern.replace("[", "[[]")) for text_pattern in texts), re.IGNORECASE)
    return lambda text: regex.match(text) is not None


def nearest(words: Iterable[str], candidates: Iterable[str]) -> str:
    """The known name that is most like the first of these words that is like any; empty if none is. Wildcards at the
    ends of a pattern do not count.
    """
    names = tuple(candidates)
    return next((match[0] for word in words if (match := texts.nearest(word.strip("*/"), names))), "")


def did_you_mean(words: Iterable[str], candidates: Iterable[str]) -> str:
    """A question about the nearest known name, to end a sentence with; empty if none is like these words."""
    suggested = nearest(words, candidates)
    return f" Did you mean {suggested}?" if suggested else ""


_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
_NAME = rf"(?:{_PART.pattern})(?:\s*\.\s*(?:{_PART.pattern}))*"
_HEADER = re.compile(rf"\s*(\[{{1,2}})\s*({_NAME})\s*\]{{1,2}}\s*(?:#.*)?")
_KEY = re.compile(rf"\s*({_NAME})\s*=")
_RECEIVER = re.compile(r"[A-Za-z0-9_-]{1,40}")
_LINE_OF_ERROR = re.compile(r"\bline (\d+)")

Place = tuple[str | int, ...]
"""Keys and numbers that lead to a value: ("policy", 0, "name")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesSource:
    """A parsed file. `place`: its path."""

    place: str
    tables: Mapping[str, Any]
    lines: Mapping[Place, int]

    def line(self, *path: str | int) -> int:
        """The line of a value, or of the nearest table around it; the first where there is none, 0 in JSON."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)


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

    def __init__(self, text: str, place: str, *, kind: str = "rules file") -> None:
        """`place`: the file's path, for messages. Raises Misconfigured if it is neither TOML nor JSON."""
        self._source = read_source(text, place)
        self._what = kind
        self._mistakes: list[tuple[int, str, str]] = []

    def line(self, *path: str | int) -> int:
        """The line of a value, or of the table that should have it."""
        return self._source.line(*path)

    def wrong(self, problem: str, *path: str | int) -> None:
        """Add a mistake in the value at a place. Messages name its line, or its keys in JSON."""
        line = self.line(*path)
        self._mistakes.append((line, str(line or f" {_path(path)}"), problem))

    def finish(self) -> None:
        """Raise Misconfigured with all mistakes, each with its line; nothing happens without any."""
        if not self._mistakes:
            return
        place, number = self._source.place, len(self._mistakes)
        lines = "\n".join(f"  {place}:{location}: {problem}" for _, location, problem in sorted(self._mistakes))
        count = f"{number} mistakes" if number > 1 else "a mistake"
        raise Misconfigured(f"The {self._what} {place} has {count}, and nothing in it is used:\n{lines}")

    def only(self, names: Collection[str]) -> None:
        """Refuse all other names at the top of the file."""
        for name in self._source.tables.keys() - set(names):
            self.wrong(f"there is no table {name}.{_instead_of(name, names)}", name)

    def value(self, kind: ValueKind, *path: str) -> Any:
        """The value at a place; None if the file lacks it or it is wrong."""
        raw = self._found(*path)
        return None if raw is None else self._value(kind, raw, *path)

    def table(self, keys: Keys, *path: str) -> RulesEntry:
        """The table `[at]`; without values if the file lacks it."""
        raw = self._found(*path)
        return RulesEntry(at=path, line=0, values={}) if raw is None else self._entry(keys, raw, *path)

    def all_of(self, kind: ValueKind, *path: str) -> dict[str, Any]:
        """The values of the table `[at]`, whose keys are names, each of this kind."""
        raw = self._found(*path)
        names = raw if isinstance(raw, dict) else ()
        return self.table(dict.fromkeys(names, Key(kind=kind, meaning="")), *path).values

    def named(self, keys: Keys, *path: str, limit: int = MAX_TEXTS) -> dict[str, RulesEntry]:
        """The tables `[at.NAME]`, by their names."""
        raw, label = self._found(*path), ".".join(path)
        if raw is None:
            return {}
        if not isinstance(raw, dict) or len(raw) > limit:
            self.wrong(f"{label} must be tables, at most {limit:,}: write [{label}.NAME] above each", *path)
            return {}
        return {name: self._entry(keys, table, *path, name) for name, table in raw.items()}

    def receivers(self, keys: Keys, kind: str, *, limit: int) -> dict[str, RulesEntry]:
        """The tables `[KINDs.NAME]`, by their names, which settings have too: so these are short and plain."""
        receivers = self.named(keys, f"{kind}s", limit=limit)
        for name, entry in receivers.items():
            if not _RECEIVER.fullmatch(name):
                self.wrong(f"{name!r} is no name of a {kind}: use letters, digits, _ and -, at most 40", *entry.at)
        return receivers

    def routes(self, keys: Keys, kind: str, receivers: Collection[str], *, limit: int) -> list[RulesEntry]:
        """The tables `[[rules]]`, each of which names receivers of this kind under `to`."""
        routes = self.entries(keys, "rules", limit=limit)
        for entry in routes:
            for name in entry.values.get("to") or ():
                if name not in receivers:
                    self.wrong(f"there is no {kind} {name}.{did_you_mean([name], receivers)}", *entry.at, "to")
        return routes

    def entries(self, keys: Keys, name: str, *, limit: int = MAX_TEXTS) -> list[RulesEntry]:
        """The tables `[[name]]`, in the file's order."""
        raw = self._found(name)
        if raw is None:
            return []
        if not isinstance(raw, list) or not all(isinstance(table, dict) for table in raw):
            self.wrong(f"{name} must be a list of tables: write [[{name}]] above each", name)
            return []
        if len(raw) > limit:
            self.wrong(f"there are {len(raw):,} tables {name}, and at most {limit:,} are read", name)
            return []
        return [self._entry(keys, table, name, number) for number, table in enumerate(raw)]

    def twice(self, entries: Iterable[RulesEntry], key: str) -> None:
        """Refuse a value of this key that an earlier one of these tables has."""
        first: dict[Any, RulesEntry] = {}
        for entry in entries:
            name = entry.values.get(key)
            earlier = first.setdefault(name, entry)
            if name and earlier is not entry:
                location = f"in line {earlier.line}" if earlier.line else _path(earlier.at)
                self.wrong(f"{_label(entry.at)} {name} is there twice: the first is {location}", *entry.at)

    def _found(self, *path: str) -> Any:
        raw: Any = self._source.tables
        for name in path:
            raw = raw.get(name) if isinstance(raw, dict) else None
        return raw

    def _entry(self, keys: Keys, raw: Any, *path: str | int) -> RulesEntry:
        label = _label(path)
        values: dict[str, Any] = {}
        if not isinstance(raw, dict):
            self.wrong(f"{label} must be a table: write [{label}] above its keys", *path)
            return RulesEntry(at=path, line=self.line(*path), values=values)
        for name, value in raw.items():
            if key := keys.get(name):
                values[name] = self._value(key.kind, value, *path, name)
            else:
                self.wrong(f"{label} has no key {name}.{_instead_of(name, keys)}", *path, name)
        for name, key in keys.items():
            if key.needed and name not in raw:
                self.wrong(f"{label} needs {name}: {key.meaning}", *path)
        return RulesEntry(at=path, line=self.line(*path), values=values)

    def _value(self, kind: ValueKind, raw: Any, *path: str | int) -> Any:
        value = kind.value(raw)
        if value is None:
            words = [word for word in (raw if isinstance(raw, list) else [raw]) if isinstance(word, str)]
            near = did_you_mean([word for word in words if word not in kind.known], kind.known)
            self.wrong(f"{path[-1]} must be {kind.words}{near and f'.{near}'}", *path)
        return value


def _instead_of(name: str, keys: Collection[str]) -> str:
    return did_you_mean([name], keys) or f" Use {', '.join(sorted(keys))}"


def _path(place: Place) -> str:
    return ".".join(map(str, place))


def _label(place: Place) -> str:
    """The name of a table, as its header has it."""
    return ".".join(part for part in place if isinstance(part, str))
