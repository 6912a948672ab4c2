"""The upstream and downstream lineage of an entity, as Atlas' `AtlasLineageInfo`.

One step of depth leads from a data set through a process to the next data sets. As on real servers, relationships that
are only marked as deleted are included.
"""

from collections.abc import Iterable
from typing import Any

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.graph.store import Edge, Entity, Store
from throughline.local.catalog.graph.views import header
from throughline.local.catalog.registry import Registry

Json = dict[str, Any]

INPUTS = "dataset_process_inputs"
OUTPUTS = "process_dataset_outputs"
# Upstream, a data set leads to the processes that have it as output; downstream, to those that have it as input.
_WAYS = {"INPUT": (OUTPUTS, INPUTS), "OUTPUT": (INPUTS, OUTPUTS)}
_DIRECTIONS = {"INPUT": ("INPUT",), "OUTPUT": ("OUTPUT",), "BOTH": ("INPUT", "OUTPUT")}


def lineage(store: Store, registry: Registry, entity: Entity, *, direction: str, depth: int) -> Json:
    """Return an entity's lineage. `depth` 0: without limit.

    Errors: 400-00-026 for an unknown direction or invalid depth, 404-00-011 for an entity that can't have lineage.
    """
    ways = _DIRECTIONS.get(direction.upper())
    if ways is None:
        raise CatalogError(Fault.BAD_LINEAGE_PARAMETERS, "direction", f"{direction} (INPUT, OUTPUT or BOTH)")
    if depth < 0:
        raise CatalogError(Fault.BAD_LINEAGE_PARAMETERS, "depth", depth)
    supers = registry.entity_type(entity.type_name).supers
    edges: dict[str, Edge] = {}
    for way in ways:
        if "Process" in supers:
            first = [edge for edge in store.edges([entity.guid]) if edge.relationship == _WAYS[way][1]]
            edges.update((edge.guid, edge) for edge in first)
            edges.update(_walk(store, way, {edge.end2 for edge in first}, depth - 1 if depth else None))
        elif "DataSet" in supers:
            edges.update(_walk(store, way, {entity.guid}, depth or None))
        else:
            raise CatalogError(Fault.NO_LINEAGE, entity.guid)
    nodes = store.entities(guid for edge in edges.values() for guid in (edge.end1, edge.end2))
    return {
        "baseEntityGuid": entity.guid,
        "lineageDirection": direction.upper(),
        "lineageDepth": depth,
        "guidEntityMap": {guid: header(node) for guid, node in nodes.items()},
        "relations": [_relation(edge) for edge in edges.values()],
    }


def _walk(store: Store, way: str, start: set[str], steps: int | None) -> dict[str, Edge]:
    """Return the edges within `steps` steps (None: all) of the data sets, nearest first."""
    near, far = _WAYS[way]
    found: dict[str, Edge] = {}
    seen = set(start)
    frontier = set(start)
    while frontier and steps != 0:
        steps = None if steps is None else steps - 1
        to_processes = _of(store.edges(frontier), near, frontier, "end2")
        from_processes = _of(
            store.edges(edge.end1 for edge in to_processes), far, {e.end1 for e in to_processes}, "end1"
        )
        # A process with no data set on its other side is not shown.
        leading = {edge.end1 for edge in from_processes}
        found.update((edge.guid, edge) for edge in to_processes if edge.end1 in leading)
        found.update((edge.guid, edge) for edge in from_processes)
        frontier = {edge.end2 for edge in from_processes} - seen
        seen |= frontier
    return found


def _of(edges: Iterable[Edge], relationship: str, ends: set[str], end: str) -> list[Edge]:
    return [edge for edge in edges if edge.relationship == relationship and getattr(edge, end) in ends]


def _relation(edge: Edge) -> Json:
    into_process = edge.relationship == INPUTS
    return {
        "fromEntityId": edge.end2 if into_process else edge.end1,
        "toEntityId": edge.end1 if into_process else edge.end2,
        "relationshipId": edge.guid,
    }
