"""Calls take a bounded number of things: split them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

_T = TypeVar("_T")
_Answer = TypeVar("_Answer")


def batches(things: Iterable[_T], size: int) -> Iterator[Sequence[_T]]:
    """Split into batches of this size; the last one may be smaller."""
    each = iter(things)
    while batch := tuple(islice(each, size)):
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
