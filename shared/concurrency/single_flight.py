"""Threads of one process that would do the same work at the same time: one does it, and the others need not.

Nothing depends on it: whoever works in another process meets the same rows, and the rules there decide. It only saves
what would be done twice.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from zlib import crc32

_LOCKS = 256


class SingleFlight:
    """Work that is done once for all who ask for it: who asks while it is being done leaves it to whoever is at it."""

    def __init__(self) -> None:
        self._at_it = threading.Lock()
        self._asked = False

    def run(self, work: Callable[[], object]) -> None:
        """Have `work` be done once more after this was called, here or by another thread. Raises what it raises."""
        self._asked = True  # before the lock is tried: whoever holds it looks once more after letting it go
        while self._asked and self._at_it.acquire(blocking=False):
            try:
                self._asked = False
                work()
            finally:
                self._at_it.release()


class KeyedLock:
    """Work on the same thing by one thread at a time; a thread works on one thing only."""

    def __init__(self) -> None:
        self._locks = tuple(threading.Lock() for _ in range(_LOCKS))

    @contextmanager
    def at(self, key: str) -> Iterator[None]:
        """Wait until nobody else is at it. Two keys may share a lock."""
        with self._locks[crc32(key.encode()) % _LOCKS]:
            yield
