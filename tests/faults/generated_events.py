"""The events of a history: generated or captured from real jobs, some of them late."""

import gzip
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from shared.naming.names import BUILT_IN, Names
from shared.openlineage.decoding import ENDS, Event, decode
from shared.openlineage.wire import STREAMING
from shared.storage_layout import stored
from shared.translation.run.application import NO_APPLICATION_FACTS, application_facts_of
from shared.translation.run.columns import merge_run
from tests.bench.replay import families, moved
from tests.faults.simulation import EPOCH
from tests.faults.task_histories import (
    UNUSABLE_NAMES,
    spoiling_event,
    stream_events,
    unusable_run,
    with_schemas,
    with_tasks,
)
from tests.faults.world import blob_of
from tests.support.events import run_id
from tests.support.histories import history
from tests.support.plans_alone import with_plans_alone

_LONGEST = 34
"""The number of captured events in one history."""

_BELOW_TASKS, _WITH_SCHEMAS, _UNUSABLE, _STRAY, _REDACTED, _CLOSED = 0.4, 0.15, 0.12, 0.12, 0.12, 0.15
_STREAMS, _PLANS_ALONE = 0.15, 0.25
_STRAGGLERS = 0.3
"""The shares of seeds with each change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The events that are sent in a history, in the order of their times, and what it asks of its world.

    `names`: the naming rules, by which some runs may be unusable; `stray`: blobs that no receiver wrote; `redact`:
    whether redaction is on; `alternate`: whether two processes take turns, so that the caches of one grow old;
    `is_closed`: whether runs are closed and archived; `stragglers`: the events that are sent hours later then;
    `has_streams`: whether streams run beside the jobs; `has_plans_alone`: whether plans came without a run of the
    listener.
    """

    bodies: list[bytes]
    names: Names = BUILT_IN
    stray: tuple[tuple[str, bytes], ...] = ()
    redact: bool = False
    alternate: bool = False
    has_tasks: bool = False
    is_closed: bool = False
    stragglers: frozenset[bytes] = frozenset()
    has_streams: bool = False
    has_plans_alone: bool = False

    @property
    def kinds(self) -> Counter[str]:
        """What is special about it, for figures."""
        special = {
            "with tasks": self.has_tasks,
            "with unusable runs": self.names is not BUILT_IN,
            "with stray blobs": bool(self.stray),
            "with redaction": self.redact,
            "by processes in turn": self.alternate,
            "with runs that are closed": self.is_closed,
            "with streams": self.has_streams,
            "with plans alone": self.has_plans_alone,
        }
        return Counter(kind for kind, is_so in special.items() if is_so)


def history_of(seed: int) -> History:
    """Return this seed's history: the events of `events_of`, in a share of all seeds changed and added to."""
    draw = random.Random(f"changes {seed}")
    bodies = events_of(seed)
    if not bodies:
        return History(bodies=[])
    names, alternate, has_tasks = BUILT_IN, False, draw.random() < _BELOW_TASKS
    if draw.random() < _WITH_SCHEMAS:
        bodies, alternate = with_schemas(bodies, draw), True
    if has_tasks:
        bodies = with_tasks(bodies, draw)
    if draw.random() < _UNUSABLE:
        names = UNUSABLE_NAMES
        bodies += [body for _ in range(draw.choice((1, 1, 2))) for body in unusable_run(bodies, draw)]
    stray = tuple(_stray(draw, bodies) for _ in range(draw.choice((1, 2)))) if draw.random() < _STRAY else ()
    redact = draw.random() < _REDACTED
    is_closed = draw.random() < _CLOSED
    if names is not BUILT_IN and draw.random() < 0.5:
        bodies.append(spoiling_event(bodies, draw))
    stream_random = random.Random(f"streams {seed}")
    has_streams = stream_random.random() < _STREAMS
    if has_streams:
        bodies = [*bodies, *stream_events(bodies, stream_random)]
    plan_random = random.Random(f"plans {seed}")
    has_plans_alone = plan_random.random() < _PLANS_ALONE
    if has_plans_alone:
        bodies = with_plans_alone(bodies, plan_random)
    return History(
        bodies=sorted(bodies, key=lambda body: decode(body).time),
        names=names,
        stray=stray,
        redact=redact,
        alternate=alternate,
        has_tasks=has_tasks,
        has_streams=has_streams,
        has_plans_alone=has_plans_alone,
        is_closed=is_closed,
        stragglers=_stragglers(bodies, draw) if is_closed else frozenset(),
    )


def _stragglers(bodies: Sequence[bytes], draw: random.Random) -> frozenset[bytes]:
    """Return a share of the events: of runs that change nothing for others, since these are not translated again once
    they are closed, and of applications whose own events do not lie in a task's partition, where they are forgotten.
    Of runs that end at once, so that one may have the plan of another, only the plan of a pair is among them.
    """
    by_run: dict[str, dict[bytes, Event]] = {}
    homes: dict[str, set[str]] = {}
    for body in bodies:
        event = decode(body)
        by_run.setdefault(event.run_id, {})[body] = event
        homes.setdefault(event.run_id, set()).add(stored(event, "").application)
    applications = set().union(*homes.values())
    stragglers: set[bytes] = set()
    runs = {name: merge_run(list(events.values())) for name, events in by_run.items()}
    at_once = Counter((run.application_run, run.last) for run in runs.values())
    with_plan = {(run.application_run, run.last) for run in runs.values() if run.plan_execution is not None}
    for name, events in by_run.items():
        run = runs[name]
        end = run.application_run, run.last
        if end in with_plan and not (run.plan_execution is not None and at_once[end] <= 2):
            continue
        concerns_others = application_facts_of(run) != NO_APPLICATION_FACTS or run.processing_type.upper() == STREAMING
        is_whole = len(homes[name]) == 1 and all(homes.get(home, {home}) == {home} for home in homes[name])
        if is_whole and name not in applications and not concerns_others:
            stragglers |= {body for body in events if draw.random() < _STRAGGLERS}
    return frozenset(stragglers)


def _stray(draw: random.Random, bodies: Sequence[bytes]) -> tuple[str, bytes]:
    """Return a blob that no receiver wrote: of a foreign name, or an end of a run with damaged bytes."""
    digest = f"{draw.randrange(16**32):032x}"
    if draw.random() < 0.3:
        return f"copied/{digest}.json.gz", b""
    event = decode(draw.choice([body for body in bodies if b'"COMPLETE"' in body] or bodies))
    run = event.run_id if event.type in ENDS and event.run_id else run_id(digest)
    damaged = (b"", b"{}", gzip.compress(b"{}")[:-3], gzip.compress(b"no JSON"))
    return blob_of(run, event.time, "COMPLETE", digest), draw.choice(damaged)


def events_of(seed: int) -> list[bytes]:
    """Return the events of this seed, in the order of their times, around the history's start."""
    draw = random.Random(f"material {seed}")
    if draw.random() < 0.5:
        bodies = history(seed, longest=9)
    else:
        bodies = [body for _ in range(draw.choice((1, 1, 2))) for body in _captured(draw)]
        bodies += [body for _ in range(draw.choice((0, 0, 1, 2))) for body in _late(draw, bodies)]
    return _shifted(bodies, EPOCH + timedelta(minutes=draw.uniform(-300, 0)))


@cache
def _decoded_times(name: str) -> tuple[datetime, ...]:
    family = next(family for family in families() if family.name == name)
    return tuple(decode(raw).time for raw in family.events)


def _captured(draw: random.Random) -> list[bytes]:
    """Return consecutive events of a captured scenario, since related events are neighbours."""
    family = draw.choice(families())
    order = sorted(range(len(family.events)), key=_decoded_times(family.name).__getitem__)
    length = draw.randint(4, _LONGEST)
    begin = draw.randrange(max(1, len(order) - length))
    return [family.events[index] for index in order[begin : begin + length] if len(family.events[index]) < 100_000]


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
    return [moved(bodies[index], shift) for index in order]
