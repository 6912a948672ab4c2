"""The entities that a client sends, checked, with their references resolved.

The checks run in Atlas' own order, so that the same mistake gets the same error: types and shapes of references, then
references by guid, then references by unique attributes.
"""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import orjson

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.store import Entity, Store
from throughline.local.catalog.typedefs import Attribute, EntityType, Relation, Typedefs

Json = dict[str, Any]

# Purview documents 4 KB for a name; real Atlas accepts longer ones, and takes minutes for each.
LONGEST_NAME = 4096
# Purview's documented limits of a property, and of a whole entity.
LONGEST_PROPERTY = 32 * 1024
LARGEST_ENTITY = 2 * 1024 * 1024


@dataclass(slots=True, kw_only=True)
class Incoming:
    """One entity of a request. `existing` is the stored entity with its guid or name, `guid` the final guid."""

    key: str
    type: EntityType
    raw: Json
    guid: str = ""
    existing: Entity | None = None
    values: Json = field(default_factory=dict)
    relations: dict[str, list[str] | None] = field(default_factory=dict)


class Request:
    """The checked entities of one request, in the order in which to write `entities`. Writes nothing itself.

    Errors: the CatalogError that the server answers with.
    """

    def __init__(self, store: Store, typedefs: Typedefs, raw_entities: Iterable[Json]) -> None:
        self._store = store
        self._typedefs = typedefs
        self._by_key: dict[str, Incoming] = {}
        generated_keys = (f"-{number}" for number in count(10**15))
        for raw in raw_entities:
            self._take(raw, generated_keys)
        self.entities = list(self._by_key.values())
        self._check_guids()
        self._find_existing()
        self.assignments = {entity.key: entity.guid for entity in self.entities}
        for entity in self.entities:
            if len(orjson.dumps(entity.raw)) > LARGEST_ENTITY:
                raise CatalogError(Fault.BAD_REQUEST, f"an entity has more than {LARGEST_ENTITY} bytes")
            entity.values = {a.name: _checked(entity, a, value) for a, value in _plain_values(entity)}
            _check_mandatory(entity)
        for entity in self.entities:
            entity.relations = {
                relation.name: self._targets(relation, value) for relation, value in _relation_values(entity)
            }

    def _take(self, raw: Json, generated_keys: Iterator[str]) -> None:
        """Add one entity. Of two entities with the same guid the second is silently dropped."""
        key = next(generated_keys) if raw.get("guid") is None else str(raw["guid"])
        if not _is_placeholder(key) and not _is_guid(key):
            raise CatalogError(Fault.DANGLING_REFERENCE, key)
        entity = Incoming(key=key, type=self._typedefs.entity_type(raw.get("typeName")), raw=raw)
        for classification in raw.get("classifications") or ():
            self._typedefs.check_classification(classification)
        for group, values in (raw.get("businessAttributes") or {}).items():
            self._typedefs.check_business(entity.type, group, values)
        self._by_key.setdefault(key, entity)

    def _check_guids(self) -> None:
        guids = {key for key in self._by_key if _is_guid(key)}
        for entity in self.entities:
            for _, value in _relation_values(entity):
                guids.update(str(ref["guid"]) for ref in filter(_holds, _references(value)) if ref.get("guid"))
        for guid in sorted(guids):
            entity_of_guid = self._store.entities.get(guid)
            is_sent = guid in self._by_key and _is_placeholder(guid)
            if not is_sent and (entity_of_guid is None or not entity_of_guid.active):
                raise CatalogError(Fault.DANGLING_REFERENCE, guid)

    def _find_existing(self) -> None:
        """Find the stored entities, and unite those of equal names."""
        twins: dict[tuple[str, str], Incoming] = {}
        for entity in self.entities:
            name = (entity.raw.get("attributes") or {}).get("qualifiedName")
            if _is_guid(entity.key):
                stored = self._store.entities.get(entity.key)
            else:
                stored = None if name is None else self._store.named(entity.type.subs, str(name))
            if stored is None:
                twin = entity if name is None else twins.setdefault((entity.type.name, str(name)), entity)
                entity.guid = twin.guid or self._store.new_guid(entity.type.name, str(name))
                continue
            if stored.type not in entity.type.subs:
                raise CatalogError(Fault.TYPE_MISMATCH, stored.type, entity.type.name)
            entity.existing, entity.guid = stored, stored.guid
            entity.type = self._typedefs.entity_type(stored.type)

    def _targets(self, relation: Relation, value: Any) -> list[str] | None:
        """Return the guids of a relationship attribute's targets; None: leave it unchanged."""
        if value is None:
            # A null leaves a set unchanged, but ends a single relationship.
            return None if relation.many else []
        targets: list[str] = []
        for reference in filter(_holds, _references(value)):
            guid, type_name = self._resolve(reference)
            if relation.far_type not in self._typedefs.entity_type(type_name).supers:
                ends = (relation.type_name, type_name) if relation.is_end1 else (type_name, relation.type_name)
                raise CatalogError(Fault.BAD_RELATIONSHIP_END, relation.relationship, *ends)
            targets.append(guid)
        return list(dict.fromkeys(targets if relation.many else targets[:1]))

    def _resolve(self, reference: Json) -> tuple[str, str]:
        """Return guid and type of a reference's target. Unique attributes refer to stored entities only."""
        if reference.get("guid") is not None:
            key = str(reference["guid"])
            if entity := self._by_key.get(key):
                return entity.guid, entity.type.name
            return key, self._store.entities[key].type
        entity_type = self._typedefs.entity_type(reference["typeName"])
        name = reference["uniqueAttributes"].get("qualifiedName")
        stored = None if name is None else self._store.named(entity_type.subs, str(name))
        if stored is None:
            raise CatalogError(Fault.DANGLING_REFERENCE, f"{entity_type.name} {reference['uniqueAttributes']}")
        return stored.guid, stored.type


def _checked(entity: Incoming, attribute: Attribute, value: Any) -> Any:
    """Return the value of an attribute. Atlas converts values to its type; Throughline sends texts only."""
    limit = LONGEST_NAME if attribute.unique or attribute.name == "name" else LONGEST_PROPERTY
    if isinstance(value, str) and len(value.encode()) > limit:
        raise CatalogError(Fault.BAD_REQUEST, f"{entity.type.name}.{attribute.name} is longer than {limit} bytes")
    return value


def _check_mandatory(entity: Incoming) -> None:
    related = entity.raw.get("relationshipAttributes") or {}
    for name, attribute in entity.type.attributes.items():
        if not attribute.optional and entity.values.get(name) is None and not related.get(name):
            place = f"{entity.type.name}.{name}"
            raise CatalogError(Fault.BAD_ENTITY, f"{place} is mandatory in {attribute.declared_by} and missing")


def _plain_values(entity: Incoming) -> Iterator[tuple[Attribute, Any]]:
    """Return the sent attributes that are no relationships; unknown ones are silently dropped."""
    for name, value in (entity.raw.get("attributes") or {}).items():
        attribute = entity.type.attributes.get(name)
        if attribute is not None and name not in entity.type.relations:
            yield attribute, value


def _relation_values(entity: Incoming) -> Iterator[tuple[Relation, Any]]:
    """Return the sent relationships: the relationship attributes or, without them, those among the attributes."""
    values = (entity.raw.get("attributes") or {}) | (entity.raw.get("relationshipAttributes") or {})
    for name, relation in entity.type.relations.items():
        if name in values:
            yield relation, values[name]


def _references(value: Any) -> list[Json]:
    """Return the references in a value."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _holds(reference: Json) -> bool:
    """Whether a reference is to an existing relationship: a client may send back an ended one that it has read."""
    return bool(reference.get("relationshipStatus") != "DELETED")


def _is_placeholder(guid: str) -> bool:
    return guid.startswith("-")


def _is_guid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
