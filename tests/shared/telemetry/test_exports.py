"""Where spans and metrics go, in fresh processes: nowhere, the console, a collector, Application Insights."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shared.telemetry.otel import trace_of
from tests.local.hosting import wait_for
from tests.plugins.collector import Collected
from throughline.local.azurite import Azurite

ROOT = Path(__file__).parents[3]


def surroundings(**settings: str) -> dict[str, str]:
    """Settings that name a storage account and a catalog that nobody calls, and these."""
    nowhere = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=aw==;"
    nowhere += "BlobEndpoint=http://127.0.0.1:1/a;TableEndpoint=http://127.0.0.1:1/a;"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("THROUGHLINE_", "OTEL_"))}
    places = {"AzureWebJobsStorage": nowhere, "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:1/v2"}
    return {**environment, **places, "THROUGHLINE_CATALOG_TOKEN": "t", **settings}


def python(code: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter that has run this."""
    command, environment = [sys.executable, "-W", "error", "-c", code], surroundings(**settings)
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


LOADED = "import sys; print([name for name in sys.modules if 'opentelemetry' in name or 'azure.monitor' in name])"
PARTS = {
    "receiver": "import receiver_function; from shared.bootstrap_receiver import receiver; receiver();",
    "worker": "import parser_function, sweeper_function; from shared.bootstrap import worker; worker();",
}


@pytest.mark.parametrize("part", PARTS)
def test_opentelemetry_is_not_imported_when_telemetry_is_off(part: str, azurite: Azurite) -> None:
    storage = {"AzureWebJobsStorage": azurite.connection_string}
    off = python(PARTS[part] + LOADED, **storage)
    assert (off.stdout, off.stderr) == ("[]\n", "")
    assert "opentelemetry.sdk" in python(PARTS[part] + LOADED, THROUGHLINE_TELEMETRY="console", **storage).stdout


def test_the_receiver_starts_without_importing_microsofts_exporter() -> None:
    string = "InstrumentationKey=00000000-0000-0000-0000-000000000001;IngestionEndpoint=http://127.0.0.1:1/"
    settings = {"THROUGHLINE_TELEMETRY": "azure", "APPLICATIONINSIGHTS_CONNECTION_STRING": string}
    process = python(PARTS["receiver"] + LOADED, **settings)
    assert "opentelemetry.sdk.trace" in process.stdout
    assert "azure.monitor" not in process.stdout


WRONG = {"a word": {"THROUGHLINE_TELEMETRY": "loud"}, "no connection string": {"THROUGHLINE_TELEMETRY": "azure"}}


@pytest.mark.parametrize("settings", WRONG.values(), ids=WRONG)
def test_wrong_telemetry_settings_stop_the_worker_but_not_the_receiver(settings: dict[str, str]) -> None:
    receiver = python(PARTS["receiver"], **settings)
    assert (receiver.returncode, receiver.stderr) == (0, "")
    worker = python(PARTS["worker"], **settings)
    assert worker.returncode == 1
    assert "Misconfigured" in worker.stderr
    assert "THROUGHLINE_TELEMETRY" in worker.stderr


REPORT = "from shared.telemetry.port import EVENT; worker().telemetry.report(EVENT, 'r', state='kept');"


def test_pending_spans_and_metrics_are_sent_when_the_process_ends(azurite: Azurite) -> None:
    storage = {"AzureWebJobsStorage": azurite.connection_string}
    process = python(PARTS["worker"] + REPORT, THROUGHLINE_TELEMETRY="console", **storage)
    assert '"name": "receive"' in process.stderr
    assert '"name": "throughline.events"' in process.stderr


def test_a_collector_is_sent_spans_and_metrics(collector: Collected, azurite: Azurite) -> None:
    url, bodies = collector.url, collector.bodies
    settings = {"THROUGHLINE_TELEMETRY": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": url}
    process = python(PARTS["worker"] + REPORT, AzureWebJobsStorage=azurite.connection_string, **settings)
    assert process.returncode == 0, process.stderr
    assert trace_of("r").to_bytes(16) in bodies["/v1/traces"]
    assert b"throughline.events" in bodies["/v1/metrics"]


def test_application_insights_is_sent_requests_and_metrics(collector: Collected, azurite: Azurite) -> None:
    url, bodies = collector.url, collector.bodies
    settings = {
        "THROUGHLINE_TELEMETRY": "azure",
        "APPLICATIONINSIGHTS_CONNECTION_STRING": f"InstrumentationKey={'0' * 8}-0000-0000-0000-{'0' * 11}1;"
        f"IngestionEndpoint={url}/",
        "APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL": "true",
        "APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED": "true",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    command = [sys.executable, "-c", PARTS["worker"] + REPORT + "input()"]
    pipe, environment = subprocess.PIPE, surroundings(**settings, AzureWebJobsStorage=azurite.connection_string)
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stderr=pipe) as process:
        was_sent = any(wait_for(lambda: bodies) for _ in range(4))  # Microsoft's exporter takes its time to be imported
        _, errors = process.communicate(b"\n")
    assert (was_sent, process.returncode, errors) == (True, 0, b"")
    ((path, body),) = bodies.items()
    assert path.endswith("/track")
    items = [item for part in body.replace(b"][", b"]\n[").splitlines() for item in json.loads(part)]
    (request,) = [item for item in items if item["data"]["baseType"] == "RequestData"]
    assert request["data"]["baseData"]["name"] == "receive"
    assert request["tags"]["ai.operation.id"] == f"{trace_of('r'):032x}"
    assert request["data"]["baseData"]["properties"]["throughline.state"] == "kept"
    names = {item["data"]["baseData"]["metrics"][0]["name"] for item in items if item is not request}
    assert names >= {"throughline.events", "throughline.receive.duration"}  # beside the exporter's own telemetry
