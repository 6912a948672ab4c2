"""Lineage -> Atlas entities. Pure: plain values; `shared.catalog` makes a client's objects of them."""

from shared.atlas.columns import (
    PART_TYPES,
    SCHEMA_TYPE,
    ColumnEntity,
    column_entities,
    column_rule,
    schema_name,
    weight,
)
from shared.atlas.entities import (
    LAST_RUN,
    PLACED,
    PROCESS_ATTRIBUTES,
    PROCESS_TYPE,
    AssetEntity,
    ProcessEntity,
    asset_entity,
    column_mapping,
    process_entity,
)
from shared.atlas.types import Action, TypeChange, type_changes, wanted_types
from shared.translation import OURS

__all__ = [
    "LAST_RUN",
    "OURS",
    "PART_TYPES",
    "PLACED",
    "PROCESS_ATTRIBUTES",
    "PROCESS_TYPE",
    "SCHEMA_TYPE",
    "Action",
    "AssetEntity",
    "ColumnEntity",
    "ProcessEntity",
    "TypeChange",
    "asset_entity",
    "column_entities",
    "column_mapping",
    "column_rule",
    "process_entity",
    "schema_name",
    "type_changes",
    "wanted_types",
    "weight",
]
