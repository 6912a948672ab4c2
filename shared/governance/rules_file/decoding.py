"""A rules file → its rules, or one error with every mistake in it.

[[tag]]
classification = "PII"
datasets = "crm/*"
columns = ["email", "ssn*"]

[[policy]]
name = "marketing sees no personal data"
datasets = "marketing/*"
no_tag = "PII"
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

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
from shared.governance.rules_file.keys import FILE_NAME, OF_OTHERS, ON_UNKNOWN, TABLES, UNKNOWN
from shared.rules_file.keys import TEXT
from shared.rules_file.nearest import did_you_mean
from shared.rules_file.reading import RulesEntry, RulesReader

_Entries = Mapping[str, list[RulesEntry]]
Made = TypeVar("Made", Classification, TagRule, Mask, Declassification, Term, Certified, Policy)


def parse_rules(text: str, place: str) -> Rules:
    """The rules in this text; `place`: its path, for messages. Raises Misconfigured with all its mistakes."""
    reader = RulesReader(text, place)
    reader.only({*TABLES, FILE_NAME, UNKNOWN, *OF_OTHERS})
    name = reader.value(TEXT, FILE_NAME) or ""
    on_unknown = reader.value(ON_UNKNOWN, UNKNOWN) or OnUnknown.FAIL
    entries = {name: reader.entries(keys, name) for name, keys in TABLES.items()}
    _refuse_contradictions(entries, reader)
    _refuse_untagged(entries, reader)
    reader.finish()
    return Rules(
        place=place,
        name=name,
        classifications=_made(Classification, entries["classification"]),
        tags=_made(TagRule, entries["tag"]),
        masks=_made(Mask, entries["mask"]),
        declassifications=_made(Declassification, entries["declassify"]),
        terms=_made(Term, entries["term"]),
        certified=_made(Certified, entries["certified"]),
        policies=tuple(_policy(entry, on_unknown, reader) for entry in entries["policy"]),
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


_ANY_OF = {
    "tag": ("datasets", "columns", "types", "tag", "classified_as"),
    "mask": ("functions", "columns"),
    "declassify": ("datasets", "columns"),
    "term": ("datasets", "columns"),
}
"""Keys of a table of which one is needed: a rule without any would be about all columns there are."""


def _refuse_contradictions(entries: _Entries, reader: RulesReader) -> None:
    """Find the mistakes that more than one key makes."""
    reader.twice(entries["policy"], "name")
    reader.twice(entries["classification"], "name")
    for table, any_of in _ANY_OF.items():
        for entry in entries[table]:
            if not entry.values.keys() & set(any_of):
                reader.wrong(f"{table} names no columns: give it {' or '.join(any_of)}", *entry.at)
    for entry in entries["policy"]:
        if not entry.values.keys() & set(Demand):
            reader.wrong(f"policy demands nothing: give it one of {', '.join(Demand)}", *entry.at)
    asking = [entry for entry in entries["policy"] if Demand.EVERY_INPUT in entry.values]
    if asking and not entries["certified"]:
        reader.wrong("every_input needs to know what is certified: add [[certified]] with datasets", *asking[0].at)


def _refuse_untagged(entries: _Entries, reader: RulesReader) -> None:
    """Find the classifications that no [[tag]] gives."""
    tagged = {name for entry in entries["tag"] if (name := entry.values.get("classification"))}
    used = [(entry, "classification", [entry.values.get("classification")]) for entry in entries["declassify"]]
    used += [(entry, Demand.NO_TAG, entry.values.get(Demand.NO_TAG) or []) for entry in entries["policy"]]
    for entry, key, names in used:
        for name in filter(None, names):
            if name not in tagged:
                hint = did_you_mean([name], tagged)
                reader.wrong(f"no [[tag]] gives the classification {name}.{hint}", *entry.at, key)


def _made(kind: type[Made], entries: Iterable[RulesEntry]) -> tuple[Made, ...]:
    """The rules of these entries. The keys of a selector and of an approval are a value of their own in a rule."""
    return tuple(kind(**_grouped(kind, entry.values), line=entry.line) for entry in entries)


def _grouped(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    left = dict(values)
    own = {each.name for each in fields(kind)}
    for name, part in (("where", Selector), ("approval", Approval)):
        if name in own:
            left[name] = part(**{each.name: left.pop(each.name) for each in fields(part) if each.name in left})
    return left


def _policy(entry: RulesEntry, on_unknown: OnUnknown, reader: RulesReader) -> Policy:
    """The policy of an entry: its demands are a list of values in it."""
    values = {UNKNOWN: on_unknown, **_grouped(Policy, entry.values)}
    wanted = tuple(
        _wanted(demand, values.pop(demand), reader.line(*entry.at, demand)) for demand in Demand if demand in values
    )
    return Policy(**values, wanted=wanted, line=entry.line)


_FIELDS = {Demand.FRESH_WITHIN: "within", Demand.TRACED: "percent", Demand.UNCHANGED_SINCE: "since"}
_PLAIN = frozenset({Demand.NO_FAILED_UPSTREAM, Demand.QUALITY_PASSED})


def _wanted(demand: Demand, value: Any, line: int) -> Wanted:
    if demand in _PLAIN:
        return Wanted(demand=demand, line=line)
    return Wanted(demand=demand, line=line, **{_FIELDS.get(demand, "names"): value})
