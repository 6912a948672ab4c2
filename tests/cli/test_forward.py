"""`throughline forward`: what waits for targets, a round at once, and sending again."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.settings.kinds import TextFile
from shared.settings.values import ForwardSettings
from tests.support.cli import Parts
from tests.support.events import run_id
from tests.support.forward_targets import TargetServer, target_server
from tests.support.forwarding import BEGIN, ForwardWorld, job

RULES = '[targets.marquez]\nkind = "marquez"\n'


@pytest.fixture
def server() -> Iterator[TargetServer]:
    with target_server() as running:
        yield running


def parts_with(server: TargetServer, *sinks: str, quiet: bool = True) -> Parts:
    """A record with a run for each sink, whose marks are an hour old, or new."""
    world = ForwardWorld()
    world.at = datetime.now(UTC) - timedelta(hours=1 if quiet else 0) - BEGIN
    for sink in sinks:
        world.receive(*job(sink, "/in", run=sink))
    parts = Parts()
    settings = ForwardSettings(
        rules=TextFile(place="forward.toml", text=RULES), targets=(("marquez", server.url("/?code=geheim")),)
    )
    parts.storage = world.storage
    parts.worker = replace(parts.worker, storage=world.storage, forward_settings=settings)
    return parts


def test_a_plan_names_what_would_leave_and_once_sends_it(server: TargetServer) -> None:
    parts = parts_with(server, "/one", "/two")
    plan = parts.run("forward", "--plan")
    assert plan.exit_code == 0
    assert "2 runs would leave: 2 to marquez" in plan.output
    assert f"run {run_id('/one')}" in plan.output
    assert server.came == []
    once = parts.run("forward", "--once")
    assert once.exit_code == 0, once.output
    assert "2 delivered, 0 refused, 0 failed" in once.output
    assert len(server.came) == 2
    assert "0 runs would leave" in parts.run("forward", "--plan").output
    assert "geheim" not in plan.output + once.output


def test_a_run_that_changed_just_now_waits(server: TargetServer) -> None:
    parts = parts_with(server, "/one", quiet=False)
    assert "1 run would leave" in parts.run("forward", "--plan").output
    once = parts.run("forward", "--once", "--json")
    assert json.loads(once.output)["delivered"] == 0
    assert json.loads(once.output)["marked"] == 1


def test_a_target_that_is_away_is_shown_with_the_reason_also_by_status(server: TargetServer) -> None:
    server.trouble = (503, {})
    parts = parts_with(server, "/one", "/two", "/three")
    once = parts.run("forward", "--once")
    assert once.exit_code == 1
    assert "paused: HTTP 503" in once.output
    status = parts.run("status")
    assert "marquez has not taken 3 runs since" in status.output
    assert "HTTP 503" in status.output
    (target,) = json.loads(parts.run("status", "--json").output)["forward"]
    assert (target["waiting"], target["dead"]) == (3, 0)


def test_dead_letters_are_sent_again_on_demand(server: TargetServer) -> None:
    server.trouble = (422, {})
    parts = parts_with(server, "/one")
    assert parts.run("forward", "--once").exit_code == 1
    result = parts.run("forward")
    assert "dead letter: HTTP 422" in result.output
    assert "marquez refuses 1 run" in parts.run("status").output
    server.trouble = None
    retried = parts.run("forward", "--retry", "--once")
    assert retried.exit_code == 0, retried.output
    assert "1 run put into the queue" in retried.output
    assert len(server.came) == 1


def test_runs_since_a_day_leave_where_a_target_lacks_them(server: TargetServer) -> None:
    parts = parts_with(server, "/one", "/two")
    parts.run("forward", "--once")
    server.came.clear()
    world = ForwardWorld(storage=parts.storage, forwards=False)  # as before forwarding was set up
    world.receive(*job("/three", "/in", run="/three"))
    later_result = parts.run("forward", "--since", "2026-11-21", "--once")
    assert later_result.exit_code == 0, later_result.output
    assert "3 runs put into the queue" in later_result.output
    assert [json.loads(raw)["run"]["runId"] for *_, raw in server.came] == [run_id("/three")]
    assert "0 runs put" not in parts.run("forward", "--since", "2027-01-01").output


@pytest.mark.parametrize(
    ("arguments", "text"), [((), "set THROUGHLINE_FORWARD"), (("--plan", "--once"), "--plan writes nothing")]
)
def test_what_is_missing_is_said(arguments: tuple[str, ...], text: str) -> None:
    result = Parts().run("forward", *arguments)
    assert result.exit_code == 2
    assert text in result.output


def test_a_target_without_an_address_is_named(server: TargetServer) -> None:
    parts = parts_with(server, "/one")
    settings = replace(parts.worker.forward_settings, targets=())
    parts.worker = replace(parts.worker, forward_settings=settings)
    result = parts.run("forward", "--once")
    assert result.exit_code == 2
    assert "THROUGHLINE_FORWARD_TARGETS" in result.output
