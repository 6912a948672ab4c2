"""The catalog port, and a catalog in memory. The Atlas adapter is imported by `shared.bootstrap` alone."""

from shared.catalog.applying import Applied, apply_types
from shared.catalog.clouds import ACCOUNT_PATH, CLOUDS, Cloud, cloud_of
from shared.catalog.dialect import Dialect, dialect_of
from shared.catalog.memory import MemoryCatalog
from shared.catalog.policies import ROLES, has_role, with_role
from shared.catalog.port import (
    Account,
    AssetKey,
    Catalog,
    Collection,
    Graph,
    HeldAsset,
    HeldProcess,
    Node,
    Placeholder,
    Types,
)

__all__ = [
    "ACCOUNT_PATH",
    "CLOUDS",
    "ROLES",
    "Account",
    "Applied",
    "AssetKey",
    "Catalog",
    "Cloud",
    "Collection",
    "Dialect",
    "Graph",
    "HeldAsset",
    "HeldProcess",
    "MemoryCatalog",
    "Node",
    "Placeholder",
    "Types",
    "apply_types",
    "cloud_of",
    "dialect_of",
    "has_role",
    "with_role",
]
