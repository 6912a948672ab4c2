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

__all__ = [
    "PLACED",
    "PROCESS_ATTRIBUTES",
    "PROCESS_TYPE",
    "AssetEntity",
    "ProcessEntity",
    "asset_entity",
    "column_mapping",
    "process_entity",
]
