"""Stored entities and relationships as clients read them (`AtlasEntity`, `AtlasEntityHeader` and their like)."""

from collections.abc import Iterable, Mapping
from typing import Any

from throughline.local.catalog.graph.classifications import Classifications, own
from throughline.local.catalog.graph.store import Edge, Entity, Store
from throughline.local.catalog.registry import Registry, Relation

Json = dict[str, Any]


def header(entity: Entity) -> Json:
    """Return the short form of an entity, for search, lineage and the answers to writes."""
    attributes = entity.body["attributes"]
    placed = {"collectionId": entity.body["collectionId"]} if "collectionId" in entity.body else {}
    return placed | {
        "typeName": entity.type_name,
        "attributes": {
            name: attributes[name] for name in ("owner", "qualifiedName", "name", "description") if name in attributes
        },
        "guid": entity.guid,
        "status": entity.status,
        "displayText": display_text(entity),
        "classificationNames": [each["typeName"] for each in own(entity)],
        "classifications": own(entity),
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


class Views:
    """Reads full entities, with all their relationships, from the store."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        self._classifications = Classifications(store, registry)

    def one(self, entity: Entity, *, bare: bool, short: bool) -> Json:
        """Return `{"entity", "referredEntities"}`. `bare`: no relationship attributes, `short`: no referred ones."""
        entities, referred = self._full([entity], bare=bare, short=short)
        return {"referredEntities": referred, "entity": entities[0]}

    def many(self, entities: list[Entity], *, bare: bool, short: bool) -> Json:
        """Return `{"entities", "referredEntities"}`, each as from `one`."""
        full, referred = self._full(entities, bare=bare, short=short)
        return {"referredEntities": referred, "entities": full}

    def _full(self, entities: list[Entity], *, bare: bool, short: bool) -> tuple[list[Json], Json]:
        edges = _Edges(self._store, [entity.guid for entity in entities])
        full = [self._entity(entity, edges, bare=bare) for entity in entities]
        if short:
            return full, {}
        owned = [guid for entity in entities for guid in self._owned(entity, edges)]
        parts = [part for guid, part in edges.others.items() if guid in set(owned)]
        part_edges = _Edges(self._store, [part.guid for part in parts])
        return full, {part.guid: self._entity(part, part_edges, bare=bare) for part in parts}

    def _owned(self, entity: Entity, edges: "_Edges") -> Iterable[str]:
        for relation in self._registry.entity_type(entity.type_name).relations.values():
            if relation.owns:
                yield from (_other(edge, relation) for edge in edges.of(entity.guid, relation))

    def _entity(self, entity: Entity, edges: "_Edges", *, bare: bool) -> Json:
        entity_type = self._registry.entity_type(entity.type_name)
        stored = entity.body["attributes"]
        attributes: Json = {name: stored.get(name) for name in entity_type.attributes}
        related: Json = {}
        for relation in entity_type.relations.values():
            found = edges.of(entity.guid, relation)
            values = [(edge, edges.others[_other(edge, relation)]) for edge in found]
            if relation.legacy:
                attributes[relation.name] = _shape(relation, [_object_id(other) for _, other in values])
            related[relation.name] = _shape(relation, [_related(edge, other) for edge, other in values])
        full = {
            "typeName": entity.type_name,
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
        if classifications := self._classifications.of(entity):
            full["classifications"] = classifications
        return full if bare else full | {"relationshipAttributes": related}


class _Edges:
    """The relationships of some entities, with the entities at their other ends."""

    def __init__(self, store: Store, guids: list[str]) -> None:
        self._by_end: dict[tuple[str, str, bool], list[Edge]] = {}
        edges = store.edges(guids)
        for edge in edges:
            self._by_end.setdefault((edge.end1, edge.relationship, True), []).append(edge)
            self._by_end.setdefault((edge.end2, edge.relationship, False), []).append(edge)
        self.others: Mapping[str, Entity] = store.entities(guid for edge in edges for guid in (edge.end1, edge.end2))

    def of(self, guid: str, relation: Relation) -> list[Edge]:
        found = self._by_end.get((guid, relation.relationship, relation.is_end1), [])
        return [edge for edge in found if _other(edge, relation) in self.others]


def _other(edge: Edge, relation: Relation) -> str:
    return edge.end2 if relation.is_end1 else edge.end1


def _shape(relation: Relation, values: list[Json]) -> list[Json] | Json | None:
    """Return a list for an end that holds many; else the one value, preferably one that is not deleted."""
    if relation.many:
        return values
    active = [value for value in values if value.get("relationshipStatus", "ACTIVE") == "ACTIVE"]
    best = active or values
    return best[-1] if best else None


def _object_id(entity: Entity) -> Json:
    return {
        "guid": entity.guid,
        "typeName": entity.type_name,
        "uniqueAttributes": {"qualifiedName": entity.qualified_name},
    }


def _related(edge: Edge, other: Entity) -> Json:
    return {
        "guid": other.guid,
        "typeName": other.type_name,
        "entityStatus": other.status,
        "displayText": display_text(other),
        "relationshipType": edge.relationship,
        "relationshipGuid": edge.guid,
        "relationshipStatus": edge.status,
        "relationshipAttributes": {"typeName": edge.relationship},
        "qualifiedName": other.qualified_name,
    }
