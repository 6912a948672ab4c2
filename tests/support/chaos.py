"""A world in which every call to storage or catalog may be the last of its worker, and workers take turns by chance.

The world is that of tests/faults, in which much more can go wrong; here workers only die.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.catalog.memory import MemoryCatalog
from shared.storage.memory import MemoryStorage
from tests.faults.fault_injection import Rates
from tests.faults.simulation import EPOCH, Scenario, Simulation

__all__ = ["EPOCH", "Outcome", "live_through"]


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a history ended in, after so many `deaths` of workers and so many `calls` of theirs."""

    storage: MemoryStorage
    catalog: MemoryCatalog
    deaths: int
    calls: int
    left_due: int


def live_through(
    bodies: Sequence[bytes],
    *,
    seed: int = 0,
    workers: int = 1,
    death: float = 0.0,
    kill_at: tuple[int, str] | None = None,
    duplicates: int = 0,
    storage: type[MemoryStorage] = MemoryStorage,
) -> Outcome:
    """Post these bodies and deliver their blobs in an order drawn by `seed`, with so many workers and deaths; `kill_at`
    names the one call before or after which a worker dies. `storage` may be a kind of store that looks on.
    """
    scenario = Scenario(
        seed=seed,
        workers=workers,
        rates=Rates(death=death),
        at=(kill_at[0], f"death {kill_at[1]}") if kill_at else None,
        span=5.0,
        duplicates=duplicates,
    )
    found = Simulation(bodies, scenario, storage=storage).simulate()
    deaths = sum(count for kind, count in found.faults.met.items() if kind.startswith("death"))
    return Outcome(
        storage=found.storage, catalog=found.catalog, deaths=deaths, calls=found.calls, left_due=found.left_due
    )
