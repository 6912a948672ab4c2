"""The lake on Sail: the tests of every engine, and the commands as a user runs them. In other processes, for
in one process PySpark 3.5 keeps to one kind of engine.
"""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.lake.differential import TEMPLATES
from tests.support.command_process import ProcessOfCommands
from tests.support.started import started
from tests.synth.histories import synthesize
from throughline.lake.engine.opening import opened
from throughline.lake.engine.session import Local

HERE = Path(__file__).parents[1]


def _run(module: str, *arguments: str | Path) -> str:
    command = [sys.executable, "-m", module, *map(str, arguments)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert outcome.returncode == 0, outcome.stdout[-10_000:] + outcome.stderr[-10_000:]
    return outcome.stdout


def test_the_lake_is_the_same_on_sail() -> None:
    names = ("tables", "bronze/test_ingestion.py", "silver/test_quality.py", "silver/test_refinement.py")
    files = [HERE / name for name in (*names, "test_differential.py", "gold/test_completeness.py")]
    _run("pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--engine", "sail", *files)


def test_a_lake_is_made_and_queried_without_java(sail_process: ProcessOfCommands, tmp_path: Path) -> None:
    archive, lake = tmp_path / "archive", ("--lake", tmp_path / "lake")

    def ask(*arguments: str | Path) -> Any:
        outcome = sail_process.run("lake", *arguments, *lake, "--engine", "sail", "--json")
        assert outcome.returncode == 0, outcome.stdout + outcome.stderr
        return json.loads(outcome.stdout)

    synthesize(archive, events=1000, seed=1, templates=TEMPLATES)
    stage_counts = {stage["name"]: stage["counts"] for stage in ask("run", archive, "--as-of", "never")}
    assert stage_counts["bronze"]["events"] > 900
    assert stage_counts["current"]["processes"] > 10
    second_stages = ask("run", archive, "--as-of", "never")
    assert not any(count for stage in second_stages for count in stage["counts"].values())
    (total_coverage,) = ask("coverage", "--level", "all")
    assert total_coverage["linked"] > 10
    changes = ask("changes")
    assert changes == [] or {"qualified_name", "change"} <= changes[0].keys()
    assert {entry["depth"] for entry in ask("impact", "/data/chain0/t0", "order_id")} >= {1}


def _is_freed_beside_another(scratch: str) -> bool:
    """Whether a session that was stopped is freed at once in a thread of PySpark's pool, while another session closes,
    which waits for that pool.
    """
    from pyspark.sql.connect.client.reattach import (  # noqa: PLC0415 - begins threads
        ExecutePlanResponseReattachableIterator,
    )

    session: Any  # of Spark Connect, which has `__del__`
    with opened(Local(scratch=scratch), "sail") as session:
        assert session.sql("SELECT 1").count() == 1
    with ExecutePlanResponseReattachableIterator._lock:  # the other session holds it
        freeing = threading.Thread(target=session.__del__, daemon=True)
        freeing.start()
        freeing.join(timeout=10)
        return not freeing.is_alive()


def test_a_stopped_session_can_be_freed_while_another_closes(sail_process: ProcessOfCommands, tmp_path: Path) -> None:
    assert sail_process.call(_is_freed_beside_another, str(tmp_path / "scratch"))


_FROM_A_TERMINAL = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("throughline", run_name="__main__")
"""
"""The command as from a terminal: what is begun in the background, as these tests may be, ignores Ctrl-C."""


def test_ctrl_c_ends_a_run_at_once_and_the_next_one_goes_on(tmp_path: Path) -> None:
    """The signal comes during bronze."""
    synthesize(tmp_path / "archive", events=3000, seed=1, templates=TEMPLATES)
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
    with started(command, stderr=subprocess.STDOUT) as lake_process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "lake" / "_aside" / "lines_read").exists():
            assert lake_process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        lake_process.send_signal(signal.SIGINT)
        output, _ = lake_process.communicate(timeout=60)
    assert lake_process.returncode == 130, output
    assert "Traceback" not in output
    stage_counts = {stage["name"]: stage["counts"] for stage in json.loads(_run("throughline", *arguments, "--json"))}
    assert stage_counts["silver"]["runs"] > 500
