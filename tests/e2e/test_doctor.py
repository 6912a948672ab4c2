"""`throughline doctor` on a real world: without a problem, and with problems that it reports with the next step."""

import gc
import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner, Result

import sweeper_function
from shared.bootstrap import worker
from tests.support.local_world import throughline
from throughline.cli.main import app
from throughline.local.process.listening import listen
from throughline.local.world import World


def test_doctor_follows_both_test_events_to_the_catalog(world: World) -> None:
    result = throughline(world, "doctor", "--listener", "--url", world.functions.url)
    assert result.exit_code == 0, result.output
    for text in ("START  201 after", "COMPLETE  201 after", "the process holds the new column", "the process is gone"):
        assert text in result.output
    assert "bad" not in result.output


def test_a_second_doctor_run_succeeds_and_leaves_nothing(world: World) -> None:
    result = throughline(world, "doctor", "--listener", "--url", world.functions.url, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["good"] is True
    assert [finding["subject"] for finding in report["findings"]][-6:] == [
        *("START", "COMPLETE", "blob", "fold", "catalog", "withdrawal")
    ]
    assert {finding["code"] for finding in report["findings"]} == {""}
    counts = json.loads(throughline(world, "status", "--json").stdout)
    assert (counts["processes"], set(counts["skipped_because"])) == (0, {"check"})


def test_a_canary_says_how_long_each_hop_took_and_leaves_nothing(world: World) -> None:
    result = throughline(world, "canary", "--url", world.functions.url)
    assert result.exit_code == 0, result.output
    assert [line.split()[0] for line in result.stdout.splitlines()] == [
        *("hop", "START", "COMPLETE", "blob", "fold", "catalog", "withdrawal", "6")
    ]
    report = json.loads(throughline(world, "canary", "--url", world.functions.url, "--json").stdout)
    assert report["good"] is True
    assert all(hop["seconds"] >= 0 for hop in report["hops"])
    counts = json.loads(throughline(world, "status", "--json").stdout)
    assert (counts["processes"], set(counts["skipped_because"])) == (0, {"check"})


def test_the_sweeper_sends_a_canary_through_the_world(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, text in (world.environment | {"THROUGHLINE_CANARY_URL": world.functions.url}).items():
        monkeypatch.setenv(name, text)
    worker.cache_clear()
    collector = gc.get_threshold()
    try:
        with caplog.at_level("INFO", logger="throughline"):
            for _ in range(2):
                sweeper_function.main(SimpleNamespace(past_due=False))  # type: ignore[arg-type]  # a timer's request
    finally:
        worker.cache_clear()
        gc.unfreeze()
        gc.set_threshold(*collector)
    (line,) = [record.getMessage() for record in caplog.records if record.getMessage().startswith("canary ")]
    assert "state=arrived" in line, "one, since the second is not due"
    assert "withdrawal_seconds=" in line


def test_a_canary_that_does_not_arrive_names_the_hop_and_a_command(world: World) -> None:
    result = throughline(world, "canary", "--url", world.functions.url, "--patience", "0")
    assert result.exit_code == 1
    assert "failed" in result.output
    assert "throughline doctor --group GROUP" in result.output
    silent = throughline(world, "canary", "--url", "http://127.0.0.1:9", "--json")
    assert silent.exit_code == 1
    assert [hop["code"] for hop in json.loads(silent.stdout)["hops"]] == ["receiver-unreachable"]


def test_an_unreachable_receiver_and_a_wrong_path_are_distinguished(world: World) -> None:
    with listen(0, "nothing", "") as silent:
        port = silent.getsockname()[1]
    unreachable = throughline(world, "doctor", "--listener", "--url", f"http://127.0.0.1:{port}")
    assert unreachable.exit_code == 1
    assert "no answer (ConnectionError)" in unreachable.output
    assert "receiver-unreachable" in unreachable.output
    assert f"curl --verbose http://127.0.0.1:{port}" in unreachable.output
    other = throughline(world, "doctor", "--listener", "--url", f"{world.functions.url}/elsewhere")
    assert other.exit_code == 1
    assert "receiver-missing" in other.output


def test_an_event_that_does_not_arrive_in_time_is_reported(world: World) -> None:
    result = throughline(world, "doctor", "--listener", "--url", world.functions.url, "--patience", "0")
    assert result.exit_code == 1
    assert "not there after 0 s" in result.output
    assert "event-unfolded" in result.output


def test_an_unavailable_catalog_is_reported_while_storage_is_good(world: World) -> None:
    with listen(0, "nothing", "") as silent:
        silent_url = f"http://127.0.0.1:{silent.getsockname()[1]}"
    environment = world.environment
    settings = {**environment, "THROUGHLINE_CATALOG_ENDPOINT": f"{silent_url}/datamap/api/atlas/v2"}
    result = throughline_with(settings)
    assert result.exit_code == 1
    assert "good  storage" in result.output
    assert "bad   catalog connection" in result.output


def throughline_with(settings: dict[str, str]) -> Result:
    return CliRunner().invoke(app, ["doctor"], env=settings)
