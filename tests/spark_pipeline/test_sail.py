"""The lake on Sail: what its tests hold every engine to, and the commands as a user runs them. In other processes, for
in one of them PySpark 3.5 speaks to one kind of engine.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def _run(module: str, *words: str | Path) -> str:
    command = [sys.executable, "-m", module, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-10_000:]
    return done.stdout


def test_the_lake_is_the_same_on_sail() -> None:
    files = [HERE / name for name in ("test_lake.py", "test_differential.py")]
    _run("pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--engine", "sail", *files)


def test_a_lake_is_made_and_asked_without_java(tmp_path: Path) -> None:
    archive, lake = tmp_path / "archive", ("--lake", tmp_path / "lake")
    _run("cli", "synth", "--events", "1000", "--out", archive)

    def ask(*words: str | Path) -> Any:
        return json.loads(_run("cli", "lake", *words, *lake, "--engine", "sail", "--json"))

    done = {stage["name"]: stage["counts"] for stage in ask("run", archive, "--as-of", "never")}
    assert done["bronze"]["events"] > 900
    assert done["current"]["processes"] > 10
    assert not any(count for stage in ask("run", archive, "--as-of", "never") for count in stage["counts"].values())
    (whole,) = ask("coverage", "--level", "all")
    assert whole["linked"] > 10
    assert ask("changes") == [] or {"qualified_name", "change"} <= ask("changes")[0].keys()
    assert {each["depth"] for each in ask("impact", "/data/chain0/t0", "order_id")} >= {1}
