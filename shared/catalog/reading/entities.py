"""Entities and search results of Atlas and Purview, decoded into values of the port."""

from collections.abc import Mapping
from typing import Any

from shared.atlas.column_lineage import COLUMNS_OF_ASSET
from shared.atlas.entities import LAST_RUN, ORIGIN_WORDS, PLACED, PROCESS_ATTRIBUTES, ProcessEntity
from shared.atlas.managed import MANAGED
from shared.catalog.port import AssetKey, Node
from shared.catalog.reading.edges import ACTIVE, active_ends, ends, status

_OWN_PARTS = frozenset({"columns", "tabular_schema", "attachedSchema", COLUMNS_OF_ASSET})
"""Relationships to the parts of a data set, which are deleted with it."""


def process_of(entity: Mapping[str, Any]) -> ProcessEntity:
    """A process as the catalog holds it, without deleted edges; the facts of its last run are apart."""
    attributes = dict(entity["attributes"])
    attributes["description"], _, facts = (attributes.get("description") or "").partition(LAST_RUN)
    return ProcessEntity(
        type=str(entity["typeName"]),
        qualified_name=str(attributes["qualifiedName"]),
        attributes=tuple((name, attributes.get(name) or "") for name in PROCESS_ATTRIBUTES),
        inputs=_active(entity, "inputs"),
        outputs=_active(entity, "outputs"),
        origin=_origin(entity),
        facts=facts,
    )


def _origin(entity: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """A user's properties; where a catalog keeps none, the managed attributes."""
    properties = entity.get("customAttributes") or (entity.get("businessAttributes") or {}).get(MANAGED) or {}
    return tuple((word, str(properties[word])) for word in ORIGIN_WORDS if properties.get(word))


def _active(entity: Mapping[str, Any], side: str) -> tuple[AssetKey, ...]:
    """One side of a process without deleted edges. There may be several relationships to one data set, some of them
    only marked as deleted, and the references do not show which.
    """
    active = {each["guid"] for each in ends(entity, side) if status(each) == ACTIVE}
    references = [each for each in entity["attributes"][side] or () if each["guid"] in active]
    return tuple(
        sorted({(str(each["typeName"]), str(each["uniqueAttributes"]["qualifiedName"])) for each in references})
    )


def links_of(entity: Mapping[str, Any]) -> frozenset[str]:
    """The guids of the entities that an entity is linked to, without its parts and deleted links."""
    names = (entity.get("relationshipAttributes") or {}).keys() - _OWN_PARTS
    return frozenset(str(end["guid"]) for name in names for end in active_ends(entity, name))


def description_of(entity: Mapping[str, Any]) -> str:
    """The description of an entity; empty where it has none."""
    return str(entity["attributes"].get("description") or "")


def is_placed(entity: Mapping[str, Any]) -> bool:
    """Whether an entity is a placeholder: its description begins with our mark."""
    return description_of(entity).startswith(PLACED)


def found_node(value: Mapping[str, Any]) -> Node:
    """A result of Purview's search, in which the attributes stand beside guid and type."""
    return Node(
        guid=str(value["id"]),
        type=str(value.get("entityType") or ""),
        qualified_name=str(value.get("qualifiedName") or ""),
        name=str(value.get("name") or value.get("qualifiedName") or ""),
        attributes=value,
    )


def node_of(entity: Mapping[str, Any]) -> Node:
    """An entity, or the header of one."""
    attributes = entity.get("attributes") or {}
    qualified_name = str(attributes.get("qualifiedName") or "")
    return Node(
        guid=str(entity["guid"]),
        type=str(entity["typeName"]),
        qualified_name=qualified_name,
        name=str(attributes.get("name") or qualified_name),
        attributes=attributes,
    )
