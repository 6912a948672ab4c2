"""The columns of placeholders as entities of Atlas: make them, and compare them with those in the catalog.

A column refers to its holder; a list of columns is never sent, since an array replaces the one in the catalog.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from pyapacheatlas.core import AtlasEntity

from shared.atlas.columns import SCHEMA_TYPE, ColumnEntity, column_entities, column_rule, schema_name
from shared.atlas.entities import AssetEntity
from shared.catalog.reading.edges import active_ends


def with_columns(assets: Sequence[AssetEntity]) -> list[list[AtlasEntity]]:
    """The entities of each asset: itself first, then its schema and columns; guids are placeholders of one request."""
    numbers = count(1)
    return [_entities(asset, numbers) for asset in assets]


def _entities(asset: AssetEntity, numbers: Iterator[int]) -> list[AtlasEntity]:
    own = AtlasEntity(
        name=dict(asset.attributes)["name"],
        typeName=asset.type,
        qualified_name=asset.qualified_name,
        guid=str(-next(numbers)),
        attributes=dict(asset.attributes),
    )
    if not asset.columns:
        return [own]
    entities, holder = [own], own
    if column_rule(asset.type).through_schema:
        holder = AtlasEntity(
            name=SCHEMA_TYPE,
            typeName=SCHEMA_TYPE,
            qualified_name=schema_name(asset.qualified_name),
            guid=str(-next(numbers)),
            attributes={},
        )
        own.relationshipAttributes = {"tabular_schema": _by_guid(holder)}
        entities.append(holder)
    columns = column_entities(asset.type, asset.qualified_name, asset.columns)
    return entities + [_column(asset, each, _by_guid(holder), str(-next(numbers))) for each in columns]


def columns_alone(asset: AssetEntity, columns: Iterable[ColumnEntity]) -> list[AtlasEntity]:
    """Columns for an asset that exists, held by its schema if it has one, else by the asset."""
    through = column_rule(asset.type).through_schema
    holder = {
        "typeName": SCHEMA_TYPE if through else asset.type,
        "uniqueAttributes": {"qualifiedName": schema_name(asset.qualified_name) if through else asset.qualified_name},
    }
    return [_column(asset, each, holder, str(-number)) for number, each in enumerate(columns, start=1)]


def _column(asset: AssetEntity, column: ColumnEntity, holder: Mapping[str, Any], guid: str) -> AtlasEntity:
    return AtlasEntity(
        name=column.name,
        typeName=column.type,
        qualified_name=column.qualified_name,
        guid=guid,
        attributes=column.attributes,
        relationshipAttributes={column_rule(asset.type).holder: holder},
    )


def _by_guid(entity: AtlasEntity) -> dict[str, str]:
    return {"guid": entity.guid, "typeName": entity.typeName}


def schema_of(entity: Mapping[str, Any]) -> tuple[str, ...]:
    """The guid of an asset's tabular schema, which lives on without it; typed columns go with their table."""
    return tuple(str(each["guid"]) for each in active_ends(entity, "tabular_schema"))


def schema_change(
    asset: AssetEntity, held: Iterable[Mapping[str, Any]]
) -> tuple[tuple[ColumnEntity, ...], tuple[str, ...]]:
    """The columns to write, and the guids of those to remove, so that an asset has its columns and no others. `held`:
    the entities of the columns that it has.
    """
    there = {str(each["attributes"]["name"]): each for each in held}
    wanted = {each.name: each for each in column_entities(asset.type, asset.qualified_name, asset.columns)}

    def is_held(column: ColumnEntity) -> bool:
        return column.name in there and there[column.name]["attributes"].get(column.type_in) == column.data_type

    written = tuple(each for each in wanted.values() if not is_held(each))
    return written, tuple(str(each["guid"]) for name, each in sorted(there.items()) if name not in wanted)
