"""Many small calls to storage, a few at a time: most of such a call is waiting."""

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
    """So many calls `at_once`, one after the other where that is 1; `beat` is called now and then, to hold a lease."""

    at_once: int = 1
    beat: Callable[[], object] = lambda: None

    def each(self, act: Callable[[From], To], items: Iterable[From]) -> Iterator[To]:
        """What `act` gives for each item, in their order, as it is asked for; a few are in hand at a time.

        Raises what `act` raised first; what had been begun by then is done.
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
        """`act` for each item, for what it does."""
        for _ in self.each(act, items):
            pass
