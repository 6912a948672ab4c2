"""Reads the tables of a file by their keys, and collects every mistake with its line and the nearest word."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from shared.errors import Misconfigured
from shared.rules_file.keys import MAX_TEXTS, Key, Keys, ValueKind
from shared.rules_file.nearest import did_you_mean
from shared.rules_file.source import Place, read_source


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
