"""A simulation in which a worker may die at any call to storage or catalog, and workers take turns at random.

It is the simulation of tests/faults with worker deaths as its only faults.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.storage.memory import MemoryStorage
from tests.faults.fault_injection import Rates
from tests.faults.simulation import EPOCH, Scenario, Simulation
from tests.support.memory_catalog import MemoryCatalog

__all__ = ["EPOCH", "Outcome", "simulate_history"]


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The end of a history, with the numbers of workers' `deaths` and `calls`."""

    storage: MemoryStorage
    catalog: MemoryCatalog
    deaths: int
    calls: int
    left_due: int


def simulate_history(
    bodies: Sequence[bytes],
    *,
    seed: int = 0,
    workers: int = 1,
    death: float = 0.0,
    kill_at: tuple[int, str] | None = None,
    duplicates: int = 0,
    storage: type[MemoryStorage] = MemoryStorage,
) -> Outcome:
    """Post these bodies and deliver their blobs in an order drawn by `seed`.

    `death` is the rate of worker deaths; `kill_at` names the only call before or after which a worker dies. `storage`
    may be a kind of store that records calls.
    """
    scenario = Scenario(
        seed=seed,
        workers=workers,
        rates=Rates(death=death),
        at=(kill_at[0], f"death {kill_at[1]}") if kill_at else None,
        span=5.0,
        duplicates=duplicates,
    )
    outcome = Simulation(bodies, scenario, storage=storage).simulate()
    deaths = sum(count for kind, count in outcome.faults.met.items() if kind.startswith("death"))
    return Outcome(
        storage=outcome.storage, catalog=outcome.catalog, deaths=deaths, calls=outcome.calls, left_due=outcome.left_due
    )
