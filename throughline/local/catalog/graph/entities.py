"""Creating, updating and deleting entities. Each call is one transaction: all of it happens, or nothing."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.graph.incoming import Incoming, Request
from throughline.local.catalog.graph.store import Edge, Entity, Store
from throughline.local.catalog.graph.views import header
from throughline.local.catalog.registry import Registry, Relation

Json = dict[str, Any]


def now() -> int:
    """Return the time in Atlas' form: milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Writer:
    """Writes entities.

    `soft` deletes mark entities and keep them (Atlas' default); hard ones remove them. Written entities move into
    `collection`, if one is given. `business`: how an update treats the sent business attributes: ignore, merge or
    replace.
    """

    def __init__(
        self,
        store: Store,
        registry: Registry,
        *,
        soft: bool,
        collection: str = "",
        business: str = "ignore",
        clock: Callable[[], int] = now,
    ) -> None:
        self._business = business
        self._collection = collection
        self._store = store
        self._registry = registry
        self._soft = soft
        self._clock = clock

    def upsert(self, sent: Iterable[Any], referred: Mapping[str, Any], *, partial: bool = False) -> Json:
        """Create or update entities; return `guidAssignments` and, when something changed, `mutatedEntities`.

        Errors: `CatalogError`; nothing is written then.
        """
        request = Request(self._store, self._registry, partial=partial)
        request.read(sent, referred)
        changes = _Changes(update="PARTIAL_UPDATE" if partial else "UPDATE")
        with self._store.transaction():
            different = [entity for entity in request.entities if self._differs(entity)]
            # All entities exist before the first relationship refers to one of them.
            for entity in different:
                self._put(entity, changes)
            for entity in different:
                for name, targets in entity.relations.items():
                    if targets is not None and self._shown(entity, name) != targets:
                        changes.related(entity.guid)
                        self._relate(entity.guid, entity.type.relations[name], targets, changes)
            self._touch(changes)
        return changes.to_json(self._store) | {"guidAssignments": request.assignments}

    def delete(self, guids: Iterable[str]) -> Json:
        """Delete entities with the entities that they own; return `mutatedEntities`, or `{}` when there are none."""
        changes = _Changes(update="UPDATE")
        with self._store.transaction():
            for guid in guids:
                self._delete(guid, changes)
        return changes.to_json(self._store)

    def _differs(self, sent: Incoming) -> bool:
        """Whether a sent entity differs from the stored one, as readers see it.

        Relationships that are only marked as deleted count as existing, so with soft deletes an update alone can't
        restore an entity that has left a relationship.
        """
        known = sent.existing
        return (
            known is None
            or _merged(known.body, sent, business=self._business) != known.body
            or any(
                targets is not None and self._shown(sent, name) != targets for name, targets in sent.relations.items()
            )
        )

    def _shown(self, sent: Incoming, name: str) -> list[str]:
        """Return the targets of a relationship attribute in their original order, including those marked as deleted."""
        relation = sent.type.relations[name]
        edges = [edge for edge in self._all_edges(sent.guid, relation) if edge.active or relation.many]
        return [_other(edge, relation) for edge in edges]

    def _put(self, sent: Incoming, changes: "_Changes") -> None:
        # Read again: the same entity may occur under another guid in this request.
        known = self._store.entity(sent.guid)
        new = known is None
        if known is None:
            moment = self._clock()
            known = Entity(
                guid=sent.guid,
                type_name=sent.type.name,
                qualified_name=None,
                status="ACTIVE",
                created=moment,
                updated=moment,
                version=0,
                body={"attributes": {}},
            )
            changes.created[sent.guid] = None
        body = _merged(known.body, sent, business="replace" if new else self._business)
        body |= {"collectionId": self._collection} if self._collection else {}
        if body == known.body and not new:
            return
        name = body["attributes"].get("qualifiedName")
        if sent.guid not in changes.created:
            changes.updated[sent.guid] = None
        try:
            self._store.put_entity(replace(known, qualified_name=name, body=body))
        except sqlite3.IntegrityError as error:
            raise CatalogError(Fault.ENTITY_EXISTS, sent.type.name, name) from error

    def _relate(self, guid: str, relation: Relation, targets: list[str], changes: "_Changes") -> None:
        """Set the targets of a relationship attribute, position by position.

        As in Atlas, a target that keeps its position is left unchanged, even if it is only marked as deleted.
        """
        before = [_other(edge, relation) for edge in self._all_edges(guid, relation)]
        placed = {other for other, was in zip(targets, before, strict=False) if other == was}
        active = {_other(edge, relation): edge for edge in self._edges(guid, relation)}
        for other, edge in active.items():
            if other not in targets:
                self._store.end_edge(edge.guid, keep=self._soft)
                changes.related(guid)
                if relation.owns:
                    self._delete(other, changes)
        for other in targets:
            if other not in placed:
                changes.related(other, linked=True)
            if other in active or (relation.many and other in placed):
                continue
            if relation.other_single:
                self._free(other, relation)
            ends = (guid, other) if relation.is_end1 else (other, guid)
            self._store.add_edge(relation.relationship, *ends)
            changes.related(guid)

    def _free(self, guid: str, relation: Relation) -> None:
        """End the current relationship of the other side, which can have only one."""
        for edge in self._store.edges([guid]):
            own = edge.end2 if relation.is_end1 else edge.end1
            if edge.relationship == relation.relationship and own == guid and edge.active:
                self._store.end_edge(edge.guid, keep=self._soft)

    def _edges(self, guid: str, relation: Relation) -> list[Edge]:
        return [edge for edge in self._all_edges(guid, relation) if edge.active]

    def _all_edges(self, guid: str, relation: Relation) -> list[Edge]:
        return [
            edge
            for edge in self._store.edges([guid])
            if edge.relationship == relation.relationship and (edge.end1 if relation.is_end1 else edge.end2) == guid
        ]

    def _touch(self, changes: "_Changes") -> None:
        moment = self._clock()
        for guid in (*changes.created, *changes.updated, *changes.linked):
            if entity := self._store.entity(guid):
                self._store.put_entity(replace(entity, updated=moment, version=entity.version + 1))

    def _delete(self, guid: str, changes: "_Changes") -> None:
        entity = self._store.entity(guid)
        if entity is None or not entity.active:
            return
        owned = [
            _other(edge, relation)
            for relation in self._registry.entity_type(entity.type_name).relations.values()
            if relation.owns
            for edge in self._edges(guid, relation)
        ]
        gone = replace(entity, status="DELETED", updated=self._clock())
        changes.deleted[guid] = gone
        if self._soft:
            for edge in self._store.edges([guid]):
                self._store.end_edge(edge.guid, keep=True)
            self._store.put_entity(gone)
        else:
            self._store.drop_entity(guid)
        for part in owned:
            self._delete(part, changes)


class _Changes:
    """The changes of a request, in order, with their names in the answer."""

    def __init__(self, *, update: str) -> None:
        self._update = update
        self.created: dict[str, None] = {}
        self.updated: dict[str, None] = {}
        self.linked: dict[str, None] = {}
        self.deleted: dict[str, Entity] = {}

    def related(self, guid: str, *, linked: bool = False) -> None:
        """Record that an entity's relationships changed; `linked`: the entity itself was not sent."""
        if guid not in self.created and guid not in self.updated:
            (self.linked if linked else self.updated)[guid] = None

    def to_json(self, store: Store) -> Json:
        linked = {guid: None for guid in self.linked if guid not in self.updated}
        updates = {self._update: self.updated}
        updates["UPDATE"] = {**updates.get("UPDATE", {}), **linked}
        found = store.entities([*self.created, *self.updated, *linked])
        mutated = {"CREATE": [header(found[guid]) for guid in self.created if guid in found]}
        for kind, guids in updates.items():
            mutated[kind] = [header(found[guid]) for guid in guids if guid in found and guid not in self.deleted]
        mutated["DELETE"] = [header(entity) for entity in self.deleted.values()]
        mutated = {kind: headers for kind, headers in mutated.items() if headers}
        return {"mutatedEntities": mutated} if mutated else {}


def _merged(body: Json, sent: Incoming, *, business: str) -> Json:
    """Return the stored entity updated by the sent one: omitted attributes stay, null ones are removed."""
    attributes = {**body["attributes"], **sent.values}
    merged = body | {"attributes": {name: value for name, value in attributes.items() if value is not None}}
    for extra in ("labels", "customAttributes", "classifications"):
        value = sent.raw.get(extra)
        if value is not None and value != body.get(extra, type(value)()):
            merged[extra] = value
    groups = sent.raw.get("businessAttributes")
    if groups and business != "ignore":
        held = body.get("businessAttributes", {})
        kept = held if business == "merge" else {}
        merged["businessAttributes"] = kept | {name: kept.get(name, {}) | given for name, given in groups.items()}
    return merged


def _other(edge: Edge, relation: Relation) -> str:
    return edge.end2 if relation.is_end1 else edge.end1
