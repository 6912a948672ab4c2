"""Read Atlas and Purview: entities by name or guid, search results and relationships, decoded into values of the port.

Entities are read by name or guid, many in a call. Unlike search, this sees every write at once.

With soft deletes (Atlas' default) an edge that was taken away stays, in the attributes and in lineage; its
`relationshipStatus` alone says so, and only the process itself has that.

Search is behind the writes by a moment: by Purview's own search, on plain Atlas by basic search. Purview's syntax is
that of Microsoft's page on searching the catalog: AND, OR and parentheses, and a blank is an OR.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count, islice
from typing import Any
from urllib.parse import quote

from shared.atlas.column_lineage import COLUMN_TYPE, COLUMNS_OF_ASSET
from shared.atlas.columns import PART_TYPES
from shared.atlas.entities import LAST_RUN, ORIGIN_WORDS, PLACED, PROCESS_ATTRIBUTES, PROCESS_TYPE, ProcessEntity
from shared.atlas.types import MANAGED
from shared.catalog.connection.dialect import dialect_of
from shared.catalog.connection.transport import SteadyAtlasClient
from shared.catalog.port import MOST_GUIDS, AssetKey, Node, batches, halved
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


_NO_PARTS = [
    {"attributeName": "__typeName", "operator": "neq", "attributeValue": name}
    for name in sorted({*PART_TYPES, COLUMN_TYPE})
]
_PARTS = re.compile(r"[^\W_]+")
_PAGE = 100
_LARGE_PAGE = 1000
"""The most that Purview gives in a page."""
_PAGES = 5


class AtlasSearch:
    """The part of the catalog port that searches, as the server understands it."""

    def __init__(self, client: SteadyAtlasClient) -> None:
        self._client = client
        self._dialect = dialect_of(client.endpoint_url)

    def search(self, text: str, limit: int = 25) -> tuple[Node, ...]:
        """As the port says. Where most of what Purview gives has the words in other places (columns, descriptions), the
        last pages of it are not asked for.
        """
        if self._dialect.is_purview:
            pages = islice(self._pages({"keywords": _all_of(text, "{}") or None}, _LARGE_PAGE), _PAGES)
            nodes: Iterator[Node] = (node for page, _ in pages for node in page)
        else:
            nodes = iter(self._with_words(_all_of(text, "*{}*"), limit))
        return tuple(islice((node for node in nodes if _has_all(node, text)), limit))

    def search_all(self, texts: Sequence[str]) -> dict[str, tuple[Node, ...]] | None:
        """As the port says."""
        if self._dialect.is_purview:
            words = " OR ".join(f"({_all_of(text, '{}')})" for text in texts)
            nodes, is_last = next(self._pages({"keywords": words}, _LARGE_PAGE))
        else:
            nodes = self._with_words(" OR ".join(f"({_all_of(text, '*{}*')})" for text in texts), _LARGE_PAGE)
            is_last = len(nodes) < _LARGE_PAGE
        return {text: tuple(node for node in nodes if _has_all(node, text)) for text in texts} if is_last else None

    def _with_words(self, words: str, limit: int) -> Sequence[Node]:
        """What a plain Atlas finds: any of several terms unless joined by AND, whole terms unless they have stars, and
        in any attribute.
        """
        return self._basic("DataSet", _NO_PARTS, limit=limit, query=words)

    def _basic(self, type_name: str, criteria: Sequence[Mapping[str, str]], **further: Any) -> Sequence[Node]:
        """What Atlas' basic search finds of this type, where all these criteria hold."""
        filters = {"condition": "AND", "criterion": criteria}
        query = {"typeName": type_name, "excludeDeletedEntities": True, "entityFilters": filters, **further}
        answer = self._client.call("POST", "/search/basic", json=query)
        return [node_of(entity) for entity in answer.get("entities") or ()]

    def ours(self) -> Iterator[Node]:
        """As the port says."""
        yield from self._beginning(PROCESS_TYPE, "qualifiedName", OURS)
        yield from self._beginning("DataSet", "description", PLACED)

    def _beginning(self, type_name: str, attribute: str, start: str) -> Iterator[Node]:
        """What has an attribute that begins so, by basic search, a page at a time."""
        if self._dialect.is_purview:
            filters = {"filter": {"entityType": PROCESS_TYPE}} if type_name == PROCESS_TYPE else {}
            for page, _ in self._pages({"keywords": None, **filters}, _PAGE, processes=bool(filters)):
                yield from (node for node in page if str(node.attributes.get(attribute) or "").startswith(start))
            return
        condition = {"attributeName": attribute, "operator": "startsWith", "attributeValue": start}
        for offset in count(0, _PAGE):
            page_of_nodes = self._basic(type_name, [condition], includeSubTypes=True, limit=_PAGE, offset=offset)
            yield from page_of_nodes
            if len(page_of_nodes) < _PAGE:
                return

    def _pages(
        self, query: Mapping[str, Any], size: int, *, processes: bool = False
    ) -> Iterator[tuple[Sequence[Node], bool]]:
        """What Purview's search gives, page by page: data sets, or processes; and whether it was the last page."""
        token = ""
        while True:
            page = {**query, "limit": size, **({"continuationToken": token} if token else {})}
            answer = self._client.call("POST", self._dialect.discovery, json=page)
            nodes = [found_node(hit) for hit in answer.get("value") or ()]
            token = str(answer.get("continuationToken") or "")
            yield [n for n in nodes if n.is_process == processes and n.type not in PART_TYPES], not token
            if not token:
                return


def _all_of(text: str, form: str) -> str:
    """The words of a text, each in this form, under the operator that both searches have; small, as no operator is."""
    return " AND ".join(form.format(part) for part in dict.fromkeys(_PARTS.findall(text.lower())))


def _has_all(node: Node, text: str) -> bool:
    """Whether its names hold all the words: searches find more than that."""
    names = f"{node.qualified_name}\0{node.name}".lower()
    return all(word in names for word in text.lower().split() if word != "*")
