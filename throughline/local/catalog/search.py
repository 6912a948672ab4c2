"""Atlas' basic search by type, by keywords in names and by attributes, and Purview's search.

Unlike a real server's, it finds a write at once. Keywords match anywhere in the name and the qualified name, ignoring
case; attribute filters are case-sensitive. Keywords are joined by AND, OR, NOT in capitals, with parentheses and
phrases in quotes, as on Microsoft's page on Purview's search, where a blank stands for OR. In basic search it stands
for AND, where Atlas needs the AND. Forms of Purview's search as in Microsoft's REST reference: `search/query` of
2023-09-01, and of 2022-03-01-preview under the older prefix.
"""

import base64
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


_OPERATORS: dict[tuple[str, ...], Callable[[Any, Any], bool]] = {
    ("=", "==", "eq"): lambda value, operand: bool(value == operand),
    ("!=", "neq"): lambda value, operand: bool(value != operand),
    ("contains",): lambda value, operand: operand in str(value or ""),
    ("startswith", "beginswith"): lambda value, operand: str(value or "").startswith(operand),
    ("endswith",): lambda value, operand: str(value or "").endswith(operand),
    (">=", "gte"): lambda value, operand: operand.isdecimal() and int(value or 0) >= int(operand),
}
"""By name, in lower case without `_`: whether an attribute's value (None if there is none) meets a text; the last of
them a number.
"""
_COMPARE = {name: compare for names, compare in _OPERATORS.items() for name in names}
_SYSTEM_ATTRIBUTES = {
    "__guid": "guid",
    "__typeName": "type",
    "__state": "status",
    "__modificationTimestamp": "updated",
}


def search(store: Store, typedefs: Typedefs, parameters: Json) -> Json:
    """Find entities by `SearchParameters`; return an `AtlasSearchResult`.

    Errors: 400-00-00A for an unknown type, 400-00-023 for an unknown attribute, 400-00-029.
    """
    limit, offset = whole_number(parameters, "limit") or DEFAULT_LIMIT, whole_number(parameters, "offset")
    tests = [_types(typedefs, parameters), keywords(str(parameters.get("query") or ""), blank="AND")]
    if parameters.get("excludeDeletedEntities"):
        tests.insert(0, lambda entity: entity.active)
    if parameters.get("entityFilters"):
        tests.append(_filter(typedefs, parameters, parameters["entityFilters"]))
    entities = [entity for entity in store.entities.values() if all(test(entity) for test in tests)]
    page = entities[offset : offset + min(limit, LARGEST_PAGE)]
    result = {"queryType": "BASIC", "searchParameters": parameters, "approximateCount": len(entities)}
    # As on real servers, the key is absent without results.
    return result | {"entities": [header(entity) for entity in page]} if page else result


def whole_number(parameters: Json, name: str) -> int:
    """Return a parameter that is a whole number, 0 without it. Error: 400-00-029."""
    value = parameters.get(name) or 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise CatalogError(Fault.BAD_REQUEST, f"{name} is a whole number that is not negative")
    return value


def _types(typedefs: Typedefs, parameters: Json) -> Test:
    name = parameters.get("typeName")
    if not name:
        if parameters.get("entityFilters"):
            raise CatalogError(Fault.UNKNOWN_SEARCH_TYPE, "entityFilters without a typeName")
        return lambda _: True
    types: set[str] = set()
    for part in str(name).split(","):
        if not typedefs.is_entity_type(part):
            raise CatalogError(Fault.UNKNOWN_SEARCH_TYPE, part)
        types.update(typedefs.entity_type(part).subs if parameters.get("includeSubTypes", True) else [part])
    return lambda entity: entity.type in types


def _filter(typedefs: Typedefs, parameters: Json, node: Any) -> Test:
    if not isinstance(node, dict):
        raise CatalogError(Fault.BAD_REQUEST, f"a filter is a JSON object, not {node!r}")
    if "criterion" not in node:
        return _criterion(typedefs, parameters, node)
    condition, criterion = str(node.get("condition", "AND")).upper(), node["criterion"]
    if condition not in {"AND", "OR"} or not isinstance(criterion, list) or not criterion:
        raise CatalogError(Fault.BAD_REQUEST, "a filter combines a list of criterion by the condition AND or OR")
    return combined([_filter(typedefs, parameters, child) for child in criterion], condition)


def combined(tests: Sequence[Test], condition: str) -> Test:
    """Return the test that all (AND) or any (OR) of these pass."""
    combine = all if condition == "AND" else any
    return lambda entity: combine(test(entity) for test in tests)


def _criterion(typedefs: Typedefs, parameters: Json, node: Json) -> Test:
    name, operator = str(node.get("attributeName")), str(node.get("operator")).lower().replace("_", "")
    system_name = _SYSTEM_ATTRIBUTES.get(name)
    type_names = str(parameters["typeName"]).split(",")
    types = (typedefs.entity_type(sub) for type_name in type_names for sub in typedefs.entity_type(type_name).subs)
    if not system_name and not any(name in entity_type.attributes for entity_type in types):
        raise CatalogError(Fault.UNKNOWN_ATTRIBUTE, name, parameters["typeName"])
    if operator not in _COMPARE:
        operators = ", ".join(sorted(_COMPARE))
        raise CatalogError(Fault.BAD_REQUEST, f"unknown operator {node.get('operator')}; there are {operators}")
    if node.get("attributeValue") is None:
        raise CatalogError(Fault.BAD_REQUEST, f"the filter on {name} needs an attributeValue")
    compare, operand = _COMPARE[operator], str(node["attributeValue"])
    if system_name:
        return lambda entity: compare(getattr(entity, system_name), operand)
    return lambda entity: compare(entity.body["attributes"].get(name), operand)


# -- keywords

_TOKENS = re.compile(r'[()]|"[^"]*"|[^\s()"]+')


def keywords(text: str, *, blank: str) -> Test:
    """Return the test of the names that these keywords find; `blank`: AND or OR. Error: 400-00-029."""
    tokens = _TOKENS.findall(text)
    if not tokens:
        return lambda _: True
    test = _any(tokens, blank)
    if tokens:
        raise CatalogError(Fault.BAD_REQUEST, "the keywords close a parenthesis that they do not open")
    return test


def _any(tokens: list[str], blank: str) -> Test:
    """Take the tokens of a group, whose parts under AND bind more than those under OR."""
    groups = [[_one(tokens, blank)]]
    while tokens and tokens[0] != ")":
        operator = tokens.pop(0) if tokens[0] in {"AND", "OR"} else "AND" if tokens[0] == "NOT" else blank
        if operator == "OR":
            groups.append([])
        groups[-1].append(_one(tokens, blank))
    return combined([combined(group, "AND") for group in groups], "OR")


def _one(tokens: list[str], blank: str) -> Test:
    if not tokens or tokens[0] in {"AND", "OR", ")"}:
        raise CatalogError(Fault.BAD_REQUEST, "a keyword is missing after AND, OR, NOT or a parenthesis")
    token = tokens.pop(0)
    if token == "NOT":  # noqa: S105 - an operator
        negated = _one(tokens, blank)
        return lambda entity: not negated(entity)
    if token != "(":  # noqa: S105 - a parenthesis
        pattern = re.compile(".*".join(map(re.escape, token.strip('"').split("*"))), re.IGNORECASE | re.DOTALL)
        return lambda entity: bool(pattern.search(_names(entity)))
    test = _any(tokens, blank)
    if not tokens:
        raise CatalogError(Fault.BAD_REQUEST, "the keywords do not close a parenthesis")
    tokens.pop(0)
    return test


def _names(entity: Entity) -> str:
    return f"{entity.qualified_name or ''}\1{entity.body['attributes'].get('name') or ''}"


# -- Purview's search


def query(entities: Iterable[Entity], body: Json) -> Json:
    """Find by keywords (joined by OR unless AND is written), entity type, collection and classification, in pages.

    `offset` or `continuationToken` selects the page. Error: 400-00-029.
    """
    limit = min(whole_number(body, "limit") or _USUAL_PURVIEW_PAGE, _LARGEST_PURVIEW_PAGE)
    offset = _offset(body["continuationToken"]) if body.get("continuationToken") else whole_number(body, "offset")
    text = str(body.get("keywords") or "").strip()
    test = combined(
        [keywords("" if text == "*" else text, blank="OR"), _purview_filter(body.get("filter") or {})], "AND"
    )
    hits = [entity for entity in entities if entity.active and test(entity)]
    end = offset + limit
    following = {"continuationToken": base64.b64encode(str(end).encode()).decode()} if end < len(hits) else {}
    return {"@search.count": len(hits), "value": [_hit(entity) for entity in hits[offset:end]], **following}


def _offset(token: Any) -> int:
    try:
        return int(base64.b64decode(str(token), validate=True))
    except ValueError as error:
        raise CatalogError(Fault.BAD_REQUEST, "the continuationToken is not from this catalog") from error


def _purview_filter(node: Any) -> Test:
    """Return the test of a filter: one condition, or several under `and`, `or`, `not`."""
    match node:
        case {"and": [*nodes]} | {"or": [*nodes]}:
            return combined([_purview_filter(child) for child in nodes], "AND" if "and" in node else "OR")
        case {"not": child}:
            test = _purview_filter(child)
            return lambda entity: not test(entity)
        case {"entityType": type_name}:
            return lambda entity: entity.type == type_name
        case {"collectionId": collection}:
            return lambda entity: entity.collection == collection
        case {"attributeName": "modifiedTime", "operator": "ge", "attributeValue": int(since)}:
            return lambda entity: entity.updated >= since
        case {"classification": name}:
            return lambda entity: name in _classifications(entity)
    if node == {}:
        return lambda _: True
    raise CatalogError(Fault.BAD_REQUEST, f"the local catalog has no such filter: {node!r:.200}")


def _classifications(entity: Entity) -> list[str]:
    return [mark["typeName"] for mark in own_marks(entity)]


def _hit(entity: Entity) -> Json:
    attributes = entity.body["attributes"]
    texts = {key: attributes[key] for key in ("name", "qualifiedName", "description", "owner") if key in attributes}
    return texts | {
        "id": entity.guid,
        "entityType": entity.type,
        "collectionId": entity.collection,
        "classification": _classifications(entity),
        "createTime": entity.created,
        "updateTime": entity.updated,
        "@search.score": 1.0,
    }
