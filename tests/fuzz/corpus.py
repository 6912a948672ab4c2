"""The events to damage: captured ones, run by run."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.bench.replay import families


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The bytes of each run's events, and all keys of their JSON objects."""

    runs: tuple[tuple[bytes, ...], ...]
    keys: tuple[str, ...]


@cache
def corpus() -> Corpus:
    """Return all captured events. Raises FileNotFoundError, with the step to take, when there are none."""
    runs: dict[tuple[str, str], list[bytes]] = {}
    keys: set[str] = set()

    def noted(json_object: dict[str, Any]) -> dict[str, Any]:
        keys.update(json_object)
        return json_object

    for family in families():
        for raw in family.events:
            event = json.loads(raw, object_hook=noted)
            runs.setdefault((family.name, event["run"]["runId"]), []).append(raw)
    return Corpus(runs=tuple(tuple(events) for events in runs.values()), keys=tuple(sorted(keys)))
