"""The tables of a rules file: which keys each has, what they hold, and which are needed.

The decoder, the hints about misspelled words and the JSON Schema are made from this one table.
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from shared.governance.rules import Demand, OnUnknown
from shared.rules_file.keys import SPAN, TEXT, TEXTS, Key, Keys, ValueKind, number_to, one_of, one_or_more, text_of

_CERTIFIED = "certified"


def _date(given: Any) -> date | None:
    found = date.fromisoformat(given) if isinstance(given, str) else given
    return found if isinstance(found, date) and not isinstance(found, datetime) else None


def _time(given: Any) -> datetime | None:
    found = datetime.fromisoformat(given) if isinstance(given, str) else given
    if isinstance(found, date) and not isinstance(found, datetime):
        found = datetime(found.year, found.month, found.day, tzinfo=UTC)
    if not isinstance(found, datetime):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


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
TRUE = ValueKind(words="true", read=lambda given: given if given is True else None, schema={"const": True})
ON_UNKNOWN = one_of(OnUnknown)
CERTIFIED = ValueKind(
    words=f'"{_CERTIFIED}"',
    read=lambda given: (_CERTIFIED,) if given == _CERTIFIED else None,
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
