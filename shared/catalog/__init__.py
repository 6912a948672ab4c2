"""The catalog port, and a catalog in memory. The Atlas adapter is imported by `shared.bootstrap` alone."""

from shared.catalog.dialect import Dialect, dialect_of
from shared.catalog.memory import MemoryCatalog
from shared.catalog.port import (
    AssetKey,
    Catalog,
    Graph,
    HeldAsset,
    HeldProcess,
    Node,
    Placeholder,
    Types,
)

__all__ = [
    "AssetKey",
    "Catalog",
    "Dialect",
    "Graph",
    "HeldAsset",
    "HeldProcess",
    "MemoryCatalog",
    "Node",
    "Placeholder",
    "Types",
    "dialect_of",
]
