"""Telemetry of the real functions: the content of the host's log with the console enabled."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from shared.telemetry.otel import trace_of
from tests.support.events import run_id, write
from tests.support.local_world import post, wait_until_idle
from throughline.local.azurite import KEY as ACCOUNT_KEY
from throughline.local.world import World

SETTINGS = {
    "THROUGHLINE_TELEMETRY": "console",
    "OTEL_BSP_SCHEDULE_DELAY": "200",
    "OTEL_METRIC_EXPORT_INTERVAL": "500",
}
SECRETS = ("hunter2", "pr0perty", "h3ader", "s1gn4ture")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The host's log, to its end, after some events with secrets in them."""
    home: Path = tmp_path_factory.mktemp("world")
    with World(home=home, usual_ports=False, settings=SETTINGS) as world:
        for body in write("a", "app", "10:00", "/a"):
            event = json.loads(body)
            event["inputs"] += [
                {"namespace": "postgres://ada:hunter2@db:5432", "name": "sales.public.t"},
                {"namespace": "https://acct.blob.core.windows.net", "name": "c/x?sv=2024&sig=s1gn4ture"},
            ]
            event["run"]["facets"]["spark_properties"] = {"properties": {"spark.x.password": "pr0perty"}}
            assert post(world, json.dumps(event).encode(), **{"x-functions-key": "h3ader"}).status_code == 201
        assert post(world, b"{", Authorization="Bearer h3ader").status_code == 400
        wait_until_idle(world)
        log, deadline = home / "functions.log", time.monotonic() + 30
        while "throughline.publishes" not in log.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.2)
    return log.read_text()


def parsed(log: str, key: str) -> list[dict[str, Any]]:
    """Return the lines that are JSON objects with this key."""
    records = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return [record for record in records if key in record]


def test_receiver_parser_and_publisher_report_a_run_in_one_trace(log: str) -> None:
    spans = parsed(log, "context")
    trace_id = f"{trace_of(run_id('a')):#034x}"
    names = [span["name"] for span in spans if span["context"]["trace_id"] == trace_id]
    assert names.count("receive") == 2
    assert set(names) == {
        "receive",
        "process run",
        "publish process",
    }  # a trigger may process the run and check once more
    batches = [span for span in spans if span["name"] == "publish"]
    assert {link["context"]["trace_id"] for batch in batches for link in batch["links"]} == {trace_id}
    calls = [span for span in spans if span["name"] == "catalog"]
    assert calls
    # A sweep before a placeholder is created searches for the data set too: tests/shared/telemetry/test_telemetry.py.
    callers = [*batches, *(span for span in spans if span["name"] == "sweep")]
    assert {call["parent_id"] for call in calls} <= {span["context"]["span_id"] for span in callers}
    assert {call["parent_id"] for call in calls} & {batch["context"]["span_id"] for batch in batches}


def test_metrics_count_received_events(log: str) -> None:
    metrics = {  # each the last value: on a busy machine not every line has all of them
        metric["name"]: metric["data"]["data_points"]
        for line in parsed(log, "resource_metrics")
        for scope in line["resource_metrics"][0]["scope_metrics"]
        for metric in scope["metrics"]
    }
    states = {point["attributes"]["state"]: point["value"] for point in metrics["throughline.events"]}
    assert states == {"kept": 2, "refused": 1}
    assert sum(point["value"] for point in metrics["throughline.catalog.calls"]) >= 3
    assert metrics["throughline.lag"][0]["count"] == 1


def test_no_secret_is_in_the_log(log: str) -> None:
    assert "sales.public.t" not in log, "telemetry has no data sets, except in the names of processes"
    assert [secret for secret in (*SECRETS, ACCOUNT_KEY, "Bearer") if secret in log] == []


def test_lines_of_the_functions_are_in_the_host_log(log: str) -> None:
    kinds = [line.split("] ", 1)[1].split()[0] for line in log.splitlines() if "_function] " in line]
    assert kinds[:4] == ["event", "event", "event", "run_processed"]
    assert "process" in kinds
