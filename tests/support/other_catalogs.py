"""Catalogs that are not the one that lineage was written to."""

from shared.atlas.entities import AssetEntity
from shared.catalog.memory import MemoryCatalog


def catalog_with_other_guids() -> MemoryCatalog:
    """Return an empty catalog whose guids differ from those of all other catalogs."""
    catalog = MemoryCatalog()
    asset_entities = [
        AssetEntity(type="x", qualified_name=str(number), attributes=(("name", "x"),)) for number in range(500)
    ]
    catalog.remove(list(catalog.create_assets(asset_entities).values()))
    return catalog
