"""A rules file → its rules, or one error with every mistake, each with its line and the nearest word.

[[tag]]
classification = "PII"
datasets = "crm/*"
columns = ["email", "ssn*"]

[[policy]]
name = "marketing sees no personal data"
datasets = "marketing/*"
no_tag = "PII"
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from shared.errors import Misconfigured
from shared.governance.patterns import Selector
from shared.governance.rules import (
    Approval,
    Certified,
    Classification,
    Declassification,
    Demand,
    Mask,
    OnUnknown,
    Policy,
    Rules,
    TagRule,
    Term,
    Wanted,
)
from shared.governance.rules_file.keys import MAX_TEXTS, OF_OTHERS, TABLES, value_of
from shared.governance.rules_file.source import Source, read_toml

_UNKNOWN = "unknown"
_Entry = tuple[int, dict[str, Any]]
"""The line of a table's entry, and its values."""


def parse_rules(text: str, place: str) -> Rules:
    """The rules in this text; `place`: its path, for messages. Raises Misconfigured with all its mistakes."""
    source = read_toml(text, place)
    mistakes: list[tuple[int, str]] = list(_unknown_keys(source))
    on_unknown = _on_unknown(source, mistakes)
    entries = {name: _entries(source, name, mistakes) for name in TABLES}
    mistakes += _contradictions(entries, source)
    if mistakes:
        lines = "\n".join(f"  {place}:{line}: {what}" for line, what in sorted(mistakes))
        number = f"{len(mistakes)} mistakes" if len(mistakes) > 1 else "a mistake"
        raise Misconfigured(f"The rules file {place} has {number}, and no rule of it is used:\n{lines}")
    return Rules(
        place=place,
        classifications=tuple(Classification(**values, line=line) for line, values in entries["classification"]),
        tags=tuple(
            TagRule(
                classification=values["classification"],
                where=_selector(values),
                tag=values.get("tag", ""),
                classified_as=values.get("classified_as", ""),
                line=line,
            )
            for line, values in entries["tag"]
        ),
        masks=tuple(
            Mask(
                where=_selector(values),
                functions=values.get("functions", ()),
                approval=_approval(values),
                line=line,
            )
            for line, values in entries["mask"]
        ),
        declassifications=tuple(
            Declassification(
                classification=values["classification"], where=_selector(values), approval=_approval(values), line=line
            )
            for line, values in entries["declassify"]
        ),
        terms=tuple(Term(name=values["name"], where=_selector(values), line=line) for line, values in entries["term"]),
        certified=tuple(Certified(datasets=values["datasets"], line=line) for line, values in entries["certified"]),
        policies=tuple(
            _policy(values, line, number, on_unknown, source) for number, (line, values) in enumerate(entries["policy"])
        ),
    )


def parse_policies(text: str, place: str) -> Rules:
    """The rules in this text, of which some are policies. Raises Misconfigured, also where there is none: what checks
    nothing would always hold.
    """
    rules = parse_rules(text, place)
    if not rules.policies:
        raise Misconfigured(
            f"The rules file {place} has no policy, so there is nothing to check: add a table [[policy]] with a name"
            " and a demand such as no_tag"
        )
    return rules


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence about the nearest known word, from its blank on; empty where none is like it."""
    found = difflib.get_close_matches(word.lower(), sorted(set(known)), n=1, cutoff=0.5)
    return f" Did you mean {found[0]}?" if found else ""


def _unknown_keys(source: Source) -> Iterator[tuple[int, str]]:
    known = {*TABLES, _UNKNOWN, *OF_OTHERS}
    for name in source.tables.keys() - known:
        yield source.line(name), f"there is no table {name}.{did_you_mean(name, known)}"


def _on_unknown(source: Source, mistakes: list[tuple[int, str]]) -> OnUnknown:
    key = TABLES["policy"][_UNKNOWN]
    try:
        return OnUnknown(value_of(key.kind, source.tables.get(_UNKNOWN, OnUnknown.FAIL)))
    except ValueError as error:
        mistakes.append((source.line(_UNKNOWN), f"{_UNKNOWN} {error}"))
        return OnUnknown.FAIL


def _entries(source: Source, name: str, mistakes: list[tuple[int, str]]) -> list[_Entry]:
    given = source.tables.get(name, [])
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        mistakes.append((source.line(name), f"{name} must be a list of tables: write [[{name}]] above each"))
        return []
    if len(given) > MAX_TEXTS:
        mistakes.append((source.line(name), f"there are {len(given)} tables {name}, and at most {MAX_TEXTS} are read"))
        return []
    return [
        (source.line(name, number), _values(source, name, number, each, mistakes)) for number, each in enumerate(given)
    ]


def _values(
    source: Source, name: str, number: int, given: Mapping[str, Any], mistakes: list[tuple[int, str]]
) -> dict[str, Any]:
    """The values of one entry, without those that are mistaken."""
    keys = TABLES[name]
    values = {}
    for key, value in given.items():
        line = source.line(name, number, key)
        if key not in keys:
            mistakes.append((line, f"{name} has no key {key}.{did_you_mean(key, keys)}"))
            continue
        try:
            values[key] = value_of(keys[key].kind, value)
        except ValueError as error:
            mistakes.append((line, f"{key} {error}"))
    for key, each in keys.items():
        if each.needed and key not in given:
            mistakes.append((source.line(name, number), f"{name} needs {key}: {each.meaning}"))
    return values


_ANY_OF = {
    "tag": ("datasets", "columns", "types", "tag", "classified_as"),
    "mask": ("functions", "columns"),
    "declassify": ("datasets", "columns"),
    "term": ("datasets", "columns"),
}
"""Keys of a table of which one is needed: a rule without any would be about all columns there are."""


def _contradictions(entries: Mapping[str, list[_Entry]], source: Source) -> Iterator[tuple[int, str]]:
    """Mistakes that more than one key makes."""
    for table in ("policy", "classification"):
        yield from _twice(table, entries[table])
    tagged = {values["classification"] for _, values in entries["tag"] if "classification" in values}
    for table, any_of in _ANY_OF.items():
        for number, (line, _) in enumerate(entries[table]):
            if not source.tables[table][number].keys() & set(any_of):
                yield line, f"{table} names no columns: give it {' or '.join(any_of)}"
    for number, (_, values) in enumerate(entries["declassify"]):
        yield from _untagged(values.get("classification"), tagged, source.line("declassify", number, "classification"))
    for number, (line, values) in enumerate(entries["policy"]):
        if not source.tables["policy"][number].keys() & set(Demand):
            yield line, f"policy demands nothing: give it one of {', '.join(Demand)}"
        for tag in values.get(Demand.NO_TAG, ()):
            yield from _untagged(tag, tagged, source.line("policy", number, Demand.NO_TAG))
    if any(Demand.EVERY_INPUT in values for _, values in entries["policy"]) and not entries["certified"]:
        yield (
            next((line for line, values in entries["policy"] if Demand.EVERY_INPUT in values), 1),
            ("every_input needs to know what is certified: add [[certified]] with datasets"),
        )


def _untagged(name: str | None, tagged: set[str], line: int) -> Iterator[tuple[int, str]]:
    if name is not None and name not in tagged:
        yield line, f"no [[tag]] gives the classification {name}.{_near_in_any_case(name, tagged)}"


def _near_in_any_case(name: str, known: set[str]) -> str:
    folded = {each.lower(): each for each in known}
    found = difflib.get_close_matches(name.lower(), sorted(folded), n=1, cutoff=0.5)
    return f" Did you mean {folded[found[0]]}?" if found else ""


def _twice(table: str, entries: list[_Entry]) -> Iterator[tuple[int, str]]:
    first: dict[str, int] = {}
    for line, values in entries:
        name = values.get("name")
        if name in first:
            yield line, f"{table} {name} is there twice: the first is in line {first[name]}"
        elif name is not None:
            first[name] = line


def _selector(values: Mapping[str, Any]) -> Selector:
    return Selector(**{key: values[key] for key in ("datasets", "columns", "types") if key in values})


def _approval(values: Mapping[str, Any]) -> Approval:
    return Approval(author=values["author"], reason=values["reason"], expires=values["expires"])


def _policy(values: Mapping[str, Any], line: int, number: int, on_unknown: OnUnknown, source: Source) -> Policy:
    return Policy(
        name=values["name"],
        where=_selector(values),
        unknown=values.get(_UNKNOWN, on_unknown),
        wanted=tuple(
            _wanted(demand, values[demand], source.line("policy", number, demand))
            for demand in Demand
            if demand in values
        ),
        line=line,
    )


_FIELDS = {Demand.FRESH_WITHIN: "within", Demand.TRACED: "percent", Demand.UNCHANGED_SINCE: "since"}
_PLAIN = frozenset({Demand.NO_FAILED_UPSTREAM, Demand.QUALITY_PASSED})


def _wanted(demand: Demand, value: Any, line: int) -> Wanted:
    if demand in _PLAIN:
        return Wanted(demand=demand, line=line)
    return Wanted(demand=demand, line=line, **{_FIELDS.get(demand, "names"): value})
