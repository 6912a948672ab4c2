"""Every mistake gets the status and the code that real Atlas gives it."""

import uuid
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from tests.plugins.atlas import V2
from throughline.local.catalog.server import CatalogServer

Json = dict[str, Any]
NO_ENVIRONMENT = str(uuid.uuid4())
TABLE = "azure_sql_table"


def entity(name: str, type_name: str = TABLE, guid: str | None = "-1", **attributes: Any) -> Json:
    return {"typeName": type_name, "guid": guid, "attributes": {"qualifiedName": name, "name": name, **attributes}}


def process(inputs: list[Any], name: str = "process", guid: str = "-9") -> Json:
    return entity(name, "azure_synapse_operation", guid, inputs=inputs, outputs=[])


def bulk(*entities: Any) -> Json:
    return {"entities": list(entities)}


def named(name: str, type_name: str = TABLE) -> Json:
    return {"typeName": type_name, "uniqueAttributes": {"qualifiedName": name}}


def search_for(operator: str, attribute: str = "name", value: Any = "x") -> Json:
    criterion = {"attributeName": attribute, "operator": operator, "attributeValue": value}
    return {"typeName": TABLE, "entityFilters": criterion}


def type_named(name: str, **fields: Any) -> Json:
    return {"entityDefs": [{"name": name, "superTypes": ["DataSet"], "attributeDefs": [], **fields}]}


def attribute(name: str, type_name: str = "string", *, optional: bool = True) -> Json:
    return {"name": name, "typeName": type_name, "isOptional": optional}


@dataclass(frozen=True, slots=True)
class Case:
    """A call, and the error that must refuse it.

    `real`: the different answer of real Atlas (a 500 without a code, or none), which the local catalog does not copy;
    it is tested only to be documented.
    """

    verb: str
    body: Any
    status: int
    code: str
    real: tuple[int, str] | None = None


SERVER_ERROR, ACCEPTED = (500, ""), (200, "")
POST = "POST entity/bulk"
UNIQUE = f"entity/uniqueAttribute/type/{TABLE}"
OWN = {"name": "own", "attributeDefs": [attribute("kept")]}

CASES = {
    "unknown type": Case(POST, bulk(entity("a", "no_such_type")), 400, "ATLAS-400-00-014"),
    "no type": Case(POST, bulk({"attributes": {}}), 400, "ATLAS-400-00-014"),
    "mandatory missing": Case(POST, bulk(entity("a", "kafka_topic", topic="a")), 404, "ATLAS-404-00-007"),
    "inherited mandatory missing": Case(
        POST, bulk({"typeName": TABLE, "attributes": {"qualifiedName": "a"}}), 404, "ATLAS-404-00-007"
    ),
    "mandatory null": Case(POST, bulk(entity("a", "column", type=None)), 404, "ATLAS-404-00-007"),
    "path mandatory": Case(POST, bulk(entity("a", "fs_path")), 404, "ATLAS-404-00-007"),
    "resource link mandatory": Case(
        POST, bulk(entity("a", "azure_cosmosdb_sqlapi_collection")), 404, "ATLAS-404-00-007"
    ),
    "dangling guid": Case(POST, bulk(process([{"guid": NO_ENVIRONMENT, "typeName": TABLE}])), 404, "ATLAS-404-00-00A"),
    "dangling placeholder": Case(POST, bulk(process([{"guid": "-5", "typeName": TABLE}])), 404, "ATLAS-404-00-00A"),
    "dangling name": Case(POST, bulk(process([named("none")])), 404, "ATLAS-404-00-00A"),
    "name of another type": Case(POST, bulk(process([named("stored", "hive_table")])), 404, "ATLAS-404-00-00A"),
    "name in other case": Case(POST, bulk(process([named("Stored")])), 404, "ATLAS-404-00-00A"),
    "name in the same request": Case(POST, bulk(entity("a"), process([named("a")])), 404, "ATLAS-404-00-00A"),
    "unknown own guid": Case(POST, bulk(entity("a", guid=NO_ENVIRONMENT)), 404, "ATLAS-404-00-00A"),
    "no guid at all": Case(POST, bulk(entity("a", guid="one")), 404, "ATLAS-404-00-00A"),
    "reference of an unknown type": Case(POST, bulk(process([named("stored", "nope")])), 400, "ATLAS-400-00-014"),
    "process as an input": Case(
        POST, bulk(process([], "p", "-1"), process([{"guid": "-1"}], "q", "-2")), 400, "ATLAS-400-00-036"
    ),
    "unknown classification": Case(
        POST,
        bulk(entity("a") | {"classifications": [{"typeName": "PII"}]}),
        400,
        "ATLAS-400-00-014",
        real=SERVER_ERROR,
    ),
    "endless name": Case(POST, bulk(entity("a" * 5000)), 400, "ATLAS-400-00-029", real=ACCEPTED),
    "guid not found": Case(f"GET entity/guid/{NO_ENVIRONMENT}", None, 404, "ATLAS-404-00-005"),
    "one of the guids not found": Case(f"GET entity/bulk?guid={NO_ENVIRONMENT}", None, 404, "ATLAS-404-00-005"),
    "name not found": Case(f"GET {UNIQUE}?attr:qualifiedName=none", None, 404, "ATLAS-404-00-009"),
    "name of an unknown type": Case(
        "GET entity/uniqueAttribute/type/nope?attr:qualifiedName=a", None, 400, "ATLAS-400-00-014"
    ),
    "type exists": Case("POST types/typedefs", type_named(TABLE), 409, "ATLAS-409-00-001"),
    "type twice in one request": Case(
        "POST types/typedefs", {"entityDefs": [OWN | {"name": "x"}, OWN | {"name": "x"}]}, 409, "ATLAS-409-00-001"
    ),
    "unknown super type": Case("POST types/typedefs", type_named("a", superTypes=["nope"]), 400, "ATLAS-400-00-029"),
    "unknown attribute type": Case(
        "POST types/typedefs", type_named("a", attributeDefs=[attribute("b", "array<nope>")]), 400, "ATLAS-400-00-029"
    ),
    "update of an unknown type": Case("PUT types/typedefs", type_named("nope"), 404, "ATLAS-404-00-001"),
    "attribute removed": Case(
        "PUT types/typedefs", {"entityDefs": [OWN | {"attributeDefs": []}]}, 400, "ATLAS-400-00-00D"
    ),
    "mandatory attribute added": Case(
        "PUT types/typedefs",
        {"entityDefs": [OWN | {"attributeDefs": [attribute("kept"), attribute("new", optional=False)]}]},
        400,
        "ATLAS-400-00-00C",
    ),
}


@pytest.fixture(scope="module")
def seeded(catalog_server: CatalogServer) -> CatalogServer:
    """A catalog with one table, named `stored`, and a type of our own."""
    catalog_server.reset(types=True)
    for path, body in {"entity/bulk": bulk(entity("stored")), "types/typedefs": {"entityDefs": [OWN]}}.items():
        call(catalog_server, f"POST {path}", body).raise_for_status()
    return catalog_server


def call(server: CatalogServer, verb: str, body: Any) -> requests.Response:
    method, _, path = verb.partition(" ")
    headers = {"Authorization": f"Bearer {server.token}"}
    return requests.request(method, f"{server.endpoint}/{path}", json=body, headers=headers, timeout=60)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_an_invalid_request_gets_the_error_of_atlas_and_changes_nothing(seeded: CatalogServer, case: Case) -> None:
    entities_before = seeded.calls()["entities"]
    answer = call(seeded, case.verb, case.body)
    assert (answer.status_code, answer.json()["errorCode"]) == (case.status, case.code), answer.text
    assert answer.json().keys() == {"errorCode", "errorMessage"}
    assert seeded.calls()["entities"] == entities_before


@pytest.fixture(scope="module")
def catalog_with_entities(served: V2) -> V2:
    """The same entities and types in each catalog of the contract."""
    served.empty()
    served.call("POST entity/bulk", bulk(entity("stored"))).raise_for_status()
    served.call("POST types/typedefs", {"entityDefs": [OWN]}).raise_for_status()
    return served


@pytest.mark.contract
@pytest.mark.catalogs("soft")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_an_invalid_request_gets_the_same_error_from_every_catalog(catalog_with_entities: V2, case: Case) -> None:
    answer = catalog_with_entities.call(case.verb, case.body)
    expected = case.real if catalog_with_entities.real and case.real else (case.status, case.code)
    error = answer.json() if answer.status_code < 500 else {}  # a 500 is text, despite its header
    assert (answer.status_code, error.get("errorCode", "")) == expected, answer.text


def test_deleting_by_an_unknown_name_is_no_error(seeded: CatalogServer) -> None:
    answer = call(seeded, f"DELETE {UNIQUE}?attr:qualifiedName=none", None)
    assert (answer.status_code, answer.json()) == (200, {})


def test_the_error_of_an_unknown_path_lists_the_known_ones(seeded: CatalogServer) -> None:
    answer = call(seeded, "GET business_terms", None)
    assert answer.status_code == 404
    assert "POST search/basic" in answer.json()["verbs"]


@pytest.mark.parametrize(
    ("root", "credentials", "status"),
    [
        ("/datamap/api/atlas", "Bearer local", 200),
        ("/datamap/api/atlas", "bearer local", 200),
        ("/datamap/api/atlas", "Bearer other", 401),
        ("/datamap/api/atlas", "Basic YWRtaW46bG9jYWw=", 401),  # admin:local
        ("/datamap/api/atlas", "", 401),
        ("/api/atlas", "Bearer local", 200),
        ("/api/atlas", "Basic YWRtaW46bG9jYWw=", 200),
        ("/api/atlas", "Basic YWRtaW46b3RoZXI=", 401),  # admin:other
        ("/api/atlas", "Basic §", 401),
        ("/api/atlas", "", 401),
    ],
)
def test_only_valid_credentials_are_accepted(seeded: CatalogServer, root: str, credentials: str, status: int) -> None:
    headers = {"Authorization": credentials.encode()} if credentials else {}
    url = f"{seeded.url}{root}/v2/entity/uniqueAttribute/type/{TABLE}"
    query = {"attr:qualifiedName": "stored", "api-version": "2023-09-01"}
    answer = requests.get(url, params=query, headers=headers, timeout=60)
    assert answer.status_code == status
    assert status == 200 or "html" in answer.headers["Content-Type"]
