"""Progress of long reading."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
Progress = Callable[[str, int], None]
"""Called with the name of what is being read and how many more rows or blobs of it were read."""

_STEP = 500


def no_progress(_name: str, _number: int) -> None:
    """Report nothing."""


def counted(progress: Progress, name: str, items: Iterable[T]) -> Iterator[T]:
    """The same items; calls `progress` every 500 items and at the end."""
    number = 0
    for number, item in enumerate(items, start=1):
        if number % _STEP == 0:
            progress(name, _STEP)
        yield item
    progress(name, number % _STEP)
