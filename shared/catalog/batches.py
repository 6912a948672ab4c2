"""Calls take a bounded number of things: split them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

_T = TypeVar("_T")
_Answer = TypeVar("_Answer")

MOST_GUIDS = 100
"""Guids in one address, 4 KB: gateways cut off or refuse addresses from 8 KiB on."""


def calls_for_guids(guids: int) -> int:
    """The calls that so many guids take."""
    return -(-guids // MOST_GUIDS)


def batches(things: Iterable[_T], most: int, weigh: Callable[[_T], int] = lambda _: 1) -> Iterator[Sequence[_T]]:
    """Split into batches whose weights sum up to `most` or less; a thing that is heavier is alone."""
    batch: list[_T] = []
    held = 0
    for each in things:
        heavy = weigh(each)
        if batch and held + heavy > most:
            yield batch
            batch, held = [], 0
        batch.append(each)
        held += heavy
    if batch:
        yield batch


def halved(things: Sequence[_T], ask: Callable[[Sequence[_T]], _Answer | None]) -> Iterator[_Answer]:
    """Ask for things in one call; where the answer is None, for each half of them. Of one thing it is never None."""
    answer = ask(things)
    if answer is not None:
        yield answer
        return
    middle = len(things) // 2
    for half in (things[:middle], things[middle:]):
        yield from halved(half, ask)
