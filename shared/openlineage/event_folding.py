"""The events of a run that chatters, folded: fewer events that merge to the same. Pure."""

from collections.abc import Iterable
from datetime import datetime

import msgspec
from msgspec.structs import replace

from shared.openlineage.decoding import Event
from shared.openlineage.wire import Dataset, RunEvent

_Place = tuple[datetime, str, str]


def fold(events: Iterable[Event]) -> tuple[Event, ...]:
    """Of events that say the same at different times, the first and the last: `merge(fold(events)) == merge(events)`,
    and `fold((*fold(some), *others)) == fold((*some, *others))`.

    What is merged is either a union, or what the first or the last event has that says anything of it: whoever says the
    same in between adds nothing. How much was read and written so far is no part of it.
    """
    ends: dict[bytes, tuple[Event, Event]] = {}
    for event in events:
        what = _said(event)
        if what not in ends:
            ends[what] = event, event
            continue
        first, last = ends[what]
        if _before(event, first):
            ends[what] = event, last
        elif _before(last, event):
            ends[what] = first, event
    kept = {_place(event): event for pair in ends.values() for event in pair}
    return tuple(kept[place] for place in sorted(kept))


def _said(event: Event) -> bytes:
    """What an event says, but for its time and for statistics."""
    body = event.body
    if body is None:
        return msgspec.json.encode((event.type, None, event.omitted))
    return msgspec.json.encode((event.type, _without_counts(body), event.omitted))


def _without_counts(body: RunEvent) -> RunEvent:
    return replace(body, event_time="", inputs=_plain(body.inputs), outputs=_plain(body.outputs))


def _plain(datasets: tuple[Dataset, ...] | None) -> tuple[Dataset, ...] | None:
    if datasets is None:
        return None
    return tuple(replace(each, input_facets=None, output_facets=None) for each in datasets)


def _before(one: Event, other: Event) -> bool:
    """Whether it comes first in the order in which events are merged."""
    return one.time < other.time or (one.time == other.time and _place(one) < _place(other))


def _place(event: Event) -> _Place:
    return event.time, event.type, repr(event.body)
