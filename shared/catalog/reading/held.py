"""Read entities by name or guid, many in a call. Unlike search, this sees every write at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any
from urllib.parse import quote

from shared.catalog.batches import MOST_GUIDS, batches, halved
from shared.catalog.connection.transport import SteadyAtlasClient
from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused

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

    def read(some: Sequence[str]) -> Sequence[Entity]:
        answer = client.get_entity(guid=list(some), ignoreRelationships=not related, minExtInfo=True)
        entities: Sequence[Entity] = answer.get("entities") or ()
        return entities

    return {str(each["guid"]): each for batch in batches(guids, MOST_GUIDS) for each in _existing(batch, read)}


def _existing(names: Sequence[str], read: Callable[[Sequence[str]], Sequence[Entity]]) -> Iterator[Entity]:
    """What is read of these. Servers that answer 404 where some are missing are asked for fewer."""

    def ask(some: Sequence[str]) -> Sequence[Entity] | None:
        try:
            return read(some)
        except CatalogRefused as error:
            if error.status != NOT_FOUND and not error.unknown_type:
                raise
            return () if error.unknown_type or len(some) == 1 else None

    return chain.from_iterable(halved(names, ask))


def in_queries(names: Iterable[str]) -> Iterator[Sequence[str]]:
    """So many names at a time as fit into one address."""
    return batches(names, _LONGEST_QUERY, lambda name: len(quote(name, safe="")) + len("&attr_00:qualifiedName="))
