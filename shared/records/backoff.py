"""Backoff: how long a failed piece of work waits before the next attempt. Pure."""

from dataclasses import dataclass
from datetime import timedelta
from zlib import crc32

_MOST_DOUBLINGS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Delays that begin with `first` and double up to `longest`, less a share of up to `jitter` that keeps work that
    failed together from being repeated together.
    """

    first: timedelta = timedelta(minutes=1)
    longest: timedelta = timedelta(hours=6)
    jitter: float = 0.25

    def delay(self, attempts: int, key: str = "") -> timedelta:
        """The delay after so many failed attempts (0: the first has just failed). The jitter depends on `key` and
        `attempts` alone, so that a run can be repeated exactly.
        """
        delay: timedelta = min(self.first * 2 ** min(attempts, _MOST_DOUBLINGS), self.longest)
        return delay * (1 - self.jitter * crc32(f"{key}{attempts}".encode()) / 2**32)
