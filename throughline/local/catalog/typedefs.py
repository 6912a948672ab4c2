"""Creating, changing and deleting type definitions by Atlas' rules."""

import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.graph.entities import now
from throughline.local.catalog.graph.store import Store
from throughline.local.catalog.graph.values import PRIMITIVES
from throughline.local.catalog.registry import Registry
from throughline.local.catalog.types import builtin_typedefs, plain_typedefs

Json = dict[str, Any]

# Key in a request or an answer -> category.
CATEGORIES = {
    "enumDefs": "ENUM",
    "structDefs": "STRUCT",
    "classificationDefs": "CLASSIFICATION",
    "entityDefs": "ENTITY",
    "relationshipDefs": "RELATIONSHIP",
    "businessMetadataDefs": "BUSINESS_METADATA",
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*")
_CLASSIFICATION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_ .]*")
# Atlas accepts any attribute name; here a quotation mark in one would break the SQL path in a search.
_ATTRIBUTE_NAME = re.compile(r'[^"\\]+')
_INNER = re.compile(r"(?:array<(?P<item>.+)>|map<(?P<key>[^,]+),(?P<value>.+)>)")


class Typedefs:
    """All type definitions: the built-in ones, overridden by those that clients stored."""

    def __init__(self, store: Store, *, plain: bool = False, clock: Callable[[], int] = now) -> None:
        self._store = store
        self._clock = clock
        self._builtin = {typedef["name"]: typedef for typedef in (plain_typedefs() if plain else builtin_typedefs())}
        self.registry = self.reload()

    def reload(self) -> Registry:
        """Read the stored definitions again; return their registry."""
        stored = {typedef["name"]: typedef for typedef in self._store.typedefs()}
        self.registry = Registry((self._builtin | stored).values())
        return self.registry

    def everything(self, category: str | None = None) -> Json:
        """Return all definitions by kind; `category`: only those, the other lists stay empty."""
        return self._grouped(
            typedef
            for typedef in self.registry.typedefs.values()
            if category is None or typedef["category"] == category.upper()
        )

    def headers(self) -> list[Json]:
        """Return guid, name and category of all definitions."""
        keys = ("guid", "name", "serviceType", "category")
        return [{key: typedef.get(key) for key in keys} for typedef in self.registry.typedefs.values()]

    def named(self, name: str, category: str | None = None) -> Json:
        """Return one definition; error 404-00-001 when there is none, or none of this category."""
        typedef = self.registry.typedefs.get(name)
        if typedef is None or category not in {None, typedef["category"]}:
            raise CatalogError(Fault.UNKNOWN_TYPE_NAME, (category or "type").lower(), name)
        return self.registry.to_json(typedef)

    def by_guid(self, guid: str) -> Json:
        """Return one definition; error 404-00-002 when there is none."""
        for typedef in self.registry.typedefs.values():
            if typedef["guid"] == guid:
                return self.registry.to_json(typedef)
        raise CatalogError(Fault.UNKNOWN_TYPE_GUID, guid)

    def create(self, payload: Any) -> Json:
        """Store new definitions, all or none. Errors: 409-00-001 when one exists, 400 when one is not valid."""
        known = self.registry.typedefs
        new: dict[str, Json] = {}
        for category, typedef in _definitions(payload):
            name = typedef["name"]
            if name in known or name in new:
                raise CatalogError(Fault.TYPE_EXISTS, name)
            if not (_CLASSIFICATION_NAME if category == "CLASSIFICATION" else _NAME).fullmatch(name):
                raise CatalogError(Fault.BAD_TYPE_NAME, name)
            new[name] = self._stamped(typedef, category, {})
        self._check(new)
        return self._save(new)

    def update(self, payload: Any) -> Json:
        """Change definitions, all or none. Errors: 404-00-001 for an unknown one, 400 for a change Atlas refuses."""
        changed: dict[str, Json] = {}
        for category, typedef in _definitions(payload):
            known = self.named(typedef["name"], category)
            _check_change(known, typedef)
            stored = self.registry.typedefs[typedef["name"]]
            changed[typedef["name"]] = self._stamped(typedef, category, stored)
        self._check(changed)
        return self._save(changed)

    def delete(self, names: Iterable[str]) -> None:
        """Delete definitions, all or none. Errors: 404-00-001 for an unknown one, 409-00-002 for one in use."""
        doomed = dict.fromkeys(names)
        for name in doomed:
            self.named(name)
            for use in self._uses(name):
                if use not in doomed:
                    raise CatalogError(Fault.TYPE_IN_USE, name, use)
        with self._store.transaction():
            for name in doomed:
                self._store.drop_typedef(name)
        self.reload()

    def delete_all(self, payload: Any) -> None:
        """Delete the definitions of a request, by their names."""
        self.delete(typedef["name"] for _, typedef in _definitions(payload))

    def _uses(self, name: str) -> Iterator[str]:
        if name in self._builtin:
            yield "it is built in"
        if self._store.count("type = ?", (name,)):
            yield "there are entities of it"
        for other, typedef in self.registry.typedefs.items():
            ends = [(typedef.get(end) or {}).get("type") for end in ("endDef1", "endDef2")]
            types = [attribute.get("typeName") for attribute in typedef.get("attributeDefs") or ()]
            if name in (*(typedef.get("superTypes") or ()), *ends, *types):
                yield other

    def _check(self, new: dict[str, Json]) -> None:
        """Check definitions against all others, the new ones included."""
        known = self.registry.typedefs | new
        for name, typedef in new.items():
            for super_type in typedef.get("superTypes") or ():
                if known.get(super_type, {}).get("category") != typedef["category"]:
                    raise CatalogError(Fault.BAD_REQUEST, f"{name}: the super type {super_type} does not exist")
                if name in _ancestors(known, super_type):
                    raise CatalogError(Fault.CIRCULAR_TYPE, name, super_type)
            for attribute in typedef.get("attributeDefs") or ():
                if not isinstance(attribute.get("name"), str) or not _ATTRIBUTE_NAME.fullmatch(attribute["name"]):
                    raise CatalogError(Fault.BAD_TYPE_DEFINITION, name, "an attribute has no usable name")
                if unknown := _unknown_part(known, attribute.get("typeName") or "string"):
                    raise CatalogError(Fault.BAD_REQUEST, f"{name}.{attribute['name']} has the unknown type {unknown}")
            if typedef["category"] == "RELATIONSHIP":
                _check_ends(known, typedef)

    def _stamped(self, typedef: Json, category: str, known: Json) -> Json:
        moment = self._clock()
        kept = {key: value for key, value in typedef.items() if key not in {"subTypes", "relationshipAttributeDefs"}}
        return kept | {
            "category": category,
            "guid": known.get("guid") or str(uuid.uuid4()),
            "createdBy": "admin",
            "updatedBy": "admin",
            "createTime": known.get("createTime", moment),
            "updateTime": moment,
            "version": known.get("version", 0) + 1,
            "description": typedef.get("description") or typedef["name"],
            "typeVersion": typedef.get("typeVersion") or "1.0",
        }

    def _save(self, typedefs: dict[str, Json]) -> Json:
        with self._store.transaction():
            for typedef in typedefs.values():
                self._store.put_typedef(typedef)
        self.reload()
        return self._grouped(self.registry.typedefs[name] for name in typedefs)

    def _grouped(self, typedefs: Iterable[Json]) -> Json:
        found: dict[str, list[Json]] = {key: [] for key in CATEGORIES}
        keys = {category: key for key, category in CATEGORIES.items()}
        for typedef in typedefs:
            found[keys[typedef["category"]]].append(self.registry.to_json(typedef))
        return dict(found)


def _definitions(payload: Any) -> Iterator[tuple[str, Json]]:
    if not isinstance(payload, dict):
        raise CatalogError(Fault.BAD_REQUEST, "type definitions are a JSON object of lists: " + ", ".join(CATEGORIES))
    for key, category in CATEGORIES.items():
        for typedef in _objects(payload.get(key), key):
            _check_shape(typedef)
            yield category, typedef


def _check_shape(typedef: Json) -> None:
    name, supers = typedef.get("name"), typedef.get("superTypes") or []
    if not isinstance(name, str):
        raise CatalogError(Fault.BAD_TYPE_DEFINITION, typedef, "it has no name")
    if not isinstance(supers, list) or not all(isinstance(super_type, str) for super_type in supers):
        raise CatalogError(Fault.BAD_TYPE_DEFINITION, name, "its superTypes are a list of names")
    for part, key in {"attributeDefs": "typeName", "elementDefs": "value"}.items():
        for item in _objects(typedef.get(part), f"{name}.{part}"):
            if not isinstance(item.get(key) or "string", str):
                raise CatalogError(Fault.BAD_TYPE_DEFINITION, name, f"in {part}, {key} is a text")


def _objects(value: Any, place: str) -> list[Json]:
    found = value or []
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise CatalogError(Fault.BAD_TYPE_DEFINITION, place, "it is a list of JSON objects")
    return found


def _check_change(known: Json, changed: Json) -> None:
    name = changed["name"]
    before = {attribute["name"] for attribute in known.get("attributeDefs") or ()}
    after = {str(attribute.get("name")): attribute for attribute in changed.get("attributeDefs") or ()}
    for attribute in sorted(before - after.keys()):
        raise CatalogError(Fault.ATTRIBUTE_REMOVED, name, attribute)
    for attribute in sorted(after.keys() - before):
        if not after[attribute].get("isOptional", True):
            raise CatalogError(Fault.MANDATORY_ADDED, name, attribute)
    if set(known.get("superTypes") or ()) - set(changed.get("superTypes") or ()):
        raise CatalogError(Fault.SUPER_TYPE_REMOVED, name)


def _check_ends(known: dict[str, Json], typedef: Json) -> None:
    for end in ("endDef1", "endDef2"):
        definition = typedef.get(end)
        if not isinstance(definition, dict) or not isinstance(definition.get("name"), str):
            raise CatalogError(Fault.BAD_TYPE_DEFINITION, typedef["name"], f"it has no {end}")
        if known.get(str(definition.get("type")), {}).get("category") != "ENTITY":
            raise CatalogError(
                Fault.BAD_REQUEST, f"{typedef['name']}.{end} has no known type: {definition.get('type')}"
            )


def _ancestors(known: dict[str, Json], name: str) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting.extend(known.get(current, {}).get("superTypes") or ())
    return found


def _unknown_part(known: dict[str, Json], type_name: str) -> str | None:
    """Return the undefined part of an attribute's type, or None."""
    if inner := _INNER.fullmatch(type_name):
        parts = [part.strip() for part in inner.groups() if part]
        return next((unknown for part in parts if (unknown := _unknown_part(known, part))), None)
    return None if type_name in PRIMITIVES or type_name in known else type_name
