"""A part of `make test-bare`: the tests that start Java or Node, as on a machine that has neither."""

import shutil
import subprocess
import sys

from tests.bare import bare_environment
from throughline.project import ROOT

_SLICE = (
    "tests/e2e/test_platforms.py::test_a_local_session_sends_lineage",
    "tests/lake/bronze/test_decoded_events.py::test_an_event_decoded_by_other_code_is_decoded_again",
)
"""A world (Azurite needs Node) with a job on Spark 3.5 and the listener, and the lake, which needs another Java."""

_SPARK_4_1 = """
import subprocess
from throughline.local.toolchain.java import JavaNeed, find_java
from throughline.local.toolchain.versions import SPARK_4
java = find_java(JavaNeed(platform=SPARK_4, listener=True))
assert java.source.startswith("PyPI"), java
subprocess.run([java.path / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"], check=True)
"""


def bare(*arguments: str) -> str:
    outcome = subprocess.run(
        [sys.executable, *arguments],
        env=bare_environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert outcome.returncode == 0, outcome.stdout[-10_000:] + outcome.stderr[-10_000:]
    return outcome.stdout


def test_the_bare_environment_has_no_java_and_no_node() -> None:
    path = bare_environment()["PATH"]
    assert [program for program in ("java", "node", "npm") if shutil.which(program, path=path)] == []
    assert shutil.which("sh", path=path)


def test_tests_that_start_java_or_node_pass_without_installed_ones() -> None:
    for part in ("java", "node"):
        bare("-m", f"throughline.local.toolchain.{part}")
    passed = bare("-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--proofs", *_SLICE)
    assert f"{len(_SLICE)} passed" in passed


def test_a_java_of_pypi_accepts_the_arguments_of_spark_4() -> None:
    bare("-m", "throughline.local.toolchain.java")
    bare("-c", _SPARK_4_1)
