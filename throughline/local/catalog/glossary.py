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
        return [self._glossary(entity) for entity in entities if entity.type == GLOSSARY and entity.active]

    def create(self, raw: Json) -> Json:
        """Create a glossary. Error: 409-00-007."""
        return self._glossary(self._put(GLOSSARY, raw, raw["name"], {}, Fault.GLOSSARY_EXISTS))

    def create_term(self, raw: Json) -> Json:
        """Create a term in its glossary. Errors: 404-00-005, 409-00-009."""
        glossary = self._entity(raw["anchor"]["glossaryGuid"], GLOSSARY)
        qualified_name = f"{raw['name']}@{glossary.qualified_name}"
        relations = {"anchor": {"guid": glossary.guid}}
        term = self._put(TERM, raw, qualified_name, relations, Fault.TERM_EXISTS)
        return {"guid": term.guid, **term.body["attributes"]}

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
        """Remove a term from entities. Errors: 404-00-005, 400-00-080."""
        assigned = {entity["guid"]: entity["relationshipGuid"] for entity in self.assigned(guid)}
        for reference in references:
            relationship = reference["relationshipGuid"]
            if assigned.get(reference["guid"]) != relationship:
                raise CatalogError(Fault.NOT_ASSIGNED, relationship, guid, reference["guid"])
            self._store.end_edge(self._store.edges[relationship], keep=False)

    def _glossary(self, glossary: Entity) -> Json:
        """Return a glossary with the headers of its terms."""
        terms = [
            {"termGuid": edge.end2, "displayText": display_text(self._store.entities[edge.end2])}
            for edge in self._active(glossary.guid, _ANCHOR)
        ]
        return {"guid": glossary.guid, **glossary.body["attributes"], "terms": terms}

    def _put(self, type_name: str, raw: Json, qualified_name: str, relations: Json, refusal: Fault) -> Entity:
        if self._store.named([type_name], qualified_name):
            raise CatalogError(refusal, qualified_name)
        entity = {
            "typeName": type_name,
            "guid": "-1",
            "attributes": {"name": raw["name"], "qualifiedName": qualified_name},
            "relationshipAttributes": relations,
        }
        return self._store.entities[self._writer.upsert([entity])["guidAssignments"]["-1"]]

    def _entity(self, guid: str, type_name: str) -> Entity:
        entity = self._store.entities.get(guid)
        if entity is None or entity.type != type_name or not entity.active:
            raise CatalogError(Fault.UNKNOWN_GUID, guid)
        return entity

    def _active(self, guid: str, relationship: str) -> list[Edge]:
        return [edge for edge in self._store.edges_of(guid, relationship) if edge.active]
