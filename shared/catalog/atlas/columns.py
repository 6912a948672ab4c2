"""The columns of placeholders as entities of Atlas, and column lineage in Atlas' own form.

Columns are made, and compared with those in the catalog. A column refers to its holder; a list of columns is never
sent, since an array replaces the one in the catalog. Column lineage is written after the processes that it belongs to.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from pyapacheatlas.core import AtlasEntity

from shared.atlas.columns import SCHEMA_TYPE, ColumnEntity, column_entities, column_rule, schema_name
from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.atlas.types import (
    COLUMN_TYPE,
    STEP_TYPE,
    STEPS_OF_PROCESS,
    ColumnLineageStep,
    OwnColumn,
    column_lineage,
)
from shared.catalog.atlas.answers import active_ends
from shared.catalog.port import AssetKey, batches
from shared.errors import CatalogUnavailable


def with_columns(assets: Sequence[AssetEntity]) -> list[list[AtlasEntity]]:
    """The entities of each asset: itself first, then its schema and columns; guids are placeholders of one request."""
    numbers = count(1)
    return [_entities(asset, numbers) for asset in assets]


def _entities(asset: AssetEntity, numbers: Iterator[int]) -> list[AtlasEntity]:
    asset_entity = AtlasEntity(
        name=dict(asset.attributes)["name"],
        typeName=asset.type,
        qualified_name=asset.qualified_name,
        guid=str(-next(numbers)),
        attributes=dict(asset.attributes),
        **({} if asset.properties is None else {"customAttributes": dict(asset.properties)}),
    )
    if not asset.columns:
        return [asset_entity]
    entities, holder = [asset_entity], asset_entity
    if column_rule(asset.type).through_schema:
        holder = AtlasEntity(
            name=SCHEMA_TYPE,
            typeName=SCHEMA_TYPE,
            qualified_name=schema_name(asset.qualified_name),
            guid=str(-next(numbers)),
            attributes={},
        )
        asset_entity.relationshipAttributes = {"tabular_schema": _by_guid(holder)}
        entities.append(holder)
    columns = column_entities(asset.type, asset.qualified_name, asset.columns)
    return entities + [_column(asset, column, _by_guid(holder), str(-next(numbers))) for column in columns]


def columns_alone(asset: AssetEntity, columns: Iterable[ColumnEntity]) -> list[AtlasEntity]:
    """Columns for an asset that exists, held by its schema if it has one, else by the asset."""
    through = column_rule(asset.type).through_schema
    holder = {
        "typeName": SCHEMA_TYPE if through else asset.type,
        "uniqueAttributes": {"qualifiedName": schema_name(asset.qualified_name) if through else asset.qualified_name},
    }
    return [_column(asset, column, holder, str(-number)) for number, column in enumerate(columns, start=1)]


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
    return tuple(str(end["guid"]) for end in active_ends(entity, "tabular_schema"))


def schema_change(
    asset: AssetEntity, existing: Iterable[Mapping[str, Any]]
) -> tuple[tuple[ColumnEntity, ...], tuple[str, ...]]:
    """The columns to write, and the guids of those to remove, so that an asset has its columns and no others.
    `existing`: the entities of the columns that it has.
    """
    by_name = {str(entity["attributes"]["name"]): entity for entity in existing}
    columns = {column.name: column for column in column_entities(asset.type, asset.qualified_name, asset.columns)}

    def is_held(column: ColumnEntity) -> bool:
        return column.name in by_name and by_name[column.name]["attributes"].get(column.type_in) == column.data_type

    changed = tuple(column for column in columns.values() if not is_held(column))
    return changed, tuple(str(entity["guid"]) for name, entity in sorted(by_name.items()) if name not in columns)


_MAX_BATCH = 50
"""Entities of a call: Atlas takes 20 s for 1,000."""
_REMOVALS = 4
"""The most calls of one write that remove outdated steps: the time that a write may take is known before it begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """The catalog's calls: create or update (guids by those that were sent, and the new ones), read, remove."""

    upload: Callable[[list[AtlasEntity]], tuple[dict[str, str], frozenset[str]]]
    by_names: Callable[..., dict[AssetKey, dict[str, Any]]]
    remove: Callable[[Sequence[str]], None]


def write_columns(
    catalog: Writes,
    processes: Sequence[ProcessEntity],
    assets: Mapping[AssetKey, str],
    written_guids: Mapping[str, str],
) -> None:
    """Write the columns and steps of these processes, and remove their outdated steps.

    `assets` and `written_guids` are guids: of the assets, and of the processes by qualified name. Columns are sent as
    well where they are known, which is how their guids are learned. Raises as the catalog does.
    """
    lineages = {process.qualified_name: column_lineage(process) for process in processes}
    columns = {column.qualified_name: column for lineage in lineages.values() for column in lineage.columns}
    column_guids = _sent(catalog, {name: _lineage_column(column, assets) for name, column in columns.items()})
    steps = _sent(
        catalog,
        {
            step.qualified_name: _step(step, column_guids, written_guids[name])
            for name, lineage in lineages.items()
            for step in lineage.steps
        },
    )
    existing = catalog.by_names((process.key for process in processes), related=True)
    step_guids = (str(step["guid"]) for entity in existing.values() for step in active_ends(entity, STEPS_OF_PROCESS))
    outdated = [guid for guid in step_guids if guid not in steps.values()]
    for batch in islice(batches(outdated, _MAX_BATCH), _REMOVALS):
        catalog.remove(batch)
    if len(outdated) > _REMOVALS * _MAX_BATCH:
        raise CatalogUnavailable("More columns are to go than one write takes away: it goes on", after=0, blames=False)


def calls_for_columns(processes: Sequence[ProcessEntity]) -> int:
    """The most calls that `write_columns` makes for these, without those that read the processes."""
    lineages = [column_lineage(process) for process in processes]
    columns = {column.qualified_name for lineage in lineages for column in lineage.columns}
    steps = {step.qualified_name for lineage in lineages for step in lineage.steps}
    return sum(-(-len(names) // _MAX_BATCH) for names in (columns, steps)) + _REMOVALS


def _sent(catalog: Writes, entities: Mapping[str, AtlasEntity]) -> dict[str, str]:
    """Send these entities; returns their guids, by the same names."""
    guids: dict[str, str] = {}
    for names in batches(entities, _MAX_BATCH):
        numbered = {str(-number): name for number, name in enumerate(names, start=1)}
        for guid, name in numbered.items():
            entities[name].guid = guid
        uploaded, _ = catalog.upload([entities[name] for name in names])
        if len(uploaded) < len(names):
            raise CatalogUnavailable("Not all columns were taken", after=0)
        guids |= {name: uploaded[guid] for guid, name in numbered.items()}
    return guids


def _lineage_column(column: OwnColumn, assets: Mapping[AssetKey, str]) -> AtlasEntity:
    owner = {"guid": assets[column.asset], "typeName": column.asset[0]}
    return AtlasEntity(
        name=column.name,
        typeName=COLUMN_TYPE,
        qualified_name=column.qualified_name,
        relationshipAttributes={"asset": owner},
    )


def _step(step: ColumnLineageStep, columns: Mapping[str, str], process: str) -> AtlasEntity:
    def reference(name: str) -> dict[str, str]:
        return {"guid": columns[name], "typeName": COLUMN_TYPE}

    return AtlasEntity(
        name=step.name,
        typeName=STEP_TYPE,
        qualified_name=step.qualified_name,
        attributes={"inputs": [reference(name) for name in step.inputs], "outputs": [reference(step.output)]},
        relationshipAttributes={"process": {"guid": process, "typeName": "Process"}},
    )
