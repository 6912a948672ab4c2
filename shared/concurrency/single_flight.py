"""Single-flight and locks by key, for the threads of one process.

They only save duplicate work. Correctness never depends on them: workers in other processes meet in storage, where
conditional writes decide.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from zlib import crc32

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
