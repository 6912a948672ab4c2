"""A catalog for one machine: what Throughline uses of Atlas' v2 interface, on SQLite.

`CatalogServer` runs it as a child process; `python -m local.catalog` runs it by itself.
"""

from local.catalog.server import LOCAL_TOKEN, CatalogServer, CatalogStartError

__all__ = ["LOCAL_TOKEN", "CatalogServer", "CatalogStartError"]
