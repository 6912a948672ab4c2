"""Stored entities as clients read them (`AtlasEntity`, `AtlasEntityHeader`)."""

from collections.abc import Iterable
from typing import Any

from throughline.local.catalog.marks import marks_of, own_marks
from throughline.local.catalog.store import Edge, Entity, Store
from throughline.local.catalog.typedefs import Relation, Typedefs

Json = dict[str, Any]


def header(entity: Entity) -> Json:
    """Return the short form of an entity, for search and the answers to writes."""
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
