"""From the compact rules to type definitions in Atlas' JSON form."""

import re
import uuid
from collections.abc import Iterator
from typing import Any

from throughline.local.catalog.types.rules import COLUMN_ATTRIBUTES, RELATIONS, TYPES, RelationRule, TypeRule

Json = dict[str, Any]

# Built-in types always have the same guids, so that clients may remember them.
_NAMESPACE = uuid.UUID("6f1f3c52-5d0e-4f7d-9a58-0a2a1a6f3d10")
_CREATED = 1_700_000_000_000
_END = re.compile(r"(?P<type>\w+)\.(?P<name>\w+)(?P<many>\[\])?")


def builtin_typedefs() -> tuple[Json, ...]:
    """Return all built-in type definitions: entity types first, then relationships."""
    return (*_entity_defs(), *map(_relation_def, _relations()))


_PLAIN = frozenset(
    {"Referenceable", "Asset", "DataSet", "Infrastructure", "ProcessExecution", "Process"}
    | {"__internal", "AtlasGlossary", "AtlasGlossaryTerm"}
    | {"AtlasGlossaryTermAnchor", "AtlasGlossarySemanticAssignment"}
    | {"dataset_process_inputs", "process_dataset_outputs"}
)


def plain_typedefs() -> tuple[Json, ...]:
    """Return the type definitions of an Apache Atlas without further models."""
    return tuple(typedef for typedef in builtin_typedefs() if typedef["name"] in _PLAIN)


def attribute_def(text: str) -> Json:
    """Return the definition of an attribute written as `name[:type][!][*]`."""
    name, _, type_name = text.rstrip("!*").partition(":")
    mandatory, unique = "!" in text, text.endswith("*")
    many = type_name.startswith("array<")
    return {
        "name": name,
        "typeName": type_name or "string",
        "isOptional": not mandatory,
        "cardinality": "SET" if many else "SINGLE",
        "valuesMinCount": 1 if mandatory else 0,
        "valuesMaxCount": 2**31 - 1 if many else 1,
        "isUnique": unique,
        "isIndexable": unique,
        "includeInNotification": False,
        "searchWeight": -1,
    }


def _entity_defs() -> Iterator[Json]:
    for rule in TYPES:
        yield _entity_def(rule)
        if rule.columns:
            yield _entity_def(TypeRule(name=rule.columns, attributes=COLUMN_ATTRIBUTES, service=rule.service))


def _entity_def(rule: TypeRule) -> Json:
    return _common("ENTITY", rule.name, rule.service) | {
        "attributeDefs": [attribute_def(text) for text in rule.attributes.split()],
        "superTypes": list(rule.supers),
    }


def _relations() -> Iterator[RelationRule]:
    yield from RELATIONS
    for rule in TYPES:
        if rule.columns:
            yield RelationRule(
                name=f"{rule.name}_columns",
                category="COMPOSITION",
                end1=f"{rule.name}.columns[]",
                end2=f"{rule.columns}.table",
            )


def _relation_def(rule: RelationRule) -> Json:
    contains = rule.category != "ASSOCIATION"
    return _common("RELATIONSHIP", rule.name, "") | {
        "attributeDefs": [],
        "relationshipCategory": rule.category,
        "propagateTags": rule.tags,
        "endDef1": _end_def(rule.end1, contains=contains),
        "endDef2": _end_def(rule.end2, contains=False),
    }


def _end_def(text: str, *, contains: bool) -> Json:
    match = _END.fullmatch(text)
    if match is None:
        raise ValueError(f"An end of a relationship is written Type.attribute or Type.attribute[], not {text}")
    return {
        "type": match["type"],
        "name": match["name"],
        "isContainer": contains,
        "cardinality": "SET" if match["many"] else "SINGLE",
        # A process' inputs and outputs are also among its attributes.
        "isLegacyAttribute": match["type"] == "Process",
    }


def _common(category: str, name: str, service: str) -> Json:
    return {
        "category": category,
        "guid": str(uuid.uuid5(_NAMESPACE, name)),
        "name": name,
        "description": name,
        "typeVersion": "1.0",
        "serviceType": service or "atlas_core",
        "createdBy": "throughline",
        "updatedBy": "throughline",
        "createTime": _CREATED,
        "updateTime": _CREATED,
        "version": 1,
    }
