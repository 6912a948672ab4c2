"""Helpers for tests of backfill."""

from shared.atlas.entities import AssetEntity
from shared.catalog.memory import MemoryCatalog


def another() -> MemoryCatalog:
    """An empty catalog whose guids are not those of any other here."""
    catalog = MemoryCatalog()
    made = [AssetEntity(type="x", qualified_name=str(each), attributes=(("name", "x"),)) for each in range(500)]
    catalog.remove(list(catalog.create_assets(made).values()))
    return catalog
