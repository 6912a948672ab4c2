"""The tables of a rules file: which keys each has, what they hold, and which are needed.

The decoder, the hints about misspelled words and the JSON Schema are made from this one table.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Any

from shared.governance.rules import Demand, OnUnknown

_SPAN = re.compile(r"(\d{1,6})\s*([mhd])")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
CLASSIFICATION_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_ .]*")
"""Atlas' rule for names of classifications (`AtlasTypeUtil`); only they may have dots."""
TERM_NAME = re.compile(r"[^@]*[^@\s][^@]*(@[^@]*[^@\s][^@]*)?")
"""Atlas refuses an `@` in the names of terms and glossaries, and joins both with one."""
CERTIFIED = "certified"
MAX_PATTERN = 500
"""Characters of one text."""
MAX_TEXTS = 1000
"""Texts of one list, and entries of one table."""


class Kind(StrEnum):
    """What a key holds."""

    TEXT = "a text"
    TEXTS = "a text or a list of texts"
    NAME = "a classification's name: a letter, then letters, digits, blanks, dots and underscores"
    NAMES = "a classification's name, or a list of them"
    TERM = "a glossary term, as TERM or TERM@GLOSSARY"
    DATE = "a date such as 2027-01-31"
    TIME = "a date or a time such as 2026-11-01T06:00:00Z"
    SPAN = "a length of time such as 90m, 24h or 7d"
    PERCENT = "a number from 0 to 100"
    TRUE = "true"
    UNKNOWN = '"fail" or "warn"'
    CERTIFIED = f'"{CERTIFIED}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key of a table."""

    kind: Kind
    meaning: str
    needed: bool = False


def _key(kind: Kind, meaning: str, *, needed: bool = False) -> Key:
    return Key(kind=kind, meaning=meaning, needed=needed)


_DATASETS = _key(Kind.TEXTS, "patterns of data sets: a name, the end of a path, or a qualified name")
_SELECTOR = {
    "datasets": _DATASETS,
    "columns": _key(Kind.TEXTS, "patterns of column names"),
    "types": _key(Kind.TEXTS, "patterns of column types"),
}
_APPROVAL = {
    "author": _key(Kind.TEXT, "who takes the exception", needed=True),
    "reason": _key(Kind.TEXT, "why it is right", needed=True),
    "expires": _key(Kind.DATE, "the last day on which it is valid", needed=True),
}
_CLASSIFICATION = _key(Kind.NAME, "the classification", needed=True)
_DEMANDS = {
    Demand.NO_TAG: _key(Kind.NAMES, "no column has this classification"),
    Demand.SOURCES_ONLY: _key(Kind.TEXTS, "all lineage begins in, or passes, data sets of these patterns"),
    Demand.MASKED_BY: _key(
        Kind.TEXTS, "each value that arrives has passed a mask by one of these functions; *: by any"
    ),
    Demand.FRESH_WITHIN: _key(Kind.SPAN, "all data sets upstream that a process writes were written within this time"),
    Demand.EVERY_INPUT: _key(Kind.CERTIFIED, "each direct input is certified"),
    Demand.NO_FAILED_UPSTREAM: _key(Kind.TRUE, "the last run of no job upstream failed"),
    Demand.TRACED: _key(Kind.PERCENT, "at least this share of the columns has known sources"),
    Demand.UNCHANGED_SINCE: _key(Kind.TIME, "lineage upstream has not changed since then; needs a lake"),
    Demand.QUALITY_PASSED: _key(Kind.TRUE, "all quality assertions passed, here and upstream"),
}

TABLES: Mapping[str, Mapping[str, Key]] = {
    "classification": {
        "name": _key(Kind.NAME, "its name", needed=True),
        "description": _key(Kind.TEXT, "what it means, for people"),
    },
    "tag": {
        "classification": _CLASSIFICATION,
        **_SELECTOR,
        "tag": _key(Kind.TEXT, "pattern of a tag in OpenLineage's tags facet"),
        "classified_as": _key(Kind.TEXT, "pattern of a classification that the catalog's scans have set"),
    },
    "mask": {
        **_SELECTOR,
        "functions": _key(Kind.TEXTS, "patterns of functions whose result hides its arguments"),
        **_APPROVAL,
    },
    "declassify": {"classification": _CLASSIFICATION, **_SELECTOR, **_APPROVAL},
    "term": {"name": _key(Kind.TERM, "the glossary term, as TERM or TERM@GLOSSARY", needed=True), **_SELECTOR},
    "certified": {"datasets": _key(Kind.TEXTS, _DATASETS.meaning, needed=True)},
    "policy": {
        "name": _key(Kind.TEXT, "its name, for messages", needed=True),
        **_SELECTOR,
        "unknown": _key(Kind.UNKNOWN, "whether it fails or only warns where lineage is not known"),
        **{str(demand): key for demand, key in _DEMANDS.items()},
    },
}
OF_OTHERS = frozenset({"completeness"})
"""Tables of the same file that other commands read and check."""


def value_of(kind: Kind, given: Any) -> Any:
    """The value of a key: texts as a tuple, times with a zone, spans as timedelta. Raises ValueError."""
    value = _READERS[kind](given)
    if value is None:
        raise ValueError(f"must be {kind}")
    return value


def _text(given: Any) -> str | None:
    return given if isinstance(given, str) and 0 < len(given.strip()) <= MAX_PATTERN else None


def _texts(given: Any) -> tuple[str, ...] | None:
    many = given if isinstance(given, list) else [given]
    texts = tuple(each for each in many if _text(each))
    return texts if texts and len(texts) == len(many) <= MAX_TEXTS else None


def _name(given: Any) -> str | None:
    return given if _text(given) and CLASSIFICATION_NAME.fullmatch(given) else None


def _term(given: Any) -> str | None:
    return given if _text(given) and TERM_NAME.fullmatch(given) else None


def _names(given: Any) -> tuple[str, ...] | None:
    many = given if isinstance(given, list) else [given]
    names = tuple(each for each in many if _name(each))
    return names if names and len(names) == len(many) else None


def _date(given: Any) -> date | None:
    if isinstance(given, str):
        try:
            return date.fromisoformat(given)
        except ValueError:
            return None
    return given if isinstance(given, date) and not isinstance(given, datetime) else None


def _time(given: Any) -> datetime | None:
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            return None
    if isinstance(given, date) and not isinstance(given, datetime):
        given = datetime(given.year, given.month, given.day, tzinfo=UTC)
    if not isinstance(given, datetime):
        return None
    return given if given.tzinfo else given.replace(tzinfo=UTC)


def _span(given: Any) -> timedelta | None:
    found = _SPAN.fullmatch(given.strip()) if isinstance(given, str) else None
    return int(found[1]) * _UNITS[found[2]] or None if found else None


def _percent(given: Any) -> float | None:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return float(given) if is_number and 0 <= given <= 100 else None  # noqa: PLR2004 - per cent


_READERS: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.TEXT: _text,
    Kind.TEXTS: _texts,
    Kind.NAME: _name,
    Kind.NAMES: _names,
    Kind.TERM: _term,
    Kind.DATE: _date,
    Kind.TIME: _time,
    Kind.SPAN: _span,
    Kind.PERCENT: _percent,
    Kind.TRUE: lambda given: given if given is True else None,
    Kind.UNKNOWN: lambda given: OnUnknown(given) if given in list(OnUnknown) else None,
    Kind.CERTIFIED: lambda given: (CERTIFIED,) if given == CERTIFIED else None,
}
