"""The whole way without Spark: captured events through the real functions into the catalog, by the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
import requests
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.transport.http import HttpConfig, HttpTransport

from shared.reading.processes import recorded as publishing_recorded
from shared.records.control import settings_on_record
from shared.reporting.status import status
from tests.capture.scenario import scenarios
from tests.capture.truth import Truth
from tests.support.events import event, run_id, write
from tests.support.local_world import GOLDEN, parts_of, post, runner, throughline, wait_for_status, wait_until_idle
from tests.support.publishing import process_in
from throughline.cli.main import app
from throughline.local.world import World


@pytest.mark.parametrize("scenario", ["customer_master", "customer_merge"])
def test_captured_events_give_the_lineage_of_the_truth(world: World, scenario: str) -> None:
    events = GOLDEN / scenario / "events.jsonl"
    send_result = throughline(world, "send", str(events), "--url", world.functions.url)
    assert send_result.exit_code == 0, send_result.output
    final_status = wait_until_idle(world)
    assert final_status.reconciles
    parts = parts_of(world)
    truth = Truth.read(scenarios()[scenario].truth, capture=GOLDEN.name)
    outputs = {process.output for process in truth.processes}
    recorded = [
        (process, entity)
        for process, entity in publishing_recorded(parts.storage, parts.publishing)
        if process.outputs[0].name.endswith(tuple(outputs))
    ]
    assert truth.differences(process for process, _ in recorded) == []
    for _, entity in recorded:
        assert process_in(parts.catalog, entity.qualified_name) == entity


def test_the_functions_record_their_settings_and_commands_refuse_others(world: World) -> None:
    """No command has written the row here: the functions did, at their first event."""
    throughline(world, "send", str(GOLDEN / "customer_merge" / "events.jsonl"), "--url", world.functions.url)
    wait_until_idle(world)
    parts = parts_of(world)
    settings = settings_on_record(parts.storage)
    assert settings
    assert settings.texts == parts.to_record
    other = runner.invoke(app, ["replay"], env={**world.environment, "THROUGHLINE_APPLICATION_IDLE_MINUTES": "5"})
    assert other.exit_code == 2
    assert "THROUGHLINE_APPLICATION_IDLE_MINUTES: the functions have 60, this shell has 5" in other.output


def test_sending_the_same_events_again_changes_nothing(world: World) -> None:
    events = GOLDEN / "customer_merge" / "events.jsonl"
    throughline(world, "send", str(events), "--url", world.functions.url)
    status_before, writes = wait_until_idle(world), world.catalog.calls()["writes"]
    send_result = throughline(world, "send", str(events), "--url", world.functions.url)
    assert "0 refused" in send_result.output
    assert wait_until_idle(world).received == status_before.received
    assert world.catalog.calls()["writes"] == writes


def test_status_and_show_have_the_same_content_as_json_and_text(world: World) -> None:
    throughline(world, "send", str(GOLDEN / "customer_merge" / "events.jsonl"), "--url", world.functions.url)
    wait_until_idle(world)
    counts = json.loads(throughline(world, "status", "--json").stdout)
    assert counts["reconciles"] is True
    assert counts["received"] == counts["published"] + counts["skipped"] + counts["waiting"] + counts["dead"]
    assert "received" in throughline(world, "status").stdout
    shown_lineage = json.loads(throughline(world, "show", "delta/customer_master", "--json").stdout)
    (step,) = (step for step in shown_lineage["steps"] if (step["direction"], step["depth"]) == ("upstream", 1))
    assert step["input"]["qualified_name"].endswith("/delta/customer_staging")
    assert ["full_name", "full_name"] in step["columns"]
    people = throughline(world, "show", "delta/customer_master", "--columns")
    assert "full_name → full_name" in people.stdout
    unknown = throughline(world, "show", "no_such_asset")
    assert unknown.exit_code == 1
    assert "no data set like" in unknown.output


def test_the_answer_to_a_good_event_is_a_201_with_a_body(world: World) -> None:
    answer = post(world, event("good", "START", "10:00:00", inputs=["/a"], application="app"))
    assert answer.status_code == 201
    assert answer.headers["Transfer-Encoding"] == "chunked"  # as from the real host
    assert answer.json()["status"] == "kept"
    assert answer.json()["run"] == run_id("good")


def test_the_answer_to_an_ignored_event_is_a_201_with_the_reason(world: World) -> None:
    answer = post(world, event("idle", "RUNNING", "10:00:00", application="app"))
    assert (answer.status_code, answer.json()["status"]) == (201, "ignored")
    assert answer.json()["reason"] == "names no data set and ends no run"


def test_the_answer_to_a_bad_event_is_a_problem_that_names_the_field_and_is_counted(world: World) -> None:
    rejected_before = status(parts_of(world).storage).rejected
    answer = post(world, event("bad", "START", "10:00:00").replace(f'"{run_id("bad")}"'.encode(), b"7"))
    assert answer.status_code == 400
    assert answer.headers["Content-Type"].startswith("application/problem+json")
    assert answer.json()["field"] == "run.runId"
    assert status(parts_of(world).storage).rejected == rejected_before + 1


def test_a_chunked_body_is_refused_with_a_hint_at_the_setting(world: World) -> None:
    def chunks() -> Any:
        yield event("chunked", "START", "10:00:00")

    answer = requests.post(f"{world.functions.url}/api/v1/lineage", data=chunks(), timeout=30)
    assert answer.status_code == 400
    assert "transport.compression" in answer.json()["detail"]


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_events_of_the_unmodified_python_client_become_lineage(world: World, compression: str | None) -> None:
    config = HttpConfig.from_dict({"url": world.functions.url, "compression": compression})
    client = OpenLineageClient(transport=HttpTransport(config))
    name = f"/python/{compression}"
    for state in (RunState.START, RunState.COMPLETE):
        client.emit(
            RunEvent(
                eventType=state,
                eventTime="2026-11-21T10:00:00.000001+00:00",
                run=Run(runId=run_id(name)),
                job=Job(namespace="tests", name=f"python {compression}"),
                producer="https://example.com/tests",
                inputs=[InputDataset(namespace="file", name="/python/in")],
                outputs=[OutputDataset(namespace="file", name=name)],
            )
        )
    client.close()
    wait_until_idle(world)
    assert f"python {compression}" in throughline(world, "show", name).stdout


def test_a_batch_is_answered_event_by_event(world: World) -> None:
    events = [*write("batched", "app-of-batch", "10:00", "/batch/in", sink="/batch/out"), b'{"eventType": "START"}']
    answer = requests.post(f"{world.functions.url}/api/v1/lineage/batch", data=b"[%b]" % b",".join(events), timeout=30)
    assert (answer.status_code, answer.json()["status"]) == (200, "partial_success")
    assert [failed_event["index"] for failed_event in answer.json()["failed_events"]] == [2]
    wait_until_idle(world)
    assert "app → out" in throughline(world, "show", "/batch/out").stdout


def test_an_unavailable_catalog_delays_lineage_and_loses_nothing(world: World) -> None:
    world.catalog.stop()
    try:
        for body in write("away", "away-app", "10:00", "/away/in", sink="/away/out"):
            assert post(world, body).status_code == 201
        wait_for_status(
            world, lambda current_status: "catalog not called until" in " ".join(current_status.last_errors), seconds=60
        )
    finally:
        world.catalog.start()
    final_status = wait_until_idle(world, seconds=120)
    assert final_status.reconciles
    assert "file:///away/in" in throughline(world, "show", "/away/out").stdout


def test_a_training_run_of_mlflow_is_linked_and_its_tags_point_to_the_lineage(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    from mlflow import MlflowClient  # noqa: PLC0415 - it takes seconds
    from mlflow.entities import Dataset, DatasetInput  # noqa: PLC0415 - the same

    uri = (tmp_path / "mlruns").as_uri()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)  # a registry in files looks there, whatever its client says
    client = MlflowClient(tracking_uri=uri)
    run = client.create_run(client.create_experiment("churn training")).info.run_id
    source = json.dumps({"path": "/lake/churn/features"})
    dataset = Dataset(name="features", digest="1", source_type="spark", source=source)
    client.log_inputs(run, [DatasetInput(dataset, [])])
    client.create_registered_model("churn")
    client.create_model_version("churn", source=f"runs:/{run}/model", run_id=run)
    client.set_terminated(run)
    command = ("link", "mlflow", run, "--tracking-uri", uri, "--url", world.functions.url)
    send_result = throughline(world, *command, "--page", "https://lineage.example.com/")
    assert send_result.exit_code == 0, send_result.output
    assert "2 kept, 0 ignored, 0 refused" in send_result.output
    wait_until_idle(world)
    shown_lineage = json.loads(throughline(world, "show", "churn:1", "--json").stdout)
    (features,) = (step["input"] for step in shown_lineage["steps"])
    assert features["qualified_name"] == "file:///lake/churn/features"
    way = "https://lineage.example.com/#asset=mlflow%3A%2F%2Flocalhost%2Fmodels%2Fchurn%3A1"
    assert client.get_run(run).data.tags["throughline.lineage"] == way
    assert client.get_model_version("churn", "1").tags["throughline.lineage"] == way
    writes = world.catalog.calls()["writes"]
    assert throughline(world, *command).exit_code == 0
    wait_until_idle(world)
    assert world.catalog.calls()["writes"] == writes, "the same run again changes nothing"
    assert client.get_run(run).data.tags["throughline.lineage"] == "throughline view mlflow://localhost/models/churn:1"


def test_unavailable_storage_is_a_503_with_retry_after(world: World) -> None:
    """The last test of this file: it ends Azurite."""
    world.azurite.stop()
    answer = post(world, event("lost", "START", "10:00:00", inputs=["/a"], application="app"))
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) <= 2
