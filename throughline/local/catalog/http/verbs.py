"""The catalog's verbs as a table: method, path, whether it writes, and the function that implements it.

Paths are below `/api/atlas/v2`, `/datamap/api/atlas/v2` and, for older accounts, `/catalog/api/atlas/v2`; those of
`PURVIEW` are below the server's root. The verbs are those of pyapacheatlas 0.16.0 (`core/client.py`), and a few more
of Atlas' REST interface that show the same data.
"""

import re
from collections.abc import Iterable
from typing import Any

from throughline.local.catalog.catalog import Call, Catalog
from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.graph.lineage import lineage
from throughline.local.catalog.graph.store import Entity
from throughline.local.catalog.graph.views import header
from throughline.local.catalog.http.marks import MARKS
from throughline.local.catalog.http.purview import (
    get_collections,
    get_policies,
    get_policy,
    put_collection,
    put_policy,
    query,
)
from throughline.local.catalog.http.terms import TERMS
from throughline.local.catalog.http.verb import NOTHING, Verb
from throughline.local.catalog.search.basic import search

Json = dict[str, Any]

_CATEGORIES = {
    "entitydef": "ENTITY",
    "enumdef": "ENUM",
    "structdef": "STRUCT",
    "classificationdef": "CLASSIFICATION",
    "relationshipdef": "RELATIONSHIP",
    "businessmetadatadef": "BUSINESS_METADATA",
}
_UNIQUE = re.compile(r"attr(?:_\d+)?:(?P<name>.+)")


def _get_typedefs(catalog: Catalog, call: Call) -> Json:
    return catalog.typedefs.everything(call.get("type") or None)


def _get_headers(catalog: Catalog, _call: Call) -> list[Json]:
    return catalog.typedefs.headers()


def _post_typedefs(catalog: Catalog, call: Call) -> Json:
    return catalog.typedefs.create(call.body)


def _put_typedefs(catalog: Catalog, call: Call) -> Json:
    return catalog.typedefs.update(call.body)


def _delete_typedefs(catalog: Catalog, call: Call) -> object:
    catalog.typedefs.delete_all(call.body)
    return NOTHING


def _delete_typedef(catalog: Catalog, call: Call) -> object:
    catalog.typedefs.delete([call.path["name"]])
    return NOTHING


def _get_typedef(catalog: Catalog, call: Call) -> Json:
    kind = call.path.get("kind", "typedef")
    category = None if kind == "typedef" else _CATEGORIES.get(kind)
    if kind != "typedef" and category is None:
        raise CatalogError(Fault.UNKNOWN_TYPE_NAME, kind, call.path.get("name"))
    if "guid" in call.path:
        return catalog.typedefs.by_guid(call.path["guid"])
    return catalog.typedefs.named(call.path["name"], category)


def _post_entity(catalog: Catalog, call: Call) -> Json:
    body = _object(call.body)
    if body.get("entity") is None:
        raise CatalogError(Fault.BAD_PARAMETERS, "no entity")
    return catalog.writer_into(call.collection).upsert([body["entity"]], _object(body.get("referredEntities") or {}))


def _post_bulk(catalog: Catalog, call: Call) -> Json:
    body = _object(call.body)
    writer = catalog.writer_into(call.collection, business=call.get("businessAttributeUpdateBehavior"))
    return writer.upsert(_list(body.get("entities")), _object(body.get("referredEntities") or {}))


def _get_bulk(catalog: Catalog, call: Call) -> Json:
    guids = call.all("guid")
    if not guids:
        raise CatalogError(Fault.UNKNOWN_GUID, "(none given)")
    return _many(catalog, call, [catalog.by_guid(guid) for guid in guids])


def _delete_bulk(catalog: Catalog, call: Call) -> Json:
    guids = call.all("guid")
    if not guids:
        raise CatalogError(Fault.BAD_PARAMETERS, "no guid")
    return catalog.writer.delete(guids)


def _get_guid(catalog: Catalog, call: Call) -> Json:
    return _one(catalog, call, catalog.by_guid(call.path["guid"]))


def _get_guid_header(catalog: Catalog, call: Call) -> Json:
    return header(catalog.by_guid(call.path["guid"]))


def _put_guid(catalog: Catalog, call: Call) -> Json:
    """Change the attribute `?name=` to the value in the body."""
    entity = catalog.by_guid(call.path["guid"])
    name = call.get("name")
    entity_type = catalog.typedefs.registry.entity_type(entity.type_name)
    if name not in entity_type.attributes and name not in entity_type.relations:
        raise CatalogError(Fault.UNKNOWN_ATTRIBUTE, name, entity.type_name)
    change = {"guid": entity.guid, "typeName": entity.type_name, "attributes": {name: call.body}}
    return catalog.writer.upsert([change], {}, partial=True)


def _delete_guid(catalog: Catalog, call: Call) -> Json:
    return catalog.writer.delete([call.path["guid"]])


def _get_unique(catalog: Catalog, call: Call) -> Json:
    return _one(catalog, call, _by_name(catalog, call))


def _put_unique(catalog: Catalog, call: Call) -> Json:
    entity = _by_name(catalog, call)
    body = _object(call.body)
    change = _object(body.get("entity")) | {"guid": entity.guid, "typeName": entity.type_name}
    return catalog.writer.upsert([change], _object(body.get("referredEntities") or {}), partial=True)


def _delete_unique(catalog: Catalog, call: Call) -> Json:
    found = catalog.find(call.path["type"], _names(call)[0])
    return catalog.writer.delete([found.guid] if found else [])


def _get_unique_bulk(catalog: Catalog, call: Call) -> Json:
    """Return the entities of these names; as on real servers, unknown names are left out."""
    found = [entity for name in _names(call) if (entity := catalog.find(call.path["type"], name)) is not None]
    return _many(catalog, call, found)


def _get_lineage(catalog: Catalog, call: Call) -> Json:
    return _lineage(catalog, call, catalog.by_guid(call.path["guid"]))


def _get_unique_lineage(catalog: Catalog, call: Call) -> Json:
    return _lineage(catalog, call, _by_name(catalog, call))


def _post_search(catalog: Catalog, call: Call) -> Json:
    return search(catalog.store, catalog.typedefs.registry, _object(call.body))


def _get_search(catalog: Catalog, call: Call) -> Json:
    parameters = {
        "typeName": call.get("typeName") or None,
        "query": call.get("query") or None,
        "excludeDeletedEntities": call.flag("excludeDeletedEntities"),
        "limit": call.number("limit", 0),
        "offset": call.number("offset", 0),
    }
    return search(catalog.store, catalog.typedefs.registry, parameters)


def _lineage(catalog: Catalog, call: Call, entity: Entity) -> Json:
    return lineage(
        catalog.store,
        catalog.typedefs.registry,
        entity,
        direction=call.get("direction", "BOTH"),
        depth=call.number("depth", 3),
    )


def _one(catalog: Catalog, call: Call, entity: Entity) -> Json:
    return catalog.views.one(entity, bare=call.flag("ignoreRelationships"), short=call.flag("minExtInfo"))


def _many(catalog: Catalog, call: Call, entities: list[Entity]) -> Json:
    return catalog.views.many(entities, bare=call.flag("ignoreRelationships"), short=call.flag("minExtInfo"))


def _by_name(catalog: Catalog, call: Call) -> Entity:
    return catalog.by_name(call.path["type"], _names(call)[0])


def _names(call: Call) -> list[str]:
    names: list[str] = []
    for key, value in call.query:
        if match := _UNIQUE.fullmatch(key):
            if match["name"] != "qualifiedName":
                raise CatalogError(Fault.NOT_UNIQUE, call.path["type"], match["name"])
            names.append(value)
    if not names:
        raise CatalogError(Fault.NOT_UNIQUE, call.path["type"], "(none given: ?attr:qualifiedName=…)")
    return names


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise CatalogError(Fault.BAD_REQUEST, f"expected a JSON object, not {value!r:.100}")
    return value


def _list(value: Any) -> Iterable[Any]:
    if not isinstance(value, list):
        raise CatalogError(Fault.BAD_PARAMETERS, "no list of entities")
    return value


VERBS = (
    Verb("GET", "types/typedefs", _get_typedefs),
    Verb("GET", "types/typedefs/headers", _get_headers),
    Verb("POST", "types/typedefs", _post_typedefs, writes=True),
    Verb("PUT", "types/typedefs", _put_typedefs, writes=True),
    Verb("DELETE", "types/typedefs", _delete_typedefs, writes=True),
    Verb("DELETE", "types/typedef/name/{name}", _delete_typedef, writes=True),
    Verb("GET", "types/{kind}/name/{name}", _get_typedef),
    Verb("GET", "types/{kind}/guid/{guid}", _get_typedef),
    Verb("POST", "entity", _post_entity, writes=True),
    Verb("POST", "entity/bulk", _post_bulk, writes=True),
    Verb("GET", "entity/bulk", _get_bulk),
    Verb("DELETE", "entity/bulk", _delete_bulk, writes=True),
    Verb("GET", "entity/guid/{guid}", _get_guid),
    Verb("GET", "entity/guid/{guid}/header", _get_guid_header),
    Verb("PUT", "entity/guid/{guid}", _put_guid, writes=True),
    Verb("DELETE", "entity/guid/{guid}", _delete_guid, writes=True),
    Verb("GET", "entity/uniqueAttribute/type/{type}", _get_unique),
    Verb("PUT", "entity/uniqueAttribute/type/{type}", _put_unique, writes=True),
    Verb("DELETE", "entity/uniqueAttribute/type/{type}", _delete_unique, writes=True),
    Verb("GET", "entity/bulk/uniqueAttribute/type/{type}", _get_unique_bulk),
    *MARKS,
    *TERMS,
    Verb("GET", "lineage/{guid}", _get_lineage),
    Verb("GET", "lineage/uniqueAttribute/type/{type}", _get_unique_lineage),
    Verb("GET", "search/basic", _get_search),
    Verb("POST", "search/basic", _post_search),
)

PURVIEW = (
    Verb("POST", "datamap/api/search/query", query),
    Verb("POST", "catalog/api/search/query", query),
    Verb("POST", "catalog/api/collections/{collection}/entity", _post_entity, writes=True),
    Verb("POST", "catalog/api/collections/{collection}/entity/bulk", _post_bulk, writes=True),
    Verb("GET", "account/collections", get_collections),
    Verb("PUT", "account/collections/{collection}", put_collection),
    Verb("GET", "policystore/metadataPolicies", get_policies),
    Verb("GET", "policystore/collections/{collection}/metadataPolicy", get_policy),
    Verb("PUT", "policystore/metadataPolicies/{policy}", put_policy),
)
"""Purview's additional verbs. They write no entities, so they check access themselves."""
