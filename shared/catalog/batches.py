"""Calls take a bounded number of things: split them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

_T = TypeVar("_T")


def batches(things: Iterable[_T], size: int) -> Iterator[Sequence[_T]]:
    """Split into batches of this size; the last one may be smaller."""
    each = iter(things)
    while batch := tuple(islice(each, size)):
        yield batch
