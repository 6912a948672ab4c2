"""Plans in events, as text in which the facts of a machine can be replaced, and packed again."""

import base64
import gzip
import json
from collections.abc import Callable


def unpacked(events: str) -> str:
    """The events, one a line, with each plan's document in the place of its packed form."""
    return _with_plans(events, lambda plan: gzip.decompress(base64.b64decode(plan)).decode())


def packed(events: str) -> str:
    """The events with each document packed: the same bytes each time."""
    return _with_plans(events, lambda plan: base64.b64encode(gzip.compress(plan.encode(), mtime=0)).decode())


def _with_plans(events: str, change: Callable[[str], str]) -> str:
    lines = []
    for line in events.splitlines():
        event = json.loads(line)
        facet = event["run"]["facets"]["throughline_plan"]
        if "plan" in facet:
            facet["plan"] = change(facet["plan"])
        lines.append(json.dumps(event, separators=(",", ":")) + "\n")
    return "".join(lines)
