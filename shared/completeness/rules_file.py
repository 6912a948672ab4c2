"""The file of rules for the score, TOML: parsed, or refused with every mistake in it, each with its line.

[completeness]
fresh_within = "24h"             # or "7d"

[completeness.weights]           # only their ratio counts
description = 0.3
columns = 0.3
column_descriptions = 0.2
owner = 0.1
tags = 0.1

The rules of `throughline classify` and `check` may stand in the same file: their tables are passed over.
"""

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

from shared.completeness.score import DEFAULT_RULES, DEFAULT_WEIGHTS, Part, ScoreRules

_TABLE, _WEIGHTS, _FRESH = "completeness", "weights", "fresh_within"
_TIME = re.compile(r"([1-9]\d{0,4})([hd])")
MAX_WEIGHT = 1_000_000
OF_OTHERS = frozenset({"classification", "tag", "mask", "declassify", "term", "certified", "policy", "unknown"})
"""Tables and keys of the same file that shared/governance/rules_file reads and checks."""
_HEADER = re.compile(r"\s*\[+\s*([\w.\-]+)")


class WrongScoreRulesError(ValueError):
    """The file of rules has mistakes; the message lists all."""


def parse_score_rules(text: str, place: str) -> ScoreRules:
    """The rules in a file's text, the defaults where it is silent; `place` is its path, for the message.

    Raises WrongScoreRulesError.
    """
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise WrongScoreRulesError(f"{place} is not valid TOML: {error}. Correct that place first") from error
    reader = _Reader(text)
    rules = reader.rules(document)
    if reader.mistakes:
        found = "\n".join(f"  - line {line}: {what}" for line, what in sorted(reader.mistakes))
        number = len(reader.mistakes)
        raise WrongScoreRulesError(f"{place} has {number} mistake{'s' if number > 1 else ''}:\n{found}")
    return rules


class _Reader:
    """Reads the document and collects its mistakes, each with its line."""

    def __init__(self, text: str) -> None:
        self.mistakes: list[tuple[int, str]] = []
        self._lines = list(enumerate(text.splitlines(), start=1))
        self._own = [(number, line) for number, line, table in _with_tables(self._lines) if table == _TABLE]

    def rules(self, document: Mapping[str, Any]) -> ScoreRules:
        self._unknown({key: value for key, value in document.items() if key not in OF_OTHERS}, (_TABLE,))
        table = self._table(document, _TABLE)
        self._unknown(table, (_WEIGHTS, _FRESH))
        fresh = DEFAULT_RULES.fresh_within
        if _FRESH in table:
            fresh = self._time(table[_FRESH])
        return ScoreRules(weights=self._weights(table), fresh_within=fresh)

    def _weights(self, table: Mapping[str, Any]) -> Mapping[Part, float]:
        if _WEIGHTS not in table:
            return DEFAULT_WEIGHTS
        found = self._table(table, _WEIGHTS)
        self._unknown(found, tuple(map(str, Part)))
        weights = {part: self._weight(part, found[part]) for part in Part if part in found}
        if found and not self.mistakes and not sum(weights.values()):
            self._wrong(_WEIGHTS, "all weights are 0: give at least one part a weight")
        return weights or DEFAULT_WEIGHTS

    def _weight(self, part: Part, value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or not 0 <= value <= MAX_WEIGHT:
            self._wrong(part, f"the weight of {part} is {value!r}: use a number from 0 to {MAX_WEIGHT:,}")
            return 0.0
        return float(value)

    def _time(self, value: Any) -> timedelta:
        parts = _TIME.fullmatch(value) if isinstance(value, str) else None
        if parts is None:
            self._wrong(_FRESH, f'{_FRESH} is {value!r}: use hours or days, as "24h" or "7d"')
            return DEFAULT_RULES.fresh_within
        return timedelta(hours=int(parts[1]) * (24 if parts[2] == "d" else 1))

    def _table(self, document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        found = document.get(name, {})
        if not isinstance(found, dict):
            self._wrong(name, f"{name} must be a table")
            return {}
        return found

    def _unknown(self, table: Mapping[str, Any], known: Iterable[str]) -> None:
        for key in sorted(table.keys() - set(known)):
            near = get_close_matches(key, list(known), n=1)
            self._wrong(key, f"unknown key {key!r}" + (f"; did you mean {near[0]!r}?" if near else ""))

    def _wrong(self, key: str, what: str) -> None:
        """A mistake at the first line that begins with the key or a table of this name, in the file's own tables if it
        stands there: a key stands there once.
        """
        form = re.compile(rf"\s*(\[+[^#]*?)?[\"']?\b{re.escape(key)}\b[\"']?\s*[.=\]]")
        line = next((at for at, text in (*self._own, *self._lines) if form.match(text)), 1)
        self.mistakes.append((line, what))


def _with_tables(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Each line with the first part of the name of the table in which it stands, empty before the first table."""
    table = ""
    for number, line in lines:
        if header := _HEADER.match(line):
            table = header[1].partition(".")[0]
        yield number, line, table
