"""The tests of the lake that hold for every engine, on Sail: in a process of its own, for in one process PySpark 3.5
speaks to one kind of engine.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_the_lake_is_the_same_on_sail() -> None:
    files = [str(HERE / name) for name in ("test_lake.py", "test_differential.py")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--engine", "sail"]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-10_000:]
