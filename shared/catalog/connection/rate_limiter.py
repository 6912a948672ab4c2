"""Limit the rate of calls to the catalog by a token bucket, to stay below the account's own limit.

The tokens of one second may be used at once; after that each call waits for the next token. A pause that the catalog
asks for (Retry-After) delays all calls through the same bucket.
"""

import math
import threading
import time
from collections.abc import Callable


class RateLimiter:
    """Tokens for calls: `rate` a second (0: no limit). `clock` is a monotonic clock in seconds; `sleep` is used for all
    waiting, also by callers.
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
        """No call gets a token for so many seconds."""
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
