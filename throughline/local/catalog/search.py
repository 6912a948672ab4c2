"""Atlas' basic search by type, by keywords in names and by attributes, and Purview's search.

Unlike a real server's, it finds a write at once. Keywords match anywhere in the name and the qualified name, ignoring
case; attribute filters are case-sensitive. Keywords are joined by AND and OR in capitals, one group of AND in
parentheses, as on Microsoft's page on Purview's search, where a blank stands for OR. In basic search it stands for AND,
where Atlas needs the AND. Forms of Purview's search as in Microsoft's REST reference: `search/query` of 2023-09-01, and
of 2022-03-01-preview under the older prefix. What Throughline does not send is not understood.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.marks import own_marks
from throughline.local.catalog.store import Entity, Store
from throughline.local.catalog.typedefs import Typedefs
from throughline.local.catalog.views import header

Json = dict[str, Any]
Test = Callable[[Entity], bool]

DEFAULT_LIMIT = 100
LARGEST_PAGE = 10_000
_LARGEST_PURVIEW_PAGE = 1000
_USUAL_PURVIEW_PAGE = 50

_COMPARE: dict[str, Callable[[Any, str], bool]] = {
    "eq": lambda value, operand: bool(value == operand),
    "neq": lambda value, operand: bool(value != operand),
    "startsWith": lambda value, operand: str(value or "").startswith(operand),
    "gte": lambda value, operand: int(value or 0) >= int(operand),
}
"""Whether an attribute's value (None if there is none) meets a text, by the name of the operator."""
_SYSTEM_ATTRIBUTES = {"__typeName": "type", "__modificationTimestamp": "updated"}


def search(store: Store, typedefs: Typedefs, parameters: Json) -> Json:
    """Find entities of a type by `SearchParameters`; return an `AtlasSearchResult`. Error: 400-00-014."""
    limit, offset = parameters.get("limit") or DEFAULT_LIMIT, parameters.get("offset") or 0
    types = frozenset(typedefs.entity_type(parameters["typeName"]).subs)
    tests: list[Test] = [lambda entity: entity.type in types, keywords(parameters.get("query") or "", blank="AND")]
    if parameters.get("excludeDeletedEntities"):
        tests.insert(0, lambda entity: entity.active)
    tests += map(_criterion, (parameters.get("entityFilters") or {}).get("criterion", ()))
    entities = [entity for entity in store.entities.values() if all(test(entity) for test in tests)]
    page = entities[offset : offset + min(limit, LARGEST_PAGE)]
    result = {"queryType": "BASIC", "searchParameters": parameters, "approximateCount": len(entities)}
    # As on real servers, the key is absent without results.
    return result | {"entities": [header(entity) for entity in page]} if page else result


def _criterion(node: Json) -> Test:
    name, compare, operand = node["attributeName"], _COMPARE[node["operator"]], str(node["attributeValue"])
    if system_name := _SYSTEM_ATTRIBUTES.get(name):
        return lambda entity: compare(getattr(entity, system_name), operand)
    return lambda entity: compare(entity.body["attributes"].get(name), operand)


def combined(tests: Sequence[Test], condition: str) -> Test:
    """Return the test that all (AND) or any (OR) of these pass."""
    combine = all if condition == "AND" else any
    return lambda entity: combine(test(entity) for test in tests)


def keywords(text: str, *, blank: str) -> Test:
    """Return the test of the names that these keywords find, all without any; `blank`: AND or OR."""
    groups = [group.strip("()").split(" AND ") for group in text.split(" OR ")]
    tests = [combined([_words(words, blank) for words in group], "AND") for group in groups]
    return combined(tests, "OR") if text else lambda _: True


def _words(text: str, blank: str) -> Test:
    return combined([_word(word) for word in text.split()], blank)


def _word(word: str) -> Test:
    pattern = re.compile(".*".join(map(re.escape, word.split("*"))), re.IGNORECASE | re.DOTALL)
    return lambda entity: bool(pattern.search(_names(entity)))


def _names(entity: Entity) -> str:
    return f"{entity.qualified_name or ''}\1{entity.body['attributes'].get('name') or ''}"


# -- Purview's search


def query(entities: Iterable[Entity], body: Json) -> Json:
    """Find by keywords (joined by OR unless AND is written), entity type and time of change, in pages.

    `offset` or `continuationToken` selects the page. Error: 400-00-029.
    """
    limit = min(body.get("limit") or _USUAL_PURVIEW_PAGE, _LARGEST_PURVIEW_PAGE)
    offset = int(body.get("continuationToken") or body.get("offset") or 0)
    text = str(body.get("keywords") or "").strip()
    test = combined(
        [keywords("" if text == "*" else text, blank="OR"), _purview_filter(body.get("filter") or {})], "AND"
    )
    hits = [entity for entity in entities if entity.active and test(entity)]
    end = offset + limit
    following = {"continuationToken": str(end)} if end < len(hits) else {}
    return {"@search.count": len(hits), "value": [_hit(entity) for entity in hits[offset:end]], **following}


def _purview_filter(node: Any) -> Test:
    """Return the test of a filter: one condition, or several under `and` or `or`."""
    match node:
        case {"and": [*nodes]} | {"or": [*nodes]}:
            return combined([_purview_filter(child) for child in nodes], "AND" if "and" in node else "OR")
        case {"entityType": type_name}:
            return lambda entity: entity.type == type_name
        case {"attributeName": "modifiedTime", "operator": "ge", "attributeValue": int(since)}:
            return lambda entity: entity.updated >= since
    if node == {}:
        return lambda _: True
    raise CatalogError(Fault.BAD_REQUEST, f"the local catalog has no such filter: {node!r:.200}")


def _hit(entity: Entity) -> Json:
    attributes = entity.body["attributes"]
    texts = {key: attributes[key] for key in ("name", "qualifiedName", "description", "owner") if key in attributes}
    return texts | {
        "id": entity.guid,
        "entityType": entity.type,
        "collectionId": entity.collection,
        "classification": [mark["typeName"] for mark in own_marks(entity)],
        "createTime": entity.created,
        "updateTime": entity.updated,
        "@search.score": 1.0,
    }
