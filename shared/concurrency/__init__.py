"""Run work in parallel, share one execution between callers, and serialise work by key. Imports nothing of ours."""

from shared.concurrency.parallel_map import SideBySide
from shared.concurrency.single_flight import OneByOne, OneForAll

__all__ = [
    "OneByOne",
    "OneForAll",
    "SideBySide",
]
