"""A catalog that refuses entities by their names."""

from collections.abc import Callable, Mapping, Sequence

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused
from tests.support.memory_catalog import MemoryCatalog


def refusal(_: str = "") -> Exception:
    return CatalogRefused(status=400, code="ATLAS-400-00-01A", detail="no")


class RefusingByName(MemoryCatalog):
    """A catalog that refuses entities whose names have this ending.

    `makes` makes its error; `sizes` are the numbers of processes in each call.
    """

    def __init__(self, makes: Callable[[str], Exception] = refusal, *ends: str) -> None:
        super().__init__()
        self.makes = makes
        self.ends = ends
        self.of_assets = True
        self.sizes: list[int] = []
        self.placings = 0

    def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
        self.placings += 1
        if self.of_assets:
            self._look([asset.qualified_name for asset in assets])
        return super().create_assets(assets)

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        self.sizes.append(len(processes))
        self._look([process.qualified_name for process in processes])
        return super().write_processes(processes, guids)

    def _look(self, names: Sequence[str]) -> None:
        if self.ends and any(name.endswith(self.ends) for name in names):
            raise self.makes("")
