"""The columns of our own assets as entities of Atlas: made, and compared with those that are there.

A column names what holds it; the list of columns is never sent, since an array replaces what was there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from pyapacheatlas.core import AtlasEntity

from shared.atlas.columns import SCHEMA_TYPE, ColumnEntity, column_entities, column_rule, schema_name
from shared.atlas.entities import AssetEntity

_ACTIVE = "ACTIVE"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldColumn:
    """A column that is there, and the type that it has."""

    guid: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChange:
    """Columns that are to be written, and the guids of those that are to go. False when there are none."""

    written: tuple[ColumnEntity, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.written or self.gone)


NO_CHANGE = SchemaChange()


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
    """Columns of an asset that is there, with its schema if it has one."""
    through = column_rule(asset.type).through_schema
    holder = {
        "typeName": SCHEMA_TYPE if through else asset.type,
        "uniqueAttributes": {"qualifiedName": schema_name(asset.qualified_name) if through else asset.qualified_name},
    }
    return [_column(asset, each, holder, str(-number)) for number, each in enumerate(columns, start=1)]


def _column(asset: AssetEntity, column: ColumnEntity, holder: Mapping[str, Any], guid: str) -> AtlasEntity:
    return AtlasEntity(
        name=dict(column.attributes)["name"],
        typeName=column.type,
        qualified_name=column.qualified_name,
        guid=guid,
        attributes=dict(column.attributes),
        relationshipAttributes={column_rule(asset.type).holder: holder},
    )


def _by_guid(entity: AtlasEntity) -> dict[str, str]:
    return {"guid": entity.guid, "typeName": entity.typeName}


def related_ends(entity: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """What an entity is related to by one attribute, without what is only marked as removed."""
    ends = (entity.get("relationshipAttributes") or {}).get(name) or ()
    return [end for end in ends if _is_active(end)]


def _is_active(end: Mapping[str, Any]) -> bool:
    return bool(end.get("relationshipStatus", _ACTIVE) == _ACTIVE and end.get("entityStatus", _ACTIVE) == _ACTIVE)


def schema_of(entity: Mapping[str, Any]) -> tuple[str, ...]:
    """The guid of an asset's tabular schema, which lives on without it; typed columns go with their table."""
    schema = (entity.get("relationshipAttributes") or {}).get("tabular_schema")
    found = schema if isinstance(schema, list) else [schema] if schema else []
    return tuple(str(each["guid"]) for each in found if _is_active(each))


def held_columns(asset: AssetEntity, entities: Iterable[Mapping[str, Any]]) -> dict[str, HeldColumn]:
    """The columns in a catalog's answer, by name."""
    rule = column_rule(asset.type)
    return {
        str(each["attributes"]["name"]): HeldColumn(
            guid=str(each["guid"]), type=str(each["attributes"].get(rule.type_in) or "")
        )
        for each in entities
    }


def schema_change(asset: AssetEntity, held: Mapping[str, HeldColumn]) -> SchemaChange:
    """What is to be written and what is to go, so that an asset has its columns and no others."""
    rule = column_rule(asset.type)
    wanted = column_entities(asset.type, asset.qualified_name, asset.columns)
    names = {dict(each.attributes)["name"] for each in wanted}
    return SchemaChange(
        written=tuple(each for each in wanted if not _is_held(dict(each.attributes), rule.type_in, held)),
        gone=tuple(column.guid for name, column in sorted(held.items()) if name not in names),
    )


def _is_held(attributes: Mapping[str, str], type_in: str, held: Mapping[str, HeldColumn]) -> bool:
    there = held.get(attributes["name"])
    return there is not None and there.type == attributes[type_in]
