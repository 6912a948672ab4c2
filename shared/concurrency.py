"""Run work in parallel, share one execution between callers, and serialise work by key. Imports nothing of ours.

Work is mapped by a few threads, because most of a call to storage is waiting.

Single-flight and locks by key, for the threads of one process.

They only save duplicate work. Correctness never depends on them: workers in other processes meet in storage, where
conditional writes decide.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar
from zlib import crc32

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
        remaining_items = iter(items)
        if self.at_once == 1:
            for item in remaining_items:
                yield act(item)
                self.beat()
            return
        chunk = list(islice(remaining_items, _CHUNK))
        if len(chunk) == 1:  # not worth a thread
            yield act(chunk.pop())
            self.beat()
        if not chunk:
            return
        with ThreadPoolExecutor(self.at_once) as pool:
            while chunk:
                yield from list(pool.map(act, chunk))
                self.beat()
                chunk = list(islice(remaining_items, _CHUNK))

    def all(self, act: Callable[[From], object], items: Iterable[From]) -> None:
        """Call `act` for each item and drop the results."""
        for _ in self.each(act, items):
            pass


_LOCKS = 256


class SingleFlight:
    """Single-flight: concurrent callers share one execution."""

    def __init__(self) -> None:
        self._running = threading.Lock()
        self._requested = False

    def run(self, work: Callable[[], object]) -> None:
        """Have `work` run at least once from its beginning after this call, here or in another thread. Raises what it
        raises.
        """
        self._requested = True  # before the lock is tried: its holder checks again after it has released it
        while self._requested and self._running.acquire(blocking=False):
            try:
                self._requested = False
                work()
            finally:
                self._running.release()


class KeyedLock:
    """Lets one thread at a time work on a key. A thread holds one key only, since two keys may share a lock."""

    def __init__(self) -> None:
        self._locks = tuple(threading.Lock() for _ in range(_LOCKS))

    @contextmanager
    def at(self, key: str) -> Iterator[None]:
        """Hold the lock of this key."""
        with self._locks[crc32(key.encode()) % _LOCKS]:
            yield
