"""Counts the calls to a catalog by verb, by status, and by whether the verb writes."""

from collections import Counter
from typing import Any

from throughline.local.catalog.graph.store import Store

Row = tuple[str, int, bool, int]


class Calls:
    """The counts since the data was created, which are stored, and the counts since this start."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._since_start: Counter[tuple[str, int, bool]] = Counter()

    def count(self, verb: str, status: int, *, writes: bool) -> None:
        """Count one call. `writes`: the verb creates, changes or deletes, even if it failed."""
        self._since_start[verb, status, writes] += 1
        self._store.count_call(verb, status, writes=writes)

    def reset(self) -> None:
        """Reset both counts to zero."""
        self._since_start.clear()
        self._store.forget_calls()

    def to_json(self) -> dict[str, Any]:
        """Return `reads`, `writes`, `by_verb`, `by_outcome`, `entities` (not deleted) and the same `since_start`."""
        blob_cache = [(verb, status, writes, count) for (verb, status, writes), count in self._since_start.items()]
        return _summary(self._store.calls()) | {
            "entities": self._store.count("status = 'ACTIVE'"),
            "since_start": _summary(sorted(blob_cache)),
        }


def _summary(rows: list[Row]) -> dict[str, Any]:
    by_verb: Counter[str] = Counter()
    by_outcome: dict[str, dict[str, int]] = {}
    for verb, status, _, count in rows:
        by_verb[verb] += count
        by_outcome.setdefault(verb, {})[str(status)] = count
    return {
        "reads": sum(count for _, _, writes, count in rows if not writes),
        "writes": sum(count for _, _, writes, count in rows if writes),
        "by_verb": dict(by_verb),
        "by_outcome": by_outcome,
    }
