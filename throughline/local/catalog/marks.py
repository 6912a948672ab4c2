"""Classifications of entities: those attached to an entity, and those that propagate to it along relationships.

As in Atlas, a relationship's `propagateTags` gives the direction: ONE_TO_TWO from end 1 to end 2, TWO_TO_ONE back,
BOTH, NONE. So with Atlas' base types a classification propagates from a data set to the processes that read it, and to
the data sets that they write, regardless of columns. A classification with `propagate: false` does not propagate.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.store import Entity, Store
from throughline.local.catalog.typedefs import Typedefs

Json = dict[str, Any]


def own_marks(entity: Entity) -> list[Json]:
    """Return the classifications attached to an entity, in Atlas' full form."""
    return [
        {
            "typeName": str(mark["typeName"]),
            "attributes": mark.get("attributes") or {},
            "entityGuid": entity.guid,
            "entityStatus": entity.status,
            "propagate": mark.get("propagate", True) is not False,
            "removePropagationsOnEntityDelete": bool(mark.get("removePropagationsOnEntityDelete", False)),
            "validityPeriods": mark.get("validityPeriods") or [],
        }
        for mark in entity.body.get("classifications", ())
    ]


def marks_of(store: Store, typedefs: Typedefs, entity: Entity) -> list[Json]:
    """Return all classifications of an entity: its own, then those that propagate to it, the nearest first."""
    marks = own_marks(entity)
    frontier, visited = [entity.guid] if entity.active and store.has_marks else [], {entity.guid}
    while frontier:
        sources = dict.fromkeys(guid for target in frontier for guid in _sources(store, typedefs, target))
        frontier = [guid for guid in sources if guid not in visited]
        visited.update(frontier)
        marks += [mark for guid in frontier for mark in own_marks(store.entities[guid]) if mark["propagate"]]
        frontier = [guid for guid in frontier if store.entities[guid].active]
    return marks


def attach(store: Store, typedefs: Typedefs, entity: Entity, mark: Json) -> None:
    """Attach a classification. Errors: 400-00-014, and 400-00-01A where it is attached already."""
    typedefs.check_classification(mark)
    marks = entity.body.get("classifications", [])
    if any(stored["typeName"] == mark["typeName"] for stored in marks):
        text = f"entity: {entity.guid}, already associated with classification: {mark['typeName']}"
        raise CatalogError(Fault.BAD_PARAMETERS, text)
    mark_fields = {key: value for key, value in mark.items() if key not in {"entityGuid", "entityStatus"}}
    store.put_entity(replace(entity, body={**entity.body, "classifications": [*marks, mark_fields]}))


def detach(store: Store, typedefs: Typedefs, entity: Entity, name: str) -> None:
    """Remove a classification.

    Errors: 400-00-014, 404-00-003 when the entity has none, 400-00-06D when it has others, and 400-00-06C for one that
    propagates from another entity.
    """
    typedefs.check_classification({"typeName": name})
    names = [mark["typeName"] for mark in marks_of(store, typedefs, entity)]
    marks = entity.body.get("classifications", [])
    kept_marks = [mark for mark in marks if mark["typeName"] != name]
    if not names:
        raise CatalogError(Fault.NO_CLASSIFICATIONS, entity.guid)
    if len(kept_marks) == len(marks):
        raise CatalogError(Fault.PROPAGATED if name in names else Fault.NOT_CLASSIFIED, name)
    store.put_entity(replace(entity, body={**entity.body, "classifications": kept_marks}))


def _sources(store: Store, typedefs: Typedefs, target: str) -> Iterator[str]:
    """Yield the entities from which classifications propagate to an entity."""
    for edge in store.edges_of(target):
        direction = str(typedefs.by_name.get(edge.relationship, {}).get("propagateTags", "NONE"))
        if edge.active and direction in {"ONE_TO_TWO", "BOTH"} and edge.end2 == target:
            yield edge.end1
        if edge.active and direction in {"TWO_TO_ONE", "BOTH"} and edge.end1 == target:
            yield edge.end2
