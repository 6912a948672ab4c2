"""A session for a command, whose stdout is its own."""

import subprocess

import pytest

from spark_pipeline.engine.opening import _stdout_to_stderr


def test_processes_started_while_a_session_opens_print_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    """As Ivy and Delta do in the JVM, before and inside a command's JSON output."""
    with _stdout_to_stderr():
        subprocess.run(["echo", "resolving"], check=True)
    print("{}")  # noqa: T201 - as a command does
    assert capfd.readouterr() == ("{}\n", "resolving\n")
