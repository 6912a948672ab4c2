"""Glossary terms: one contract for memory, the local catalog and a real Atlas (`--atlas`)."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyapacheatlas.auth import BasicAuthentication

from shared.atlas.columns import column_name
from shared.catalog.atlas.annotations import AtlasTerms
from shared.catalog.connection.transport import RetryPolicy, SteadyAtlasClient
from shared.catalog.port import Catalog, Terms
from shared.errors import CatalogRefused
from tests.plugins.atlas import V2
from tests.shared.catalog.test_contract import asset, over, placed
from tests.support.memory_catalog import MemoryCatalog, MemoryTerms

pytestmark = pytest.mark.contract
CUSTOMER, ORDER = "Customer@Terms of contract", "Order@Terms of contract"
TABLE, OTHER = ("fs_path", "file:///data/a"), ("fs_path", "file:///data/b")
COLUMN = ("column", column_name("fs_path", "file:///data/a", "mail"))


@pytest.fixture
def both(served: V2 | None) -> Iterator[tuple[Catalog, Terms]]:
    """A catalog without assets, and its terms: those of an earlier test are there still."""
    if served is None:
        memory = MemoryCatalog()
        yield memory, MemoryTerms(memory, glossary="")
        return
    served.empty()
    credentials = BasicAuthentication(served.user, served.password)
    client = SteadyAtlasClient(served.endpoint, credentials, retry_policy=RetryPolicy(tries=10 if served.real else 1))
    yield over(served), AtlasTerms(client)


def _with_terms(terms: Terms) -> None:
    name = CUSTOMER.partition("@")[2]
    if name not in terms.glossaries():
        terms.create_glossary(name)
    lacking = {"Customer", "Order"} - terms.glossaries()[name]
    if lacking:
        terms.create_terms(name, sorted(lacking))


def test_glossaries_and_terms_are_created_once(both: tuple[Catalog, Terms]) -> None:
    terms = both[1]
    _with_terms(terms)
    assert terms.glossaries()["Terms of contract"] == {"Customer", "Order"}
    with pytest.raises(CatalogRefused) as error_info:
        terms.create_glossary("Terms of contract")
    assert error_info.value.status == 409
    with pytest.raises(CatalogRefused) as error_info:
        terms.create_terms("Terms of contract", ["Invoice", "Order"])
    assert error_info.value.status == 409
    assert terms.glossaries()["Terms of contract"] == {"Customer", "Order"}, "all or none"


def test_a_term_is_assigned_seen_and_taken_away(both: tuple[Catalog, Terms]) -> None:
    """To data sets and columns. Assigning a term twice is no error, nor is removing a term that is not assigned."""
    catalog, terms = both
    _with_terms(terms)
    catalog.create_assets([replace(placed("a"), columns=(("mail", "string"),)), asset("b")])
    entities = terms.classified([TABLE, COLUMN, OTHER, ("fs_path", "file:///data/none"), ("no_such_type", "x")])
    assert {key: (entity.names, entity.placed) for key, entity in entities.items()} == {
        TABLE: (frozenset(), True),
        COLUMN: (frozenset(), False),
        OTHER: (frozenset(), False),
    }
    terms.attach(CUSTOMER, [entities[COLUMN].guid, entities[OTHER].guid])
    terms.attach(CUSTOMER, [entities[COLUMN].guid])
    terms.attach(ORDER, [entities[COLUMN].guid])
    entities_after = terms.classified([TABLE, COLUMN, OTHER])
    assert [entities_after[key].names for key in (TABLE, COLUMN, OTHER)] == [frozenset(), {CUSTOMER, ORDER}, {CUSTOMER}]
    for guid in (entities[COLUMN].guid, entities[COLUMN].guid, entities[TABLE].guid):
        terms.detach(CUSTOMER, guid)
    entities_after = terms.classified([COLUMN, OTHER])
    assert [entities_after[key].names for key in (COLUMN, OTHER)] == [{ORDER}, {CUSTOMER}]
    terms.attach(CUSTOMER, [entities[COLUMN].guid])
    assert terms.classified([COLUMN])[COLUMN].names == {CUSTOMER, ORDER}, "it comes back"


def test_assigning_a_missing_term_or_to_a_missing_entity_is_refused(both: tuple[Catalog, Terms]) -> None:
    catalog, terms = both
    _with_terms(terms)
    guid = catalog.create_assets([asset("a")])[TABLE]
    with pytest.raises(CatalogRefused):
        terms.attach("Nothing@Terms of contract", [guid])
    with pytest.raises(CatalogRefused):
        terms.attach(CUSTOMER, ["00000000-0000-0000-0000-000000000000"])
    catalog.remove([guid])
    terms.detach(CUSTOMER, guid)


@pytest.mark.catalogs("local", "atlas")
def test_an_assignment_is_seen_at_both_ends_and_ends_with_its_entity(served: V2) -> None:
    """As seen by another client than ours: the same answers, and the same codes."""
    served.empty()

    def refusal(verb: str, body: object) -> tuple[int, str]:
        answer = served.call(verb, body)
        return answer.status_code, str(answer.json()["errorCode"])

    client = SteadyAtlasClient(served.endpoint, BasicAuthentication(served.user, served.password))
    _with_terms(AtlasTerms(client))
    glossaries = {held_glossary["name"]: held_glossary for held_glossary in served.call("GET glossary").json()}
    glossary, missing_guid = glossaries["Terms of contract"], "00000000-0000-0000-0000-000000000000"
    assert refusal("POST glossary", {"name": "Terms of contract"}) == (409, "ATLAS-409-00-007")
    twin = {"name": "Order", "anchor": {"glossaryGuid": glossary["guid"]}}
    assert refusal("POST glossary/terms", [twin]) == (409, "ATLAS-409-00-009")
    other = {"name": "x", "anchor": {"glossaryGuid": missing_guid}}
    assert refusal("POST glossary/terms", [other]) == (404, "ATLAS-404-00-005")

    guid = over(served).create_assets([asset("a")])[TABLE]
    term = next(term["termGuid"] for term in glossary["terms"] if term["displayText"] == "Order")
    place = f"glossary/terms/{term}/assignedEntities"

    def meanings() -> list[dict[str, str]]:
        entity = served.call(f"GET entity/guid/{guid}").json()["entity"]
        held: list[dict[str, str]] = entity["relationshipAttributes"]["meanings"]
        return held

    assert served.call(f"POST {place}", [{"guid": guid}]).status_code == 204
    (meaning,) = meanings()
    assert (meaning["guid"], meaning["displayText"]) == (term, "Order")
    assert refusal(f"POST {place}", [{"guid": missing_guid}]) == (400, "ATLAS-400-00-07D")
    assert refusal(f"POST glossary/terms/{missing_guid}/assignedEntities", [{"guid": guid}]) == (
        404,
        "ATLAS-404-00-005",
    )
    assert refusal(f"DELETE {place}", [{"guid": guid, "relationshipGuid": missing_guid}]) == (400, "ATLAS-400-00-080")
    assignments = [{"guid": guid, "relationshipGuid": meaning["relationshipGuid"]}]
    assert served.call(f"DELETE {place}", assignments).status_code == 204
    assert meanings() == []
