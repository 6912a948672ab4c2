"""Glossary terms on Atlas v2: Microsoft Purview, Apache Atlas and the local catalog speak it.

A term is assigned to an entity by a relationship, which the entity shows under `meanings`; taking it away needs that
relationship's guid. pyapacheatlas' client of glossaries has a transport of its own, so its verbs are not used.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shared.catalog.connection.transport import SteadyAtlasClient
from shared.catalog.port import AssetKey, Classified
from shared.catalog.reading.edges import active_ends
from shared.catalog.reading.entities import is_placed
from shared.catalog.reading.held import NOT_FOUND, held_by_name
from shared.errors import CatalogRefused

_NOT_ASSIGNED = "ATLAS-400-00-080"


class AtlasTerms:
    """The port of terms over pyapacheatlas' client. Guids of terms are kept from the last time they were read."""

    def __init__(self, client: SteadyAtlasClient) -> None:
        self._client = client
        self._guids: dict[str, str] = {}

    def glossaries(self) -> Mapping[str, frozenset[str]]:
        """As the port says."""
        found = self._read()
        self._guids = {
            f"{term['displayText']}@{name}": str(term["termGuid"])
            for name, each in found.items()
            for term in each.get("terms") or ()
        }
        return {
            name: frozenset(str(term["displayText"]) for term in each.get("terms") or ())
            for name, each in found.items()
        }

    def create_glossary(self, name: str) -> None:
        """As the port says."""
        self._client.call("POST", "/glossary", json={"name": name})

    def create_terms(self, glossary: str, names: Sequence[str]) -> None:
        """As the port says."""
        anchor = {"glossaryGuid": self._read()[glossary]["guid"]}
        terms = [{"name": name, "anchor": anchor} for name in names]
        self._client.call("POST", "/glossary/terms", json=terms)
        self.glossaries()

    def classified(self, keys: Iterable[AssetKey]) -> dict[AssetKey, Classified]:
        """As the port says."""
        self.glossaries()
        names = {guid: name for name, guid in self._guids.items()}
        return {
            key: Classified(
                guid=str(each["guid"]),
                names=frozenset(names[guid] for guid in _assigned(each) if guid in names),
                placed=is_placed(each),
            )
            for key, each in held_by_name(self._client, keys, related=True).items()
        }

    def attach(self, name: str, guids: Sequence[str]) -> None:
        """As the port says."""
        self._client.call("POST", _entities(self._guid(name)), json=[{"guid": guid} for guid in guids])

    def detach(self, name: str, guid: str) -> None:
        """As the port says. The relationship is read first: Atlas fails where it is gone."""
        term = self._guid(name)
        try:
            entity = self._client.get_entity(guid=[guid], minExtInfo=True)["entities"][0]
            relationship = _assigned(entity).get(term)
            if relationship:
                ended = [{"guid": guid, "relationshipGuid": relationship}]
                self._client.call("DELETE", _entities(term), json=ended)
        except CatalogRefused as error:
            if error.status != NOT_FOUND and error.code != _NOT_ASSIGNED:
                raise

    def _read(self) -> dict[str, Mapping[str, Any]]:
        """All glossaries with the headers of their terms, by name."""
        return {str(each["name"]): each for each in self._client.call("GET", "/glossary") or ()}

    def _guid(self, name: str) -> str:
        """The guid of a term. Raises CatalogRefused where the catalog does not have it."""
        if name not in self._guids:
            self.glossaries()
        if name not in self._guids:
            raise CatalogRefused(status=NOT_FOUND, code="", detail=f"The glossary has no term {name}")
        return self._guids[name]


def _entities(term: str) -> str:
    return f"/glossary/terms/{term}/assignedEntities"


def _assigned(entity: Mapping[str, Any]) -> dict[str, str]:
    """The relationships by which terms are assigned to an entity, by the guids of the terms."""
    return {str(each["guid"]): str(each["relationshipGuid"]) for each in active_ends(entity, "meanings")}
