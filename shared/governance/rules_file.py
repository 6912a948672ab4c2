"""The rules file: its tables, and its text as rules, or one error with every mistake in it.

    [[tag]]
    classification = "PII"
    datasets = "crm/*"
    columns = ["email", "ssn*"]

    [[policy]]
    name = "marketing sees no personal data"
    datasets = "marketing/*"
    no_tag = "PII"

The decoder, the hints about misspelled words and the JSON Schema for editors are made from one table of keys.
`python -m shared.governance.rules_file FILE` writes the schema.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, TypeVar

from shared.errors import Misconfigured
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
    Selector,
    TagRule,
    Term,
    Wanted,
)
from shared.rules_file import (
    FOREIGN_LINEAGE,
    SPAN,
    TEXT,
    TEXTS,
    YES_OR_NO,
    Key,
    Keys,
    RulesEntry,
    RulesReader,
    ValueKind,
    did_you_mean,
    number_to,
    one_of,
    one_or_more,
    text_of,
)

_CERTIFIED = "certified"


def _date(value: Any) -> date | None:
    moment = date.fromisoformat(value) if isinstance(value, str) else value
    return moment if isinstance(moment, date) and not isinstance(moment, datetime) else None


def _time(value: Any) -> datetime | None:
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if not isinstance(moment, datetime):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


NAME = text_of(
    "a classification's name: a letter, then letters, digits, blanks, dots and underscores",
    re.compile(r"[a-zA-Z][a-zA-Z0-9_ .]*"),  # Atlas' rule (`AtlasTypeUtil`); only classifications may have dots
)
NAMES = one_or_more(NAME, "a classification's name, or a list of them")
TERM = text_of(
    "a glossary term, as TERM or TERM@GLOSSARY",
    re.compile(r"[^@]*[^@\s][^@]*(@[^@]*[^@\s][^@]*)?"),  # Atlas refuses an `@` in the names, and joins both with one
)
DATE = ValueKind(words="a date such as 2027-01-31", read=_date, schema={"type": "string", "format": "date"})
TIME = ValueKind(words="a date or a time such as 2026-11-01T06:00:00Z", read=_time, schema={"type": "string"})
TRUE = ValueKind(words="true", read=lambda value: value if value is True else None, schema={"const": True})
ON_UNKNOWN = one_of(OnUnknown)
CERTIFIED = ValueKind(
    words=f'"{_CERTIFIED}"',
    read=lambda value: (_CERTIFIED,) if value == _CERTIFIED else None,
    schema={"const": _CERTIFIED},
)


def _key(kind: ValueKind, meaning: str, *, needed: bool = False) -> Key:
    return Key(kind=kind, meaning=meaning, needed=needed)


_DATASETS = "patterns of data sets: a name, the end of a path, or a qualified name"
_SELECTOR = {
    "datasets": _key(TEXTS, _DATASETS),
    "columns": _key(TEXTS, "patterns of column names"),
    "types": _key(TEXTS, "patterns of column types"),
}
_APPROVAL = {
    "author": _key(TEXT, "who takes the exception", needed=True),
    "reason": _key(TEXT, "why it is right", needed=True),
    "expires": _key(DATE, "the last day on which it is valid", needed=True),
}
_CLASSIFICATION = _key(NAME, "the classification", needed=True)
_DEMANDS = {
    Demand.NO_TAG: _key(NAMES, "no column has this classification"),
    Demand.SOURCES_ONLY: _key(TEXTS, "all lineage begins in, or passes, data sets of these patterns"),
    Demand.MASKED_BY: _key(TEXTS, "each value that arrives has passed a mask by one of these functions; *: by any"),
    Demand.FRESH_WITHIN: _key(SPAN, "all data sets upstream that a process writes were written within this time"),
    Demand.EVERY_INPUT: _key(CERTIFIED, "each direct input is certified"),
    Demand.NO_FAILED_UPSTREAM: _key(TRUE, "the last run of no job upstream failed"),
    Demand.TRACED: _key(number_to(100), "at least this share of the columns has known sources"),
    Demand.UNCHANGED_SINCE: _key(TIME, "lineage upstream has not changed since then; needs a lake"),
    Demand.QUALITY_PASSED: _key(TRUE, "all quality assertions passed, here and upstream"),
}

FILE_NAME = "name"
"""A key at the top of the file: by this name `classify apply` knows what the file attached."""
UNKNOWN = "unknown"
"""A key of a policy, and at the top of the file: its default for all policies."""
TABLES: Mapping[str, Keys] = {
    "classification": {
        "name": _key(NAME, "its name", needed=True),
        "description": _key(TEXT, "what it means, for people"),
    },
    "tag": {
        "classification": _CLASSIFICATION,
        **_SELECTOR,
        "tag": _key(TEXT, "pattern of a tag in OpenLineage's tags facet"),
        "classified_as": _key(TEXT, "pattern of a classification that the catalog's scans have set"),
    },
    "mask": {
        **_SELECTOR,
        "functions": _key(TEXTS, "patterns of functions whose result hides its arguments"),
        **_APPROVAL,
    },
    "declassify": {"classification": _CLASSIFICATION, **_SELECTOR, **_APPROVAL},
    "term": {"name": _key(TERM, "the glossary term, as TERM or TERM@GLOSSARY", needed=True), **_SELECTOR},
    "certified": {"datasets": _key(TEXTS, _DATASETS, needed=True)},
    "policy": {
        "name": _key(TEXT, "its name, for messages", needed=True),
        **_SELECTOR,
        UNKNOWN: _key(ON_UNKNOWN, "whether it fails or only warns where lineage is not known"),
        **{str(demand): key for demand, key in _DEMANDS.items()},
    },
}
OF_OTHERS = frozenset({"completeness"})
"""Tables of the same file that other commands read and check."""


_Entries = Mapping[str, list[RulesEntry]]
RuleValue = TypeVar("RuleValue", Classification, TagRule, Mask, Declassification, Term, Certified, Policy)


def parse_rules(text: str, place: str) -> Rules:
    """The rules in this text; `place`: its path, for messages. Raises Misconfigured with all its mistakes."""
    reader = RulesReader(text, place)
    reader.only({*TABLES, FILE_NAME, UNKNOWN, FOREIGN_LINEAGE, *OF_OTHERS})
    name = reader.value(TEXT, FILE_NAME) or ""
    on_unknown = reader.value(ON_UNKNOWN, UNKNOWN) or OnUnknown.FAIL
    foreign_lineage = reader.value(YES_OR_NO, FOREIGN_LINEAGE)
    entries = {name: reader.entries(keys, name) for name, keys in TABLES.items()}
    _refuse_contradictions(entries, reader)
    _refuse_untagged(entries, reader)
    reader.finish()
    return Rules(
        place=place,
        name=name,
        foreign_lineage=foreign_lineage is not False,
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
    uses = [(entry, "classification", [entry.values.get("classification")]) for entry in entries["declassify"]]
    uses += [(entry, Demand.NO_TAG, entry.values.get(Demand.NO_TAG) or []) for entry in entries["policy"]]
    for entry, key, names in uses:
        for name in filter(None, names):
            if name not in tagged:
                hint = did_you_mean([name], tagged)
                reader.wrong(f"no [[tag]] gives the classification {name}.{hint}", *entry.at, key)


def _made(kind: type[RuleValue], entries: Iterable[RulesEntry]) -> tuple[RuleValue, ...]:
    """The rules of these entries. The keys of a selector and of an approval are a value of their own in a rule."""
    return tuple(kind(**_grouped(kind, entry.values), line=entry.line) for entry in entries)


def _grouped(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    grouped = dict(values)
    field_names = {field.name for field in fields(kind)}
    for name, part in (("where", Selector), ("approval", Approval)):
        if name in field_names:
            grouped[name] = part(
                **{field.name: grouped.pop(field.name) for field in fields(part) if field.name in grouped}
            )
    return grouped


def _policy(entry: RulesEntry, on_unknown: OnUnknown, reader: RulesReader) -> Policy:
    """The policy of an entry: its demands are a list of values in it."""
    values = {UNKNOWN: on_unknown, **_grouped(Policy, entry.values)}
    demands = tuple(
        _wanted(demand, values.pop(demand), reader.line(*entry.at, demand)) for demand in Demand if demand in values
    )
    return Policy(**values, wanted=demands, line=entry.line)


_FIELDS = {Demand.FRESH_WITHIN: "within", Demand.TRACED: "percent", Demand.UNCHANGED_SINCE: "since"}
_PLAIN = frozenset({Demand.NO_FAILED_UPSTREAM, Demand.QUALITY_PASSED})


def _wanted(demand: Demand, value: Any, line: int) -> Wanted:
    if demand in _PLAIN:
        return Wanted(demand=demand, line=line)
    return Wanted(demand=demand, line=line, **{_FIELDS.get(demand, "names"): value})


def schema() -> dict[str, Any]:
    """The schema; dates are texts in it, as JSON has them."""
    tables = {
        name: {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    key: {**rule_key.kind.schema, "description": rule_key.meaning} for key, rule_key in keys.items()
                },
                "required": [key for key, rule_key in keys.items() if rule_key.needed],
                "additionalProperties": False,
                **({"anyOf": [{"required": [str(demand)]} for demand in Demand]} if name == "policy" else {}),
            },
        }
        for name, keys in TABLES.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rules of throughline classify and throughline check",
        "type": "object",
        "properties": {
            FILE_NAME: dict(TEXT.schema),
            UNKNOWN: dict(ON_UNKNOWN.schema),
            FOREIGN_LINEAGE: dict(YES_OR_NO.schema),
            "completeness": {"type": "object"},
            **tables,
        },
        "additionalProperties": False,
    }


def schema_text() -> str:
    """The schema as the file has it."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(schema_text(), encoding="utf-8")
