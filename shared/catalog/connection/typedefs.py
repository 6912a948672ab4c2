"""The types port on Atlas v2: definitions are grouped by their kind, in one call for all."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shared.catalog.connection.transport import SteadyAtlasClient

_PLACE = "/types/typedefs"
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

    def held(self) -> Sequence[Mapping[str, Any]]:
        """As the port says."""
        answer = self._client.call("GET", _PLACE)  # the library would check and regroup them
        return [
            {**definition, "category": category}
            for category, kind in _KINDS.items()
            for definition in answer.get(kind) or ()
        ]

    def create(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        """As the port says."""
        self._client.call("POST", _PLACE, json=_grouped(definitions))

    def update(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        """As the port says."""
        self._client.call("PUT", _PLACE, json=_grouped(definitions))


def _grouped(definitions: Iterable[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _KINDS.values()}
    for definition in definitions:
        plain = {key: value for key, value in definition.items() if key not in _MADE_BY_SERVERS}
        found[_KINDS[definition["category"]]].append(plain)
    return found
