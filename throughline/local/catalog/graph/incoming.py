"""The entities that a client sends, checked, with their references resolved.

The checks run in Atlas' own order, so that the same mistake gets the same error: types and shapes of references, then
references by guid, then references by unique attributes, then values.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import orjson

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.graph.store import Entity, Store
from throughline.local.catalog.graph.values import UnfitValueError, normalise, referenced_type
from throughline.local.catalog.registry import Attribute, EntityType, Registry, Relation

Json = dict[str, Any]

# Purview documents 4 KB for a name; real Atlas accepts longer ones, and takes minutes for each.
LONGEST_NAME = 4096
# Purview's documented limits of a property, and of a whole entity.
LONGEST_PROPERTY = 32 * 1024
LARGEST_ENTITY = 2 * 1024 * 1024

_SHAPES = {
    "attributes": dict,
    "relationshipAttributes": dict,
    "customAttributes": dict,
    "businessAttributes": dict,
    "classifications": list,
    "labels": list,
}


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

    `partial`: mandatory attributes may be missing. Errors: the CatalogError that the server answers with.
    """

    def __init__(self, store: Store, registry: Registry, *, partial: bool = False) -> None:
        self._store = store
        self._registry = registry
        self._partial = partial
        self._by_key: dict[str, Incoming] = {}
        self._stored: dict[str, Entity] = {}
        self.entities: list[Incoming] = []
        self.assignments: dict[str, str] = {}

    def read(self, sent: Iterable[Any], referred: Mapping[str, Any]) -> None:
        """Check the entities sent and the `referredEntities`, and resolve all their references."""
        self._collect(sent, referred)
        self._find_guids()
        self._find_own()
        for entity in self._by_key.values():
            if len(orjson.dumps(entity.raw)) > LARGEST_ENTITY:
                raise CatalogError(Fault.BAD_REQUEST, f"an entity has more than {LARGEST_ENTITY} bytes")
            entity.values = self._values(entity)
            self._check_mandatory(entity)
        for entity in self._by_key.values():
            entity.relations = {
                relation.name: self._targets(relation, value) for relation, value in _relation_values(entity)
            }

    # -- 1: collect the entities and check the form of their references

    def _collect(self, sent: Iterable[Any], referred: Mapping[str, Any]) -> None:
        made_up = (f"-{number}" for number in count(10**15))
        needed: list[str] = []
        for raw in sent:
            needed.extend(self._take(raw, made_up))
        if not self._by_key:
            raise CatalogError(Fault.BAD_PARAMETERS, "no entities to create or update")
        # Referred entities count only when something refers to them.
        while needed:
            key = needed.pop()
            if key not in self._by_key and key in referred:
                needed.extend(self._take({"guid": key} | _object(referred[key]), made_up))
        self.entities = list(self._by_key.values())

    def _take(self, raw: Any, made_up: Iterator[str]) -> list[str]:
        """Add one entity; return the guids that it refers to."""
        raw = _object(raw)
        guid = raw.get("guid")
        key = next(made_up) if guid is None else str(guid)
        if not _is_placeholder(key) and not _is_guid(key):
            raise CatalogError(Fault.DANGLING_REFERENCE, key)
        entity = Incoming(key=key, type=self._registry.entity_type(raw.get("typeName")), raw=raw)
        self._registry.check_marks(entity.type, raw)
        found = [str(ref["guid"]) for ref in self._references(entity) if ref.get("guid") is not None]
        # Of two entities with the same guid the second is silently dropped.
        self._by_key.setdefault(key, entity)
        return found

    def _references(self, entity: Incoming) -> Iterator[Json]:
        for _, value in _relation_values(entity):
            yield from filter(_holds, _reference_list(value))
        for attribute, value in _plain_values(entity):
            if referenced_type(self._registry, attribute.type_name):
                yield from _reference_list(value)

    # -- 2: references by guid

    def _find_guids(self) -> None:
        wanted = {
            str(reference["guid"])
            for entity in self.entities
            for reference in self._references(entity)
            if reference.get("guid") is not None
        }
        wanted.update(key for key in self._by_key if _is_guid(key))
        self._stored = self._store.entities(wanted)
        for guid in sorted(wanted):
            known = self._stored.get(guid)
            if guid in self._by_key and _is_placeholder(guid):
                continue
            if known is None or not known.active:
                raise CatalogError(Fault.DANGLING_REFERENCE, guid)

    # -- 3: find the stored entities, and unite equal ones

    def _find_own(self) -> None:
        new: dict[tuple[str, str], Incoming] = {}
        for entity in self.entities:
            if _is_guid(entity.key):
                self._found(entity, self._stored[entity.key])
                continue
            name = _own_name(entity)
            known = self._store.named(entity.type.subs, name) if name is not None else None
            if known is not None:
                self._found(entity, known)
                continue
            twin = new.setdefault((entity.type.name, name), entity) if name is not None else entity
            entity.guid = twin.guid if twin is not entity else str(uuid.uuid4())
        self.assignments = {entity.key: entity.guid for entity in self.entities}

    def _found(self, entity: Incoming, known: Entity) -> None:
        if known.type_name not in entity.type.subs:
            raise CatalogError(Fault.TYPE_MISMATCH, known.type_name, entity.type.name)
        entity.existing = known
        entity.guid = known.guid
        entity.type = self._registry.entity_type(known.type_name)

    # -- 4: values

    def _values(self, entity: Incoming) -> Json:
        values: Json = {}
        for attribute, value in _plain_values(entity):
            place = f"{entity.type.name}.{attribute.name}"
            if value is None:
                values[attribute.name] = None
                continue
            if referenced_type(self._registry, attribute.type_name):
                found = [self._object_id(reference) for reference in _reference_list(value)]
                values[attribute.name] = found if isinstance(value, list) else found[0]
                continue
            values[attribute.name] = self._normalised(entity, attribute, value)
            most = LONGEST_NAME if attribute.unique or attribute.name == "name" else LONGEST_PROPERTY
            if isinstance(values[attribute.name], str) and len(values[attribute.name].encode()) > most:
                raise CatalogError(Fault.BAD_REQUEST, f"{place} is longer than {most} bytes")
        if entity.existing is None:
            for attribute in entity.type.attributes.values():
                if attribute.default is not None and values.get(attribute.name) is None:
                    values[attribute.name] = self._normalised(entity, attribute, attribute.default)
        return values

    def _normalised(self, entity: Incoming, attribute: Attribute, value: Any) -> Any:
        try:
            return normalise(self._registry, attribute.type_name, value)
        except UnfitValueError as error:
            raise CatalogError(Fault.BAD_ENTITY, f"{entity.type.name}.{attribute.name}: {error}") from error

    def _check_mandatory(self, entity: Incoming) -> None:
        related = entity.raw.get("relationshipAttributes") or {}
        for attribute in entity.type.attributes.values():
            if attribute.optional or (self._partial and attribute.name not in entity.values):
                continue
            if entity.values.get(attribute.name) is None and not related.get(attribute.name):
                place = f"{entity.type.name}.{attribute.name}"
                raise CatalogError(Fault.BAD_ENTITY, f"{place} is mandatory in {attribute.declared_by} and missing")

    # -- 5: relationships

    def _targets(self, relation: Relation, value: Any) -> list[str] | None:
        """Return the guids of a relationship attribute's new targets; None: leave it unchanged."""
        if value is None:
            # A null leaves a set unchanged, but ends a single relationship.
            return None if relation.many else []
        targets: list[str] = []
        for reference in filter(_holds, _reference_list(value)):
            guid, type_name = self._resolve(reference)
            if relation.other_type not in self._registry.entity_type(type_name).supers:
                ends = (relation.own_type, type_name) if relation.is_end1 else (type_name, relation.own_type)
                raise CatalogError(Fault.BAD_RELATIONSHIP_END, relation.relationship, *ends)
            targets.append(guid)
        return list(dict.fromkeys(targets if relation.many else targets[:1]))

    def _object_id(self, reference: Json) -> Json:
        guid, type_name = self._resolve(reference)
        return {"guid": guid, "typeName": type_name}

    def _resolve(self, reference: Json) -> tuple[str, str]:
        """Return guid and type of a reference's target. Unique attributes refer to stored entities only."""
        if reference.get("guid") is not None:
            key = str(reference["guid"])
            if sent := self._by_key.get(key):
                return sent.guid, sent.type.name
            return key, self._stored[key].type_name
        entity_type = self._registry.entity_type(reference["typeName"])
        name = reference["uniqueAttributes"].get("qualifiedName")
        known = self._store.named(entity_type.subs, str(name)) if name is not None else None
        if known is None:
            raise CatalogError(Fault.DANGLING_REFERENCE, f"{entity_type.name} {reference['uniqueAttributes']}")
        return known.guid, known.type_name


def _plain_values(entity: Incoming) -> Iterator[tuple[Attribute, Any]]:
    """Return the sent attributes that are no relationships; unknown ones are silently dropped."""
    for name, value in (entity.raw.get("attributes") or {}).items():
        attribute = entity.type.attributes.get(name)
        if attribute is not None and name not in entity.type.relations:
            yield attribute, value


def _relation_values(entity: Incoming) -> Iterator[tuple[Relation, Any]]:
    """Return the sent relationships: the relationship attributes or, without them, those among the attributes."""
    attributes = entity.raw.get("attributes") or {}
    related = entity.raw.get("relationshipAttributes") or {}
    for name, relation in entity.type.relations.items():
        if name in related:
            yield relation, related[name]
        elif name in attributes:
            yield relation, attributes[name]


def _own_name(entity: Incoming) -> str | None:
    name = (entity.raw.get("attributes") or {}).get("qualifiedName")
    return None if name is None else str(name)


def _reference_list(value: Any) -> list[Json]:
    """Return the references in a value, each of them well formed."""
    if value is None:
        return []
    references = value if isinstance(value, list) else [value]
    for reference in references:
        if not _is_reference(reference):
            raise CatalogError(Fault.BAD_REFERENCE, reference)
    return references


def _is_reference(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if value.get("guid") is not None:
        return _is_placeholder(str(value["guid"])) or _is_guid(str(value["guid"]))
    return bool(isinstance(value.get("typeName"), str) and isinstance(value.get("uniqueAttributes"), dict))


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


def _object(raw: Any) -> Json:
    if not isinstance(raw, dict):
        raise CatalogError(Fault.BAD_REQUEST, f"an entity is a JSON object, not {raw!r}")
    for name, shape in _SHAPES.items():
        if raw.get(name) is not None and not isinstance(raw[name], shape):
            raise CatalogError(
                Fault.BAD_REQUEST, f"an entity's {name} are a JSON {'object' if shape is dict else 'list'}"
            )
    return raw
