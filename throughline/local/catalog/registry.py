"""An immutable view of the type definitions, with inheritance and relationships resolved."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from throughline.local.catalog.errors import CatalogError, Fault

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """An attribute of an entity type that is no relationship, its own or inherited from `declared_by`."""

    name: str
    type_name: str
    declared_by: str
    optional: bool
    unique: bool
    default: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One end of a relationship, as an attribute of the entity types on this side."""

    name: str
    relationship: str
    is_end1: bool
    own_type: str
    other_type: str
    many: bool
    other_single: bool
    owns: bool  # the other side is deleted with this one
    legacy: bool  # also shown among the attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityType:
    """An entity type with everything it inherits. `supers` and `subs` include the type itself."""

    name: str
    supers: frozenset[str]
    subs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    relations: Mapping[str, Relation]


class Registry:
    """All type definitions at one moment; replaced by a new registry when one of them changes."""

    def __init__(self, typedefs: Iterable[Json]) -> None:
        self.typedefs: dict[str, Json] = {typedef["name"]: typedef for typedef in typedefs}
        self._entity_defs = {n: t for n, t in self.typedefs.items() if t["category"] == "ENTITY"}
        self._supers = {name: self._supers_of(name) for name in self._entity_defs}
        self.subs: dict[str, tuple[str, ...]] = {
            name: tuple(other for other in self._entity_defs if name in self._supers[other])
            for name in self._entity_defs
        }
        relations: dict[str, list[Relation]] = {}
        for typedef in self.typedefs.values():
            if typedef["category"] == "RELATIONSHIP":
                for relation in _relations_of(typedef):
                    relations.setdefault(relation.own_type, []).append(relation)
        self._types = {name: self._entity_type(name, relations) for name in self._entity_defs}

    def entity_type(self, name: object) -> EntityType:
        """Return the entity type of this name; error 400-00-014 when there is none."""
        found = self._types.get(name) if isinstance(name, str) else None
        if found is None:
            raise CatalogError(Fault.UNKNOWN_TYPE, "ENTITY", name)
        return found

    def is_entity_type(self, name: str) -> bool:
        """Whether an entity type has this name."""
        return name in self._types

    def check_marks(self, entity_type: EntityType, raw: Json) -> None:
        """Refuse classifications and business attributes of an entity that are not defined."""
        for classification in raw.get("classifications") or ():
            self.check_classification(classification)
        for group, values in (raw.get("businessAttributes") or {}).items():
            self._check_business(entity_type, group, values)

    def check_classification(self, value: Any) -> None:
        """Refuse a classification (400-00-014) that is not `{"typeName": <a known type>}`."""
        name = value.get("typeName") if isinstance(value, dict) else value
        if self.typedefs.get(str(name), {}).get("category") != "CLASSIFICATION":
            raise CatalogError(Fault.UNKNOWN_TYPE, "CLASSIFICATION", name)

    def _check_business(self, entity_type: EntityType, group: str, values: Any) -> None:
        """Refuse values of business metadata (400-00-029) that are not defined, or not for this type."""
        known = self.typedefs.get(group, {})
        attributes = {each["name"]: each for each in known.get("attributeDefs") or ()}
        if known.get("category") != "BUSINESS_METADATA" or not isinstance(values, dict):
            raise CatalogError(Fault.BAD_REQUEST, f"there is no business metadata {group}")
        for name, value in values.items():
            options = attributes.get(name, {}).get("options") or {}
            types = json.loads(options.get("applicableEntityTypes") or "[]")
            if name not in attributes or not entity_type.supers.intersection(types):
                raise CatalogError(Fault.BAD_REQUEST, f"{group}.{name} is no attribute of {entity_type.name}")
            if len(str(value)) > int(options.get("maxStrLength") or 50):
                raise CatalogError(Fault.BAD_REQUEST, f"{group}.{name} is longer than its definition allows")

    def enum_values(self, name: str) -> frozenset[str] | None:
        """Return the values of an enumeration, or None when no enumeration has this name."""
        typedef = self.typedefs.get(name)
        if typedef is None or typedef["category"] != "ENUM":
            return None
        return frozenset(str(element.get("value")) for element in typedef.get("elementDefs") or ())

    def to_json(self, typedef: Json) -> Json:
        """Return a type definition in the form for clients: an entity's with sub types and relationship attributes."""
        if typedef["category"] != "ENTITY":
            return typedef
        entity_type = self._types[typedef["name"]]
        direct = [n for n, other in self._entity_defs.items() if typedef["name"] in (other.get("superTypes") or ())]
        return typedef | {
            "subTypes": direct,
            "relationshipAttributeDefs": [_relation_to_json(relation) for relation in entity_type.relations.values()],
        }

    def _supers_of(self, name: str) -> frozenset[str]:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current not in found:
                found.add(current)
                waiting.extend(self._entity_defs.get(current, {}).get("superTypes") or ())
        return frozenset(found)

    def _entity_type(self, name: str, relations: Mapping[str, list[Relation]]) -> EntityType:
        # From the most general to the type itself, so that a redefinition wins.
        lineage = sorted(self._supers[name], key=lambda other: (len(self._supers.get(other, ())), other))
        return EntityType(
            name=name,
            supers=self._supers[name],
            subs=self.subs[name],
            attributes={
                definition["name"]: _attribute(definition, declared_by=other)
                for other in lineage
                for definition in self._entity_defs.get(other, {}).get("attributeDefs") or ()
            },
            relations={relation.name: relation for other in lineage for relation in relations.get(other, ())},
        )


def _attribute(definition: Json, *, declared_by: str) -> Attribute:
    return Attribute(
        name=definition["name"],
        type_name=definition.get("typeName") or "string",
        declared_by=declared_by,
        optional=bool(definition.get("isOptional", True)),
        unique=bool(definition.get("isUnique", False)),
        default=definition.get("defaultValue"),
    )


def _relations_of(typedef: Json) -> tuple[Relation, Relation]:
    end1, end2 = typedef["endDef1"], typedef["endDef2"]
    owned = typedef.get("relationshipCategory") == "COMPOSITION"

    def relation(own: Json, other: Json, *, is_end1: bool) -> Relation:
        return Relation(
            name=own["name"],
            relationship=typedef["name"],
            is_end1=is_end1,
            own_type=own["type"],
            other_type=other["type"],
            many=own.get("cardinality", "SINGLE") != "SINGLE",
            other_single=other.get("cardinality", "SINGLE") == "SINGLE",
            owns=owned and bool(own.get("isContainer")),
            legacy=bool(own.get("isLegacyAttribute")),
        )

    return relation(end1, end2, is_end1=True), relation(end2, end1, is_end1=False)


def _relation_to_json(relation: Relation) -> Json:
    return {
        "name": relation.name,
        "typeName": f"array<{relation.other_type}>" if relation.many else relation.other_type,
        "isOptional": True,
        "cardinality": "SET" if relation.many else "SINGLE",
        "valuesMinCount": -1,
        "valuesMaxCount": -1,
        "isUnique": False,
        "isIndexable": False,
        "includeInNotification": False,
        "relationshipTypeName": relation.relationship,
        "isLegacyAttribute": relation.legacy,
    }
