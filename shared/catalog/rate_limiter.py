"""How fast the catalog is called: a bucket of turns that fills at a rate, so that the account's own limit is not met.

A second's turns may be taken at once; after that each call waits for the next one. What the catalog itself asks for
(Retry-After) holds up everybody who calls through the same bucket, not only the call that was told.
"""

import math
import threading
import time
from collections.abc import Callable


class RateLimiter:
    """Turns for calls: `rate` of them in a second (0: as many as are asked for). `clock` counts seconds and is never
    set back; `sleep` is how all waiting is done, that of whoever calls too.
    """

    def __init__(
        self,
        rate: float = 0,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = rate or math.inf
        self._most = max(1.0, rate)
        self._clock = clock
        self.sleep = sleep
        self._lock = threading.Lock()
        self._turns = self._most
        self._counted = clock()
        self._held_until = -math.inf

    def take(self, longest: float) -> float:
        """Wait for a turn: 0 once it is there. Where that would take longer than `longest` nothing is waited for and no
        turn is taken: the seconds that it would take.
        """
        wait = self._reserve(longest)
        if wait > longest:
            return wait
        if wait > 0:
            self.sleep(wait)
        return 0.0

    def hold(self, seconds: float) -> None:
        """Nobody gets a turn for so long."""
        with self._lock:
            self._held_until = max(self._held_until, self._clock() + seconds)

    def _reserve(self, longest: float) -> float:
        """The seconds until one's turn, which is taken unless that is too long."""
        with self._lock:
            now = self._clock()
            if self._rate < math.inf:
                self._turns = min(self._most, self._turns + (now - self._counted) * self._rate)
            self._counted = now
            missing = max(0.0, 1 - self._turns) / self._rate
            wait = max(missing, self._held_until - now)
            if wait <= longest and self._rate < math.inf:
                self._turns -= 1
            return wait
