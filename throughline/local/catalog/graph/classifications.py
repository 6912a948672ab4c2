"""Classifications of entities: those attached to an entity, and those that propagate to it along relationships.

As in Atlas, a relationship's `propagateTags` gives the direction: ONE_TO_TWO from end 1 to end 2, TWO_TO_ONE back,
BOTH, NONE. So with Atlas' base types a classification propagates from a data set to the processes that read it, and to
the data sets that they write, regardless of columns. A classification with `propagate: false` does not propagate.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.graph.store import Edge, Entity, Store
from throughline.local.catalog.registry import Registry

Json = dict[str, Any]

_DOWN = frozenset({"ONE_TO_TWO", "BOTH"})
_UP = frozenset({"TWO_TO_ONE", "BOTH"})


def own(entity: Entity) -> list[Json]:
    """The classifications attached to an entity, in Atlas' full form."""
    return [
        {
            "typeName": str(each["typeName"]),
            "attributes": each.get("attributes") or {},
            "entityGuid": entity.guid,
            "entityStatus": entity.status,
            "propagate": each.get("propagate", True) is not False,
            "removePropagationsOnEntityDelete": bool(each.get("removePropagationsOnEntityDelete", False)),
            "validityPeriods": each.get("validityPeriods") or [],
        }
        for each in entity.body.get("classifications", ())
    ]


class Classifications:
    """Reads and changes the classifications of stored entities."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry

    def of(self, entity: Entity) -> list[Json]:
        """Return all classifications of an entity: its own, then those that propagate to it."""
        return [*own(entity), *self._reaching(entity)] if entity.active else own(entity)

    def named(self, entity: Entity, name: str) -> Json:
        """Return one classification of an entity. Errors: 400-00-014 and 404-00-008."""
        self._known(name)
        for each in self.of(entity):
            if each["typeName"] == name:
                return each
        raise CatalogError(Fault.NO_SUCH_CLASSIFICATION, name)

    def add(self, entity: Entity, given: Iterable[Any]) -> None:
        """Attach classifications. Errors: 400-00-01A where one of them is attached already."""
        self._put(entity, [*entity.body.get("classifications", ()), *self._checked(entity, given, there=False)])

    def update(self, entity: Entity, given: Iterable[Any]) -> None:
        """Replace attached classifications of the same names. Errors: 400-00-06D where one is not attached."""
        new = {each["typeName"]: each for each in self._checked(entity, given, there=True)}
        self._put(entity, [new.get(each["typeName"], each) for each in entity.body.get("classifications", ())])

    def remove(self, entity: Entity, name: str) -> None:
        """Remove a classification.

        Errors: 400-00-014, 404-00-003 when the entity has none, 400-00-06D when it has others, and 400-00-06C for one
        that propagates from another entity.
        """
        self._known(name)
        kept = [each for each in entity.body.get("classifications", ()) if each["typeName"] != name]
        if len(kept) == len(entity.body.get("classifications", ())):
            found = [each["typeName"] for each in self.of(entity)]
            if name in found:
                raise CatalogError(Fault.PROPAGATED, name)
            raise (
                CatalogError(Fault.NOT_CLASSIFIED, name)
                if found
                else CatalogError(Fault.NO_CLASSIFICATIONS, entity.guid)
            )
        self._put(entity, kept)

    def replace_all(self, entity: Entity, given: Iterable[Any]) -> None:
        """Have exactly these."""
        self._put(
            entity, self._checked(replace(entity, body={**entity.body, "classifications": []}), given, there=False)
        )

    def _checked(self, entity: Entity, given: Iterable[Any], *, there: bool) -> list[Json]:
        attached = {each["typeName"] for each in entity.body.get("classifications", ())}
        found: list[Json] = []
        for each in given:
            self._registry.check_classification(each)
            name = each["typeName"]
            if there and name not in attached:
                raise CatalogError(Fault.NOT_CLASSIFIED, name)
            if not there and name in attached:
                raise CatalogError(
                    Fault.BAD_PARAMETERS, f"entity: {entity.guid}, already associated with classification: {name}"
                )
            attached |= set() if there else {name}
            found.append({key: value for key, value in each.items() if key not in {"entityGuid", "entityStatus"}})
        return found

    def _known(self, name: str) -> None:
        if self._registry.typedefs.get(name, {}).get("category") != "CLASSIFICATION":
            raise CatalogError(Fault.UNKNOWN_TYPE, "CLASSIFICATION", name)

    def _put(self, entity: Entity, classifications: list[Json]) -> None:
        body = {key: value for key, value in entity.body.items() if key != "classifications"}
        marks = {"classifications": classifications} if classifications else {}
        self._store.put_entity(replace(entity, body=body | marks))

    def _reaching(self, entity: Entity) -> list[Json]:
        """Yield the classifications that propagate to an entity, the nearest first, once for each origin."""
        if not self._store.count("status = 'ACTIVE' AND json_array_length(body, '$.classifications') > 0"):
            return []
        seen, frontier, found = {entity.guid}, [entity.guid], []
        while frontier:
            near = {guid: None for edge in self._store.edges(frontier) for guid in self._sources(edge, set(frontier))}
            frontier = [guid for guid in near if guid not in seen]
            seen.update(frontier)
            entities = self._store.entities(frontier)
            found += [each for guid in frontier for each in own(entities[guid]) if each["propagate"]]
            frontier = [guid for guid in frontier if entities[guid].active]
        return found

    def _sources(self, edge: Edge, targets: set[str]) -> Iterable[str]:
        """Yield the ends of a relationship from which classifications propagate to one of these entities."""
        way = str(self._registry.typedefs.get(edge.relationship, {}).get("propagateTags", "NONE"))
        if edge.active and way in _DOWN and edge.end2 in targets:
            yield edge.end1
        if edge.active and way in _UP and edge.end1 in targets:
            yield edge.end2
