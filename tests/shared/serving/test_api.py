"""The API: each answer and each refusal is as the OpenAPI document says, and as the document of lineage has it."""

import gzip
import json
from functools import cache
from typing import Any

import pytest
from msgspec import structs
from openapi_core import OpenAPI
from openapi_core.testing import MockRequest, MockResponse

from shared.lineage.building import document_of
from shared.lineage.dataset_facts import Amount
from shared.model import Declared, QualityTest
from shared.serving.requests import Request, Response
from shared.serving.routes import ROUTES
from shared.serving.service import openapi
from tests.shared.serving.documents import CLEAN, HOSTILE, JOBS, LAKE, asset, edge, estate, get, process, service
from tests.support.lineage import NOON

SERVICE = service()
DATASET = f"dataset:{LAKE}:clean/customers"
FIELD = f"datasetField:{LAKE}:mart/report:customer"
QUESTIONS = "throughline/"
ANSWERED: tuple[tuple[str, dict[str, str], dict[str, str]], ...] = (
    ("namespaces", {}, {}),
    ("namespaces/{namespace}", {"namespace": LAKE}, {}),
    ("namespaces/{namespace}/datasets", {"namespace": LAKE}, {"limit": "2", "offset": "1"}),
    ("namespaces/{namespace}/datasets/{name}", {"namespace": LAKE, "name": "clean/customers"}, {}),
    ("namespaces/{namespace}/jobs", {"namespace": JOBS}, {}),
    ("namespaces/{namespace}/jobs/{name}", {"namespace": JOBS, "name": "mart"}, {}),
    ("lineage", {}, {"nodeId": DATASET}),
    ("lineage", {}, {"nodeId": f"job:{JOBS}:mart", "depth": "1"}),
    ("column-lineage", {}, {"nodeId": FIELD, "withDownstream": "true"}),
    ("column-lineage", {}, {"nodeId": DATASET, "depth": "1"}),
    ("column-lineage", {}, {"nodeId": f"job:{JOBS}:mart"}),
    ("search", {}, {"q": "mart", "filter": "JOB"}),
    ("search", {}, {"q": "customers", "namespace": LAKE}),
    (f"{QUESTIONS}search", {}, {"q": "customers mail"}),
    (f"{QUESTIONS}explain", {}, {"dataset": "mart/report", "column": "customer"}),
    (f"{QUESTIONS}impact", {}, {"dataset": "raw/customers", "column": "name"}),
    (f"{QUESTIONS}impact", {}, {"dataset": "raw/customers", "conditions": "true", "limit": "1"}),
    (f"{QUESTIONS}ways", {}, {"from": "raw/customers", "to": "mart/report"}),
    (
        f"{QUESTIONS}ways",
        {},
        {"from": "raw/customers", "from_column": "name", "to": "mart/report", "to_column": "customer"},
    ),
    (f"{QUESTIONS}masks", {}, {}),
    (f"{QUESTIONS}unknown", {}, {}),
    (f"{QUESTIONS}upstream", {}, {"dataset": "mart/report", "column": "customer", "depth": "1"}),
    (f"{QUESTIONS}downstream", {}, {"dataset": "raw/customers", "limit": "1"}),
    (f"{QUESTIONS}coverage", {}, {}),
    (f"{QUESTIONS}coverage", {}, {"dataset": "clean/customers"}),
    (f"{QUESTIONS}days", {}, {}),
)
REFUSED: tuple[tuple[int, str, dict[str, str], str], ...] = (
    (400, "lineage", {}, "nodeId is missing"),
    (400, "lineage", {"nodeId": DATASET, "depth": "101"}, "depth must be a whole number from 0 to 100"),
    (400, "lineage", {"nodeId": DATASET, "depth": "-1"}, "from 0 to 100"),
    (400, "namespaces", {"limit": "0"}, "limit must be a whole number from 1 to 1,000"),
    (400, "namespaces", {"offset": "9" * 5000}, "offset must be a whole number from 0 to 10,000,000"),
    (400, "search", {"q": "x" * 501}, "at most 500 characters"),
    (400, "search", {"q": "x", "filter": "RUN"}, "one of DATASET, JOB"),
    (400, "column-lineage", {"nodeId": FIELD, "withDownstream": "maybe"}, "true or false"),
    (400, "namespaces", {"as_of": "yesterday"}, "a day in UTC"),
    (400, f"{QUESTIONS}impact", {"dataset": "mart/"}, "2 data sets match"),
    (400, f"{QUESTIONS}ways", {"from": "raw/customers", "from_column": "name", "to": "mart/report"}, "at both ends"),
    (404, "lineage", {"nodeId": f"dataset:{LAKE}:clean/custmers"}, DATASET),
    (404, "lineage", {"nodeId": "clean/customers"}, "dataset:NAMESPACE:NAME"),
    (404, "lineage", {"nodeId": f"job:{JOBS}:clean customer"}, f"job:{JOBS}:clean customers"),
    (404, "column-lineage", {"nodeId": f"{FIELD}s"}, f"dataset:{LAKE}:mart/report"),
    (404, f"namespaces/{JOBS}s/jobs", {}, JOBS),
    (404, f"namespaces/{LAKE}/datasets/clean/customer", {}, DATASET),
    (404, "namespaces", {"as_of": "2026-11-20"}, "no state of 2026-11-20"),
    (404, f"{QUESTIONS}compare", {"from": "2026-11-20"}, "no state of 2026-11-20"),
    (404, f"{QUESTIONS}explain", {"dataset": "mart/report", "column": "custmer"}, "Did you mean customer"),
    (404, f"{QUESTIONS}explain", {"dataset": "mart/repot", "column": "customer"}, "mart/report"),
    (404, "runs", {}, "/api/v1/openapi.json lists what it has"),
)


def value(response: Response) -> Any:
    return json.loads(response.body)


@cache
def specification() -> OpenAPI:
    """The document, checked when the first test asks for it, not where tests are only collected."""
    return OpenAPI.from_dict(json.loads(openapi()))


def validated(template: str, names: dict[str, str], query: dict[str, str], response: Response) -> None:
    """Hold request and response to the OpenAPI document."""
    request = MockRequest(
        "http://localhost",
        "get",
        f"/api/v1/{template}",
        path_pattern=f"/api/v1/{template}",
        args=query,
        view_args=names,
    )
    answer = MockResponse(response.body, response.status, content_type=response.headers["Content-Type"])
    specification().validate_response(request, answer)


@pytest.mark.parametrize(("template", "names", "query"), ANSWERED)
def test_answers_are_as_the_openapi_document_says(template: str, names: dict[str, str], query: dict[str, str]) -> None:
    response = SERVICE.answer(Request(path=f"api/v1/{template.format(**names)}", query=query))
    assert response.status == 200, response.body
    validated(template, names, query, response)
    assert value(response)


def test_every_route_has_an_responsehere() -> None:
    assert {route.path for route in ROUTES} <= {template for template, *_ in ANSWERED}


@pytest.mark.parametrize(("status", "path", "query", "sentence"), REFUSED)
def test_refusals_name_bounds_and_nearest_names(status: int, path: str, query: dict[str, str], sentence: str) -> None:
    response = SERVICE.answer(Request(path=f"api/v1/{path}", query=query))
    assert (response.status, value(response)["code"]) == (status, status)
    assert sentence in value(response)["message"]
    assert response.headers["Cache-Control"] == "no-store"
    if not path.startswith(("namespaces/", "runs")):
        validated(path, {}, query, response)


def test_lineage_has_data_sets_jobs_and_the_edges_between_them() -> None:
    graph = {node["id"]: node for node in value(get(SERVICE, "lineage", nodeId=DATASET))["graph"]}
    assert set(graph) == {
        *(f"dataset:{LAKE}:{name}" for name in ("raw/customers", "clean/customers", "mart/report", f"mart/{HOSTILE}")),
        *(f"job:{JOBS}:{name}" for name in ("clean customers", "mart")),
    }
    job = graph[f"job:{JOBS}:mart"]
    assert job["type"] == "JOB"
    assert job["inEdges"] == [{"origin": DATASET, "destination": f"job:{JOBS}:mart"}]
    assert [item["destination"] for item in job["outEdges"]] == [
        f"dataset:{LAKE}:mart/{HOSTILE}",
        f"dataset:{LAKE}:mart/report",
    ]
    assert job["data"]["location"] == "https://example.com/job"
    near = value(get(SERVICE, "lineage", nodeId=f"dataset:{LAKE}:mart/report", depth="1"))["graph"]
    assert {node["id"] for node in near} == {f"dataset:{LAKE}:mart/report", f"job:{JOBS}:mart", DATASET}
    start = value(get(SERVICE, "lineage", nodeId=DATASET, depth="0"))["graph"]
    assert [node["id"] for node in start] == [DATASET]


def test_the_lineage_of_a_job_is_that_of_all_its_processes() -> None:
    near = value(get(SERVICE, "lineage", nodeId=f"job:{JOBS}:mart", depth="1"))["graph"]
    assert len(near) == 4
    nodes = value(get(SERVICE, "lineage", nodeId=f"job:{JOBS}:mart"))["graph"]
    assert len(nodes) == 6


def test_column_lineage_has_kinds_and_expressions() -> None:
    node = f"datasetField:{LAKE}:clean/customers:mail"
    (source, column) = sorted(
        value(get(SERVICE, "column-lineage", nodeId=node))["graph"], key=lambda item: "raw" not in item["id"]
    )
    assert column["data"]["inputFields"] == [
        {
            "namespace": LAKE,
            "dataset": "raw/customers",
            "field": "mail",
            "transformationType": "MASK",
            "transformationDescription": "sha2(mail)",
        }
    ]
    assert source["outEdges"] == [{"origin": source["id"], "destination": node}]
    columns = value(get(SERVICE, "column-lineage", nodeId=node, withDownstream="True"))["graph"]
    assert len(columns) == 3


def test_what_marquez_has_no_value_for_is_left_out() -> None:
    dataset = value(get(SERVICE, f"namespaces/{LAKE}/datasets/clean/customers"))
    assert set(dataset) == {"id", "name", "physicalName", "namespace", "fields", "lastModifiedAt"}
    assert dataset["physicalName"] == asset("clean/customers").qualified_name
    assert dataset["lastModifiedAt"] == "2026-11-23T12:00:00Z"
    assert dataset["fields"] == [{"name": "mail", "type": "string"}, {"name": "name", "type": "string"}]


def test_impact_names_owners_and_the_processes_on_the_way() -> None:
    response = value(get(SERVICE, f"{QUESTIONS}impact", dataset="raw/customers", column="name"))
    assert [(item["distance"], item["columns"], item["owner"]) for item in response["results"]] == [
        (1, ["name"], "ada"),
        (2, ["customer"], "ada"),
    ]
    assert response["results"][1]["processes"][0] == CLEAN.process.qualified_name


def test_an_responseis_compressed_and_known_by_its_etag() -> None:
    plain = get(SERVICE, f"{QUESTIONS}openapi" if False else "openapi.json")
    compressed = get(SERVICE, "openapi.json", {"accept-encoding": "gzip, br"})
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(compressed.body) == plain.body
    response = get(SERVICE, "namespaces")
    assert response.headers["Cache-Control"] == "private, no-cache"
    repeated = get(SERVICE, "namespaces", {"if-none-match": response.headers["ETag"]})
    assert (repeated.status, repeated.body) == (304, b"")
    assert get(service(estate(CLEAN)), "namespaces", {"if-none-match": 'W/"other"'}).status == 200


def test_names_are_text_in_the_page_and_in_the_api() -> None:
    page = SERVICE.answer(Request(path="", query={}))
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert HOSTILE.encode() not in page.body
    assert b"default-src &#x27;none&#x27;" in page.body
    response = get(SERVICE, "search", q="script")
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_a_path_outside_the_page_and_the_api_is_not_found() -> None:
    assert SERVICE.answer(Request(path="etc/passwd")).status == 404
    assert SERVICE.answer(Request(path="v1/namespaces")).status == 200, "as the local host gives it"


def test_a_data_set_has_its_last_write_hierarchy_and_quality_tests_as_facets() -> None:
    writer = process("facts", "raw/a", "clean/a", edge("raw/a.id", "clean/a.id"))
    name = asset("clean/a").qualified_name
    failed = QualityTest(at=NOON, column="id", name="unique", passed=False, severity="error")
    (schema,) = writer.process.schemas
    levels = (("DATABASE", "lake"), ("TABLE", "a"))
    known_process = structs.replace(
        writer,
        process=structs.replace(writer.process, schemas=(structs.replace(schema, declared=Declared(levels=levels)),)),
        amounts=(Amount(name, 1234, 5600),),
        tests=((name, (failed, QualityTest(at=NOON, column="", name="row_count", passed=True))),),
    )
    facets = value(get(service(document_of("record", [known_process])), f"namespaces/{LAKE}/datasets/clean/a"))[
        "facets"
    ]
    assert facets == {
        "hierarchy": {"hierarchy": [{"type": "DATABASE", "name": "lake"}, {"type": "TABLE", "name": "a"}]},
        "outputStatistics": {"rowCount": 1234, "size": 5600},
        "throughline_quality": {
            "testedAt": "2026-11-21T12:00:00Z",
            "passed": 1,
            "failed": [{"name": "unique", "column": "id", "severity": "error", "at": "2026-11-21T12:00:00Z"}],
        },
    }
