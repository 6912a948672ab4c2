"""A limited session of work under a lease, which only one worker holds at a time."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from shared.storage.port import Lease, Storage

_LEASE_SECONDS = 60
_RENEW_AFTER = 20.0
MAX_SESSION = 180.0
"""Seconds; then the next invocation, or the sweeper, continues the work."""


@dataclass(slots=True, kw_only=True)
class LeaseSession:
    """A lease that is held, and when the session began and the lease was renewed, in seconds of `clock`."""

    lease: Lease
    clock: Callable[[], float]
    began: float
    renewed: float

    def may_continue(self, share: float = 1.0) -> bool:
        """Whether there is time for the next piece of work, which may begin within this `share` of the session; renews
        the lease. False too when the lease was lost.
        """
        now = self.clock()
        if now - self.began > MAX_SESSION * share:
            return False
        if now - self.renewed > _RENEW_AFTER:
            self.renewed = now
            return self.lease.renew()
        return True


def start_session(storage: Storage, name: str, clock: Callable[[], float] = time.monotonic) -> LeaseSession | None:
    """Acquire the lease of this name; None when another worker holds it. `clock` gives monotonic seconds."""
    began = clock()  # before the call: the lease may have begun before its answer came
    lease = storage.lease(name, _LEASE_SECONDS)
    return LeaseSession(lease=lease, clock=clock, began=began, renewed=began) if lease else None
