"""The same jobs again and again: once the catalog knows a process, an unchanged run costs it no write."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from bench.replay import Replay, families
from shared.atlas.entities import ProcessEntity
from shared.catalog.memory import MemoryCatalog
from shared.catalog.port import AssetKey
from shared.processing.processor import RunProcessor
from shared.publishing.planning.options import PublishOptions
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS, stored_from_blob
from tests.support.publishing import publish
from tests.support.receiving import receive

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
    applications, published = (350, 1000) if request.config.getoption("--proofs") else (120, 340)
    storage, catalog, how = MemoryStorage(), Counting(), PublishOptions()
    replay = Replay(1, [family for family in families() if family.name in SCENARIOS])
    writes: list[int] = []
    for _ in range(applications):
        for item in replay.application():
            receive(storage, item.raw, most_bytes=1_000_000)
            if item.kept:
                packed = storage.get(EVENTS, item.blob)
                assert packed
                RunProcessor(storage=storage).receive(stored_from_blob(item.blob), packed)
        publish(storage, catalog, how)
        writes.append(catalog.writes)
    assert set(catalog.written) == set(catalog.processes)
    assert set(catalog.written.values()) == {1}
    assert len(set(writes[2:])) == 1, "once each job has run, nothing is written: no data set either"
    found = status(storage)
    assert found.reconciles
    assert (found.in_progress, found.publish_queue, found.dead) == (0, 0, 0)
    assert found.published >= published, "these wrote something"
