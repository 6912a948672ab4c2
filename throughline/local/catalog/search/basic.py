"""Basic search by type, by keywords in names and by attributes (`SearchParameters` in, `AtlasSearchResult` out).

Unlike a real server's, it finds a write at once. Keywords match anywhere in the name and the qualified name, ignoring
case; attribute filters are case-sensitive. Several keywords must all match, with or without AND between them; Atlas
needs the AND for that.
"""

from typing import Any

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.graph.store import Entity, Store
from throughline.local.catalog.graph.values import PRIMITIVES, UnfitValueError, normalise
from throughline.local.catalog.graph.views import header
from throughline.local.catalog.registry import Registry
from throughline.local.catalog.search.query_words import condition_of
from throughline.local.catalog.search.sql import Condition, joined

Json = dict[str, Any]

DEFAULT_LIMIT = 100
MOST = 10_000
_ALL_TYPES = "_ALL_ENTITY_TYPES"

# Operator, in lower case without "_" -> SQL; `{x}` is the attribute, each `?` the value.
_OPERATORS = {
    ("=", "==", "eq"): "{x} = ?",
    ("!=", "neq"): "({x} IS NULL OR {x} != ?)",
    ("<", "lt"): "{x} < ?",
    ("<=", "lte"): "{x} <= ?",
    (">", "gt"): "{x} > ?",
    (">=", "gte"): "{x} >= ?",
    ("contains",): "instr({x}, ?) > 0",
    ("notcontains",): "({x} IS NULL OR instr({x}, ?) = 0)",
    ("startswith", "beginswith"): "instr({x}, ?) = 1",
    ("endswith",): "substr({x}, -length(?)) = ?",
    ("like",): "{x} GLOB ?",
    ("isnull",): "{x} IS NULL",
    ("notnull", "isnotnull"): "{x} IS NOT NULL",
}
_SQL = {name: sql for names, sql in _OPERATORS.items() for name in names}
_COLUMNS = {
    "qualifiedName": "qualified_name",
    "__guid": "guid",
    "__typeName": "type",
    "__state": "status",
    "__timestamp": "created",
    "__modificationTimestamp": "updated",
}
_NUMBERS = frozenset({"__timestamp", "__modificationTimestamp"})


def search(store: Store, registry: Registry, parameters: Json, *, blank: str = "AND") -> Json:
    """Find entities; `blank` is the operator that a blank between two keywords stands for.

    Errors: 400-00-00A for an unknown type, 400-00-023 for an unknown attribute, 400-00-029.
    """
    limit = _number(parameters, "limit") or DEFAULT_LIMIT
    offset = _number(parameters, "offset")
    conditions = [_types(registry, parameters)]
    if parameters.get("excludeDeletedEntities"):
        conditions.append(Condition("status = 'ACTIVE'"))
    conditions.append(condition_of(str(parameters.get("query") or ""), blank=blank))
    if parameters.get("entityFilters"):
        conditions.append(_filter(registry, parameters, parameters["entityFilters"]))
    where = joined(conditions, "AND")
    found = list(store.select(where.sql, where.values, limit=min(limit, MOST), offset=offset))
    result = {
        "queryType": "BASIC",
        "searchParameters": parameters,
        "approximateCount": store.count(where.sql, where.values) if offset or len(found) == limit else len(found),
    }
    # As on real servers, the key is absent without results.
    return result | {"entities": [_header(entity, parameters) for entity in found]} if found else result


def _types(registry: Registry, parameters: Json) -> Condition:
    name = parameters.get("typeName")
    if not name or name == _ALL_TYPES:
        if parameters.get("entityFilters") and not name:
            raise CatalogError(Fault.UNKNOWN_SEARCH_TYPE, "entityFilters without a typeName")
        return Condition("TRUE")
    names = [part.strip() for part in str(name).split(",")]
    wanted: list[str] = []
    for part in names:
        if not registry.is_entity_type(part):
            raise CatalogError(Fault.UNKNOWN_SEARCH_TYPE, part)
        wanted.extend(registry.subs[part] if parameters.get("includeSubTypes", True) else [part])
    return Condition(f"type IN ({', '.join('?' * len(wanted))})", tuple(wanted))


def _filter(registry: Registry, parameters: Json, node: Any) -> Condition:
    if not isinstance(node, dict):
        raise CatalogError(Fault.BAD_REQUEST, f"a filter is a JSON object, not {node!r}")
    if "criterion" in node:
        joint = str(node.get("condition", "AND")).upper()
        if joint not in {"AND", "OR"} or not isinstance(node["criterion"], list) or not node["criterion"]:
            raise CatalogError(Fault.BAD_REQUEST, "a filter combines a list of criterion by the condition AND or OR")
        return joined([_filter(registry, parameters, child) for child in node["criterion"]], joint)
    return _criterion(registry, parameters, node)


def _criterion(registry: Registry, parameters: Json, node: Json) -> Condition:
    name, operator = str(node.get("attributeName")), str(node.get("operator"))
    template = _SQL.get(operator.lower().replace("_", ""))
    if template is None:
        known = ", ".join(sorted(_SQL))
        raise CatalogError(Fault.BAD_REQUEST, f"unknown operator {operator}; there are {known}")
    places: tuple[Any, ...] = ()
    expression = _COLUMNS.get(name)
    type_name = "long" if name in _NUMBERS else "string"
    if expression is None:
        type_name = _attribute_type(registry, str(parameters["typeName"]), name)
        expression = "json_extract(body, ?)"
        places = (f'$.attributes."{name}"',)
    value = _value(registry, name, type_name, node.get("attributeValue")) if "?" in template else None
    if operator.lower() == "like":
        value = str(value).replace("[", "[[]")
    values: list[Any] = []
    for part in template.replace("{x}", "\0").split():
        values.extend(places * part.count("\0"))
        values.extend([value] * part.count("?"))
    return Condition(template.format(x=expression), tuple(values))


def _attribute_type(registry: Registry, type_names: str, name: str) -> str:
    """Return the type of an attribute that one of the types, or a sub type, has."""
    for type_name in type_names.split(","):
        if type_name.strip() == _ALL_TYPES:
            break
        for sub in registry.subs[type_name.strip()]:
            if attribute := registry.entity_type(sub).attributes.get(name):
                return attribute.type_name if attribute.type_name in PRIMITIVES else "string"
    raise CatalogError(Fault.UNKNOWN_ATTRIBUTE, name, type_names)


def _value(registry: Registry, name: str, type_name: str, value: Any) -> Any:
    if value is None:
        raise CatalogError(Fault.BAD_REQUEST, f"the filter on {name} needs an attributeValue")
    try:
        return normalise(registry, type_name, value)
    except UnfitValueError as error:
        raise CatalogError(Fault.BAD_REQUEST, f"the filter on {name}: {error}") from error


def _number(parameters: Json, name: str) -> int:
    value = parameters.get(name) or 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise CatalogError(Fault.BAD_REQUEST, f"{name} is a whole number that is not negative")
    return value


def _header(entity: Entity, parameters: Json) -> Json:
    found = header(entity)
    wanted = parameters.get("attributes")
    if isinstance(wanted, list):
        found["attributes"] |= {name: entity.body["attributes"].get(name) for name in wanted if isinstance(name, str)}
    return found
