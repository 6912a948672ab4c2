"""What may happen to events on their way: twice, late, never, in any order; by a seed."""

import random
from dataclasses import dataclass

from local.host.blobs.stored import Listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """What may happen to an event, drawn from `seed` and its blob's name: shares (0 to 1) of events that come twice,
    late by up to `lateness` seconds, or never. Events found together come in any order.
    """

    seed: int = 0
    twice: float = 0.0
    late: float = 0.0
    never: float = 0.0
    lateness: float = 0.0

    def deliveries(self, name: str) -> tuple[float, ...]:
        """After how many seconds an event is delivered, each time."""
        draw = random.Random(f"{self.seed} {name}")
        if draw.random() < self.never:
            return ()
        times = 2 if draw.random() < self.twice else 1
        return tuple(draw.uniform(0, self.lateness) if draw.random() < self.late else 0.0 for _ in range(times))

    def shuffled(self, blobs: list[Listed]) -> list[Listed]:
        """The same blobs in an order of their own."""
        return random.Random(f"{self.seed} {len(blobs)}").sample(blobs, len(blobs))
