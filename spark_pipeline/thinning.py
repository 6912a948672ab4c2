"""A run with very many events, held in little memory: what an event only repeats is left out before runs are merged.

A merged run is a union, so an event counts only by what is new in it. The last word of a data set on its columns wins,
hence a word is a repetition only when it is the one that was heard last.
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

import msgspec
from msgspec.structs import replace

from shared.openlineage import ENDS, Event

FEW = 256
"""So many events of a run are held as they are."""

MOST = 20_000
"""Events of a run that differ in what counts. A run with more is no job's: a worker must not die of it."""


class TooManyEventsError(Exception):
    """A run has more different events than a worker may hold."""


def thinned(events: Iterable[Event]) -> list[Event]:
    """Events of one run, given by time, that merge to the same. Raises TooManyEventsError."""
    kept: list[Event] = []
    heard: dict[Any, bytes] = {}
    last: Event | None = None
    thin = False
    for event in events:
        if not thin and len(kept) >= FEW:
            thin = True
            for each in sorted(kept, key=attrgetter("time")):
                _new_in(each, heard)
        if not thin:
            kept.append(event)
            continue
        rest = _new_in(event, heard)
        if rest is None:
            last = event if last is None or event.time >= last.time else last
        else:
            kept.append(rest)
            if len(kept) > MOST:
                raise TooManyEventsError(f"more than {MOST} events of one run that differ")
    return [*kept, _bare(last)] if last else kept


def _new_in(event: Event, heard: dict[Any, bytes]) -> Event | None:
    """The event with what was not heard just so before; None when there is nothing."""
    body = event.body
    if body is None:
        return None
    fresh = event.type in ENDS and _unheard(heard, ("end", event.type), b"")
    fresh |= bool(event.omitted) and _unheard(heard, ("omitted", event.omitted), b"")
    sides = {}
    for side in ("inputs", "outputs"):
        datasets = getattr(body, side) or ()
        new = tuple(
            each for each in datasets if _unheard(heard, (side, each.namespace, each.name), _bytes(each.facets))
        )
        sides[side] = new
        fresh |= bool(new)
    rest = _bytes((body.run.facets, body.job))
    fresh |= _unheard(heard, ("facets",), rest)
    return replace(event, body=replace(body, **sides)) if fresh else None


def _unheard(heard: dict[Any, bytes], key: Any, word: bytes) -> bool:
    if heard.get(key) == word:
        return False
    heard[key] = word
    return True


def _bytes(value: Any) -> bytes:
    return msgspec.msgpack.encode(value)


def _bare(event: Event) -> Event:
    """The event without data sets: it tells when the run was heard of last."""
    return replace(event, body=replace(event.body, inputs=None, outputs=None)) if event.body else event
