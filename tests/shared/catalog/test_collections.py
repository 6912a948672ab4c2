"""Purview's side of the catalog: collections, both generations of endpoints, its own search, and proxies."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests

from shared.atlas.entities import PROCESS_TYPE, AssetEntity
from shared.bootstrap import assemble
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.dialect import dialect_of
from shared.catalog.connection.transport import RetryPolicy, StaticToken, SteadyAtlasClient
from shared.catalog.port import AssetKey
from shared.errors import Misconfigured
from shared.records.publish_queue import read_queue
from shared.settings.reading import load
from shared.storage.memory import MemoryStorage
from tests.support.placeholder_columns import FOLDER, TABLE, X, Y, by_name, copy_run, deliver_all, publish_options, run
from tests.support.publishing import publish
from throughline.local.catalog.server import CatalogServer


@pytest.fixture
def server(fresh_catalog: CatalogServer) -> CatalogServer:
    """A catalog with one collection for our entities and one for scanned assets."""
    for name in ("lineage", "scans"):
        call(fresh_catalog, "PUT", f"account/collections/{name}", {"friendlyName": name.title()}).raise_for_status()
    return fresh_catalog


def call(server: CatalogServer, method: str, path: str, body: Any = None, **parameters: str) -> requests.Response:
    headers = {"Authorization": f"Bearer {server.token}"}
    return requests.request(method, f"{server.url}/{path}", json=body, params=parameters, headers=headers, timeout=60)


def over(endpoint: str, token: str, collection: str = "lineage") -> AtlasCatalog:
    parameters = dialect_of(endpoint).parameters
    client = SteadyAtlasClient(endpoint, StaticToken(token), retry_policy=RetryPolicy(tries=1), parameters=parameters)
    return AtlasCatalog(client, collection=collection)


def scan(server: CatalogServer, key: AssetKey) -> None:
    over(server.endpoint, server.token, "scans").create_assets(
        [
            AssetEntity(
                type=key[0],
                qualified_name=key[1],
                attributes=(("name", "orders"), ("description", "Found by a scan.")),
                columns=(("scanned", "varchar"),),
            )
        ]
    )


def collections_of(server: CatalogServer) -> dict[str, str]:
    body = {"keywords": "*", "limit": 1000}
    entries = call(server, "POST", "datamap/api/search/query", body).json()["value"]
    return {entry["qualifiedName"]: entry["collectionId"] for entry in entries}


@pytest.mark.parametrize("generation", ["datamap", "catalog"])
def test_our_entities_go_into_the_collection_and_scanned_ones_stay(server: CatalogServer, generation: str) -> None:
    scan(server, TABLE)
    storage, catalog = MemoryStorage(), over(f"{server.url}/{generation}/api/atlas/v2", server.token)
    run(storage, catalog, copy_run("one", (X,), (X,)))
    run(storage, catalog, copy_run("two", (X, Y), (X, Y), minute=5))
    collections = collections_of(server)
    assert collections.pop(TABLE[1]) == "scans"
    assert collections.pop(f"{TABLE[1]}#scanned") == "scans"
    assert len([name for name in collections if name.startswith(FOLDER[1])]) == 4, "the folder, its schema, two columns"
    assert set(collections.values()) == {"lineage"}
    (process,) = catalog.read_processes([name for name in collections if name.startswith("throughline:")]).values()
    assert process.entity.inputs == (TABLE,)


def test_without_the_setting_entities_go_into_the_default_collection(server: CatalogServer) -> None:
    run(MemoryStorage(), over(server.endpoint, server.token, ""), copy_run("one", (X,), (X,)))
    assert set(collections_of(server).values()) == {"local"}


def test_a_missing_collection_is_reported_and_nothing_is_lost(server: CatalogServer) -> None:
    storage = MemoryStorage()
    deliver_all(storage, [copy_run("one", (X,), (X,))])
    publish_result = publish(storage, over(server.endpoint, server.token, "nowhere"), publish_options())
    assert "403 ATLAS-403-00-001" in publish_result.error
    assert len(read_queue(storage).entries) == 1
    assert collections_of(server) == {}


@pytest.mark.parametrize(
    ("endpoint", "version", "place", "parameters"),
    [
        (
            "https://a.purview.azure.com/datamap/api/atlas/v2",
            "2023-09-01",
            "https://a.purview.azure.com/datamap/api/atlas/v2/entity/bulk",
            {"collectionId": "c"},
        ),
        (
            "https://api.purview-service.microsoft.com/datamap/api/atlas/v2/",
            "2023-09-01",
            "https://api.purview-service.microsoft.com/datamap/api/atlas/v2/entity/bulk",
            {"collectionId": "c"},
        ),
        (
            "https://a.purview.azure.com/catalog/api/atlas/v2",
            "2022-03-01-preview",
            "https://a.purview.azure.com/catalog/api/collections/c/entity/bulk",
            {},
        ),
        ("http://127.0.0.1:21000/api/atlas/v2", "", "http://127.0.0.1:21000/api/atlas/v2/entity/bulk", {}),
    ],
)
def test_each_kind_of_server_gets_its_own_paths_and_parameters(
    endpoint: str, version: str, place: str, parameters: dict[str, str]
) -> None:
    dialect = dialect_of(endpoint)
    assert dialect.parameters.get("api-version", "") == version
    assert dialect.bulk("c") == (place, parameters)
    assert dialect.bulk("") == (f"{endpoint.rstrip('/')}/entity/bulk", {})


def test_a_collection_on_plain_atlas_is_a_mistake() -> None:
    settings = load(
        catalog=True,
        environment={
            "AzureWebJobsStorage": "UseDevelopmentStorage=true",
            "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:21000/api/atlas/v2",
            "THROUGHLINE_CATALOG_TOKEN": "x",
            "THROUGHLINE_COLLECTION": "lineage",
        },
    )
    with pytest.raises(Misconfigured, match="no collections"):
        assemble(settings)


def test_purviews_search_finds_data_sets_and_our_entities(server: CatalogServer) -> None:
    catalog = over(server.endpoint, server.token)
    run(MemoryStorage(), catalog, copy_run("one", (X,), (X,)))
    server.reset_calls()
    assert {node.qualified_name for node in catalog.search("ORDERS")} == {TABLE[1], FOLDER[1]}, "columns are none"
    assert catalog.search("orders nowhere") == ()
    nodes = list(catalog.ours())
    assert sorted(node.type for node in nodes) == sorted([PROCESS_TYPE, TABLE[0], FOLDER[0]])
    assert set(server.calls()["by_verb"]) == {"POST datamap/api/search/query"}, "Purview has no basic search"


def test_purviews_search_reads_all_pages(server: CatalogServer) -> None:
    catalog = over(server.endpoint, server.token)
    many = [
        AssetEntity(type="fs_path", qualified_name=f"file:///{n}", attributes=(("name", f"n{n}"), ("path", f"/{n}")))
        for n in range(230)
    ]
    catalog.create_assets(many)
    assert len(catalog.search("n", limit=500)) == 230
    assert len(catalog.search("n", limit=7)) == 7


def test_purviews_query_matches_any_term_unless_it_has_operators(server: CatalogServer) -> None:
    scan(server, TABLE)
    scan(server, FOLDER)

    def found(keywords: str) -> int:
        answer = call(server, "POST", "datamap/api/search/query", {"keywords": keywords})
        answer.raise_for_status()
        expected_names = {TABLE[1], FOLDER[1]}
        return len(expected_names & {entry["qualifiedName"] for entry in answer.json()["value"]})

    table, folder = "database", "dfs"
    assert [found(query) for query in (table, folder, f"{table} {folder}")] == [1, 1, 2]
    assert [found(f"{table} {joint} {folder}") for joint in ("AND", "OR")] == [0, 2]
    assert found(f"({table} AND nowhere) OR ({folder} AND orders)") == 1


def test_a_search_for_many_texts_gives_no_answer_beyond_a_page_of_results(server: CatalogServer) -> None:
    catalog = over(server.endpoint, server.token)
    for start in range(0, 1100, 100):
        catalog.create_assets(
            [
                AssetEntity(
                    type="fs_path", qualified_name=f"file:///{n}", attributes=(("name", f"n{n}"), ("path", "/"))
                )
                for n in range(start, start + 100)
            ]
        )
    assert catalog.search_all(("n", "file 1099")) is None
    nodes_by_text = catalog.search_all(("file 1099", "nowhere"))
    assert nodes_by_text
    assert [node.name for node in nodes_by_text["file 1099"]] == ["n1099"]
    assert nodes_by_text["nowhere"] == ()


def test_purviews_query_filters_by_type(server: CatalogServer) -> None:
    scan(server, TABLE)

    def found(**filters: Any) -> list[str]:
        answer = call(server, "POST", "catalog/api/search/query", {"keywords": "orders", "filter": filters})
        return [entry["qualifiedName"] for entry in answer.json()["value"]]

    assert found(**{"and": [{"entityType": TABLE[0]}]}) == [TABLE[1]]
    assert found(**{"or": [{"entityType": "fs_path"}]}) == []
    assert call(server, "POST", "datamap/api/search/query", {"filter": {"colour": 1}}).status_code == 400
    assert by_name(server, TABLE)["collectionId"] == "scans"


@contextmanager
def proxy() -> Iterator[tuple[str, list[str]]]:
    """A proxy that answers everything itself, and the addresses it was asked for."""
    request_paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            request_paths.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "15")
            self.end_headers()
            self.wfile.write(b'{"entities":[]}')

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}", request_paths
        finally:
            listening.shutdown()
            thread.join()


def test_calls_go_through_the_proxy_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with proxy() as (address, request_paths):
        monkeypatch.setenv("HTTP_PROXY", address)
        monkeypatch.setenv("NO_PROXY", "")
        catalog = over("http://catalog.example/datamap/api/atlas/v2", "x")
        assert catalog.find([TABLE]) == {}
    assert request_paths
    assert all(
        request_path.startswith("http://catalog.example/datamap/api/atlas/v2/") for request_path in request_paths
    )
    assert all("api-version=2023-09-01" in request_path for request_path in request_paths)
