"""Parts of a step that do not need one another, worked on side by side: while the engine plans one, it runs another."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from spark_pipeline.engine.port import Engine

T = TypeVar("T")


def together(engine: Engine, *works: Callable[[], T]) -> tuple[T, ...]:
    """What each of these gives, in their order. Raises what the first of them raised that did, or what stopped the
    waiting (Ctrl-C), but only when all have ended: none of them writes on behind the back of whoever comes next.

    No more than one of them may make rows by `arrow.stream`: how many go into a batch is said to the whole session.
    """
    with ThreadPoolExecutor(len(works)) as pool:
        begun = [pool.submit(engine.in_thread(work)) for work in works]
        return tuple(each.result() for each in begun)
