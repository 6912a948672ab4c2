"""Lineage -> Atlas entities. Pure: plain values; `shared.catalog` makes a client's objects of them."""

from shared.atlas.column_lineage import (
    COLUMN_TYPE,
    COLUMNS_OF_ASSET,
    STEP_TYPE,
    STEPS_OF_PROCESS,
    OwnColumn,
    OwnLineage,
    OwnStep,
    column_lineage,
    own_column,
)
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
from shared.atlas.managed import MANAGED, ORIGIN_WORDS, managed_attributes
from shared.atlas.types import Action, TypeChange, type_changes, wanted_types
from shared.translation import OURS

__all__ = [
    "COLUMNS_OF_ASSET",
    "COLUMN_TYPE",
    "LAST_RUN",
    "MANAGED",
    "ORIGIN_WORDS",
    "OURS",
    "PART_TYPES",
    "PLACED",
    "PROCESS_ATTRIBUTES",
    "PROCESS_TYPE",
    "SCHEMA_TYPE",
    "STEPS_OF_PROCESS",
    "STEP_TYPE",
    "Action",
    "AssetEntity",
    "ColumnEntity",
    "OwnColumn",
    "OwnLineage",
    "OwnStep",
    "ProcessEntity",
    "TypeChange",
    "asset_entity",
    "column_entities",
    "column_lineage",
    "column_mapping",
    "column_rule",
    "managed_attributes",
    "own_column",
    "process_entity",
    "schema_name",
    "type_changes",
    "wanted_types",
    "weight",
]
