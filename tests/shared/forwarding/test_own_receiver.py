"""A target that is our own receiver is refused, at whatever address it is found: the header names the installation."""

import json
from collections.abc import Iterator

import azure.functions as func
import pytest

import receiver_function
from shared.bootstrap_receiver import receiver
from shared.settings.reading import load
from shared.versions import ORIGIN_HEADER
from tests.support.building import body, packed


@pytest.fixture
def origin(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The origin of an installation whose receiver answers from here."""
    monkeypatch.setenv("AzureWebJobsStorage", "AccountName=ours;AccountKey=a2V5;DefaultEndpointsProtocol=http")
    receiver.cache_clear()
    yield load(catalog=False).storage.origin
    receiver.cache_clear()


def post(headers: dict[str, str]) -> func.HttpResponse:
    return receiver_function.main(
        func.HttpRequest("POST", "/api/v1/lineage", headers=headers, route_params={}, body=packed(body()))
    )


def test_what_this_installation_forwarded_is_refused_before_storage_is_asked(origin: str) -> None:
    answer = post({ORIGIN_HEADER: origin})
    assert answer.status_code == 508
    assert "Forward to another address" in json.loads(answer.get_body())["detail"]


def test_an_origin_is_the_same_for_both_apps_and_tells_no_secret() -> None:
    by_key = "AccountName=ours;AccountKey={};EndpointSuffix=core.windows.net"
    origins = {
        load(catalog=False, environment={"AzureWebJobsStorage": by_key.format(key)}).storage.origin
        for key in ("YQ==", "Yg==")
    }
    identity = {
        "AzureWebJobsStorage__blobServiceUri": "https://ours.blob.core.windows.net/",
        "AzureWebJobsStorage__tableServiceUri": "https://ours.table.core.windows.net",
    }
    own_storage = {
        "AzureWebJobsStorage__blobServiceUri": "https://host.blob.core.windows.net",
        "AzureWebJobsStorage__tableServiceUri": "https://host.table.core.windows.net",
        "THROUGHLINE_STORAGE__blobServiceUri": "https://OURS.blob.core.windows.net",
        "THROUGHLINE_STORAGE__tableServiceUri": "https://ours.table.core.windows.net",
    }
    assert len(origins) == 1
    assert (
        load(catalog=False, environment=identity).storage.origin
        == load(catalog=False, environment=own_storage).storage.origin
    )
