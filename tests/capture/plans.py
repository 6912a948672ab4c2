"""Unpack the plans in events into text, so that a machine's facts can be replaced, and pack them again."""

import base64
import gzip
import json
from collections.abc import Callable


def unpacked(events: str) -> str:
    """Return the events, one per line, with each plan's document instead of its packed form."""
    return _with_plans(events, lambda plan: gzip.decompress(base64.b64decode(plan)).decode())


def packed(events: str) -> str:
    """Return the events with each document packed, always into the same bytes."""
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
