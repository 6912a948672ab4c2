"""The app of the page and the API on the local functions host: asked by Marquez' own client about a document."""

import gzip
import importlib
import shutil
import warnings
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
import requests

from shared.lineage.document import encoded
from shared.storage_layout import NEWEST, PUBLISHED
from tests.local.hosting import App, sample
from tests.shared.serving.documents import JOBS, LAKE, estate
from tests.support.azurite import on_azurite
from throughline.package import LINEAGE, host_of_lineage, sources
from throughline.project import ROOT

pytestmark = pytest.mark.azurite


@pytest.fixture(scope="module")
def app(empty_accounts: Iterator[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The files of its package, on storage with one document."""
    connection = next(empty_accounts)
    folder = tmp_path_factory.mktemp("lineage")
    for source in sources(LINEAGE):
        target = folder / "app" / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(host_of_lineage(source))
    name = f"{NEWEST}20261120T100000000000Z-a.json.gz"
    assert on_azurite(connection).put_new(PUBLISHED, name, gzip.compress(encoded(estate())))
    with sample(
        folder / "app", folder, {"AzureWebJobsStorage": connection, "AzureWebJobsDisableHomepage": "true"}
    ) as running:
        running.start()
        yield running
    shutil.rmtree(folder / "app")


@pytest.fixture(scope="module")
def marquez(app: App) -> Any:
    """Marquez' client for Python, which warns of its own deprecated parts when it is imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module("marquez_client")
    return module.MarquezClient(url=app.url)


def test_marquez_client_reads_namespaces_data_sets_and_jobs(marquez: Any) -> None:
    assert [namespace["name"] for namespace in marquez.list_namespaces()["namespaces"]] == [LAKE, JOBS]
    assert marquez.get_namespace(LAKE) == {"name": LAKE}
    datasets = marquez.list_datasets(LAKE, limit=2)["datasets"]
    assert [dataset["name"] for dataset in datasets] == ["clean/customers", 'mart/<script>alert("1")</script>']
    assert marquez.get_dataset(LAKE, "raw/customers")["id"] == {"namespace": LAKE, "name": "raw/customers"}
    assert [job["name"] for job in marquez.list_jobs(JOBS)["jobs"]] == ["clean customers", "mart"]
    job = marquez.get_job(JOBS, "clean customers")
    assert job["inputs"] == [{"namespace": LAKE, "name": "raw/customers"}]


def test_marquez_client_reads_the_lineage_of_columns(marquez: Any) -> None:
    field = marquez.get_column_lineage_by_dataset_field(LAKE, "mart/report", "customer")["graph"]
    assert {node["id"] for node in field} == {
        f"datasetField:{LAKE}:{name}" for name in ("mart/report:customer", "clean/customers:name", "raw/customers:name")
    }
    assert len(marquez.get_column_lineage_by_dataset(LAKE, "clean/customers", with_downstream=True)["graph"]) == 6
    assert len(marquez.get_column_lineage_by_job(JOBS, "clean customers")["graph"]) == 4
    module = importlib.import_module("marquez_client.errors")
    with pytest.raises(module.APIError):
        marquez.get_dataset(LAKE, "raw/customer")


def test_requests_as_marquez_page_sends_them_are_answered(app: App) -> None:
    """Paths and parameters: web/src/store/requests of https://github.com/MarquezProject/marquez. Runs, versions, events
    and statistics, which that page also asks for, are not here.
    """
    namespace, name, job = quote(LAKE, safe=""), quote("clean/customers", safe=""), quote(JOBS, safe="")
    answers = {
        path: requests.get(f"{app.url}/api/v1/{path}", timeout=60)
        for path in (
            "namespaces",
            f"namespaces/{namespace}/datasets?limit=20&offset=0",
            f"namespaces/{namespace}/datasets/{name}",
            f"namespaces/{job}/jobs?limit=700",
            f"lineage/?nodeId=dataset:{LAKE}:clean/customers&depth=2",
            f"column-lineage?nodeId=dataset:{namespace}:{name}&depth=2&withDownstream=true",
            "search/?q=customers&sort=NAME&limit=100&filter=DATASET",
        )
    }
    assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(answers, 200)
    datasets, lineage, columns, search = (list(answers.values())[number].json() for number in (1, 4, 5, 6))
    assert datasets["totalCount"] == 4
    assert {node["type"] for node in lineage["graph"]} == {"DATASET", "JOB"}
    assert len(columns["graph"]) == 6
    assert {result["type"] for result in search["results"]} == {"DATASET"}
    for path in (
        f"namespaces/{namespace}/datasets/{name}/versions",
        f"namespaces/{job}/jobs/mart/runs",
        "events/lineage",
    ):
        assert requests.get(f"{app.url}/api/v1/{path}", timeout=60).status_code == 404


def test_our_own_questions_are_answered_at_the_same_address(app: App) -> None:
    question = {"dataset": "mart/report", "column": "customer"}
    tree = requests.get(f"{app.url}/api/v1/throughline/explain", params=question, timeout=60).json()
    assert [origin["column"] for origin in tree["origins"]] == ["name"]


def test_the_page_is_at_the_root_of_its_address(app: App) -> None:
    page = requests.get(app.url, timeout=60)
    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "<h1>Throughline</h1>" in page.text
    assert requests.get(f"{app.url}/page", timeout=60).status_code == 404


def test_headers_of_conditions_and_compression_pass_the_host(app: App) -> None:
    node = {"nodeId": f"dataset:{LAKE}:clean/customers"}
    response = requests.get(f"{app.url}/api/v1/lineage", params=node, timeout=60)
    assert (response.status_code, response.headers["Content-Encoding"]) == (200, "gzip")
    assert len(response.json()["graph"]) == 6
    condition_headers = {"If-None-Match": response.headers["ETag"]}
    repeated = requests.get(f"{app.url}/api/v1/lineage", params=node, headers=condition_headers, timeout=60)
    assert (repeated.status_code, repeated.content) == (304, b"")
    head = requests.head(f"{app.url}/api/v1/lineage", params=node, timeout=60)
    assert (head.status_code, head.headers["ETag"], head.content) == (200, response.headers["ETag"], b"")
    assert requests.head(f"{app.url}/api/v1/lineage", params={"nodeId": "dataset:x:y"}, timeout=60).status_code == 404
    assert requests.post(f"{app.url}/api/v1/lineage", json={}, timeout=60).status_code == 404, "it is read only"
