"""The same jobs again and again: once the catalog knows a process, an unchanged run costs it no write."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from shared.atlas.entities import ProcessEntity
from shared.catalog.port import AssetKey
from shared.publishing.context import PublishOptions
from shared.storage.memory import MemoryStorage
from tests.bench.replay import Replay, families
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import entries, fold, publish

SCENARIOS = {"spark35-ol1.53/customer_merge", "spark35-ol1.53/customer_master"}


class Counting(MemoryCatalog):
    """Counts how often each process is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: Counter[str] = Counter()

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        self.written.update(process.qualified_name for process in processes)
        return super().write_processes(processes, guids)


def test_hundreds_of_runs_of_unchanged_jobs_write_each_process_once(request: pytest.FixtureRequest) -> None:
    """With `--proofs` a thousand."""
    applications = 350 if request.config.getoption("--proofs") else 120
    storage, catalog, options = MemoryStorage(), Counting(), PublishOptions()
    replay = Replay(1, [family for family in families() if family.name in SCENARIOS])
    writes: list[int] = []
    for _ in range(applications):
        for item in replay.application():
            if item.kept:
                fold(storage, item.raw)
        publish(storage, catalog, options)
        writes.append(catalog.writes)
    assert set(catalog.written) == set(catalog.processes)
    assert set(catalog.written.values()) == {1}
    assert len(set(writes[2:])) == 1, "once each job has run, nothing is written: no data set either"
    assert entries(storage) == ()
