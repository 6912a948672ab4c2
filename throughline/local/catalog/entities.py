"""Creating, updating and deleting entities."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.incoming import Incoming, Request
from throughline.local.catalog.store import Edge, Entity, NameTakenError, Store, now
from throughline.local.catalog.typedefs import Relation, Typedefs
from throughline.local.catalog.views import far_guid, header

Json = dict[str, Any]


class Writer:
    """Writes entities, inside a transaction of the store.

    `soft` deletes mark entities and keep them (Atlas' default); hard ones remove them. Written entities move into
    `collection`, if one is given. `business`: how an update treats the sent business attributes: ignore, merge or
    replace.
    """

    def __init__(
        self, store: Store, typedefs: Typedefs, *, soft: bool, collection: str = "", business: str = "ignore"
    ) -> None:
        self._store = store
        self._typedefs = typedefs
        self._soft = soft
        self._collection = collection
        self._business = business

    def upsert(self, raw_entities: Iterable[Json]) -> Json:
        """Create or update entities; return `guidAssignments` and, when something changed, `mutatedEntities`."""
        request = Request(self._store, self._typedefs, raw_entities)
        changes = _Changes(self._store)
        entities = [entity for entity in request.entities if self._differs(entity)]
        # All entities exist before the first relationship refers to one of them.
        for entity in entities:
            self._put(entity, changes)
        for entity in entities:
            for name, targets in entity.relations.items():
                relation = entity.type.relations[name]
                if targets is not None and self._shown(entity.guid, relation) != targets:
                    changes.related(entity.guid)
                    self._relate(entity.guid, relation, targets, changes)
        moment = now()
        for guid in (*changes.created, *changes.updated, *changes.linked):
            if stored := self._store.entities.get(guid):
                self._store.put_entity(replace(stored, updated=moment, version=stored.version + 1))
        return changes.to_json() | {"guidAssignments": request.assignments}

    def delete(self, guids: Iterable[str]) -> Json:
        """Delete entities with the entities that they own; return `mutatedEntities`, or `{}` when there are none."""
        changes = _Changes(self._store)
        for guid in guids:
            self._delete(guid, changes)
        return changes.to_json()

    def _differs(self, entity: Incoming) -> bool:
        """Whether an incoming entity differs from the stored one, as readers see it.

        Relationships that are only marked as deleted count as existing, so with soft deletes an update alone can't
        restore an entity that has left a relationship.
        """
        if entity.existing is None or _merged(entity.existing.body, entity, self._business) != entity.existing.body:
            return True
        return any(
            targets is not None and self._shown(entity.guid, entity.type.relations[name]) != targets
            for name, targets in entity.relations.items()
        )

    def _shown(self, guid: str, relation: Relation) -> list[str]:
        """Return the targets of a relationship attribute in their original order, including those marked as deleted."""
        edges = self._edges(guid, relation)
        return [far_guid(edge, relation) for edge in edges if edge.active or relation.many]

    def _put(self, entity: Incoming, changes: "_Changes") -> None:
        # Read again: the same entity may occur under another guid in this request.
        stored = self._store.entities.get(entity.guid)
        business = self._business
        if stored is None:
            moment = now()
            stored = Entity(
                guid=entity.guid,
                type=entity.type.name,
                qualified_name=None,
                created=moment,
                updated=moment,
                body={"attributes": {}},
            )
            changes.created[entity.guid] = None
            business = "replace"
        body = _merged(stored.body, entity, business)
        if self._collection:
            body["collectionId"] = self._collection
        if body == stored.body and entity.guid not in changes.created:
            return
        if entity.guid not in changes.created:
            changes.updated[entity.guid] = None
        name = body["attributes"].get("qualifiedName")
        try:
            self._store.put_entity(replace(stored, qualified_name=name, body=body))
        except NameTakenError as error:
            raise CatalogError(Fault.ENTITY_EXISTS, entity.type.name, name) from error

    def _relate(self, guid: str, relation: Relation, targets: list[str], changes: "_Changes") -> None:
        """Set the targets of a relationship attribute, position by position.

        As in Atlas, a target that keeps its position is left unchanged, even if it is only marked as deleted.
        """
        edges = self._edges(guid, relation)
        positions = zip(targets, (far_guid(edge, relation) for edge in edges), strict=False)
        unmoved = {target for target, stored in positions if target == stored}
        active = {far_guid(edge, relation): edge for edge in edges if edge.active}
        for target, edge in active.items():
            if target not in targets:
                self._store.end_edge(edge, keep=self._soft)
                changes.related(guid)
                if relation.owns:
                    self._delete(target, changes)
        for target in targets:
            if target not in unmoved:
                changes.related(target, linked=True)
            if target in active or (relation.many and target in unmoved):
                continue
            if relation.far_single:
                self._free(target, relation)
            self._store.add_edge(relation.relationship, *((guid, target) if relation.is_end1 else (target, guid)))
            changes.related(guid)

    def _free(self, guid: str, relation: Relation) -> None:
        """End the current relationship of the far side, which can have only one."""
        for edge in self._store.edges_of(guid, relation.relationship):
            if edge.active and far_guid(edge, relation) == guid:
                self._store.end_edge(edge, keep=self._soft)

    def _edges(self, guid: str, relation: Relation) -> list[Edge]:
        edges = self._store.edges_of(guid, relation.relationship)
        return [edge for edge in edges if (edge.end1 if relation.is_end1 else edge.end2) == guid]

    def _delete(self, guid: str, changes: "_Changes") -> None:
        entity = self._store.entities.get(guid)
        if entity is None or not entity.active:
            return
        parts = [
            far_guid(edge, relation)
            for relation in self._typedefs.entity_type(entity.type).relations.values()
            if relation.owns
            for edge in self._edges(guid, relation)
            if edge.active
        ]
        changes.deleted[guid] = replace(entity, status="DELETED", updated=now())
        if self._soft:
            for edge in self._store.edges_of(guid):
                self._store.end_edge(edge, keep=True)
            self._store.put_entity(changes.deleted[guid])
        else:
            self._store.drop_entity(guid)
        for part in parts:
            self._delete(part, changes)


def _merged(body: Json, entity: Incoming, business: str) -> Json:
    """Return the stored entity updated by the incoming one: omitted attributes stay, null ones are removed."""
    attributes = {**body["attributes"], **entity.values}
    merged = body | {"attributes": {name: value for name, value in attributes.items() if value is not None}}
    for key in ("labels", "customAttributes", "classifications"):
        value = entity.raw.get(key)
        if value is not None and value != body.get(key, type(value)()):
            merged[key] = value
    groups = entity.raw.get("businessAttributes")
    if groups and business != "ignore":
        stored_groups = body.get("businessAttributes", {}) if business == "merge" else {}
        merged["businessAttributes"] = stored_groups | {
            name: stored_groups.get(name, {}) | values for name, values in groups.items()
        }
    return merged


class _Changes:
    """The changes of a request, in order, with their names in the answer. `linked`: entities that were not sent."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.created: dict[str, None] = {}
        self.updated: dict[str, None] = {}
        self.linked: dict[str, None] = {}
        self.deleted: dict[str, Entity] = {}

    def related(self, guid: str, *, linked: bool = False) -> None:
        """Record that an entity's relationships changed."""
        if guid not in self.created and guid not in self.updated:
            (self.linked if linked else self.updated)[guid] = None

    def to_json(self) -> Json:
        updated = {**self.updated, **self.linked}.keys() - self.deleted.keys()
        guids = {"CREATE": self.created, "UPDATE": [guid for guid in (*self.updated, *self.linked) if guid in updated]}
        entities = self._store.entities
        mutated = {
            kind: [header(entities[guid]) for guid in dict.fromkeys(kind_guids) if guid in entities]
            for kind, kind_guids in guids.items()
        }
        mutated["DELETE"] = [header(entity) for entity in self.deleted.values()]
        mutated = {kind: headers for kind, headers in mutated.items() if headers}
        return {"mutatedEntities": mutated} if mutated else {}
