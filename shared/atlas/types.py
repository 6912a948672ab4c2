"""The types of the entities that Throughline writes, as definitions in Atlas' form, and what a catalog lacks.

Purview has them built in (of `UNCONFIRMED` that is not known); a plain Apache Atlas has few. The definitions have only
the super types, attributes and relationships that are written, by Microsoft's documentation of the built-in types and
public dumps of them. Servers of Atlas 2.1 and 2.5 allow optional attributes to be added to a type, and nothing to be
removed.

Purview's portal shows where a process's job runs as a group of managed attributes, its name for Atlas' business
metadata. Its built-in type of processes takes no further attributes, and its portal shows managed attributes, but not
a user's properties (`customAttributes`).

Column lineage in Atlas' own form is an entity for each column, and a process for each output column.

Atlas' web page does not read `columnMapping`; it draws processes between data sets. So a column is a data set that its
asset owns, and a step is a process that the job's process owns, as in Hive's hook (`hive_column` and
`hive_column_lineage`). Atlas deletes both with their owners.

Pure. The steps show the pairs of the process's `columnMapping`, and so keep within its limit of 32 KB.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import itemgetter
from types import MappingProxyType
from typing import Any

import msgspec

from shared.atlas.columns import COLUMN_RULES, SCHEMA_TYPE, name_within
from shared.atlas.entities import ORIGIN_WORDS, PROCESS_TYPE, ProcessEntity, column_pairs

COLUMN_TYPE = "throughline_column"
STEP_TYPE = "throughline_column_lineage"
COLUMNS_OF_ASSET = "throughlineColumns"
"""A data set's attribute that holds its columns; theirs is `asset`."""
STEPS_OF_PROCESS = "throughlineColumnLineages"
"""A process's attribute that holds its steps; theirs is `process`."""

AssetName = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class OwnColumn:
    """A column, and the type and qualified name of its asset."""

    qualified_name: str
    name: str
    asset: AssetName


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ColumnLineageStep:
    """How one column is made: the qualified names of its input columns, and of itself (`output`).

    Its own qualified name has a digest of these, so a step never changes: another one replaces it.
    """

    qualified_name: str
    name: str
    inputs: tuple[str, ...]
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLineage:
    """The columns that a process reads and writes, and the steps between them: both sorted, without duplicates."""

    columns: tuple[OwnColumn, ...] = ()
    steps: tuple[ColumnLineageStep, ...] = ()


def column_lineage(process: ProcessEntity) -> OwnLineage:
    """A process's column mapping in Atlas' own form."""
    sources = {name: (type_name, name) for type_name, name in reversed(process.inputs)}
    sinks = {name: (type_name, name) for type_name, name in reversed(process.outputs)}
    made_of: dict[OwnColumn, set[OwnColumn]] = {}
    for (source_name, column), (sink_name, sink_column) in column_pairs(dict(process.attributes).get("columnMapping")):
        source, sink = sources.get(source_name), sinks.get(sink_name)
        if source and sink:  # a mapping names only data sets that the process reads and writes
            made_of.setdefault(own_column(sink, sink_column), set()).add(own_column(source, column))
    return OwnLineage(
        columns=tuple(sorted({*made_of, *(column for inputs in made_of.values() for column in inputs)})),
        steps=tuple(sorted(_step(process, output, inputs) for output, inputs in made_of.items())),
    )


def own_column(asset: AssetName, column: str) -> OwnColumn:
    """A column of an asset, with the names of its entity."""
    short_name = asset[1].rstrip("/").rpartition("/")[2]
    return OwnColumn(
        qualified_name=name_within(f"{column}@{asset[0]}:{asset[1]}"),
        name=name_within(f"{short_name}.{column}"),
        asset=asset,
    )


def _step(process: ProcessEntity, output: OwnColumn, inputs: Iterable[OwnColumn]) -> ColumnLineageStep:
    names = tuple(sorted(column.qualified_name for column in inputs))
    digest = hashlib.sha256(msgspec.json.encode((names, output.qualified_name))).hexdigest()[:32]
    return ColumnLineageStep(
        qualified_name=name_within(f"{process.qualified_name}#{digest}"),
        name=output.name,
        inputs=names,
        output=output.qualified_name,
    )


MANAGED = "Throughline"
"""The name of the group."""

_LONGEST = "500"


def managed_attributes() -> dict[str, Any]:
    """The definition of the group, in Atlas' form."""
    options = {"applicableEntityTypes": json.dumps([PROCESS_TYPE]), "maxStrLength": _LONGEST}
    further = {"isIndexable": True, "options": options}
    return {
        "category": "BUSINESS_METADATA",
        "name": MANAGED,
        "description": "Where the job of a Throughline process is at home",
        "typeVersion": "1.0",
        "attributeDefs": [attribute_definition(name) | further for name in ORIGIN_WORDS],
    }


Json = dict[str, Any]

SERVICE = "throughline"
"""The service type of Throughline's own definitions: only those are ever changed."""

UNCONFIRMED = "fabric_warehouse_table"
"""The beginning of the names of types that not every Purview may have. Few need them: `doctor` does not miss them."""

_DATA_SET = "DataSet"
"""Every Atlas has it: the type of data sets that no rule names."""

_ASSETS: dict[str, str] = {
    "azure_datalake_gen1_path": "",
    "azure_datalake_gen2_path": "",
    "azure_datalake_gen2_filesystem": "",
    "azure_blob_path": "",
    "azure_blob_container": "",
    "aws_s3_v2_directory": "",
    "fs_path": "path!",
    "hdfs_path": "path!",
    "azure_cosmosdb_sqlapi_collection": "resourceLink!",
    "kafka_topic": "topic! uri!",
}
"""Attributes beside those of every data set, by type; `!` marks those that it demands."""


class TypeAction(StrEnum):
    """The action for a type. `differs`: the catalog has another type of this name that cannot hold our values; it is
    not changed.
    """

    CREATE = "create"
    UPDATE = "update"
    DIFFERS = "differs"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeChange:
    """The action for one type; `what`: the details; `definition`: the definition to send, None if the type is left
    alone; `rules`: the naming rules that name the type.
    """

    name: str
    category: str
    action: TypeAction
    what: tuple[str, ...] = ()
    definition: Json | None = None
    rules: tuple[str, ...] = ()


def wanted_types() -> tuple[Json, ...]:
    """All definitions that Throughline needs, entity types first."""
    entities = [
        _entity(PROCESS_TYPE, "columnMapping", supers="Process"),
        _entity(SCHEMA_TYPE),
        _entity("column", "type!"),
        _entity(COLUMN_TYPE),
        _entity(STEP_TYPE, supers="Process"),
    ]
    relationships = [
        _relationship(
            "throughline_asset_columns", "COMPOSITION", f"DataSet.{COLUMNS_OF_ASSET}[]", "asset", COLUMN_TYPE
        ),
        _relationship(
            "throughline_process_columns", "COMPOSITION", f"{PROCESS_TYPE}.{STEPS_OF_PROCESS}[]", "process", STEP_TYPE
        ),
        _relationship("tabular_schema_datasets", "ASSOCIATION", "DataSet.tabular_schema", "associatedDataSets[]"),
        _relationship("tabular_schema_columns", "COMPOSITION", "tabular_schema.columns[]", "composeSchema", "column"),
    ]
    entities += [_entity(name, attributes) for name, attributes in _ASSETS.items()]
    for table, rule in COLUMN_RULES.items():
        entities += [_entity(table), _entity(rule.type, f"{rule.type_in}!")]
        relationships.append(
            _relationship(f"{table}_columns", "COMPOSITION", f"{table}.columns[]", rule.holder, rule.type)
        )
    return (*entities, *relationships)


def _entity(name: str, attributes: str = "", *, supers: str = _DATA_SET) -> Json:
    return {
        "category": "ENTITY",
        "name": name,
        "description": name,
        "typeVersion": "1.0",
        "serviceType": SERVICE,
        "superTypes": [supers],
        "attributeDefs": [attribute_definition(text) for text in attributes.split()],
    }


def attribute_definition(text: str) -> Json:
    """The definition of an attribute that holds one text; `!` after its name marks one that its type demands."""
    mandatory = text.endswith("!")
    return {
        "name": text.rstrip("!"),
        "typeName": "string",
        "isOptional": not mandatory,
        "cardinality": "SINGLE",
        "valuesMinCount": int(mandatory),
        "valuesMaxCount": 1,
        "isUnique": False,
        "isIndexable": False,
    }


def _relationship(name: str, category: str, end1: str, end2: str, type2: str = SCHEMA_TYPE) -> Json:
    """`end1` is `type.attribute`, `end2` an attribute of `type2`; `[]` marks an end that holds many."""
    type1, _, attribute1 = end1.partition(".")

    def end(type_name: str, attribute: str, *, contains: bool) -> Json:
        return {
            "type": type_name,
            "name": attribute.removesuffix("[]"),
            "isContainer": contains,
            "cardinality": "SET" if attribute.endswith("[]") else "SINGLE",
            "isLegacyAttribute": False,
        }

    return {
        "category": "RELATIONSHIP",
        "name": name,
        "description": name,
        "typeVersion": "1.0",
        "serviceType": SERVICE,
        "attributeDefs": [],
        "relationshipCategory": category,
        "propagateTags": "NONE",
        "endDef1": end(type1, attribute1, contains=category == "COMPOSITION"),
        "endDef2": end(type2, end2, contains=False),
    }


def type_changes(
    definitions: Iterable[Mapping[str, Any]], rules: Mapping[str, tuple[str, ...]] = MappingProxyType({})
) -> tuple[TypeChange, ...]:
    """The changes that a catalog with these definitions needs, entity types first.

    `rules`: the types that naming rules name, each with the names of its rules. One that is not among ours has to
    be a data set that demands no attributes.
    """
    by_name = {str(definition["name"]): definition for definition in definitions}
    own_definitions = wanted_types()
    asset_types = [
        _entity(name) for name in rules.keys() - {definition["name"] for definition in own_definitions} - {_DATA_SET}
    ]
    return tuple(
        replace(change, rules=rules.get(change.name, ()))
        for definition_to_have in (*sorted(asset_types, key=itemgetter("name")), *own_definitions)
        if (change := _change(definition_to_have, by_name))
    )


def _change(target: Json, by_name: Mapping[str, Mapping[str, Any]]) -> TypeChange | None:
    name, category = target["name"], target["category"]
    existing = by_name.get(name)
    if existing is None:
        return TypeChange(name=name, category=category, action=TypeAction.CREATE, definition=target)
    problems = _problems(target, existing, by_name)
    missing = [
        attribute for attribute in target["attributeDefs"] if attribute["name"] not in _attributes(name, by_name)
    ]
    is_own = existing.get("serviceType") == SERVICE
    if missing and is_own and not problems:
        optional = [attribute | {"isOptional": True, "valuesMinCount": 0} for attribute in missing]
        return TypeChange(
            name=name,
            category=category,
            action=TypeAction.UPDATE,
            what=tuple(f"gets {attribute['name']}" for attribute in missing),
            definition={**existing, "attributeDefs": [*(existing.get("attributeDefs") or ()), *optional]},
        )
    problems += [f"has no {attribute['name']}" for attribute in missing]
    if not problems:
        return None
    return TypeChange(name=name, category=category, action=TypeAction.DIFFERS, what=tuple(problems))


def _problems(target: Json, existing: Mapping[str, Any], by_name: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Why a type of the catalog cannot hold Throughline's entities, apart from attributes that it lacks."""
    if existing.get("category", target["category"]) != target["category"]:
        return [f"is a {str(existing['category']).lower()}"]
    if target["category"] == "RELATIONSHIP":
        return [
            f"leads to {_end(existing, end)}, not {_end(target, end)}"
            for end in ("endDef1", "endDef2")
            if _end(existing, end) != _end(target, end)
        ]
    ancestors = _ancestors(target["name"], by_name)
    filled = {attribute["name"] for attribute in target["attributeDefs"]} | {"qualifiedName", "name"}
    demands = [
        attribute["name"]
        for attribute in _attributes(target["name"], by_name).values()
        if not attribute.get("isOptional", True) and attribute["name"] not in filled
    ]
    return [
        *(f"is no {ancestor}" for ancestor in target["superTypes"] if ancestor not in ancestors),
        *(f"demands {demand}, which we do not know" for demand in demands),
    ]


def _end(definition: Mapping[str, Any], end: str) -> str:
    end_definition = definition.get(end) or {}
    return f"{end_definition.get('type')}.{end_definition.get('name')}"


def _ancestors(name: str, by_name: Mapping[str, Mapping[str, Any]]) -> set[str]:
    ancestors: set[str] = set()
    waiting = [name]
    while waiting:
        ancestor = waiting.pop()
        if ancestor not in ancestors:
            ancestors.add(ancestor)
            waiting += (by_name.get(ancestor) or {}).get("superTypes") or ()
    return ancestors


def _attributes(name: str, by_name: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The attributes of a type and its super types, by name."""
    return {
        str(attribute["name"]): attribute
        for ancestor in sorted(_ancestors(name, by_name))
        for attribute in (by_name.get(ancestor) or {}).get("attributeDefs") or ()
    }
