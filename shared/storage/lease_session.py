"""A stretch of work that only one may do at a time: under a lease that is renewed, and not for ever."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from shared.storage.port import Lease, Storage

_LEASE_SECONDS = 60
_RENEW_AFTER = 20.0
_LONGEST = 180.0
"""Seconds for which one invocation works for all others; the next one, or the sweeper, goes on."""


@dataclass(slots=True, kw_only=True)
class LeaseSession:
    """The lease in hand, and the time since which it is, by this clock."""

    lease: Lease
    clock: Callable[[], float]
    began: float
    renewed: float

    def may_continue(self) -> bool:
        """Whether there is time for the next piece of work; the lease is renewed on the way."""
        now = self.clock()
        if now - self.began > _LONGEST:
            return False
        if now - self.renewed > _RENEW_AFTER:
            self.renewed = now
            return self.lease.renew()
        return True


def start_session(storage: Storage, name: str, clock: Callable[[], float] = time.monotonic) -> LeaseSession | None:
    """Begin to work; None when somebody else is at it. `clock` counts seconds and is never set back."""
    began = clock()  # before the lease is asked for: it may be older than its answer
    lease = storage.lease(name, _LEASE_SECONDS)
    return LeaseSession(lease=lease, clock=clock, began=began, renewed=began) if lease else None
