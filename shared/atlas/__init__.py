"""Lineage -> Atlas entities. Pure: plain values; `shared.catalog` makes a client's objects of them."""

from shared.atlas.entities import (
    PLACED,
    PROCESS_ATTRIBUTES,
    PROCESS_TYPE,
    AssetEntity,
    ProcessEntity,
    asset_entity,
    column_mapping,
    process_entity,
)
from shared.translation import OURS

__all__ = [
    "OURS",
    "PLACED",
    "PROCESS_ATTRIBUTES",
    "PROCESS_TYPE",
    "AssetEntity",
    "ProcessEntity",
    "asset_entity",
    "column_mapping",
    "process_entity",
]
