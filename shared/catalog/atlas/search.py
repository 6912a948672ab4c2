"""Search Atlas and Purview.

Search is behind the writes by a moment: by Purview's own search, on plain Atlas by basic search. Purview's syntax is
that of Microsoft's page on searching the catalog: AND, OR and parentheses, and a blank is an OR.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import count, islice
from typing import Any

from shared.atlas.columns import PART_TYPES
from shared.atlas.entities import PLACED, PROCESS_TYPE
from shared.atlas.types import COLUMN_TYPE
from shared.catalog.atlas.answers import found_node, is_foreign, node_of
from shared.catalog.connection.dialect import dialect_of
from shared.catalog.connection.transport import SteadyAtlasClient
from shared.catalog.port import Node
from shared.translation.process.identity import OURS

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
        self._process_types: frozenset[str] | None = None

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

    def changed_processes(self, since: datetime) -> frozenset[str] | None:
        """As the port says. Purview's filter has no super types, so all types of processes are named; they are asked
        for once.
        """
        moment = int(since.timestamp() * 1000)
        changed = self._changed_in_purview(moment) if self._dialect.is_purview else self._changed_in_atlas(moment)
        nodes: list[Node] = []
        for number, (page, is_last) in enumerate(changed, start=1):
            nodes.extend(page)
            if is_last:
                return frozenset(node.guid for node in nodes if is_foreign(node))
            if number == _PAGES:
                break
        return None

    def _changed_in_purview(self, moment: int) -> Iterator[tuple[Sequence[Node], bool]]:
        if self._process_types is None:
            definitions = self._client.call("GET", "/types/typedefs", params={"type": "entity"})["entityDefs"]
            self._process_types = process_types(definitions)
        types = [{"entityType": name} for name in sorted(self._process_types)]
        since = {"attributeName": "modifiedTime", "operator": "ge", "attributeValue": moment}
        return self._answers({"keywords": None, "filter": {"and": [since, {"or": types}]}}, _LARGE_PAGE)

    def _changed_in_atlas(self, moment: int) -> Iterator[tuple[Sequence[Node], bool]]:
        since = {"attributeName": "__modificationTimestamp", "operator": "gte", "attributeValue": str(moment)}
        page_parameters = {"includeSubTypes": True, "excludeDeletedEntities": False, "limit": _LARGE_PAGE}
        for offset in count(0, _LARGE_PAGE):
            page = self._basic("Process", [since], **page_parameters, offset=offset)
            yield page, len(page) < _LARGE_PAGE

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
        for nodes, is_last in self._answers(query, size):
            yield [n for n in nodes if n.is_process == processes and n.type not in PART_TYPES], is_last

    def _answers(self, query: Mapping[str, Any], size: int) -> Iterator[tuple[Sequence[Node], bool]]:
        """All that Purview's search gives, page by page."""
        token = ""
        while True:
            page = {**query, "limit": size, **({"continuationToken": token} if token else {})}
            answer = self._client.call("POST", self._dialect.discovery, json=page)
            token = str(answer.get("continuationToken") or "")
            yield [found_node(hit) for hit in answer.get("value") or ()], not token
            if not token:
                return


def process_types(definitions: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The type Process and all below it, by the definitions of entity types."""
    subtypes: dict[str, list[str]] = {}
    for definition in definitions:
        for super_type in definition.get("superTypes") or ():
            subtypes.setdefault(super_type, []).append(str(definition["name"]))
    names, frontier = {"Process"}, ["Process"]
    while frontier:
        frontier = [name for super_type in frontier for name in subtypes.get(super_type, ()) if name not in names]
        names.update(frontier)
    return frozenset(names)


def _all_of(text: str, form: str) -> str:
    """The words of a text, each in this form, under the operator that both searches have; small, as no operator is."""
    return " AND ".join(form.format(part) for part in dict.fromkeys(_PARTS.findall(text.lower())))


def _has_all(node: Node, text: str) -> bool:
    """Whether its names hold all the words: searches find more than that."""
    names = f"{node.qualified_name}\0{node.name}".lower()
    return all(word in names for word in text.lower().split() if word != "*")
