"""Atlas' verbs for glossaries, terms, and their assignments."""

from typing import Any

from throughline.local.catalog.catalog import Call, Catalog
from throughline.local.catalog.errors import CatalogError, Fault
from throughline.local.catalog.graph.glossary import GLOSSARY, TERM, Glossary
from throughline.local.catalog.graph.store import Entity
from throughline.local.catalog.http.verb import Verb, nothing

Json = dict[str, Any]


def get_glossaries(catalog: Catalog, call: Call) -> list[Json]:
    """Return `limit` glossaries (all without one) from `offset` on."""
    start, limit = call.number("offset", 0), call.number("limit", -1)
    found = _glossary(catalog).all()[start:]
    return found if limit < 0 else found[:limit]


def post_glossary(catalog: Catalog, call: Call) -> Json:
    """Create a glossary."""
    return _glossary(catalog).create(call.body)


def get_glossary(catalog: Catalog, call: Call) -> Json:
    """Return a glossary."""
    return _glossary(catalog).one(_entity(catalog, call, GLOSSARY))


def post_term(catalog: Catalog, call: Call) -> Json:
    """Create a term."""
    return _glossary(catalog).create_terms([call.body])[0]


def post_terms(catalog: Catalog, call: Call) -> list[Json]:
    """Create terms, all or none."""
    return _glossary(catalog).create_terms(_objects(call.body))


def get_term(catalog: Catalog, call: Call) -> Json:
    """Return a term."""
    return _glossary(catalog).term(_entity(catalog, call, TERM))


def get_assigned(catalog: Catalog, call: Call) -> list[Json]:
    """Return the entities that a term is assigned to."""
    return _glossary(catalog).assigned(_entity(catalog, call, TERM))


def post_assigned(catalog: Catalog, call: Call) -> None:
    """Assign a term to entities."""
    _glossary(catalog).assign(_entity(catalog, call, TERM), _objects(call.body))


def delete_assigned(catalog: Catalog, call: Call) -> None:
    """Remove a term from entities."""
    _glossary(catalog).dismiss(_entity(catalog, call, TERM), _objects(call.body))


def _glossary(catalog: Catalog) -> Glossary:
    return Glossary(catalog.store, catalog.writer)


def _entity(catalog: Catalog, call: Call, kind: str) -> Entity:
    found = catalog.by_guid(call.path["guid"])
    if found.type_name != kind or not found.active:
        raise CatalogError(Fault.UNKNOWN_GUID, call.path["guid"])
    return found


def _objects(value: Any) -> list[Json]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise CatalogError(Fault.BAD_PARAMETERS, "a list of JSON objects is needed")
    return value


TERMS = (
    Verb("GET", "glossary", get_glossaries),
    Verb("POST", "glossary", post_glossary, writes=True),
    Verb("GET", "glossary/{guid}", get_glossary),
    Verb("POST", "glossary/term", post_term, writes=True),
    Verb("POST", "glossary/terms", post_terms, writes=True),
    Verb("GET", "glossary/term/{guid}", get_term),
    Verb("GET", "glossary/terms/{guid}/assignedEntities", get_assigned),
    Verb("POST", "glossary/terms/{guid}/assignedEntities", nothing(post_assigned), writes=True),
    Verb("PUT", "glossary/terms/{guid}/assignedEntities", nothing(delete_assigned), writes=True),
    Verb("DELETE", "glossary/terms/{guid}/assignedEntities", nothing(delete_assigned), writes=True),
)
"""As in Atlas, PUT and DELETE of assigned entities do the same."""
