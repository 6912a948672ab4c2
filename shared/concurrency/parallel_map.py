"""Map a function over items by a few threads: most of a call to storage is waiting."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

From = TypeVar("From")
To = TypeVar("To")

_CHUNK = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelMap:
    """Makes `at_once` calls in parallel, without threads if that is 1. `beat` is called regularly, to renew a lease."""

    at_once: int = 1
    beat: Callable[[], object] = lambda: None

    def each(self, act: Callable[[From], To], items: Iterable[From]) -> Iterator[To]:
        """The results of `act` for each item, in order and lazily; at most a chunk of them is computed ahead.

        Raises what `act` raises first; calls of the same chunk are finished before.
        """
        rest = iter(items)
        if self.at_once == 1:
            for item in rest:
                yield act(item)
                self.beat()
            return
        chunk = list(islice(rest, _CHUNK))
        if len(chunk) == 1:  # not worth a thread
            yield act(chunk.pop())
            self.beat()
        if not chunk:
            return
        with ThreadPoolExecutor(self.at_once) as pool:
            while chunk:
                yield from list(pool.map(act, chunk))
                self.beat()
                chunk = list(islice(rest, _CHUNK))

    def all(self, act: Callable[[From], object], items: Iterable[From]) -> None:
        """Call `act` for each item and drop the results."""
        for _ in self.each(act, items):
            pass
