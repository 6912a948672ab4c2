"""Faults in the delivery of events, by a seed: duplicates, delays, losses, any order."""

import random
from dataclasses import dataclass

from throughline.local.host.storage import Listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """The faults of events, drawn from `seed` and the blob's name.

    Shares (0 to 1) of events are delivered twice, late by up to `lateness` seconds, or never. Events that are found
    together are delivered in any order.
    """

    seed: int = 0
    twice: float = 0.0
    late: float = 0.0
    never: float = 0.0
    lateness: float = 0.0

    def deliveries(self, name: str) -> tuple[float, ...]:
        """Return the delays in seconds of an event's deliveries."""
        draw = random.Random(f"{self.seed} {name}")
        if draw.random() < self.never:
            return ()
        times = 2 if draw.random() < self.twice else 1
        return tuple(draw.uniform(0, self.lateness) if draw.random() < self.late else 0.0 for _ in range(times))

    def shuffled(self, blobs: list[Listed]) -> list[Listed]:
        """Return the blobs in a random order."""
        return random.Random(f"{self.seed} {len(blobs)}").sample(blobs, len(blobs))
