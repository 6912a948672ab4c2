"""A run with very many events, held in little memory: they are folded again and again while they come."""

from collections.abc import Iterable
from itertools import islice

from shared.openlineage.decoding import Event
from shared.openlineage.merging import fold

FEW = 256
"""So many events of a run are held as they are."""

MOST = 20_000
"""Events of a run that differ in what counts. A run with more is no job's: a worker must not die of it."""


class TooManyEventsError(Exception):
    """A run has more different events than a worker may hold."""


def thinned(events: Iterable[Event]) -> list[Event]:
    """Events of one run that merge to the same as these. Raises TooManyEventsError."""
    coming = iter(events)
    kept_events: tuple[Event, ...] = ()
    while True:
        step = max(FEW, len(kept_events))
        waiting = list(islice(coming, step))
        if len(waiting) < step:
            return [*kept_events, *waiting]
        kept_events = fold((*kept_events, *waiting))
        if len(kept_events) > MOST:
            raise TooManyEventsError(f"more than {MOST} events of one run that differ")
