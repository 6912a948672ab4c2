"""A cache of recently read event blobs: a run's end comes soon after its start, and needs both.

A blob's name is made of its content and it is never overwritten, so a cached blob is never stale.
"""

import threading
from collections import OrderedDict

_MOST_BYTES = 32 * 1024 * 1024
_LARGEST = 256 * 1024


class BlobCache:
    """Packed events by digest: as many of the latest as fit into 32 MiB. For all threads of a process."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._size = 0
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, digest: str, packed: bytes) -> None:
        """Remember one, unless it is large."""
        if len(packed) > _LARGEST:
            return
        with self._lock:
            self._size += len(packed) - len(self._held.pop(digest, b""))
            self._held[digest] = packed
            while self._size > self._most:
                self._size -= len(self._held.popitem(last=False)[1])

    def get(self, digest: str) -> bytes | None:
        """The packed event, if it is cached."""
        with self._lock:
            return self._held.get(digest)
