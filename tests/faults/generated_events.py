"""The events of a history: generated or captured from real jobs, some of them late."""

import json
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from bench.replay import families, moved
from shared.openlineage.decoding import decode
from tests.faults.simulation import EPOCH
from tests.support.histories import history

_LONGEST = 34
"""The number of captured events in one history."""


def events_of(seed: int) -> list[bytes]:
    """Return the events of this seed's history, in the order of their times, around the history's start."""
    draw = random.Random(f"material {seed}")
    if draw.random() < 0.5:
        bodies = history(seed, longest=9)
    else:
        bodies = [body for _ in range(draw.choice((1, 1, 2))) for body in _captured(draw)]
        bodies += [body for _ in range(draw.choice((0, 0, 1, 2))) for body in _late(draw, bodies)]
    return _shifted(bodies, EPOCH + timedelta(minutes=draw.uniform(-300, 0)))


@cache
def _decoded_times(name: str) -> tuple[datetime, ...]:
    family = next(each for each in families() if each.name == name)
    return tuple(decode(raw).time for raw in family.events)


def _captured(draw: random.Random) -> list[bytes]:
    """Return consecutive events of a captured scenario, since related events are neighbours."""
    family = draw.choice(families())
    order = sorted(range(len(family.events)), key=_decoded_times(family.name).__getitem__)
    length = draw.randint(4, _LONGEST)
    begin = draw.randrange(max(1, len(order) - length))
    return [family.events[each] for each in order[begin : begin + length] if len(family.events[each]) < 100_000]


def _late(draw: random.Random, bodies: Sequence[bytes]) -> list[bytes]:
    """Return a late end of an ended run: it failed after all, or it ends once more."""
    ends = [body for body in bodies if b'"COMPLETE"' in body]
    if not ends:
        return []
    end: dict[str, Any] = json.loads(draw.choice(ends))
    end["eventType"] = draw.choice(("FAIL", "FAIL", "COMPLETE", "ABORT"))
    end["eventTime"] = (datetime.fromisoformat(end["eventTime"]) + timedelta(seconds=draw.uniform(1, 900))).isoformat()
    return [json.dumps(end).encode()]


def _shifted(bodies: Sequence[bytes], end: datetime) -> list[bytes]:
    """Return the events shifted so that the last one is at this time."""
    times = [decode(body).time for body in bodies]
    shift = end - max(times, default=end)
    order = sorted(range(len(bodies)), key=times.__getitem__)
    return [moved(bodies[each], shift) for each in order]
