"""Stored entities as clients read them (`AtlasEntity`, `AtlasEntityHeader`), and their lineage (`AtlasLineageInfo`)."""

from collections.abc import Iterable
from typing import Any

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.marks import marks_of, own_marks
from throughline.local.catalog.store import Edge, Entity, Store
from throughline.local.catalog.typedefs import Relation, Typedefs

Json = dict[str, Any]


def header(entity: Entity) -> Json:
    """Return the short form of an entity, for search, lineage and the answers to writes."""
    attributes = entity.body["attributes"]
    collection = {"collectionId": entity.body["collectionId"]} if "collectionId" in entity.body else {}
    marks = own_marks(entity)
    return collection | {
        "typeName": entity.type,
        "attributes": {
            name: attributes[name] for name in ("owner", "qualifiedName", "name", "description") if name in attributes
        },
        "guid": entity.guid,
        "status": entity.status,
        "displayText": display_text(entity),
        "classificationNames": [mark["typeName"] for mark in marks],
        "classifications": marks,
        "meaningNames": [],
        "meanings": [],
        "isIncomplete": False,
        "labels": entity.body.get("labels", []),
        "createTime": entity.created,
        "updateTime": entity.updated,
    }


def display_text(entity: Entity) -> str:
    """Return the entity's name for people: its name, else its qualified name, else its guid."""
    attributes = entity.body["attributes"]
    return str(attributes.get("name") or attributes.get("qualifiedName") or entity.guid)


def far_guid(edge: Edge, relation: Relation) -> str:
    """Return the entity at the far end of a relationship."""
    return edge.end2 if relation.is_end1 else edge.end1


def related(edge: Edge, far_entity: Entity) -> Json:
    """Return a relationship as an attribute of the entity at its near end."""
    return {
        "guid": far_entity.guid,
        "typeName": far_entity.type,
        "entityStatus": far_entity.status,
        "displayText": display_text(far_entity),
        "relationshipType": edge.relationship,
        "relationshipGuid": edge.guid,
        "relationshipStatus": edge.status,
        "relationshipAttributes": {"typeName": edge.relationship},
        "qualifiedName": far_entity.qualified_name,
    }


class Views:
    """Reads full entities, with all their relationships, from the store."""

    def __init__(self, store: Store, typedefs: Typedefs) -> None:
        self._store = store
        self._typedefs = typedefs

    def full(self, entity: Entity, *, is_bare: bool) -> Json:
        """Return an entity; `is_bare`: without relationship attributes."""
        attributes: Json = {
            name: entity.body["attributes"].get(name) for name in self._typedefs.entity_type(entity.type).attributes
        }
        relationships: Json = {}
        for relation in self._typedefs.entity_type(entity.type).relations.values():
            ends = list(self._ends(entity, relation))
            if relation.legacy:
                attributes[relation.name] = _shape(relation, [_object_id(far_entity) for _, far_entity in ends])
            relationships[relation.name] = _shape(relation, [related(*end) for end in ends])
        full = {
            "typeName": entity.type,
            "attributes": attributes,
            "guid": entity.guid,
            "isIncomplete": False,
            "status": entity.status,
            "createdBy": "admin",
            "updatedBy": "admin",
            "createTime": entity.created,
            "updateTime": entity.updated,
            "version": entity.version,
            "labels": entity.body.get("labels", []),
        }
        for optional in ("customAttributes", "businessAttributes", "collectionId"):
            if optional in entity.body:
                full[optional] = entity.body[optional]
        if marks := marks_of(self._store, self._typedefs, entity):
            full["classifications"] = marks
        return full if is_bare else full | {"relationshipAttributes": relationships}

    def referred(self, entities: Iterable[Entity], *, is_bare: bool) -> Json:
        """Return the entities that these own, by guid."""
        return {
            part.guid: self.full(part, is_bare=is_bare)
            for entity in entities
            for relation in self._typedefs.entity_type(entity.type).relations.values()
            if relation.owns
            for _, part in self._ends(entity, relation)
        }

    def _ends(self, entity: Entity, relation: Relation) -> Iterable[tuple[Edge, Entity]]:
        for edge in self._store.edges_of(entity.guid, relation.relationship):
            if (edge.end1 if relation.is_end1 else edge.end2) == entity.guid:
                yield edge, self._store.entities[far_guid(edge, relation)]


def _shape(relation: Relation, values: list[Json]) -> list[Json] | Json | None:
    """Return a list for an end that holds many; else the one value, preferably one that is not deleted."""
    if relation.many:
        return values
    active = [value for value in values if value.get("relationshipStatus", "ACTIVE") == "ACTIVE"]
    return next(reversed(active or values), None)


def _object_id(entity: Entity) -> Json:
    names = {"qualifiedName": entity.qualified_name}
    return {"guid": entity.guid, "typeName": entity.type, "uniqueAttributes": names}


_INPUTS = "dataset_process_inputs"
_OUTPUTS = "process_dataset_outputs"
# Upstream, a data set leads to the processes that have it as output; downstream, to those that have it as input.
_WAYS = {"INPUT": (_OUTPUTS, _INPUTS), "OUTPUT": (_INPUTS, _OUTPUTS)}


def lineage(store: Store, typedefs: Typedefs, entity: Entity, *, direction: str, depth: int) -> Json:
    """Return an entity's lineage. One step of depth leads from a data set through a process to the next data sets;
    `depth` 0: without limit. As on real servers, relationships that are only marked as deleted are included.

    Errors: 400-00-026 for an unknown direction or invalid depth, 404-00-011 for an entity that can't have lineage.
    """
    if direction.upper() not in {*_WAYS, "BOTH"}:
        raise CatalogError(Fault.BAD_LINEAGE_PARAMETERS, "direction", f"{direction} (INPUT, OUTPUT or BOTH)")
    if depth < 0:
        raise CatalogError(Fault.BAD_LINEAGE_PARAMETERS, "depth", depth)
    supers = typedefs.entity_type(entity.type).supers
    if supers.isdisjoint({"Process", "DataSet"}):
        raise CatalogError(Fault.NO_LINEAGE, entity.guid)
    edges: dict[str, Edge] = {}
    for way in _WAYS if direction.upper() == "BOTH" else (direction.upper(),):
        frontier, steps = {entity.guid}, depth or None
        if "Process" in supers:
            leading = store.edges_of(entity.guid, _WAYS[way][1])
            edges |= {edge.guid: edge for edge in leading}
            frontier, steps = {edge.end2 for edge in leading}, depth - 1 if depth else None
        edges |= _walk(store, way, frontier, steps)
    nodes = {guid: store.entities[guid] for edge in edges.values() for guid in (edge.end1, edge.end2)}
    return {
        "baseEntityGuid": entity.guid,
        "lineageDirection": direction.upper(),
        "lineageDepth": depth,
        "guidEntityMap": {guid: header(node) for guid, node in nodes.items()},
        "relations": [_relation(edge) for edge in edges.values()],
    }


def _walk(store: Store, way: str, frontier: set[str], steps: int | None) -> dict[str, Edge]:
    """Return the edges within `steps` steps (None: all) of the data sets, nearest first."""
    near, far = _WAYS[way]
    edges: dict[str, Edge] = {}
    visited = set(frontier)
    while frontier and steps != 0:
        steps = None if steps is None else steps - 1
        ends: set[str] = set()
        for near_edge in [edge for guid in sorted(frontier) for edge in store.edges_of(guid, near)]:
            # A process with no data set on its far side is not shown.
            far_edges = store.edges_of(near_edge.end1, far)
            edges |= {edge.guid: edge for edge in ((near_edge, *far_edges) if far_edges else ())}
            ends |= {edge.end2 for edge in far_edges}
        frontier = ends - visited
        visited |= frontier
    return edges


def _relation(edge: Edge) -> Json:
    ends = (edge.end2, edge.end1) if edge.relationship == _INPUTS else (edge.end1, edge.end2)
    return {"fromEntityId": ends[0], "toEntityId": ends[1], "relationshipId": edge.guid}
