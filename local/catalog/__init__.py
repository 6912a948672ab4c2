"""A catalog for one machine: the part of Atlas' v2 interface that Throughline uses, on SQLite.

`CatalogServer` runs it as a child process; `python -m local.catalog` runs it by itself.
"""

from local.catalog.server import LOCAL_TOKEN, CatalogServer, CatalogStartError

__all__ = ["LOCAL_TOKEN", "CatalogServer", "CatalogStartError"]
