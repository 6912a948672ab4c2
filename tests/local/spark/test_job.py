"""How a Spark job runs and ends; small scripts replace spark-submit and Java."""

import sys
from pathlib import Path

import psutil
import pytest

from throughline.local.spark.job import SparkJob
from throughline.local.toolchain.interpreter import Interpreter
from throughline.local.toolchain.java import JavaHome

JAVA = f"""\
#!{sys.executable}
import signal, time
dump = ("Full thread dump", "THREADS", "JNI global refs: 1")
signal.signal(signal.SIGQUIT, lambda *_: print(*dump, sep="\\n", flush=True))
print("started", flush=True)
while True:
    time.sleep(0.05)
"""
"""Not a shell script: a shell started in the background ignores the signal, and can't handle it."""


def _job(folder: Path, submit: str) -> SparkJob:
    bin_ = folder / "spark" / "bin"
    bin_.mkdir(parents=True)
    (bin_ / "spark-submit").write_text(f"#!/bin/sh\n{submit}\n")
    (bin_ / "spark-submit").chmod(0o755)
    return SparkJob(
        folder / "shop.py",
        configuration={"spark.x": "a\\b"},
        directory=folder / "job",
        arguments=["--data", "here"],
        java=JavaHome(path=folder, version=17, source="a test"),
        interpreter=Interpreter(python=folder / "python", spark_home=folder / "spark"),
    )


def _endless(folder: Path, threads: str) -> SparkJob:
    java = folder / "java"
    java.write_text(JAVA.replace("THREADS", threads))
    java.chmod(0o755)
    job = _job(folder, f"exec {java}")
    while "started" not in (folder / "job" / "output.txt").read_text():
        assert job.running
    return job


def test_a_job_gets_its_arguments_properties_and_interpreter(tmp_path: Path) -> None:
    with _job(tmp_path, 'echo "$@" "$PYSPARK_PYTHON" "$SPARK_HOME"; cat "$SPARK_CONF_DIR/spark-defaults.conf"') as job:
        result = job.wait()
    assert (result.exit_code, result.problem) == (0, None)
    script, properties = result.output.split("\n", maxsplit=1)
    assert script == f"{tmp_path}/shop.py --data here {tmp_path}/python {tmp_path}/spark"
    assert "spark.x a\\\\b\n" in properties


def test_a_failed_job_reports_its_error_and_log(tmp_path: Path) -> None:
    with _job(tmp_path, "echo 'ValueError: no rows'; exit 3") as job:
        result = job.wait()
    assert result.exit_code == 3
    assert result.problem == f"The job shop failed: ValueError: no rows. Log: {tmp_path}/job/spark.log"


@pytest.mark.parametrize(
    ("threads", "expected"),
    [
        (
            "at org.apache.spark.scheduler.LiveListenerBus.stop(LiveListenerBus.scala:217)",
            (
                "it waits for its listeners, so let it wait for them before it stops Spark, as "
                "examples/customer_merge.py does."
            ),
        ),
        ("at java.lang.Thread.sleep", "its threads are at the end of {folder}/job/output.txt."),
    ],
)
def test_a_job_that_does_not_end_is_stopped_with_a_hint_at_the_cause(
    tmp_path: Path, threads: str, expected: str
) -> None:
    other_processes = set(psutil.Process().children(recursive=True))  # servers of other tests in this process
    with _endless(tmp_path, threads) as job:
        family = set(psutil.Process().children(recursive=True)) - other_processes
        result = job.wait(seconds=0.2)
    assert result.problem == (
        f"The job shop did not end within 0.2 s and was stopped: {expected.format(folder=tmp_path)} "
        f"Log: {tmp_path}/job/spark.log"
    )
    assert result.exit_code
    _, alive = psutil.wait_procs(family, timeout=60)
    assert (alive, bool(family)) == ([], True)
    assert threads in result.output


def test_the_end_of_the_block_ends_the_job(tmp_path: Path) -> None:
    with _endless(tmp_path, "") as job:
        assert job.running
    assert not job.running
