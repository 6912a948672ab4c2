"""Helpers for tests of asset resolution."""

from collections.abc import Iterable

from shared.catalog.port import AssetKey, HeldAsset, Node
from shared.errors import CatalogUnavailable
from shared.storage.memory import MemoryStorage
from tests.support.building import IDENTITY, body, dataset, lineage, packed, source
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import fold

LAKE = "abfss://raw@acct.dfs.core.windows.net"

PATH, SET = "azure_datalake_gen2_path", "azure_datalake_gen2_resource_set"

ROOT = "https://acct.dfs.core.windows.net/raw"

A, B, OUT = (PATH, f"{ROOT}/a"), (PATH, f"{ROOT}/b"), (PATH, f"{ROOT}/out")


class Counting(MemoryCatalog):
    """A catalog that counts its look-ups and searches."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = self.searches = 0
        self.away = False

    def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:
        self.looks += 1
        if self.away:
            raise CatalogUnavailable("no answer", after=0)
        return super().look_up(keys)

    def search(self, text: str, limit: int = 25) -> tuple[Node, ...]:
        self.searches += 1
        return super().search(text, limit)

    @property
    def asked(self) -> int:
        return self.looks + self.searches


def write(storage: MemoryStorage, job: str, source_name: str, sink: str, *, run: str = "1", minute: float = 0) -> None:
    """Receive and process a run of a job."""
    columns = lineage({"x": [source(source_name, "x", IDENTITY, namespace=LAKE)]})
    run_body = packed(
        body(
            run=f"{job} {run}",
            application=f"application {job} {run}",
            app_name=job,
            minute=minute,
            inputs=[dataset(source_name, LAKE)],
            outputs=[dataset(sink, LAKE, columnLineage=columns)],
        )
    )
    fold(storage, run_body)
