"""The lake on Sail: the tests of every engine, and the commands as a user runs them. In other processes, for
in one process PySpark 3.5 keeps to one kind of engine.
"""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.support.command_process import ProcessOfCommands
from tests.support.started import started

HERE = Path(__file__).parents[1]


def _run(module: str, *arguments: str | Path) -> str:
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-10_000:]
    return done.stdout


def test_the_lake_is_the_same_on_sail() -> None:
    names = ("tables/test_lake.py", "bronze/test_ingestion.py", "test_differential.py", "gold/test_completeness.py")
    files = [HERE / name for name in names]
    _run("pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--engine", "sail", *files)


def test_a_lake_is_made_and_queried_without_java(tmp_path: Path) -> None:
    archive, lake = tmp_path / "archive", ("--lake", tmp_path / "lake")
    with ProcessOfCommands() as commands:

        def ask(*arguments: str | Path) -> Any:
            done = commands.run("lake", *arguments, *lake, "--engine", "sail", "--json")
            assert done.returncode == 0, done.stdout + done.stderr
            return json.loads(done.stdout)

        assert commands.run("synth", "--events", "1000", "--out", archive).returncode == 0
        done = {stage["name"]: stage["counts"] for stage in ask("run", archive, "--as-of", "never")}
        assert done["bronze"]["events"] > 900
        assert done["current"]["processes"] > 10
        again = ask("run", archive, "--as-of", "never")
        assert not any(count for stage in again for count in stage["counts"].values())
        (whole,) = ask("coverage", "--level", "all")
        assert whole["linked"] > 10
        changes = ask("changes")
        assert changes == [] or {"qualified_name", "change"} <= changes[0].keys()
        assert {each["depth"] for each in ask("impact", "/data/chain0/t0", "order_id")} >= {1}


_FROM_A_TERMINAL = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("cli", run_name="__main__")
"""
"""The command as from a terminal: what is begun in the background, as these tests may be, ignores Ctrl-C."""


def test_ctrl_c_ends_a_run_at_once_and_the_next_one_goes_on(tmp_path: Path) -> None:
    """The signal comes during bronze."""
    _run("cli", "synth", "--events", "3000", "--out", tmp_path / "archive")
    arguments = (
        "lake",
        "run",
        tmp_path / "archive",
        "--lake",
        tmp_path / "lake",
        "--as-of",
        "never",
        "--engine",
        "sail",
    )
    command = [sys.executable, "-c", _FROM_A_TERMINAL, *map(str, arguments)]
    with started(command, stderr=subprocess.STDOUT) as begun:
        deadline = time.monotonic() + 60
        while not (tmp_path / "lake" / "_aside" / "lines_read").exists():
            assert begun.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        begun.send_signal(signal.SIGINT)
        output, _ = begun.communicate(timeout=60)
    assert begun.returncode == 130, output
    assert "Traceback" not in output
    done = {each["name"]: each["counts"] for each in json.loads(_run("cli", *arguments, "--json"))}
    assert done["silver"]["runs"] > 500
