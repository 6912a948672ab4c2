"""The type definitions: the built-in ones, overridden by those that clients stored, with inheritance resolved."""

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.store import Store, now
from throughline.local.catalog.types import builtin_typedefs, plain_typedefs

Json = dict[str, Any]

CATEGORIES = {
    "enumDefs": "ENUM",
    "structDefs": "STRUCT",
    "classificationDefs": "CLASSIFICATION",
    "entityDefs": "ENTITY",
    "relationshipDefs": "RELATIONSHIP",
    "businessMetadataDefs": "BUSINESS_METADATA",
}
"""The category of the definitions under each key of a request or an answer."""
_NUMBERS = ("byte", "short", "int", "long", "biginteger", "float", "double", "bigdecimal")
_PRIMITIVES = frozenset({"string", "boolean", "date", *_NUMBERS})
_ARRAY = re.compile(r"array<(.+)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """An attribute of an entity type that is no relationship, its own or inherited from `declared_by`."""

    name: str
    declared_by: str
    optional: bool
    unique: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One end of a relationship, as an attribute of the entity types on this side (`type_name`). `owns`: the entity at
    the far end is deleted with this one; `legacy`: also shown among the attributes.
    """

    name: str
    relationship: str
    is_end1: bool
    type_name: str
    far_type: str
    many: bool
    far_single: bool
    owns: bool
    legacy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityType:
    """An entity type with everything it inherits. `supers` and `subs` include the type itself."""

    name: str
    supers: frozenset[str]
    subs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    relations: Mapping[str, Relation]


class Typedefs:
    """All type definitions. `plain`: only the types of an Atlas without further models are built in, not Purview's."""

    def __init__(self, store: Store, *, plain: bool) -> None:
        self._store = store
        self._plain = plain
        self.reload()

    def reload(self) -> None:
        """Take over the definitions of the store."""
        self.by_name, self._types = _builtin(plain=self._plain)
        if self._store.typedefs:
            self.by_name = {**self.by_name, **self._store.typedefs}
            self._types = _resolved(self.by_name)

    # -- reading

    def entity_type(self, name: object) -> EntityType:
        """Return the entity type of this name. Error: 400-00-014."""
        entity_type = self._types.get(name) if isinstance(name, str) else None
        if entity_type is None:
            raise CatalogError(Fault.UNKNOWN_TYPE, "ENTITY", name)
        return entity_type

    def is_entity_type(self, name: object) -> bool:
        """Whether an entity type has this name."""
        return name in self._types

    def category(self, name: object) -> str:
        """Return the category of a definition, empty when there is none of this name."""
        return str(self.by_name.get(str(name), {}).get("category", ""))

    def grouped(self, typedefs: Iterable[Json]) -> Json:
        """Return definitions as an answer to clients, by kind."""
        groups: dict[str, list[Json]] = {key: [] for key in CATEGORIES}
        keys = {category: key for key, category in CATEGORIES.items()}
        for typedef in typedefs:
            groups[keys[typedef["category"]]].append(typedef)
        return dict(groups)

    def named(self, name: str, category: str) -> Json:
        """Return one definition for clients; error 404-00-001 when there is none of this category."""
        if self.category(name) != category:
            raise CatalogError(Fault.UNKNOWN_TYPE_NAME, category.lower(), name)
        return self.by_name[name]

    # -- checking what entities hold

    def check_classification(self, value: Any) -> None:
        """Refuse a classification (400-00-014) that is not `{"typeName": <a known type>}`."""
        name = value.get("typeName") if isinstance(value, dict) else value
        if self.category(name) != "CLASSIFICATION":
            raise CatalogError(Fault.UNKNOWN_TYPE, "CLASSIFICATION", name)

    def check_business(self, entity_type: EntityType, group: str, values: Any) -> None:
        """Refuse values of business metadata (400-00-029) that are not defined, or not for this type."""
        if self.category(group) != "BUSINESS_METADATA" or not isinstance(values, dict):
            raise CatalogError(Fault.BAD_REQUEST, f"there is no business metadata {group}")
        definitions = {attribute["name"]: attribute for attribute in self.by_name[group].get("attributeDefs") or ()}
        for name, value in values.items():
            options = definitions.get(name, {}).get("options") or {}
            types = json.loads(options.get("applicableEntityTypes") or "[]")
            if name not in definitions or not entity_type.supers.intersection(types):
                raise CatalogError(Fault.BAD_REQUEST, f"{group}.{name} is no attribute of {entity_type.name}")
            if len(str(value)) > int(options.get("maxStrLength") or 50):
                raise CatalogError(Fault.BAD_REQUEST, f"{group}.{name} is longer than its definition allows")

    # -- writing

    def create(self, payload: Json) -> Json:
        """Store new definitions. Errors: 409-00-001 when one exists, 400 when one is not valid."""
        typedefs: dict[str, Json] = {}
        for category, typedef in _definitions(payload):
            name = typedef["name"]
            if name in self.by_name or name in typedefs:
                raise CatalogError(Fault.TYPE_EXISTS, name)
            typedefs[name] = self._stamped(typedef, category, {})
        return self._save(typedefs)

    def update(self, payload: Json) -> Json:
        """Change definitions. Errors: 404-00-001 for an unknown one, 400 for a change that Atlas refuses."""
        typedefs = {}
        for category, typedef in _definitions(payload):
            stored = self.named(typedef["name"], category)
            _check_change(stored, typedef)
            typedefs[typedef["name"]] = self._stamped(typedef, category, stored)
        return self._save(typedefs)

    def _save(self, typedefs: dict[str, Json]) -> Json:
        for typedef in typedefs.values():
            self._check(typedef, {**self.by_name, **typedefs})
        for typedef in typedefs.values():
            self._store.put_typedef(typedef)
        self.reload()
        return self.grouped(typedefs.values())

    def _check(self, typedef: Json, by_name: Mapping[str, Json]) -> None:
        """Refuse a definition whose super types, ends or attributes' types are not among all definitions."""
        ends = [(typedef.get(end) or {}).get("type") for end in ("endDef1", "endDef2")]
        types = [*(typedef.get("superTypes") or ()), *(ends if typedef["category"] == "RELATIONSHIP" else ())]
        types += [
            _ARRAY.sub(r"\1", attribute.get("typeName") or "string") for attribute in typedef.get("attributeDefs") or ()
        ]
        for name in types:
            if name not in by_name and name not in _PRIMITIVES:
                raise CatalogError(Fault.BAD_REQUEST, f"{typedef['name']} names a type that does not exist: {name}")

    def _stamped(self, typedef: Json, category: str, stored: Json) -> Json:
        moment = now()
        return typedef | {
            "category": category,
            "guid": stored.get("guid") or str(uuid.uuid4()),
            "createdBy": "admin",
            "updatedBy": "admin",
            "createTime": stored.get("createTime", moment),
            "updateTime": moment,
            "version": stored.get("version", 0) + 1,
            "description": typedef.get("description") or typedef["name"],
            "typeVersion": typedef.get("typeVersion") or "1.0",
        }


@cache
def _builtin(*, plain: bool) -> tuple[Mapping[str, Json], Mapping[str, EntityType]]:
    """The built-in definitions and entity types by name, the same for all catalogs of a process."""
    by_name = {typedef["name"]: typedef for typedef in (plain_typedefs() if plain else builtin_typedefs())}
    return by_name, _resolved(by_name)


def _resolved(by_name: Mapping[str, Json]) -> dict[str, EntityType]:
    """The entity types of these definitions, with what they inherit."""
    entities = {name: typedef for name, typedef in by_name.items() if typedef["category"] == "ENTITY"}
    supers = {name: _ancestors(entities, name) for name in entities}
    relations: dict[str, list[Relation]] = {}
    for typedef in by_name.values():
        if typedef["category"] == "RELATIONSHIP":
            for relation in _relations_of(typedef):
                relations.setdefault(relation.type_name, []).append(relation)
    return {name: _entity_type(name, entities, supers, relations) for name in entities}


def _definitions(payload: Json) -> Iterator[tuple[str, Json]]:
    for key, category in CATEGORIES.items():
        for typedef in payload.get(key) or ():
            yield category, typedef


def _check_change(stored: Json, typedef: Json) -> None:
    names = {attribute["name"] for attribute in stored.get("attributeDefs") or ()}
    attributes = {str(attribute.get("name")): attribute for attribute in typedef.get("attributeDefs") or ()}
    for name in sorted(names - attributes.keys()):
        raise CatalogError(Fault.ATTRIBUTE_REMOVED, typedef["name"], name)
    for name in sorted(attributes.keys() - names):
        if not attributes[name].get("isOptional", True):
            raise CatalogError(Fault.MANDATORY_ADDED, typedef["name"], name)


def _ancestors(entities: Mapping[str, Json], name: str) -> frozenset[str]:
    names: set[str] = set()
    waiting = [name]
    while waiting:
        names.add(current := waiting.pop())
        waiting.extend(set(entities.get(current, {}).get("superTypes") or ()) - names)
    return frozenset(names)


def _entity_type(
    name: str,
    entities: Mapping[str, Json],
    supers: Mapping[str, frozenset[str]],
    relations: Mapping[str, list[Relation]],
) -> EntityType:
    # From the most general to the type itself, so that a redefinition wins.
    lineage = sorted(supers[name], key=lambda ancestor: (len(supers.get(ancestor, ())), ancestor))
    return EntityType(
        name=name,
        supers=supers[name],
        subs=tuple(entity for entity in entities if name in supers[entity]),
        attributes={
            definition["name"]: Attribute(
                name=definition["name"],
                declared_by=ancestor,
                optional=bool(definition.get("isOptional", True)),
                unique=bool(definition.get("isUnique", False)),
            )
            for ancestor in lineage
            for definition in entities.get(ancestor, {}).get("attributeDefs") or ()
        },
        relations={relation.name: relation for ancestor in lineage for relation in relations.get(ancestor, ())},
    )


def _relations_of(typedef: Json) -> tuple[Relation, Relation]:
    owned = typedef.get("relationshipCategory") == "COMPOSITION"

    def relation(end: Json, far_end: Json, *, is_end1: bool) -> Relation:
        return Relation(
            name=end["name"],
            relationship=typedef["name"],
            is_end1=is_end1,
            type_name=end["type"],
            far_type=far_end["type"],
            many=end.get("cardinality", "SINGLE") != "SINGLE",
            far_single=far_end.get("cardinality", "SINGLE") == "SINGLE",
            owns=owned and bool(end.get("isContainer")),
            legacy=bool(end.get("isLegacyAttribute")),
        )

    end1, end2 = typedef["endDef1"], typedef["endDef2"]
    return relation(end1, end2, is_end1=True), relation(end2, end1, is_end1=False)
