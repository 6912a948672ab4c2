"""Classifications on Atlas v2: Microsoft Purview, Apache Atlas and the local catalog speak it."""

from collections.abc import Iterable, Sequence
from urllib.parse import quote

from shared.catalog.connection.transport import SteadyAtlasClient
from shared.catalog.port import AssetKey, Classified
from shared.catalog.reading.entities import is_placed
from shared.catalog.reading.held import NOT_FOUND, held_by_name
from shared.errors import CatalogRefused

_NOT_ATTACHED = "ATLAS-400-00-06D"


class AtlasClassifications:
    """The port of classifications over pyapacheatlas' client."""

    def __init__(self, client: SteadyAtlasClient) -> None:
        self._client = client

    def classified(self, keys: Iterable[AssetKey]) -> dict[AssetKey, Classified]:
        """As the port says. A classification that propagates to an entity names another one as its own."""
        return {
            key: Classified(
                guid=str(each["guid"]),
                names=frozenset(
                    str(mark["typeName"])
                    for mark in each.get("classifications") or ()
                    if mark.get("entityGuid") in {None, each["guid"]}
                ),
                placed=is_placed(each),
            )
            for key, each in held_by_name(self._client, keys).items()
        }

    def attach(self, name: str, guids: Sequence[str]) -> None:
        """As the port says."""
        body = {
            "classification": {"typeName": name, "propagate": False, "removePropagationsOnEntityDelete": True},
            "entityGuids": list(guids),
        }
        self._client.call("POST", "/entity/bulk/classification", json=body)

    def detach(self, name: str, guid: str) -> None:
        """As the port says."""
        try:
            self._client.call("DELETE", f"/entity/guid/{guid}/classification/{quote(name, safe='')}")
        except CatalogRefused as error:
            if error.status != NOT_FOUND and error.code != _NOT_ATTACHED:
                raise
