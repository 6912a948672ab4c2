"""The built-in types of a catalog: Atlas' base model, and Purview's types for the stores that Throughline names.

Purview's types are those of `shared.atlas.types`, which `throughline types` brings to a plain Atlas (with what is
written of them), and a few types of its scans. Parents (a table's schema, a schema's database) are left out: Purview
accepts entities without them, but Atlas would require them.
"""

import re
import uuid
from typing import Any

from shared.atlas.types import wanted_types

Json = dict[str, Any]

_TEXTS = "name! shortDescription longDescription usage additionalAttributes:map<string,string>"
_BASE = {
    "Referenceable": ("", "qualifiedName!*"),
    "Asset": ("Referenceable", "name! displayName description userDescription owner"),
    "DataSet": ("Asset", ""),
    "Infrastructure": ("Asset", ""),
    "ProcessExecution": ("Asset", ""),
    "Process": ("Asset", "inputs:array<DataSet> outputs:array<DataSet>"),
    "__internal": ("", ""),
    # As in Atlas' own model, without categories and relations between terms.
    "AtlasGlossary": ("__internal", f"qualifiedName!* language {_TEXTS}"),
    "AtlasGlossaryTerm": ("__internal", f"qualifiedName!* examples:array<string> abbreviation {_TEXTS}"),
}
"""The super type and the attributes of each type, written as `attribute_def` reads them."""

_RELATIONS = (
    ("dataset_process_inputs", "AGGREGATION", "Process.inputs[]", "DataSet.inputToProcesses[]", "TWO_TO_ONE"),
    ("process_dataset_outputs", "AGGREGATION", "Process.outputs[]", "DataSet.outputFromProcesses[]", "ONE_TO_TWO"),
    ("AtlasGlossaryTermAnchor", "COMPOSITION", "AtlasGlossary.terms[]", "AtlasGlossaryTerm.anchor", "NONE"),
    (
        "AtlasGlossarySemanticAssignment",
        "ASSOCIATION",
        "AtlasGlossaryTerm.assignedEntities[]",
        "Referenceable.meanings[]",
        "ONE_TO_TWO",
    ),
)
"""Name, category, both ends (`Type.attribute`, with `[]` if it holds many; end 1 contains end 2), and the direction in
which classifications propagate.
"""

_SCANNED = ("azure_datalake_gen2_resource_set", "azure_blob_resource_set", "aws_s3_v2_resource_set")
_SCANNED_PARENTS = ("fabric_lakehouse", "hive_db")
# Built-in types always have the same guids, so that clients may remember them.
_NAMESPACE = uuid.UUID("6f1f3c52-5d0e-4f7d-9a58-0a2a1a6f3d10")
_CREATED = 1_700_000_000_000
_END = re.compile(r"(?P<type>\w+)\.(?P<name>\w+)(?P<many>\[\])?")


def builtin_typedefs() -> tuple[Json, ...]:
    """Return all built-in type definitions in Atlas' JSON form: the base model, then Purview's types."""
    scans = [_entity_def(name, "DataSet", "") for name in _SCANNED]
    scans += [_entity_def(name, "Asset", "") for name in _SCANNED_PARENTS]
    purview = [t | _common(t["category"], t["name"], "Microsoft Purview") for t in wanted_types()]
    return (*plain_typedefs(), *scans, *purview)


def plain_typedefs() -> tuple[Json, ...]:
    """Return the type definitions of an Apache Atlas without further models."""
    entities = [_entity_def(name, *rule) for name, rule in _BASE.items()]
    return (*entities, *(_relation_def(*rule) for rule in _RELATIONS))


def attribute_def(text: str) -> Json:
    """Return the definition of an attribute: `name` (a string) or `name:type`, then `!` if mandatory, `*` if unique."""
    name, _, type_name = text.rstrip("!*").partition(":")
    mandatory, unique = "!" in text, text.endswith("*")
    many = type_name.startswith("array<")
    return {
        "name": name,
        "typeName": type_name or "string",
        "isOptional": not mandatory,
        "cardinality": "SET" if many else "SINGLE",
        "valuesMinCount": int(mandatory),
        "valuesMaxCount": 2**31 - 1 if many else 1,
        "isUnique": unique,
        "isIndexable": unique,
        "includeInNotification": False,
        "searchWeight": -1,
    }


def _entity_def(name: str, super_type: str, attributes: str) -> Json:
    return _common("ENTITY", name, "atlas_core") | {
        "attributeDefs": [attribute_def(text) for text in attributes.split()],
        "superTypes": [super_type] if super_type else [],
    }


def _relation_def(name: str, category: str, end1: str, end2: str, tags: str) -> Json:
    return _common("RELATIONSHIP", name, "atlas_core") | {
        "attributeDefs": [],
        "relationshipCategory": category,
        "propagateTags": tags,
        "endDef1": _end_def(end1, contains=category != "ASSOCIATION"),
        "endDef2": _end_def(end2, contains=False),
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
        "serviceType": service,
        "createdBy": "throughline",
        "updatedBy": "throughline",
        "createTime": _CREATED,
        "updateTime": _CREATED,
        "version": 1,
    }
