"""Large requests take turns, so that many at once can't use all memory. None is refused for it: a listener that
gets a 429 tries once more and then loses the event.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

LARGE = 4 * 1024 * 1024
"""Bytes of a body, from which on it takes a turn."""
_LARGE_PACKED = 64 * 1024
"""The same for a packed one, which may become a thousand times as large."""
AT_ONCE = 2

_turns = threading.BoundedSemaphore(AT_ONCE)


@contextmanager
def turn_for(body: bytes, encoding: str = "") -> Iterator[None]:
    """Hold one of two places for unpacking, decoding and packing a large body; a small body needs none.

    Threads do such work one after the other anyway, so waiting costs little. Calls to storage are made outside of it.
    """
    if len(body) < (_LARGE_PACKED if encoding else LARGE):
        yield
        return
    with _turns:
        yield
