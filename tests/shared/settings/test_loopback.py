"""Loopback never goes through a proxy: storage, catalog, receiver, whoever calls them."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from shared.settings.reading import load, without_proxy
from tests.support.building import body, dataset, packed
from throughline.local.azurite.server import Azurite
from throughline.local.catalog.server import CatalogServer

PROXY = "http://127.0.0.1:9"
"""Where nothing listens."""
LOOPBACK = "localhost,127.0.0.1,::1"
CASES: dict[str, tuple[Mapping[str, str], str | None]] = {
    "no proxy": ({"NO_PROXY": "corp"}, None),
    "an empty proxy": ({"http_proxy": ""}, None),
    "a proxy": ({"http_proxy": PROXY}, LOOPBACK),
    "in capitals": ({"HTTPS_PROXY": PROXY}, LOOPBACK),
    "for all": ({"ALL_PROXY": PROXY}, LOOPBACK),
    "with hosts": ({"http_proxy": PROXY, "NO_PROXY": ".corp, 10.0.0.1 "}, f".corp,10.0.0.1,{LOOPBACK}"),
    "small letters come first": ({"http_proxy": PROXY, "no_proxy": "a", "NO_PROXY": "b"}, f"a,{LOOPBACK}"),
    "already": ({"http_proxy": PROXY, "no_proxy": "127.0.0.1"}, "127.0.0.1,localhost,::1"),
    "no host at all": ({"http_proxy": PROXY, "no_proxy": "*"}, None),
}


@pytest.mark.parametrize(("environment", "expected"), CASES.values(), ids=CASES)
def test_loopback_is_added_to_the_hosts_without_a_proxy(environment: Mapping[str, str], expected: str | None) -> None:
    assert without_proxy(environment) == ({} if expected is None else {"no_proxy": expected, "NO_PROXY": expected})


def test_the_settings_of_storage_have_loopback_without_a_proxy() -> None:
    places = {"AzureWebJobsStorage": "UseDevelopmentStorage=true", "http_proxy": PROXY}
    assert load(catalog=False, environment=places).storage.network.proxies["no"] == LOOPBACK


def child(arguments: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python with a proxy that does not answer, and without a NO_PROXY."""
    inherited_variables = {name: value for name, value in os.environ.items() if name.lower() != "no_proxy"}
    environment = {**inherited_variables, "http_proxy": PROXY, "https_proxy": PROXY, **variables}
    command = [sys.executable, "-c", "from throughline.cli.main import main; main()", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_commands_reach_storage_and_catalog_on_this_machine(azurite: Azurite, fresh_catalog: CatalogServer) -> None:
    places = {
        "AzureWebJobsStorage": azurite.connection_string,
        "THROUGHLINE_CATALOG_ENDPOINT": fresh_catalog.endpoint,
        "THROUGHLINE_CATALOG_TOKEN": fresh_catalog.token,
    }
    doctor = child(["doctor", "--catalog", "--json"], **places)
    assert "ProxyError" not in doctor.stdout + doctor.stderr
    answers = {"storage", "catalog network", "catalog identity", "collection", "catalog role"}
    good = {finding["subject"] for finding in json.loads(doctor.stdout)["findings"] if finding["state"] == "good"}
    assert answers <= good, doctor.stdout + doctor.stderr
    assert child(["status", "--json"], **places).returncode == 0


def test_an_error_names_the_variable_where_a_proxy_does_not_answer(tmp_path: Path) -> None:
    events = tmp_path / "events.json"
    events.write_bytes(packed(body(outputs=[dataset("out")])))
    send_outcome = child(["send", str(events), "--url", "http://receiver.invalid"])
    assert send_outcome.returncode == 2
    assert "HTTP_PROXY" in send_outcome.stderr
    elsewhere = "AccountName=a;AccountKey=YQ==;BlobEndpoint=http://blob.invalid/a;TableEndpoint=http://table.invalid/a"
    places = {"AzureWebJobsStorage": elsewhere, "THROUGHLINE_CATALOG_ENDPOINT": "https://catalog.invalid"}
    status_outcome = child(["status"], **places)
    assert "HTTP_PROXY" in status_outcome.stderr
    local = child(["send", str(events), "--url", "http://127.0.0.1:9"])
    assert "no answer (ConnectionError)" in local.stderr
