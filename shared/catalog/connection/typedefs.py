"""The types port on Atlas v2: definitions are grouped by their kind, in one call for all."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shared.catalog.connection.transport import SteadyAtlasClient

_KINDS = {
    "ENTITY": "entityDefs",
    "RELATIONSHIP": "relationshipDefs",
    "ENUM": "enumDefs",
    "STRUCT": "structDefs",
    "CLASSIFICATION": "classificationDefs",
    "BUSINESS_METADATA": "businessMetadataDefs",
}
_MADE_BY_SERVERS = frozenset({"category", "subTypes", "relationshipAttributeDefs"})


class AtlasTypes:
    """The types port over pyapacheatlas' client."""

    def __init__(self, client: SteadyAtlasClient) -> None:
        self._client = client
        self._place = f"{client.endpoint_url}/types/typedefs"

    def held(self) -> Sequence[Mapping[str, Any]]:
        """As the port says."""
        answer = self._client._get_http(self._place)  # noqa: SLF001 - the library would check and regroup them
        return [
            {**definition, "category": category}
            for category, kind in _KINDS.items()
            for definition in answer.body.get(kind) or ()
        ]

    def create(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        """As the port says."""
        self._client._post_http(self._place, json=_grouped(definitions))  # noqa: SLF001 - the same

    def update(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        """As the port says."""
        self._client._put_http(self._place, json=_grouped(definitions))  # noqa: SLF001 - the same


def _grouped(definitions: Iterable[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _KINDS.values()}
    for definition in definitions:
        plain = {key: value for key, value in definition.items() if key not in _MADE_BY_SERVERS}
        found[_KINDS[definition["category"]]].append(plain)
    return found
