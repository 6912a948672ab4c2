"""Access of callers without all roles: as in Purview, reads return nothing, and writes are refused."""

from collections.abc import Iterator
from typing import Any

from throughline.local.catalog.catalog import Call, Catalog
from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.graph.store import Entity
from throughline.local.catalog.http.account import OWNER, ROOT

Json = dict[str, Any]


def check(catalog: Catalog, call: Call, *, verb: str, writes: bool) -> None:
    """Refuse (403) a write into collections in which the caller is no curator, or into an unknown one."""
    wanted = call.collection
    if not writes or (call.caller == OWNER and not wanted):
        return
    for collection in {*([wanted] if wanted else []), *_concerned(catalog, call, verb)}:
        if not catalog.account.may_write(call.caller, collection):
            raise CatalogError(Fault.FORBIDDEN, f"to write into the collection {collection}")


def _concerned(catalog: Catalog, call: Call, verb: str) -> Iterator[str]:
    """Return the collections that a call writes into: those of existing entities, and the default one of new ones."""
    if "classification" in verb.lower() and not call.path.get("guid"):
        yield from (collection_of(entity) for entity in _classified(catalog, call))
    elif "guid" not in call.path and verb.startswith("POST") and "entity" in verb:
        body = call.body if isinstance(call.body, dict) else {}
        for raw in (*(body.get("entities") or ()), *([body["entity"]] if isinstance(body.get("entity"), dict) else ())):
            found = _stored(catalog, raw)
            if found or not call.collection:
                yield collection_of(found)
    elif "guid" in call.path or call.all("guid"):
        guids = [call.path["guid"]] if "guid" in call.path else call.all("guid")
        yield from (collection_of(catalog.store.entity(guid)) for guid in guids)
    else:
        yield ROOT


def _classified(catalog: Catalog, call: Call) -> Iterator[Entity | None]:
    """Return the entities of a verb for classifications that does not name them by a guid in its path."""
    if "type" in call.path:
        yield catalog.find(call.path["type"], call.get("attr:qualifiedName"))
    body = call.body if isinstance(call.body, dict) else {}
    yield from (
        catalog.store.entity(str(guid)) for guid in (body.get("entityGuids") or body.get("guidHeaderMap") or ())
    )


def _stored(catalog: Catalog, raw: Any) -> Entity | None:
    attributes = raw.get("attributes") if isinstance(raw, dict) else None
    name = (attributes or {}).get("qualifiedName")
    known = isinstance(raw, dict) and catalog.typedefs.registry.is_entity_type(str(raw.get("typeName")))
    return catalog.find(raw["typeName"], str(name)) if known and name is not None else None


def collection_of(entity: Entity | None) -> str:
    """Return the collection of an entity."""
    return str(entity.body.get("collectionId", ROOT)) if entity else ROOT


def seen(catalog: Catalog, call: Call, answer: Any) -> Any:
    """Return the part of an answer that the caller may read."""
    if call.caller == OWNER or not isinstance(answer, dict):
        return answer

    def may(each: Any) -> bool:
        return catalog.account.may_read(call.caller, str(each.get("collectionId", ROOT)))

    if isinstance(answer.get("entity"), dict) and not may(answer["entity"]):
        raise CatalogError(Fault.FORBIDDEN, "to read this entity")
    kept = dict(answer)
    for key in ("entities", "value"):
        if isinstance(answer.get(key), list) and "count" not in answer:  # a list of collections is the caller's own
            kept[key] = [each for each in answer[key] if may(each)]
    if "@search.count" in kept:
        kept["@search.count"] = len(kept["value"])
    if isinstance(answer.get("guidEntityMap"), dict):
        kept["guidEntityMap"] = {guid: each for guid, each in answer["guidEntityMap"].items() if may(each)}
        guids = kept["guidEntityMap"]
        kept["relations"] = [
            each for each in answer["relations"] if each["fromEntityId"] in guids and each["toEntityId"] in guids
        ]
    return kept
