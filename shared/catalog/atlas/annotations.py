"""What people say of data sets, on Atlas v2: documentation, classifications and glossary terms.

Microsoft Purview, Apache Atlas and the local catalog speak it.

Documentation is read for many data sets, a few calls for each hundred. A data set comes with the guids of its columns,
or of the `tabular_schema` that holds them; schemas and columns are read by guid. Texts are not kept, only whether they
exist. `contacts`, `labels` and `userDescription` are from Microsoft's and Atlas' documentation of an entity;
`contacts` was only read about, never seen.

A term is assigned to an entity by a relationship, which the entity shows under `meanings`; taking it away needs that
relationship's guid. pyapacheatlas' client of glossaries has a transport of its own, so its verbs are not used.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from shared.atlas.columns import column_rule
from shared.catalog.atlas.answers import ACTIVE, NOT_FOUND, active_ends, held_by_guid, held_by_name, is_placed
from shared.catalog.atlas.columns import schema_of
from shared.catalog.connection.transport import SteadyAtlasClient
from shared.catalog.port import AssetKey, Classified, batches
from shared.completeness import CatalogDocumentation
from shared.errors import CatalogRefused

_MOST_DATASETS = 200
"""Data sets whose answers are held in memory at a time."""

_DESCRIPTIONS = ("userDescription", "description", "comment")
_OWNERS = ("owner", "owners")


class AtlasDocumentation:
    """The documentation port over pyapacheatlas' client, which keeps the call rate."""

    def __init__(self, client: SteadyAtlasClient) -> None:
        self._client = client

    def documentation(self, keys: Iterable[AssetKey]) -> Iterator[tuple[AssetKey, CatalogDocumentation]]:
        """As the port says."""
        for batch in batches(keys, _MOST_DATASETS):
            entities = held_by_name(self._client, batch, related=True)
            columns = self._columns(entities)
            for key, entity in entities.items():
                yield key, documentation_of(entity, columns[key])

    def _columns(self, entities: Mapping[AssetKey, Mapping[str, Any]]) -> dict[AssetKey, list[Mapping[str, Any]]]:
        """The columns of each data set; those that are deleted meanwhile are left out."""
        schemas = {key: schema_of(entity) for key, entity in entities.items() if column_rule(key[0]).through_schema}
        schema_entities = self._by_guid([guid for guids in schemas.values() for guid in guids], related=True)
        ends = {
            key: [
                str(end["guid"])
                for holder in (
                    [schema_entities[guid] for guid in schemas[key] if guid in schema_entities]
                    if key in schemas
                    else [entity]
                )
                for end in active_ends(holder, "columns")
            ]
            for key, entity in entities.items()
        }
        columns = self._by_guid([guid for guids in ends.values() for guid in guids], related=False)
        return {key: [columns[guid] for guid in guids if guid in columns] for key, guids in ends.items()}

    def _by_guid(self, guids: Iterable[str], *, related: bool) -> dict[str, Mapping[str, Any]]:
        entities = held_by_guid(self._client, guids, related=related)
        return {guid: entity for guid, entity in entities.items() if entity.get("status", ACTIVE) == ACTIVE}


def documentation_of(entity: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> CatalogDocumentation:
    """The documentation of an entity and its columns, both as Atlas' JSON."""
    attributes = entity.get("attributes") or {}
    contacts = entity.get("contacts") or {}
    placed = bool(attributes) and is_placed(entity)
    return CatalogDocumentation(
        described=_is_described(entity) and not (placed and not _has_text(attributes, ("userDescription",))),
        placed=placed,
        owned=_has_text(attributes, _OWNERS) or bool(contacts.get("Owner")),
        tagged=any(part.get("classifications") or part.get("labels") for part in (entity, *columns)),
        columns=len(columns),
        described_columns=sum(map(_is_described, columns)),
    )


def _is_described(entity: Mapping[str, Any]) -> bool:
    return _has_text(entity.get("attributes") or {}, _DESCRIPTIONS)


def _has_text(attributes: Mapping[str, Any], names: Iterable[str]) -> bool:
    return any(str(attributes.get(name) or "").strip() for name in names)


_NOT_ATTACHED = "ATLAS-400-00-06D"


class AtlasClassifications:
    """The port of classifications over pyapacheatlas' client."""

    def __init__(self, client: SteadyAtlasClient) -> None:
        self._client = client

    def classified(self, keys: Iterable[AssetKey]) -> dict[AssetKey, Classified]:
        """As the port says. A classification that propagates to an entity names another one as its own."""
        return {
            key: Classified(
                guid=str(entity["guid"]),
                names=frozenset(
                    str(mark["typeName"])
                    for mark in entity.get("classifications") or ()
                    if mark.get("entityGuid") in {None, entity["guid"]}
                ),
                placed=is_placed(entity),
            )
            for key, entity in held_by_name(self._client, keys).items()
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


_NOT_ASSIGNED = "ATLAS-400-00-080"


class AtlasTerms:
    """The port of terms over pyapacheatlas' client. Guids of terms are kept from the last time they were read."""

    def __init__(self, client: SteadyAtlasClient) -> None:
        self._client = client
        self._guids: dict[str, str] = {}

    def glossaries(self) -> Mapping[str, frozenset[str]]:
        """As the port says."""
        glossaries = self._read()
        self._guids = {
            f"{term['displayText']}@{name}": str(term["termGuid"])
            for name, glossary in glossaries.items()
            for term in glossary.get("terms") or ()
        }
        return {
            name: frozenset(str(term["displayText"]) for term in glossary.get("terms") or ())
            for name, glossary in glossaries.items()
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
                guid=str(entity["guid"]),
                names=frozenset(names[guid] for guid in _assigned(entity) if guid in names),
                placed=is_placed(entity),
            )
            for key, entity in held_by_name(self._client, keys, related=True).items()
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
                assignment = [{"guid": guid, "relationshipGuid": relationship}]
                self._client.call("DELETE", _entities(term), json=assignment)
        except CatalogRefused as error:
            if error.status != NOT_FOUND and error.code != _NOT_ASSIGNED:
                raise

    def _read(self) -> dict[str, Mapping[str, Any]]:
        """All glossaries with the headers of their terms, by name."""
        return {str(glossary["name"]): glossary for glossary in self._client.call("GET", "/glossary") or ()}

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
    return {str(end["guid"]): str(end["relationshipGuid"]) for end in active_ends(entity, "meanings")}
