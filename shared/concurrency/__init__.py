"""Run work in parallel, share one execution between callers, and serialise work by key. Imports nothing of ours."""

from shared.concurrency.parallel_map import ParallelMap
from shared.concurrency.single_flight import KeyedLock, SingleFlight

__all__ = [
    "KeyedLock",
    "ParallelMap",
    "SingleFlight",
]
