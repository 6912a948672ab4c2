"""A session for a command, whose stdout is its own."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from throughline.lake.engine.opening import engine_of, output_of_jvm


def test_processes_started_while_a_session_opens_print_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    """As Ivy and Delta do in the JVM, before and inside a command's JSON output."""
    with output_of_jvm(""):
        subprocess.run(["echo", "resolving"], check=True)
    print("{}")  # noqa: T201 - as a command does
    assert capfd.readouterr() == ("{}\n", "resolving\n")


def test_a_command_may_keep_their_output_in_a_file(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    with output_of_jvm(str(log)):
        child = subprocess.Popen(
            ["sh", "-c", "echo resolving; echo a warning >&2; read end; echo stopped >&2"], stdin=-1
        )
    print("{}")  # noqa: T201 - as a command does
    child.communicate(b"end\n")
    assert log.read_text() == "resolving\na warning\nstopped\n"
    assert capfd.readouterr() == ("{}\n", "")


@pytest.mark.engine("spark")
def test_java_classes_are_looked_up_once(spark: SparkSession) -> None:
    engine_of(spark)
    java: Any = spark.sparkContext._jvm
    for name in ("functions", "SparkSession$"):
        assert getattr(java, name) is getattr(java, name), name
    assert java.org.apache.hadoop.fs.Path is java.org.apache.hadoop.fs.Path
