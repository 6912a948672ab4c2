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
from throughline.local.catalog.typedefs import Typedefs
from throughline.local.catalog.views import Views

Json = dict[str, Any]

NOTHING = object()
"""Marks an answer without a body (204)."""
_UNIQUE = re.compile(r"attr(?:_\d+)?:qualifiedName")


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
    def names(self) -> list[str]:
        """Return the qualified names in its query."""
        return [value for key, value in self.query if _UNIQUE.fullmatch(key)]

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of a query parameter."""
        return next((value for key, value in self.query if key == name), default)

    def flag(self, name: str) -> bool:
        """Return a query parameter that is true or false; pyapacheatlas writes True and False."""
        return self.get(name).lower() == "true"


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
        """Return the entity of the type and the name in a call. Errors: 400-00-014, 404-00-009."""
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


def _post_bulk(catalog: Catalog, call: Call) -> Json:
    return catalog.writer(call).upsert(call.body["entities"])


def _get_bulk(catalog: Catalog, call: Call) -> Json:
    return _many(catalog, call, [catalog.by_guid(guid) for guid in call.guids])


def _delete(catalog: Catalog, call: Call) -> Json:
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


def _post_classification(catalog: Catalog, call: Call) -> None:
    """Attach one classification to many entities."""
    for guid in dict.fromkeys(call.body["entityGuids"]):
        marks.attach(catalog.store, catalog.typedefs, catalog.by_guid(guid), call.body["classification"])


def _delete_classification(catalog: Catalog, call: Call) -> None:
    entity = catalog.by_guid(call.path["guid"])
    marks.detach(catalog.store, catalog.typedefs, entity, call.path["classification"])


_ASSIGNED = "glossary/terms/{guid}/assignedEntities"
VERBS = (
    Verb("GET", "types/typedefs", lambda catalog, _: catalog.typedefs.grouped(catalog.typedefs.by_name.values())),
    Verb("POST", "types/typedefs", lambda catalog, call: catalog.typedefs.create(call.body), writes=True),
    Verb("PUT", "types/typedefs", lambda catalog, call: catalog.typedefs.update(call.body), writes=True),
    Verb(
        "GET",
        "types/businessmetadatadef/name/{name}",
        lambda catalog, call: catalog.typedefs.named(call.path["name"], "BUSINESS_METADATA"),
    ),
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
    Verb(
        "POST",
        "glossary/terms",
        lambda catalog, call: [catalog.glossary.create_term(raw) for raw in call.body],
        writes=True,
    ),
    Verb(
        "POST",
        _ASSIGNED,
        lambda catalog, call: catalog.glossary.assign(call.path["guid"], call.body),
        writes=True,
    ),
    Verb(
        "DELETE",
        _ASSIGNED,
        lambda catalog, call: catalog.glossary.dismiss(call.path["guid"], call.body),
        writes=True,
    ),
    Verb("POST", "search/basic", lambda catalog, call: search(catalog.store, catalog.typedefs, call.body)),
)


def verbs_by_path() -> list[Verb]:
    """Return the verbs in the order to look a path up: `entity/bulk` before `entity/{place}`, the first that fits."""
    return sorted(VERBS, key=lambda verb: [part.startswith("{") for part in verb.path.split("/")])


PURVIEW = (
    *(
        Verb("POST", path, lambda catalog, call: query(catalog.store.entities.values(), call.body))
        for path in ("datamap/api/search/query", "catalog/api/search/query")
    ),
    Verb("POST", "catalog/api/collections/{collection}/entity/bulk", _post_bulk, writes=True),
    Verb(
        "GET",
        "account/collections",
        lambda catalog, call: catalog.account.collections(call.caller, int(call.get("$skipToken", "0"))),
    ),
    Verb(
        "PUT",
        "account/collections/{collection}",
        lambda catalog, call: catalog.account.put_collection(call.caller, call.path["collection"], call.body),
    ),
    Verb(
        "GET",
        "policystore/collections/{collection}/metadataPolicy",
        lambda catalog, call: catalog.account.policy(call.caller, call.path["collection"]),
    ),
    Verb(
        "PUT",
        "policystore/metadataPolicies/{policy}",
        lambda catalog, call: catalog.account.put_policy(call.caller, call.path["policy"], call.body),
    ),
)
"""Purview's additional verbs. Those of the account write no entities, and check access themselves."""
