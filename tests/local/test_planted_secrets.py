"""The same secrets through the real functions host, Azurite and catalog, with redaction on and with failures."""

import os
import time
from pathlib import Path

import pytest
import requests
from typer.testing import CliRunner

from shared.bootstrap import assemble
from shared.reporting.status import status
from shared.settings.reading import load
from shared.storage.port import Storage
from tests.support.planted import BEARER, REFUSED, SECRET, contains_secret, events, stored_texts
from throughline.cli.main import app
from throughline.local.functions import FunctionsHost
from throughline.local.world import World

PATIENCE_SECONDS = 60
HEADERS = {"Authorization": BEARER, "x-functions-key": SECRET, "Content-Type": "application/json"}


def _post(url: str, raw: bytes, path: str = "", key: str = SECRET) -> requests.Response:
    return requests.post(f"{url}/api/v1/lineage{path}?code={key}", data=raw, headers=HEADERS, timeout=30)


def _wait(storage: Storage) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        current_status = status(storage)
        if current_status.received >= 4 and current_status.reconciles and not current_status.in_progress:
            return
        time.sleep(0.3)
    pytest.fail(f"not processed: {status(storage)}")


def test_no_secret_of_an_event_is_in_rows_log_catalog_or_output(tmp_path: Path) -> None:
    with World(home=tmp_path, usual_ports=False, settings={"THROUGHLINE_REDACT": "true"}) as world:
        url = world.functions.url
        parts = assemble(load(catalog=True, environment=world.environment))
        answers = [_post(url, raw) for raw in (*events(), *events(), *REFUSED)]
        answers.append(_post(url, b"[" + b",".join((*events(), *REFUSED[:2])) + b"]", "/batch"))
        assert [answer.status_code for answer in answers] == [201] * 8 + [400] * 4 + [200]
        assert [answer.text for answer in answers if contains_secret(answer.text)] == []
        _wait(parts.storage)
        nodes = parts.catalog.search("report")
        assert nodes
        links = parts.catalog.process_links([node.key for node in nodes]).values()
        names = parts.catalog.process_names({guid for ends in links for guid in ends.readers | ends.writers})
        processes = parts.catalog.read_processes(sorted(names))
        assert processes
        outputs = [
            CliRunner().invoke(app, [*command, "--home", str(tmp_path)]).output
            for command in (["status"], ["status", "--json"], ["show", nodes[0].qualified_name, "--columns"])
        ]
        stored_pairs = list(stored_texts(parts.storage, raw=True))
    log = (tmp_path / "functions.log").read_text()
    assert "event run=" in log
    assert log.count("state=refused") == 6
    assert [line for line in log.splitlines() if contains_secret(line)] == []
    assert [place for place, text in stored_pairs if contains_secret(text)] == []
    assert any(place.startswith("events/") for place, _ in stored_pairs)
    assert [repr(node) for node in (*nodes, *processes.values()) if contains_secret(repr(node))] == []
    assert "report" in outputs[2]
    assert [output for output in outputs if contains_secret(output)] == []


def test_no_secret_of_the_settings_is_logged_when_storage_and_catalog_are_unavailable(tmp_path: Path) -> None:
    places = "BlobEndpoint=http://127.0.0.1:9/a;TableEndpoint=http://127.0.0.1:9/a;QueueEndpoint=http://127.0.0.1:9/a"
    environment = {
        "AzureWebJobsStorage": f"{places};SharedAccessSignature=sv=2024-11-04&sig={SECRET}",
        "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:9/catalog",
        "THROUGHLINE_CATALOG_TOKEN": SECRET,
        **{f"AzureWebJobs.{name}.Disabled": "true" for name in ("parser_function", "sweeper_function")},
    }

    root = Path(__file__).parents[2]
    log = tmp_path / "host.log"
    with FunctionsHost(app=root, environment={**os.environ, **environment}, log=log) as host:
        answers = [_post(host.url, events()[0]), _post(host.url, REFUSED[0])]
    assert [answer.status_code for answer in answers] == [503, 400]
    assert "Retry-After" in answers[0].headers
    assert not any(contains_secret(answer.text) for answer in answers)
    assert [line for line in log.read_text().splitlines() if contains_secret(line)] == []
