"""Atlas' verbs for classifications of entities: by guid, by name and in bulk."""

from typing import Any

from throughline.local.catalog.catalog import Call, Catalog
from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.graph.classifications import Classifications
from throughline.local.catalog.graph.store import Entity
from throughline.local.catalog.http.verb import Verb, nothing

Json = dict[str, Any]


def get_classifications(catalog: Catalog, call: Call) -> Json:
    """Return all classifications of an entity, its own and the propagated ones."""
    found = _marks(catalog).of(_entity(catalog, call))
    return {"list": found, "startIndex": 0, "pageSize": len(found), "totalCount": len(found)}


def get_classification(catalog: Catalog, call: Call) -> Json:
    """Return one classification of an entity."""
    return _marks(catalog).named(_entity(catalog, call), call.path["classification"])


def post_classifications(catalog: Catalog, call: Call) -> None:
    """Attach classifications to an entity."""
    _marks(catalog).add(_entity(catalog, call), _list(call.body))


def put_classifications(catalog: Catalog, call: Call) -> None:
    """Change classifications of an entity."""
    _marks(catalog).update(_entity(catalog, call), _list(call.body))


def delete_classification(catalog: Catalog, call: Call) -> None:
    """Remove a classification from an entity."""
    _marks(catalog).remove(_entity(catalog, call), call.path["classification"])


def post_bulk_classification(catalog: Catalog, call: Call) -> None:
    """Attach one classification to many entities, all or none."""
    body = call.body if isinstance(call.body, dict) else {}
    guids = body.get("entityGuids")
    if not isinstance(body.get("classification"), dict) or not isinstance(guids, list) or not guids:
        raise CatalogError(Fault.BAD_PARAMETERS, "a classification and entityGuids are needed")
    marks, entities = _marks(catalog), [catalog.by_guid(str(guid)) for guid in dict.fromkeys(guids)]
    with catalog.store.transaction():
        for entity in entities:
            marks.add(entity, [body["classification"]])


def post_set_classifications(catalog: Catalog, call: Call) -> list[str]:
    """Set the classifications of entities to those of their headers; return the guids of the changed entities."""
    body = call.body if isinstance(call.body, dict) else {}
    headers = body.get("guidHeaderMap")
    if not isinstance(headers, dict):
        raise CatalogError(Fault.BAD_PARAMETERS, "guidHeaderMap is needed")
    changed = []
    with catalog.store.transaction():
        for guid, header in headers.items():
            entity = catalog.by_guid(str(guid))
            _marks(catalog).replace_all(entity, _list((header or {}).get("classifications") or []))
            if catalog.by_guid(entity.guid).body != entity.body:
                changed.append(entity.guid)
    return changed


def _marks(catalog: Catalog) -> Classifications:
    return Classifications(catalog.store, catalog.typedefs.registry)


def _entity(catalog: Catalog, call: Call) -> Entity:
    if "guid" in call.path:
        return catalog.by_guid(call.path["guid"])
    name = call.get("attr:qualifiedName")
    if not name:
        raise CatalogError(Fault.NOT_UNIQUE, call.path["type"], "(none given: ?attr:qualifiedName=…)")
    return catalog.by_name(call.path["type"], name)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise CatalogError(Fault.BAD_PARAMETERS, "a list of classifications is needed")
    return value


MARKS = (
    Verb("GET", "entity/guid/{guid}/classifications", get_classifications),
    Verb("GET", "entity/guid/{guid}/classification/{classification}", get_classification),
    Verb("POST", "entity/bulk/classification", nothing(post_bulk_classification), writes=True),
    Verb("POST", "entity/bulk/setClassifications", post_set_classifications, writes=True),
    *(
        Verb(method, f"entity/{entity}/{path}", nothing(run), writes=True)
        for entity in ("guid/{guid}", "uniqueAttribute/type/{type}")
        for method, path, run in (
            ("POST", "classifications", post_classifications),
            ("PUT", "classifications", put_classifications),
            ("DELETE", "classification/{classification}", delete_classification),
        )
    ),
)
