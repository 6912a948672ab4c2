"""One document of lineage with the history of two: the page marks what changed between them."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from msgspec import structs

from shared.lineage.days.difference import KEYS, Numbering, moved
from shared.lineage.document import NOT_SET, Edge, LineageDocument

_MOMENT = timedelta(milliseconds=1)
"""The page has times in milliseconds."""


def end_of(day: date) -> datetime:
    """The last moment of a day in UTC: a document of two days has the earlier one's lineage then."""
    return datetime.combine(day + timedelta(days=1), time(), tzinfo=UTC) - _MOMENT


def of_two_days(earlier: LineageDocument, later: LineageDocument, day: date) -> LineageDocument:
    """The later document with history: flows and edges that only the earlier one has end with its day, those that only
    the later one has begin then. Data sets, columns and processes of both are in it.
    """
    since = end_of(day) + _MOMENT
    times = tuple(sorted({*earlier.times, *later.times, since}))
    places = {time: place for place, time in enumerate(times)}
    former, latter = (
        {"times": {number: places[time] for number, time in enumerate(document.times)}} for document in (earlier, later)
    )
    parts: dict[str, Any] = {"times": times}
    for part in ("datasets", "columns", "processes"):
        parts[part] = tuple(_united(part, earlier, later, former, latter))
    change = places[since]
    for part in ("flows", "edges"):
        before, now = (
            {_identity(link): link for link in moved(document, part, numbering) if link.valid_to == NOT_SET}
            for document, numbering in ((earlier, former), (later, latter))
        )
        began = (link if name in before else structs.replace(link, valid_from=change) for name, link in now.items())
        ended = (structs.replace(link, valid_to=change) for name, link in before.items() if name not in now)
        parts[part] = tuple(sorted((*began, *ended)))
    return structs.replace(later, history=True, **parts)


def _united(
    part: str, earlier: LineageDocument, later: LineageDocument, former: Numbering, latter: Numbering
) -> Iterator[Any]:
    """The items of the later document, then those that only the earlier one has; puts in the numbers of both."""
    items, key = moved(later, part, latter), KEYS[part]
    places = {key(item): place for place, item in enumerate(items)}
    latter[part] = {place: place for place in range(len(items))}
    yield from items
    moved_before = moved(earlier, part, former)
    for item in moved_before:
        if key(item) not in places:
            places[key(item)] = len(places)
            yield item
    former[part] = {number: places[key(item)] for number, item in enumerate(moved_before)}


def _identity(link: Any) -> tuple[Any, ...]:
    """A flow by its process and ends; an edge also by its kind, whose change ends one and begins one."""
    ends = (link.process, link.input, link.output)
    return (*ends, link.kind, link.masked) if isinstance(link, Edge) else ends
