"""How often Python looks for garbage in cycles: seldom. What events become has none, and a sixth of the time of
translating went to looking.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_SELDOM = (50_000, 20, 50)


def tune_gc() -> None:
    """Have the garbage collector look seldom, and not at what was there from the start: in a process of ours."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_SELDOM)


@contextmanager
def calm() -> Iterator[None]:
    """Have it look seldom while this lasts, and then as often as before: in a process that others work in too."""
    before = gc.get_threshold()
    gc.set_threshold(*_SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
