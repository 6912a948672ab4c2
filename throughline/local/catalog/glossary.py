"""Glossaries and their terms as Atlas keeps them: entities of their own types, with relationships to their entities.

As in Apache Atlas 2.1.0, assigning a term again changes nothing, and a removed assignment is gone even with soft
deletes.
"""

from typing import Any

from throughline.local.catalog.entities import Writer
from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.store import Edge, Entity, Store
from throughline.local.catalog.views import display_text, related

Json = dict[str, Any]

GLOSSARY, TERM = "AtlasGlossary", "AtlasGlossaryTerm"
_ANCHOR = "AtlasGlossaryTermAnchor"
_ASSIGNMENT = "AtlasGlossarySemanticAssignment"


class Glossary:
    """Reads and writes glossaries, terms and their assignments; writes are inside a transaction of the store."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store = store
        self._writer = writer

    def glossaries(self) -> list[Json]:
        """Return all glossaries, each with the headers of its terms."""
        entities = self._store.entities.values()
        return [self.glossary(entity.guid) for entity in entities if entity.type == GLOSSARY and entity.active]

    def glossary(self, guid: str) -> Json:
        """Return a glossary with the headers of its terms; without terms the key is absent. Error: 404-00-005."""
        terms = [
            {
                "termGuid": edge.end2,
                "relationGuid": edge.guid,
                "displayText": display_text(self._store.entities[edge.end2]),
            }
            for edge in self._active(guid, _ANCHOR)
        ]
        return self._plain(guid, GLOSSARY) | ({"terms": terms} if terms else {})

    def create(self, raw: Any) -> Json:
        """Create a glossary. Errors: 400-00-079, 400-00-083, 409-00-007."""
        attributes = _attributes(raw, Fault.NO_GLOSSARY_NAME)
        return self.glossary(self._put(GLOSSARY, attributes, attributes["name"], {}, Fault.GLOSSARY_EXISTS))

    def create_term(self, raw: Any) -> Json:
        """Create a term. Errors: 400-00-072, 400-00-07A, 400-00-083, 404-00-005, 409-00-009."""
        anchor = raw.get("anchor") if isinstance(raw, dict) else None
        if not isinstance(anchor, dict):
            raise CatalogError(Fault.NO_ANCHOR)
        attributes = _attributes(raw, Fault.NO_TERM_NAME)
        glossary = self._entity(str(anchor.get("glossaryGuid")), GLOSSARY)
        qualified_name = f"{attributes['name']}@{glossary.qualified_name}"
        relations = {"anchor": {"guid": glossary.guid}}
        return self.term(self._put(TERM, attributes, qualified_name, relations, Fault.TERM_EXISTS))

    def term(self, guid: str) -> Json:
        """Return a term with its glossary and its assigned entities. Error: 404-00-005."""
        anchors = [{"glossaryGuid": edge.end1, "relationGuid": edge.guid} for edge in self._active(guid, _ANCHOR)]
        assigned = self.assigned(guid)
        parts = {"anchor": anchors[0] if anchors else None, "assignedEntities": assigned}
        return self._plain(guid, TERM) | {key: part for key, part in parts.items() if part}

    def assigned(self, guid: str) -> list[Json]:
        """Return the entities that a term is assigned to. Error: 404-00-005."""
        self._entity(guid, TERM)
        return [related(edge, self._store.entities[edge.end2]) for edge in self._active(guid, _ASSIGNMENT)]

    def assign(self, guid: str, references: list[Json]) -> None:
        """Assign a term to entities. Errors: 404-00-005, and 400-00-07D for the unknown guid of an entity."""
        assigned = {entity["guid"] for entity in self.assigned(guid)}
        for target in dict.fromkeys(str(reference.get("guid")) for reference in references):
            entity = self._store.entities.get(target)
            if entity is None or not entity.active:
                raise CatalogError(Fault.NOTHING_RELATED, "Referenceable", target)
            if target not in assigned:
                self._store.add_edge(_ASSIGNMENT, guid, target)

    def dismiss(self, guid: str, references: list[Json]) -> None:
        """Remove a term from entities. Errors: 404-00-005, 400-00-078, 400-00-080."""
        assigned = {entity["guid"]: entity["relationshipGuid"] for entity in self.assigned(guid)}
        for reference in references:
            relationship = reference.get("relationshipGuid")
            if not relationship:
                raise CatalogError(Fault.NO_RELATIONSHIP)
            if assigned.get(str(reference.get("guid"))) != relationship:
                raise CatalogError(Fault.NOT_ASSIGNED, relationship, guid, reference.get("guid"))
            self._store.end_edge(self._store.edges[relationship], keep=False)

    def _put(self, type_name: str, attributes: Json, qualified_name: str, relations: Json, refusal: Fault) -> str:
        if self._store.named([type_name], qualified_name):
            raise CatalogError(refusal, qualified_name)
        entity = {
            "typeName": type_name,
            "guid": "-1",
            "attributes": {**attributes, "qualifiedName": qualified_name},
            "relationshipAttributes": relations,
        }
        guid: str = self._writer.upsert([entity])["guidAssignments"]["-1"]
        return guid

    def _entity(self, guid: str, type_name: str) -> Entity:
        entity = self._store.entities.get(guid)
        if entity is None or entity.type != type_name or not entity.active:
            raise CatalogError(Fault.UNKNOWN_GUID, guid)
        return entity

    def _plain(self, guid: str, type_name: str) -> Json:
        """Return the fields that glossaries and terms share: the guid and the written attributes."""
        return {"guid": guid, **self._entity(guid, type_name).body["attributes"]}

    def _active(self, guid: str, relationship: str) -> list[Edge]:
        return [edge for edge in self._store.edges_of(guid, relationship) if edge.active]


def _attributes(raw: Any, missing: Fault) -> Json:
    """Return the attributes of a glossary or a term, with a name."""
    if not isinstance(raw, dict):
        raise CatalogError(Fault.BAD_REQUEST, f"a glossary or a term is a JSON object, not {raw!r:.100}")
    keys = {"name", "shortDescription", "longDescription", "language", "usage", "examples", "abbreviation"}
    attributes = {key: value for key, value in raw.items() if key in keys}
    name = str(attributes.get("name") or "")
    if not name:
        raise CatalogError(missing)
    if {"@", "."} & set(name):
        raise CatalogError(Fault.BAD_GLOSSARY_NAME, name)
    return attributes
