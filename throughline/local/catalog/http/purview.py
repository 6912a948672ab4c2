"""Purview's additions to Atlas' interface: the discovery query, collections and metadata policies.

Paths and forms as in Microsoft's REST reference: `search/query` (2023-09-01, and 2022-03-01-preview under the older
prefix), `account/collections` (2019-11-01-preview), `policystore` (2021-07-01).
"""

import base64
from collections.abc import Callable, Mapping
from typing import Any

from throughline.local.catalog.catalog import Call, Catalog
from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.graph.store import Entity
from throughline.local.catalog.http.access import collection_of
from throughline.local.catalog.http.account import ROOT
from throughline.local.catalog.search.basic import search

Json = dict[str, Any]

_MOST = 1000
_DEFAULT = 50
_PAGE = 2
"""Rows of a page of collections: few, so that every test reads several pages."""
_ELSEWHERE = "https://elsewhere.invalid/account"
"""A host that nobody may send a token to."""


def query(catalog: Catalog, call: Call) -> Json:
    """Find by keywords (joined by OR unless AND is given), entity type, collection and classification, in pages.

    `offset` or `continuationToken` selects the page.
    """
    body = call.body if isinstance(call.body, dict) else {}
    limit = min(_number(body, "limit") or _DEFAULT, _MOST)
    offset = _after(body["continuationToken"]) if body.get("continuationToken") else _number(body, "offset")
    keywords = str(body.get("keywords") or "").strip()
    parameters = {
        "query": "" if keywords == "*" else keywords,
        "excludeDeletedEntities": True,
        "limit": 10_000,
    }
    wanted = _filter(body.get("filter") or {})
    registry = catalog.typedefs.registry
    # All entities first: the store can't apply the filter.
    found = [
        entity
        for each in search(catalog.store, registry, parameters, blank="OR").get("entities", ())
        if (entity := catalog.store.entity(each["guid"])) and wanted(entity)
    ]
    page = found[offset : offset + limit]
    more = offset + limit < len(found)
    return {
        "@search.count": len(found),
        "value": [_value(entity) for entity in page],
        **({"continuationToken": base64.b64encode(str(offset + limit).encode()).decode()} if more else {}),
    }


def _after(token: Any) -> int:
    try:
        return int(base64.b64decode(str(token), validate=True))
    except ValueError as error:
        raise CatalogError(Fault.BAD_REQUEST, "the continuationToken is not from this catalog") from error


def _number(body: Mapping[str, Any], name: str) -> int:
    value = body.get(name) or 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise CatalogError(Fault.BAD_REQUEST, f"{name} is a whole number that is not negative")
    return value


Test = Callable[[Entity], bool]


def _filter(node: Any) -> Test:
    """Return the condition of a filter: one condition, or several under `and`, `or`, `not`."""
    if not isinstance(node, dict):
        raise CatalogError(Fault.BAD_REQUEST, f"a filter is a JSON object, not {node!r}")
    if not node:
        return lambda _: True
    if "and" in node or "or" in node:
        tests = [_filter(each) for each in node.get("and") or node.get("or") or ()]
        return (lambda e: all(test(e) for test in tests)) if "and" in node else (lambda e: any(t(e) for t in tests))
    if "not" in node:
        test = _filter(node["not"])
        return lambda entity: not test(entity)
    if "entityType" in node:
        kind = node["entityType"]
        return lambda entity: entity.type_name == kind
    if "collectionId" in node:
        collection = node["collectionId"]
        return lambda entity: collection_of(entity) == collection
    if "classification" in node:
        name = node["classification"]
        return lambda entity: name in _classifications(entity)
    raise CatalogError(Fault.BAD_REQUEST, f"the local catalog has no filter by {', '.join(node)}")


def _classifications(entity: Entity) -> list[str]:
    return [str(each["typeName"]) for each in entity.body.get("classifications", ())]


def _value(entity: Entity) -> Json:
    attributes = entity.body["attributes"]
    shown = {key: attributes[key] for key in ("name", "qualifiedName", "description", "owner") if key in attributes}
    return shown | {
        "id": entity.guid,
        "entityType": entity.type_name,
        "collectionId": collection_of(entity),
        "classification": _classifications(entity),
        "createTime": entity.created,
        "updateTime": entity.updated,
        "@search.score": 1.0,
    }


def get_collections(catalog: Catalog, call: Call) -> Json:
    """Return a page of the collections that the caller sees, and the address of the next page."""
    collections = [collection.to_json() for collection in catalog.account.seen_by(call.caller)]
    begin = int(call.get("$skipToken") or 0)
    rows, end = collections[begin : begin + _PAGE], begin + _PAGE
    following = {"nextLink": f"{_ELSEWHERE}/collections?$skipToken={end}"} if end < len(collections) else {}
    return {"value": rows, "count": len(rows), **following}


def put_collection(catalog: Catalog, call: Call) -> Json:
    """Create or rename a collection."""
    body = call.body if isinstance(call.body, dict) else {}
    parent = (body.get("parentCollection") or {}).get("referenceName") or ROOT
    name = call.path["collection"]
    if not catalog.account.may(call.caller, "collection-administrator", parent):
        raise CatalogError(Fault.FORBIDDEN, f"to administer {parent}")
    return catalog.account.add(name, str(body.get("friendlyName") or name), parent).to_json()


def get_policies(catalog: Catalog, call: Call) -> Json:
    """Return the policies that the caller administers; with `collectionName`, only that collection's."""
    name = call.get("collectionName")
    found = catalog.account.policies(call.caller)
    return {"values": [e for e in found if not name or e["properties"]["collection"]["referenceName"] == name]}


def get_policy(catalog: Catalog, call: Call) -> Json:
    """Return a collection's policy."""
    return catalog.account.policy_of(call.caller, call.path["collection"])


def put_policy(catalog: Catalog, call: Call) -> Json:
    """Replace a policy."""
    return catalog.account.put_policy(call.caller, call.path["policy"], call.body)
