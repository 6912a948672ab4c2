"""Waits: how long a failed piece of work waits before the next attempt, and when calls to the catalog may still take
effect, which keeps a late write from staying. Pure.

A writer may be killed, or a call may get no answer: then nobody knows when, or whether, the call takes effect. Another
publisher waits a few minutes (`until`) and writes the same thing again; if a call of the interrupted write may take
effect even later, it writes once more after that time (`again`).
"""

from datetime import UTC, datetime, timedelta
from zlib import crc32

import msgspec

_MOST_DOUBLINGS = 16
FIRST_DELAY, _LONGEST_DELAY = timedelta(minutes=1), timedelta(hours=6)
_JITTER = 0.25


def delay(attempts: int, key: str, *, first: timedelta = FIRST_DELAY) -> timedelta:
    """The delay after so many failed attempts (0: the first has just failed): `first`, doubled for each, six hours at
    the most, less a share that keeps work that failed together from being repeated together. That share depends on
    `key` and `attempts` alone, so that a run can be repeated exactly.
    """
    whole: timedelta = min(first * 2 ** min(attempts, _MOST_DOUBLINGS), _LONGEST_DELAY)
    return whole * (1 - _JITTER * crc32(f"{key}{attempts}".encode()) / 2**32)


NEVER = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_WAIT = timedelta(minutes=3)
"""How long others wait for a write that has begun; with the sweep that follows it makes four minutes."""


class Landing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`until`: others do not begin a write before. `lands`: no call that has begun takes effect later. `again`: an
    older call may replace what was written last up to then, so it is written once more after that.
    """

    until: datetime = NEVER
    lands: datetime = NEVER
    again: datetime = NEVER

    def begun(self, now: datetime, bound: timedelta) -> "Landing":
        """With a write that begins now, whose calls are over after `bound`."""
        older = max(self.lands, self.again)
        return Landing(
            until=min(now + bound, now + LONGEST_WAIT),
            lands=max(now + bound, older),
            again=older if older > now else NEVER,
        )

    def answered(self, late: datetime = NEVER) -> "Landing":
        """After the last call of a write was answered. `late`: a try of it may take effect up to then."""
        return Landing(lands=max(late, self.again), again=self.again)

    def unanswered(self, now: datetime, call_bound: timedelta) -> "Landing":
        """After a call without an answer, which no other one of its write follows."""
        lands = min(self.lands, now + call_bound)
        return Landing(until=min(lands, now + LONGEST_WAIT), lands=max(lands, self.again), again=self.again)

    def is_open(self, now: datetime) -> bool:
        """Whether a write that has begun is to be waited for."""
        return now < self.until

    def must_repeat(self, now: datetime) -> bool:
        """Whether it is time to write once more what an older call may have replaced."""
        return NEVER < self.again <= now

    @property
    def repetition(self) -> datetime | None:
        """When what was written last is to be written once more, if at all: that time may come during the write."""
        return self.again if self.again > NEVER else None


NOTHING_BEGUN = Landing()
