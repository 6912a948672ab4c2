"""Read Atlas and Purview: entities by name or guid, and their relationships, decoded into values of the port.

Entities are read by name or guid, many in a call. Unlike search, this sees every write at once.

With soft deletes (Atlas' default) an edge that was taken away stays, in the attributes and in lineage; its
`relationshipStatus` alone says so, and only the process itself has that.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any
from urllib.parse import quote

from shared.atlas.entities import (
    LAST_RUN,
    ORIGIN_WORDS,
    PLACED,
    PROCESS_ATTRIBUTES,
    ProcessEntity,
    column_pairs,
)
from shared.atlas.types import COLUMN_TYPE, COLUMNS_OF_ASSET, MANAGED
from shared.catalog.connection.transport import SteadyAtlasClient
from shared.catalog.port import (
    MOST_GUIDS,
    AssetKey,
    ForeignAsset,
    ForeignProcess,
    Node,
    ProcessLinks,
    batches,
    halved,
)
from shared.errors import CatalogRefused
from shared.translation.process.identity import OURS

ACTIVE = "ACTIVE"
SIDES = ("inputs", "outputs")


def ends(entity: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The ends of the relationships of one attribute, with those that are only marked as deleted."""
    value = (entity.get("relationshipAttributes") or {}).get(name) or []
    return value if isinstance(value, list) else [value]


def active_ends(entity: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The ends of the relationships of one attribute, without deleted ones."""
    return [end for end in ends(entity, name) if status(end) == ACTIVE and end.get("entityStatus", ACTIVE) == ACTIVE]


def status(end: Mapping[str, Any]) -> str:
    """The status of a relationship: ACTIVE where an end has none, though Atlas always gives one."""
    return str(end.get("relationshipStatus", ACTIVE))


def shown(entity: Mapping[str, Any], side: str) -> list[tuple[str, str]]:
    """The guids that lineage shows on one side of a process, each with its status, sorted."""
    return sorted((str(end["guid"]), status(end)) for end in ends(entity, side))


def ended(entity: Mapping[str, Any]) -> Iterator[str]:
    """The guids of a process's relationships that are only marked as deleted."""
    for side in SIDES:
        yield from (str(end["relationshipGuid"]) for end in ends(entity, side) if status(end) != ACTIVE)


_OWN_PARTS = frozenset({"columns", "tabular_schema", "attachedSchema", COLUMNS_OF_ASSET})
"""Relationships to the parts of a data set, which are deleted with it."""


def process_of(entity: Mapping[str, Any]) -> ProcessEntity:
    """A process as the catalog holds it, without deleted edges; the facts of its last run are apart."""
    attributes = dict(entity["attributes"])
    attributes["description"], _, facts = (attributes.get("description") or "").partition(LAST_RUN)
    return ProcessEntity(
        type=str(entity["typeName"]),
        qualified_name=str(attributes["qualifiedName"]),
        attributes=tuple((name, attributes.get(name) or "") for name in PROCESS_ATTRIBUTES),
        inputs=_active(entity, "inputs"),
        outputs=_active(entity, "outputs"),
        origin=_origin(entity),
        facts=facts,
    )


def _origin(entity: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """A user's properties; where a catalog keeps none, the managed attributes."""
    properties = entity.get("customAttributes") or (entity.get("businessAttributes") or {}).get(MANAGED) or {}
    return tuple((word, str(properties[word])) for word in ORIGIN_WORDS if properties.get(word))


def _active(entity: Mapping[str, Any], side: str) -> tuple[AssetKey, ...]:
    """One side of a process without deleted edges. There may be several relationships to one data set, some of them
    only marked as deleted, and the references do not show which.
    """
    active = {end["guid"] for end in ends(entity, side) if status(end) == ACTIVE}
    references = [reference for reference in entity["attributes"][side] or () if reference["guid"] in active]
    keys = {(str(end["typeName"]), str(end["uniqueAttributes"]["qualifiedName"])) for end in references}
    return tuple(sorted(keys))


def process_links_of(entity: Mapping[str, Any]) -> ProcessLinks:
    """The processes that read and write a data set, without deleted ones."""
    readers, writers = (
        frozenset(str(end["guid"]) for end in active_ends(entity, name))
        for name in ("inputToProcesses", "outputFromProcesses")
    )
    return ProcessLinks(readers=readers, writers=writers)


def foreign_process_of(entity: Mapping[str, Any]) -> ForeignProcess:
    """A process of another program, without deleted ends."""
    node = node_of(entity)
    return ForeignProcess(
        type=node.type,
        qualified_name=node.qualified_name,
        name=node.name,
        inputs=_foreign_ends(entity, "inputs"),
        outputs=_foreign_ends(entity, "outputs"),
        columns=column_pairs(node.attributes.get("columnMapping")),
    )


def _foreign_ends(entity: Mapping[str, Any], side: str) -> tuple[ForeignAsset, ...]:
    """One side of a process, with the names for people, which only the relationships have."""
    names = {str(end["guid"]): str(end.get("displayText") or "") for end in active_ends(entity, side)}
    references = {
        str(reference["guid"]): reference
        for reference in entity["attributes"].get(side) or ()
        if reference["guid"] in names
    }
    assets = (
        (str(reference["typeName"]), str((reference.get("uniqueAttributes") or {}).get("qualifiedName") or ""), guid)
        for guid, reference in references.items()
    )
    return tuple(
        sorted(
            ForeignAsset(type=type_name, qualified_name=name, name=names[guid] or name)
            for type_name, name, guid in assets
            if name
        )
    )


def is_foreign(node: Node) -> bool:
    """Whether a process is another program's: neither ours nor one of our columns."""
    return node.type != COLUMN_TYPE and not node.qualified_name.startswith(OURS)


def links_of(entity: Mapping[str, Any]) -> frozenset[str]:
    """The guids of the entities that an entity is linked to, without its parts and deleted links."""
    names = (entity.get("relationshipAttributes") or {}).keys() - _OWN_PARTS
    return frozenset(str(end["guid"]) for name in names for end in active_ends(entity, name))


def description_of(entity: Mapping[str, Any]) -> str:
    """The description of an entity; empty where it has none."""
    return str(entity["attributes"].get("description") or "")


def is_placed(entity: Mapping[str, Any]) -> bool:
    """Whether an entity is a placeholder: its description begins with our mark."""
    return description_of(entity).startswith(PLACED)


def found_node(value: Mapping[str, Any]) -> Node:
    """A result of Purview's search, in which the attributes stand beside guid and type."""
    return Node(
        guid=str(value["id"]),
        type=str(value.get("entityType") or ""),
        qualified_name=str(value.get("qualifiedName") or ""),
        name=str(value.get("name") or value.get("qualifiedName") or ""),
        attributes=value,
    )


def node_of(entity: Mapping[str, Any]) -> Node:
    """An entity, or the header of one."""
    attributes = entity.get("attributes") or {}
    qualified_name = str(attributes.get("qualifiedName") or "")
    return Node(
        guid=str(entity["guid"]),
        type=str(entity["typeName"]),
        qualified_name=qualified_name,
        name=str(attributes.get("name") or qualified_name),
        attributes=attributes,
    )


NOT_FOUND = 404
_LONGEST_QUERY = 6000
"""Characters of names in one address: gateways cut off or refuse addresses from 8 KiB on."""

Entity = dict[str, Any]


def held_by_name(
    client: SteadyAtlasClient, keys: Iterable[AssetKey], *, related: bool = False
) -> dict[AssetKey, Entity]:
    """The entities of these types and names that exist; with their relationships, if they are to be `related`."""
    by_type: dict[str, dict[str, None]] = {}
    for type_name, name in keys:
        by_type.setdefault(type_name, {})[name] = None

    def read(type_name: str, names: Sequence[str]) -> Sequence[Entity]:
        answer = client.call(  # the library would repeat what cannot be distinguished
            "GET",
            f"/entity/bulk/uniqueAttribute/type/{type_name}",
            params={
                **{f"attr_{number}:qualifiedName": name for number, name in enumerate(names)},
                "ignoreRelationships": "false" if related else "true",
                "minExtInfo": "true",
            },
        )
        entities: Sequence[Entity] = answer.get("entities") or ()
        return entities

    return {
        (type_name, str(entity["attributes"]["qualifiedName"])): entity
        for type_name, names in sorted(by_type.items())
        for page in in_queries(names)
        for entity in _existing(page, partial(read, type_name))
    }


def held_by_guid(client: SteadyAtlasClient, guids: Iterable[str], *, related: bool) -> dict[str, Entity]:
    """The entities of these guids that exist."""

    def read(page: Sequence[str]) -> Sequence[Entity]:
        answer = client.get_entity(guid=list(page), ignoreRelationships=not related, minExtInfo=True)
        entities: Sequence[Entity] = answer.get("entities") or ()
        return entities

    return {str(entity["guid"]): entity for batch in batches(guids, MOST_GUIDS) for entity in _existing(batch, read)}


def _existing(names: Sequence[str], read_page: Callable[[Sequence[str]], Sequence[Entity]]) -> Iterator[Entity]:
    """What is read of these. Servers that answer 404 where some are missing are asked for fewer."""

    def ask(page: Sequence[str]) -> Sequence[Entity] | None:
        try:
            return read_page(page)
        except CatalogRefused as error:
            if error.status != NOT_FOUND and not error.unknown_type:
                raise
            return () if error.unknown_type or len(page) == 1 else None

    return chain.from_iterable(halved(names, ask))


def in_queries(names: Iterable[str]) -> Iterator[Sequence[str]]:
    """So many names at a time as fit into one address."""
    return batches(names, _LONGEST_QUERY, lambda name: len(quote(name, safe="")) + len("&attr_00:qualifiedName="))
