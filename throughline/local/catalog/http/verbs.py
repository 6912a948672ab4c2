"""The catalog's verbs as a table: method, path, whether it writes, and the function that implements it.

Paths are below `/api/atlas/v2`, `/datamap/api/atlas/v2` and, for older accounts, `/catalog/api/atlas/v2`; those of
`PURVIEW` are below the server's root. The verbs are those that Throughline calls through pyapacheatlas 0.16.0, and a
few more that show the same data.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from throughline.local.catalog import marks
from throughline.local.catalog.entities import Writer
from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.glossary import Glossary
from throughline.local.catalog.purview import OWNER, Account
from throughline.local.catalog.search import query, search
from throughline.local.catalog.store import ROOT, Entity, Store
from throughline.local.catalog.typedefs import CATEGORIES, Typedefs
from throughline.local.catalog.views import Views, lineage

Json = dict[str, Any]

NOTHING = object()
"""Marks an answer without a body (204)."""
_CATEGORIES = {"typedef": ""} | {key.removesuffix("s").lower(): category for key, category in CATEGORIES.items()}
"""The category of the definitions of a kind, as paths name it; empty: all."""
_UNIQUE = re.compile(r"attr(?:_\d+)?:(?P<name>.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call: its path parameters, its query in order, its JSON body (None without one), and its caller."""

    path: Mapping[str, str]
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None
    caller: str = OWNER

    @property
    def collection(self) -> str:
        """Return the collection that it writes into, if it names one: in the query or, in older calls, in the path."""
        return self.get("collectionId") or self.path.get("collection", "")

    @property
    def guids(self) -> list[str]:
        """Return the guids in its path and its query."""
        return [self.path["guid"]] if "guid" in self.path else [v for key, v in self.query if key == "guid"]

    @property
    def fields(self) -> Json:
        """Return its body, which has to be a JSON object. Error: 400-00-029."""
        if not isinstance(self.body, dict):
            raise CatalogError(Fault.BAD_REQUEST, f"expected a JSON object, not {self.body!r:.100}")
        return self.body

    @property
    def references(self) -> list[Json]:
        """Return its body, which has to be a list of JSON objects. Error: 400-00-01A."""
        return objects(self.body)

    @property
    def names(self) -> list[str]:
        """Return the qualified names in its query. Error: 400-00-013."""
        matches = [(match["name"], value) for key, value in self.query if (match := _UNIQUE.fullmatch(key))]
        unknown = next((name for name, _ in matches if name != "qualifiedName"), "")
        if unknown or not matches:
            details = unknown or "(none given: ?attr:qualifiedName=…)"
            raise CatalogError(Fault.NOT_UNIQUE, self.path["type"], details)
        return [value for _, value in matches]

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of a query parameter."""
        return next((value for key, value in self.query if key == name), default)

    def flag(self, name: str) -> bool:
        """Return a query parameter that is true or false; pyapacheatlas writes True and False."""
        return self.get(name).lower() == "true"

    def number(self, name: str, default: int) -> int:
        """Return a query parameter that is a whole number. Error: 400-00-029."""
        try:
            return int(self.get(name) or default)
        except ValueError as error:
            raise CatalogError(Fault.BAD_REQUEST, f"{name} is a whole number, not {self.get(name)}") from error


def objects(value: Any) -> list[Json]:
    """Return a value of a body, which has to be a list of JSON objects. Error: 400-00-01A."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise CatalogError(Fault.BAD_PARAMETERS, "a list of JSON objects is needed")
    return value


class Catalog:
    """The stored entities, their types, and the account of Purview.

    `soft`: deletes mark entities and keep them. `plain`: only the types of an Atlas without further models are built
    in, not Purview's.
    """

    def __init__(self, store: Store, *, soft: bool = True, plain: bool = False) -> None:
        self._soft = soft
        self.store = store
        self.calls_by_outcome: Counter[tuple[str, int, bool]] = Counter()
        """Numbers of calls by verb, by status, and by whether the verb writes."""
        self.account = Account()
        self.typedefs = Typedefs(store, plain=plain)
        self.views = Views(store, self.typedefs)
        self.glossary = Glossary(store, self.writer())

    def writer(self, call: Call | None = None) -> Writer:
        """Return a writer of entities, into the collection of a call."""
        collection, business = (call.collection, call.get("businessAttributeUpdateBehavior")) if call else ("", "")
        return Writer(self.store, self.typedefs, soft=self._soft, collection=collection, business=business or "ignore")

    def reset(self, *, types: bool) -> None:
        """Delete all entities and, with `types`, all type definitions that are not built in."""
        self.store.clear(types=types)
        self.account.reset()
        self.typedefs.reload()

    def calls(self) -> Json:
        """Return the counts of calls, `reads`, `writes`, `by_verb` and `by_outcome`, and of `entities` not deleted."""
        calls = self.calls_by_outcome
        by_verb: Counter[str] = Counter()
        by_outcome: dict[str, dict[str, int]] = {}
        for (verb, status, _), number in sorted(calls.items()):
            by_verb[verb] += number
            by_outcome.setdefault(verb, {})[str(status)] = number
        return {
            "reads": sum(number for (_, _, writes), number in calls.items() if not writes),
            "writes": sum(number for (_, _, writes), number in calls.items() if writes),
            "by_verb": dict(by_verb),
            "by_outcome": by_outcome,
            "entities": sum(entity.active for entity in self.store.entities.values()),
        }

    def by_guid(self, guid: str) -> Entity:
        """Return an entity, deleted or not. Error: 404-00-005."""
        if guid not in self.store.entities:
            raise CatalogError(Fault.UNKNOWN_GUID, guid)
        return self.store.entities[guid]

    def find(self, type_name: str, name: str) -> Entity | None:
        """Return an entity of a type, or a sub type, that is not deleted, or None. Error: 400-00-014."""
        return self.store.named(self.typedefs.entity_type(type_name).subs, name)

    def by_name(self, call: Call) -> Entity:
        """Return the entity of the type and the name in a call. Errors: 400-00-013, 400-00-014, 404-00-009."""
        entity = self.find(call.path["type"], call.names[0])
        if entity is None:
            raise CatalogError(Fault.UNKNOWN_NAME, call.path["type"], f"qualifiedName={call.names[0]}")
        return entity


@dataclass(frozen=True, slots=True)
class Verb:
    """A method, a path with parameters in braces, and the function that implements it."""

    method: str
    path: str
    run: Callable[[Catalog, Call], Any]
    writes: bool = False
    """Whether it creates, changes or deletes entities or types, even if it fails."""

    @property
    def name(self) -> str:
        """Return the name under which calls are counted."""
        return f"{self.method} {self.path}"


def run(catalog: Catalog, verb: Verb, call: Call) -> Any:
    """Run a verb as its caller may: the answer, or NOTHING. A verb that fails (CatalogError) writes nothing."""
    if not verb.writes:
        return catalog.account.readable(call.caller, verb.run(catalog, call))
    if call.caller != OWNER or call.collection:
        collections = {*_collections(catalog, call), *([call.collection] if call.collection else [])}
        for collection in collections or {ROOT}:
            catalog.account.check_write(call.caller, collection)
    with catalog.store.transaction():
        answer = verb.run(catalog, call)
    return NOTHING if answer is None else answer


def _collections(catalog: Catalog, call: Call) -> Iterator[str]:
    """Return the collections of the entities that a call writes: of new ones its own."""
    fields = call.body if isinstance(call.body, dict) else {}
    for guid in call.guids or fields.get("entityGuids") or ():
        yield _collection_of(catalog.store.entities.get(str(guid)))
    for raw in fields.get("entities") or ():
        attributes = raw.get("attributes") if isinstance(raw, dict) else None
        if attributes and catalog.typedefs.is_entity_type(raw.get("typeName")):
            entity = catalog.find(raw["typeName"], str(attributes.get("qualifiedName")))
            yield entity.collection if entity else call.collection or ROOT
    if "type" in call.path:
        yield _collection_of(catalog.find(call.path["type"], call.names[0]))


def _collection_of(entity: Entity | None) -> str:
    return entity.collection if entity else ROOT


def _get_typedef(catalog: Catalog, call: Call) -> Json:
    kind, name = call.path["kind"], call.path["name"]
    if kind not in _CATEGORIES:
        raise CatalogError(Fault.UNKNOWN_TYPE_NAME, kind, name)
    return catalog.typedefs.named(name, _CATEGORIES[kind])


def _post_bulk(catalog: Catalog, call: Call) -> Json:
    if not isinstance(call.fields.get("entities"), list):
        raise CatalogError(Fault.BAD_PARAMETERS, "no list of entities")
    return catalog.writer(call).upsert(call.fields["entities"])


def _get_bulk(catalog: Catalog, call: Call) -> Json:
    if not call.guids:
        raise CatalogError(Fault.UNKNOWN_GUID, "(none given)")
    return _many(catalog, call, [catalog.by_guid(guid) for guid in call.guids])


def _delete(catalog: Catalog, call: Call) -> Json:
    if not call.guids:
        raise CatalogError(Fault.BAD_PARAMETERS, "no guid")
    return catalog.writer().delete(call.guids)


def _delete_unique(catalog: Catalog, call: Call) -> Json:
    entity = catalog.find(call.path["type"], call.names[0])
    return catalog.writer().delete([entity.guid] if entity else [])


def _get_unique_bulk(catalog: Catalog, call: Call) -> Json:
    """Return the entities of these names; as on real servers, unknown names are left out."""
    entities = [catalog.find(call.path["type"], name) for name in call.names]
    return _many(catalog, call, [entity for entity in entities if entity])


def _one(catalog: Catalog, call: Call, entity: Entity) -> Json:
    answer = _many(catalog, call, [entity])
    return {"referredEntities": answer["referredEntities"], "entity": answer["entities"][0]}


def _many(catalog: Catalog, call: Call, entities: list[Entity]) -> Json:
    is_bare = call.flag("ignoreRelationships")
    return {
        "referredEntities": {} if call.flag("minExtInfo") else catalog.views.referred(entities, is_bare=is_bare),
        "entities": [catalog.views.full(entity, is_bare=is_bare) for entity in entities],
    }


def _lineage(catalog: Catalog, call: Call, entity: Entity) -> Json:
    direction, depth = call.get("direction", "BOTH"), call.number("depth", 3)
    return lineage(catalog.store, catalog.typedefs, entity, direction=direction, depth=depth)


def _post_classification(catalog: Catalog, call: Call) -> None:
    """Attach one classification to many entities."""
    mark, guids = call.fields.get("classification"), call.fields.get("entityGuids")
    if not isinstance(mark, dict) or not isinstance(guids, list) or not guids:
        raise CatalogError(Fault.BAD_PARAMETERS, "a classification and entityGuids are needed")
    for guid in dict.fromkeys(map(str, guids)):
        marks.attach(catalog.store, catalog.typedefs, catalog.by_guid(guid), mark)


def _delete_classification(catalog: Catalog, call: Call) -> None:
    entity = catalog.by_guid(call.path["guid"])
    marks.detach(catalog.store, catalog.typedefs, entity, call.path["classification"])


_ASSIGNED = "glossary/terms/{guid}/assignedEntities"
VERBS = (
    Verb("GET", "types/typedefs", lambda catalog, _: catalog.typedefs.grouped(catalog.typedefs.by_name.values())),
    Verb("GET", "types/typedefs/headers", lambda catalog, _: catalog.typedefs.headers()),
    Verb("POST", "types/typedefs", lambda catalog, call: catalog.typedefs.create(call.body), writes=True),
    Verb("PUT", "types/typedefs", lambda catalog, call: catalog.typedefs.update(call.body), writes=True),
    Verb("GET", "types/{kind}/name/{name}", _get_typedef),
    Verb("POST", "entity/bulk", _post_bulk, writes=True),
    Verb("GET", "entity/bulk", _get_bulk),
    Verb("DELETE", "entity/bulk", _delete, writes=True),
    Verb("GET", "entity/guid/{guid}", lambda catalog, call: _one(catalog, call, catalog.by_guid(call.path["guid"]))),
    Verb("DELETE", "entity/guid/{guid}", _delete, writes=True),
    Verb("GET", "entity/uniqueAttribute/type/{type}", lambda cat, call: _one(cat, call, cat.by_name(call))),
    Verb("DELETE", "entity/uniqueAttribute/type/{type}", _delete_unique, writes=True),
    Verb("GET", "entity/bulk/uniqueAttribute/type/{type}", _get_unique_bulk),
    Verb("POST", "entity/bulk/classification", _post_classification, writes=True),
    Verb("DELETE", "entity/guid/{guid}/classification/{classification}", _delete_classification, writes=True),
    Verb("GET", "glossary", lambda catalog, _: catalog.glossary.glossaries()),
    Verb("POST", "glossary", lambda catalog, call: catalog.glossary.create(call.body), writes=True),
    Verb("GET", "glossary/{guid}", lambda catalog, call: catalog.glossary.glossary(call.path["guid"])),
    Verb("POST", "glossary/term", lambda catalog, call: catalog.glossary.create_term(call.body), writes=True),
    Verb(
        "POST",
        "glossary/terms",
        lambda catalog, call: [catalog.glossary.create_term(raw) for raw in call.references],
        writes=True,
    ),
    Verb("GET", "glossary/term/{guid}", lambda catalog, call: catalog.glossary.term(call.path["guid"])),
    Verb("GET", _ASSIGNED, lambda catalog, call: catalog.glossary.assigned(call.path["guid"])),
    Verb(
        "POST",
        _ASSIGNED,
        lambda catalog, call: catalog.glossary.assign(call.path["guid"], call.references),
        writes=True,
    ),
    Verb(
        "DELETE",
        _ASSIGNED,
        lambda catalog, call: catalog.glossary.dismiss(call.path["guid"], call.references),
        writes=True,
    ),
    Verb("GET", "lineage/{guid}", lambda catalog, call: _lineage(catalog, call, catalog.by_guid(call.path["guid"]))),
    Verb("GET", "lineage/uniqueAttribute/type/{type}", lambda cat, call: _lineage(cat, call, cat.by_name(call))),
    Verb("POST", "search/basic", lambda catalog, call: search(catalog.store, catalog.typedefs, call.fields)),
)


def verbs_by_path() -> list[Verb]:
    """Return the verbs in the order to look a path up: `entity/bulk` before `entity/{place}`, the first that fits."""
    return sorted(VERBS, key=lambda verb: [part.startswith("{") for part in verb.path.split("/")])


PURVIEW = (
    *(
        Verb("POST", path, lambda catalog, call: query(catalog.store.entities.values(), call.fields))
        for path in ("datamap/api/search/query", "catalog/api/search/query")
    ),
    Verb("POST", "catalog/api/collections/{collection}/entity/bulk", _post_bulk, writes=True),
    Verb(
        "GET",
        "account/collections",
        lambda catalog, call: catalog.account.collections(call.caller, call.number("$skipToken", 0)),
    ),
    Verb(
        "PUT",
        "account/collections/{collection}",
        lambda catalog, call: catalog.account.put_collection(call.caller, call.path["collection"], call.fields),
    ),
    Verb(
        "GET",
        "policystore/collections/{collection}/metadataPolicy",
        lambda catalog, call: catalog.account.policy(call.caller, call.path["collection"]),
    ),
    Verb(
        "PUT",
        "policystore/metadataPolicies/{policy}",
        lambda catalog, call: catalog.account.put_policy(call.caller, call.path["policy"], call.fields),
    ),
)
"""Purview's additional verbs. Those of the account write no entities, and check access themselves."""
