"""Glossaries and their terms as Atlas keeps them: entities of their own types, with relationships to their entities.

As in Apache Atlas 2.1.0, assigning a term again changes nothing, and a removed assignment is gone even with soft
deletes.
"""

from collections.abc import Iterable
from typing import Any

from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.graph.entities import Writer
from throughline.local.catalog.graph.store import Edge, Entity, Store
from throughline.local.catalog.graph.views import display_text

Json = dict[str, Any]

GLOSSARY, TERM = "AtlasGlossary", "AtlasGlossaryTerm"
_ANCHOR = "AtlasGlossaryTermAnchor"
_ASSIGNMENT = "AtlasGlossarySemanticAssignment"
_FORBIDDEN = frozenset("@.")


class Glossary:
    """Reads and writes glossaries, terms and their assignments."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store = store
        self._writer = writer

    def all(self) -> list[Json]:
        """Return all glossaries, each with the headers of its terms."""
        return [self.one(each) for each in self._store.select("type = ? AND status = 'ACTIVE'", [GLOSSARY])]

    def one(self, glossary: Entity) -> Json:
        """Return a glossary with the headers of its terms; without terms the key is absent."""
        edges = [each for each in self._active(glossary.guid, _ANCHOR) if each.end1 == glossary.guid]
        entities = self._store.entities(each.end2 for each in edges)
        terms = [
            {
                "termGuid": each.end2,
                "relationGuid": each.guid,
                "displayText": display_text(entities[each.end2]),
            }
            for each in edges
        ]
        return _plain(glossary) | ({"terms": terms} if terms else {})

    def create(self, raw: Any) -> Json:
        """Create a glossary. Errors: 400-00-079, 400-00-083, 409-00-007."""
        attributes = _attributes(raw)
        name = _name(attributes, Fault.NO_GLOSSARY_NAME)
        if self._store.named([GLOSSARY], name):
            raise CatalogError(Fault.GLOSSARY_EXISTS, name)
        return self.one(self._entity(self._put(GLOSSARY, {**attributes, "qualifiedName": name}, {})))

    def create_terms(self, given: Iterable[Any]) -> list[Json]:
        """Create terms, all or none. Errors: 400-00-072, 400-00-07A, 400-00-083, 404-00-005, 409-00-009."""
        new: dict[str, tuple[Json, Entity]] = {}
        for raw in given:
            attributes = _attributes(raw)
            anchor = raw.get("anchor")
            if not isinstance(anchor, dict):
                raise CatalogError(Fault.NO_ANCHOR)
            name = _name(attributes, Fault.NO_TERM_NAME)
            glossary = self._entity(str(anchor.get("glossaryGuid")), GLOSSARY)
            full = f"{name}@{glossary.qualified_name}"
            if full in new or self._store.named([TERM], full):
                raise CatalogError(Fault.TERM_EXISTS, full)
            new[full] = (attributes, glossary)
        return [
            self.term(
                self._entity(self._put(TERM, {**attributes, "qualifiedName": full}, {"anchor": {"guid": within.guid}}))
            )
            for full, (attributes, within) in new.items()
        ]

    def term(self, term: Entity) -> Json:
        """Return a term with its glossary and its assigned entities."""
        anchors = [each for each in self._active(term.guid, _ANCHOR) if each.end2 == term.guid]
        anchor = {"anchor": {"glossaryGuid": anchors[0].end1, "relationGuid": anchors[0].guid}} if anchors else {}
        assigned = self.assigned(term)
        return _plain(term) | anchor | ({"assignedEntities": assigned} if assigned else {})

    def assigned(self, term: Entity) -> list[Json]:
        """Return the entities that a term is assigned to."""
        edges = [each for each in self._active(term.guid, _ASSIGNMENT) if each.end1 == term.guid]
        entities = self._store.entities(each.end2 for each in edges)
        return [
            {
                "guid": each.end2,
                "typeName": entities[each.end2].type_name,
                "entityStatus": entities[each.end2].status,
                "displayText": display_text(entities[each.end2]),
                "relationshipType": _ASSIGNMENT,
                "relationshipGuid": each.guid,
                "relationshipStatus": each.status,
                "relationshipAttributes": {"typeName": _ASSIGNMENT},
            }
            for each in edges
        ]

    def assign(self, term: Entity, given: Iterable[Json]) -> None:
        """Assign a term to entities, all or none. Error: 400-00-07D for an unknown guid."""
        there = {each["guid"] for each in self.assigned(term)}
        wanted = [str(each.get("guid")) for each in given]
        found = self._store.entities(wanted)
        for guid in wanted:
            if guid not in found or not found[guid].active:
                raise CatalogError(Fault.NOTHING_RELATED, "Referenceable", guid)
        with self._store.transaction():
            for guid in dict.fromkeys(wanted):
                if guid not in there:
                    self._store.add_edge(_ASSIGNMENT, term.guid, guid)

    def dismiss(self, term: Entity, given: Iterable[Json]) -> None:
        """Remove a term from entities, all or none. Errors: 400-00-078, 400-00-080."""
        there = {each["guid"]: each["relationshipGuid"] for each in self.assigned(term)}
        ended = []
        for each in given:
            relationship = each.get("relationshipGuid")
            if not relationship:
                raise CatalogError(Fault.NO_RELATIONSHIP)
            if there.get(str(each.get("guid"))) != relationship:
                raise CatalogError(Fault.NOT_ASSIGNED, relationship, term.guid, each.get("guid"))
            ended.append(str(relationship))
        with self._store.transaction():
            for relationship in ended:
                self._store.end_edge(relationship, keep=False)

    def _put(self, kind: str, attributes: Json, related: Json) -> str:
        entity = {"typeName": kind, "guid": "-1", "attributes": attributes, "relationshipAttributes": related}
        assignments: dict[str, str] = self._writer.upsert([entity], {})["guidAssignments"]
        return assignments["-1"]

    def _entity(self, guid: str, kind: str = "") -> Entity:
        found = self._store.entity(guid)
        if found is None or (kind and (found.type_name != kind or not found.active)):
            raise CatalogError(Fault.UNKNOWN_GUID, guid)
        return found

    def _active(self, guid: str, relationship: str) -> list[Edge]:
        return [each for each in self._store.edges([guid]) if each.active and each.relationship == relationship]


def _plain(entity: Entity) -> Json:
    """Return the fields that glossaries and terms share: the guid and the written attributes."""
    return {"guid": entity.guid, **entity.body["attributes"]}


def _attributes(raw: Any) -> Json:
    if not isinstance(raw, dict):
        raise CatalogError(Fault.BAD_REQUEST, f"a glossary or a term is a JSON object, not {raw!r:.100}")
    return {
        key: value
        for key, value in raw.items()
        if key in {"name", "shortDescription", "longDescription", "language", "usage", "examples", "abbreviation"}
    }


def _name(attributes: Json, missing: Fault) -> str:
    name = str(attributes.get("name") or "")
    if not name:
        raise CatalogError(missing)
    if _FORBIDDEN & set(name):
        raise CatalogError(Fault.BAD_GLOSSARY_NAME, name)
    return name
