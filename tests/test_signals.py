"""Tests can interrupt their child processes, also when a shell runs the tests in the background."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_PRINT_HANDLER = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"


def test_a_child_handles_an_interrupt() -> None:
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    output = subprocess.run([sys.executable, "-c", _PRINT_HANDLER], capture_output=True, text=True, check=True).stdout
    assert output == "True\n"


@pytest.mark.parametrize("spread", [(), ("-n", "1")], ids=["alone", "by xdist"])
def test_a_child_handles_an_interrupt_when_the_tests_run_in_the_background(spread: tuple[str, ...]) -> None:
    inner = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *spread]
    inner.append(f"{Path(__file__)}::{test_a_child_handles_an_interrupt.__name__}")
    outcome = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *inner],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout
