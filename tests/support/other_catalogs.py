"""Catalogs that are not the one that lineage was written to."""

from tests.support.memory_catalog import MemoryCatalog
from throughline.local.catalog.store import Store


def catalog_with_other_guids() -> MemoryCatalog:
    """Return an empty catalog whose guids differ from those of all other catalogs."""
    return MemoryCatalog(Store())
