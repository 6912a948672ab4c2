"""The world by `func start`: by a stand-in that is as strict about its arguments, and by func itself if installed."""

import os
import shutil
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from tests.func_delivery import SOON, send_slowly, stand_in
from tests.support.local_world import GOLDEN, throughline, wait_until_idle
from throughline.cli.main import app
from throughline.local.errors import LocalError
from throughline.local.func import Func, find_func
from throughline.local.toolchain.java import JavaNeed, find_java
from throughline.local.toolchain.versions import SPARK_3
from throughline.local.world import World


@pytest.fixture
def func(tmp_path: Path) -> Path:
    """A `func` that runs our own host."""
    return stand_in(tmp_path)


def check_lineage_in_world(func: Path, home: Path) -> None:
    with World(home=home, usual_ports=False, func=func) as world:
        family = psutil.Process(world.functions.pid).children(recursive=True)
        events = GOLDEN / "customer_merge" / "events.jsonl"
        send_result = throughline(world, "send", str(events), "--url", world.functions.url)
        assert send_result.exit_code == 0, send_result.output
        status = wait_until_idle(world)
        assert status.reconciles
        assert (status.received, status.processes) == (12, 2)
    _, alive = psutil.wait_procs(family, timeout=60)
    assert (alive, bool(family)) == ([], True)


def test_a_world_runs_with_func_or_its_stand_in(func: Path, tmp_path: Path) -> None:
    assert find_func(str(tmp_path)) == func
    check_lineage_in_world(func, tmp_path / "world")


def test_blobs_that_func_does_not_find_are_published_in_time(func: Path, tmp_path: Path) -> None:
    """A part of `python -m tests.func_delivery`: func's polling misses blobs, and its stand-in finds none by itself."""
    with World(home=tmp_path / "world", usual_ports=False, func=func) as world:
        seen_delivery_result = send_slowly(world, 40, rate=10, seed=1)
    assert seen_delivery_result.published == 40, seen_delivery_result
    assert seen_delivery_result.seconds <= SOON


if shutil.which("func"):  # it can't be installed everywhere

    def test_the_world_runs_by_func_itself(tmp_path: Path) -> None:
        check_lineage_in_world(find_func(), tmp_path / "world")


@pytest.mark.parametrize("command", ["demo", "up"])
def test_the_error_for_a_missing_func_names_its_download(command: str, tmp_path: Path) -> None:
    java = find_java(JavaNeed(platform=SPARK_3, listener=True)).path
    result = CliRunner().invoke(
        app, [command, "--func", "--home", str(tmp_path)], env={"PATH": str(tmp_path), "JAVA_HOME": str(java)}
    )
    assert result.exit_code == 2, result.output
    output = " ".join(result.output.split())
    assert "func is not installed: get Azure Functions Core Tools 4" in output
    assert "or omit FUNC=1 and --func" in output


def test_the_error_of_an_ended_func_contains_its_output(func: Path, tmp_path: Path) -> None:
    host = Func(func=func, app=tmp_path, environment=dict(os.environ), log=tmp_path / "functions.log")
    with pytest.raises(LocalError, match=f"func start ended: no app in {tmp_path}"), host:
        pass
