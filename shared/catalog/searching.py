"""Searching, which is behind the writes by a moment: by Purview's own search, on plain Atlas by basic search."""

import re
from collections.abc import Iterator
from itertools import count, islice

from shared.atlas import COLUMN_TYPE, OURS, PART_TYPES, PLACED, PROCESS_TYPE
from shared.catalog.answers import found_node, node_of
from shared.catalog.dialect import Dialect
from shared.catalog.port import Node
from shared.catalog.transport import SteadyAtlasClient

_NO_PARTS = [
    {"attributeName": "__typeName", "operator": "neq", "attributeValue": name}
    for name in sorted({*PART_TYPES, COLUMN_TYPE})
]
_PARTS = re.compile(r"[^\W_]+")
_PAGE = 100


class Searching:
    """Searches through a client, as the server understands it."""

    def __init__(self, client: SteadyAtlasClient, dialect: Dialect) -> None:
        self._client = client
        self._dialect = dialect

    def search(self, text: str, limit: int = 25) -> tuple[Node, ...]:
        """As the port says, behind the writes by a moment: by Purview's own search, on plain Atlas by basic search.

        Atlas itself takes any of several words, and whole ones, wherever they stand: it is asked for parts of words,
        and what has them elsewhere is left out.
        """
        if self._dialect.is_purview:
            return tuple(islice(self._discovered(text), limit))
        words = text.lower().split()
        wanted = {
            "query": " AND ".join(f"*{part}*" for part in dict.fromkeys(_PARTS.findall(text))),
            "entityFilters": {"condition": "AND", "criterion": _NO_PARTS},
        }
        answer = self._client._post_http(  # noqa: SLF001 - the library has no verb for basic search
            f"{self._client.endpoint_url}/search/basic",
            json={"typeName": "DataSet", "limit": limit, "excludeDeletedEntities": True, **wanted},
        )
        nodes = [node_of(entity) for entity in answer.body.get("entities") or ()]
        return tuple(
            node
            for node in nodes
            if all(word in node.qualified_name.lower() or word in node.name.lower() for word in words)
        )

    def ours(self) -> Iterator[Node]:
        """Every process that has a name of ours, and every data set that we placed."""
        yield from self._beginning(PROCESS_TYPE, "qualifiedName", OURS)
        yield from self._beginning("DataSet", "description", PLACED)

    def _beginning(self, type_name: str, attribute: str, start: str) -> Iterator[Node]:
        """What has an attribute that begins so, by basic search, a page at a time."""
        if self._dialect.is_purview:
            yield from (
                node
                for node in self._discovered("*" if attribute == "description" else "", type_name)
                if str(node.attributes.get(attribute) or "").startswith(start)
            )
            return
        condition = {"attributeName": attribute, "operator": "startsWith", "attributeValue": start}
        for offset in count(0, _PAGE):
            answer = self._client._post_http(  # noqa: SLF001 - the library has no verb for basic search
                f"{self._client.endpoint_url}/search/basic",
                json={
                    "typeName": type_name,
                    "excludeDeletedEntities": True,
                    "includeSubTypes": True,
                    "entityFilters": {"condition": "AND", "criterion": [condition]},
                    "limit": _PAGE,
                    "offset": offset,
                },
            )
            page = answer.body.get("entities") or ()
            yield from (node_of(entity) for entity in page)
            if len(page) < _PAGE:
                return

    def _discovered(self, words: str, process_type: str = "") -> Iterator[Node]:
        """What Purview's search gives, page by page: entities of a process type, or data sets whose names hold all the
        words. Its own ranking finds more than that.
        """
        wanted = [word for word in words.lower().split() if word != "*"]
        is_process = process_type == PROCESS_TYPE
        token = ""
        while True:
            answer = self._client._post_http(  # noqa: SLF001 - the library's Atlas client has no verb for it
                self._dialect.discovery,
                json={
                    "keywords": " ".join(wanted) or None,
                    "limit": _PAGE,
                    **({"filter": {"entityType": PROCESS_TYPE}} if is_process else {}),
                    **({"continuationToken": token} if token else {}),
                },
            ).body
            for each in answer.get("value") or ():
                node = found_node(each)
                names = f"{node.qualified_name}\0{node.name}".lower()
                if (
                    node.is_process == is_process
                    and node.type not in PART_TYPES
                    and all(word in names for word in wanted)
                ):
                    yield node
            token = str(answer.get("continuationToken") or "")
            if not token:
                return
