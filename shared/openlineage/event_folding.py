"""Drop redundant events of a run: fewer events that merge to the same run."""

from collections.abc import Iterable
from datetime import datetime

import msgspec
from msgspec.structs import replace

from shared.openlineage.decoding import Event
from shared.openlineage.wire import Dataset

_Place = tuple[datetime, str, str]


def fold(events: Iterable[Event]) -> tuple[Event, ...]:
    """Keep the first and the last of events with equal content: `merge(fold(events)) == merge(events)`, and
    `fold((*fold(some), *others)) == fold((*some, *others))`.

    Merging takes unions and the first or last value, so equal events in between add nothing. Statistics of what was
    read and written so far do not count as content.
    """
    ends: dict[bytes, tuple[Event, Event]] = {}
    for event in events:
        content = _content(event)
        first, last = ends.get(content, (event, event))
        ends[content] = event if _before(event, first) else first, event if _before(last, event) else last
    kept = {_place(event): event for pair in ends.values() for event in pair}
    return tuple(kept[place] for place in sorted(kept))


def _content(event: Event) -> bytes:
    """An event without its time and statistics."""
    body = event.body
    if body is not None:
        body = replace(body, event_time="", inputs=_plain(body.inputs), outputs=_plain(body.outputs))
    return msgspec.json.encode((event.type, body, event.omitted))


def _plain(datasets: tuple[Dataset, ...] | None) -> tuple[Dataset, ...] | None:
    if datasets is None:
        return None
    return tuple(replace(each, input_facets=None, output_facets=None) for each in datasets)


def _before(one: Event, other: Event) -> bool:
    """Whether `one` comes first in the order in which events are merged."""
    return one.time < other.time or (one.time == other.time and one is not other and _place(one) < _place(other))


def _place(event: Event) -> _Place:
    return event.time, event.type, repr(event.body)
