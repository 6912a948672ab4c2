"""A session for a command, whose stdout is its own."""

import subprocess
from typing import Any

import pytest
from pyspark.sql import SparkSession

from throughline.lake.engine.opening import _stdout_to_stderr, engine_of


def test_processes_started_while_a_session_opens_print_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    """As Ivy and Delta do in the JVM, before and inside a command's JSON output."""
    with _stdout_to_stderr():
        subprocess.run(["echo", "resolving"], check=True)
    print("{}")  # noqa: T201 - as a command does
    assert capfd.readouterr() == ("{}\n", "resolving\n")


@pytest.mark.engine("spark")
def test_java_classes_are_looked_up_once(spark: SparkSession) -> None:
    engine_of(spark)
    java: Any = spark.sparkContext._jvm
    for name in ("functions", "SparkSession$"):
        assert getattr(java, name) is getattr(java, name), name
    assert java.org.apache.hadoop.fs.Path is java.org.apache.hadoop.fs.Path
