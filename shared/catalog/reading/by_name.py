"""Reading entities by type and qualified name, many in a call: this sees every write at once, unlike search."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

from shared.catalog.connection.transport import SteadyAtlasClient
from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused

_NOT_FOUND = 404
_LONGEST_QUERY = 6000
"""Characters of names in one address: gateways cut off or refuse addresses from 8 KiB on."""


class ByName:
    """Reads through a client."""

    def __init__(self, client: SteadyAtlasClient) -> None:
        self._client = client

    def held(self, keys: Iterable[AssetKey], *, related: bool = False) -> dict[AssetKey, dict[str, Any]]:
        """The entities of these types and names: those that are not there are left out of the catalog's answers."""
        by_type: dict[str, dict[str, None]] = {}
        for type_name, name in keys:
            by_type.setdefault(type_name, {})[name] = None
        found = {}
        for type_name, names in sorted(by_type.items()):
            for page in in_queries(names):
                for entity in self._page(type_name, page, related=related):
                    found[type_name, str(entity["attributes"]["qualifiedName"])] = entity
        return found

    def _page(self, type_name: str, names: Sequence[str], *, related: bool) -> Sequence[dict[str, Any]]:
        """The entities of one call. A server that answers 404 where some are missing is asked for fewer."""
        try:
            answer = self._client._get_http(  # noqa: SLF001 - the library would repeat what cannot be distinguished
                f"{self._client.endpoint_url}/entity/bulk/uniqueAttribute/type/{type_name}",
                params={
                    **{f"attr_{number}:qualifiedName": name for number, name in enumerate(names)},
                    "ignoreRelationships": "false" if related else "true",
                    "minExtInfo": "true",
                },
            )
        except CatalogRefused as error:
            if error.unknown_type or (error.status == _NOT_FOUND and len(names) == 1):
                return ()
            if error.status != _NOT_FOUND:
                raise
            half = len(names) // 2
            return [
                each for part in (names[:half], names[half:]) for each in self._page(type_name, part, related=related)
            ]
        entities: Sequence[dict[str, Any]] = answer.body.get("entities") or ()
        return entities


def in_queries(names: Iterable[str]) -> Iterator[list[str]]:
    """So many names at a time as fit into one address."""
    batch: list[str] = []
    length = 0
    for name in names:
        needs = len(quote(name, safe="")) + len("&attr_00:qualifiedName=")
        if batch and length + needs > _LONGEST_QUERY:
            yield batch
            batch, length = [], 0
        batch.append(name)
        length += needs
    if batch:
        yield batch
