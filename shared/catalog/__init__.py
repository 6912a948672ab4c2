"""The catalog port, and a catalog in memory. The Atlas adapter is imported by `shared.bootstrap` alone."""

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
    "Graph",
    "HeldAsset",
    "HeldProcess",
    "MemoryCatalog",
    "Node",
    "Placeholder",
    "Types",
]
