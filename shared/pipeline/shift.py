"""A stretch of work that only one may do at a time: under a lease that is renewed, and not for ever."""

import time
from dataclasses import dataclass, field

from shared.storage import Lease, Storage

_LEASE_SECONDS = 60
_RENEW_AFTER = 20.0
_LONGEST = 180.0
"""Seconds for which one invocation works for all others; the next one, or the sweeper, goes on."""


@dataclass(slots=True, kw_only=True)
class Shift:
    """The lease in hand, and the time since which it is."""

    lease: Lease
    began: float = field(default_factory=time.monotonic)
    renewed: float = field(default_factory=time.monotonic)

    def goes_on(self) -> bool:
        """Whether there is time for the next piece of work; the lease is renewed on the way."""
        now = time.monotonic()
        if now - self.began > _LONGEST:
            return False
        if now - self.renewed > _RENEW_AFTER:
            self.renewed = now
            return self.lease.renew()
        return True


def take_shift(storage: Storage, name: str) -> Shift | None:
    """Begin to work; None when somebody else is at it."""
    lease = storage.lease(name, _LEASE_SECONDS)
    return Shift(lease=lease) if lease else None
