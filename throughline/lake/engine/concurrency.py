"""Run independent parts of a step in parallel: while the engine plans one, it runs another."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from throughline.lake.engine.port import Engine

T = TypeVar("T")


def together(engine: Engine, *works: Callable[[], T]) -> tuple[T, ...]:
    """The result of each, in their order. Raises the first error in that order, or the exception that stopped the
    waiting (Ctrl-C), but only after all have ended: none continues to write afterwards.

    At most one of them may use `arrow.stream`: the rows per batch are a setting of the whole session.
    """
    with ThreadPoolExecutor(len(works)) as pool:
        futures = [pool.submit(engine.in_thread(work)) for work in works]
        return tuple(future.result() for future in futures)
