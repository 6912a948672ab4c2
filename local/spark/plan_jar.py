"""Build throughline-plan.jar from spark_listener/: `python -m local.spark.plan_jar`.

The compiler is always Eclipse's (ecj) from Maven Central, whatever JDK there is, so that the same sources give the same
bytes everywhere. It needs a Java runtime only, and writes classes for Java 8.
"""

import hashlib
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

from local.spark.job import LISTENER_CLASS
from local.toolchain.interpreter import own
from local.toolchain.java import JavaNeed, find_java
from local.toolchain.stamp import ROOT, install_once
from local.toolchain.versions import SPARK_3

NAME = "throughline-plan.jar"
PLAN_LISTENER_CLASS = "throughline.plan.PlanListener"
LISTENERS = f"{LISTENER_CLASS},{PLAN_LISTENER_CLASS}"
"""For `spark.extraListeners`, in this order: the plan listener takes the run ids of the other one."""

SOURCES = ROOT / "spark_listener" / "src"
_COMPILER = ("org.eclipse.jdt", "ecj", "3.33.0")
_DIGEST = "f7686c4960cf70c2ebc5c500a73a8cfc04541b730c18f1c5c21329889b137f45"
_TIME = (2026, 1, 1, 0, 0, 0)
"""Of every file in the jar: its bytes depend on the sources alone."""


class PlanJarError(Exception):
    """The jar could not be built; the message says why and what to do."""


def plan_jar() -> Path:
    """The jar, built if its sources are new. Raises PlanJarError, NoJavaError, InterpreterError."""
    sources = tuple(sorted(SOURCES.rglob("*.java")))
    return install_once("plan_jar", (Path(__file__), *sources), partial(_make, sources)) / NAME


def plan_configuration(events: Path | None = None) -> dict[str, str]:
    """The Spark properties that add the jar to a session with the listener; `events`: a file of its own for its events.

    Raises as `plan_jar`.
    """
    own_file = {"spark.throughline.plan.transport.location": str(events)} if events else {}
    return {"spark.jars": str(plan_jar()), "spark.extraListeners": LISTENERS, **own_file}


def _make(sources: tuple[Path, ...], folder: Path) -> None:
    java = str(find_java(JavaNeed(platform=SPARK_3)).path / "bin" / "java")
    jars = str(own().spark_home / "jars" / "*")
    compiler = _fetch(java, jars, folder)
    classes = folder / "classes"
    _run(
        [
            *(java, "-cp", str(compiler), "org.eclipse.jdt.internal.compiler.batch.Main"),
            *("-source", "8", "-target", "8", "-nowarn", "-encoding", "UTF-8", "-d", str(classes)),
            *("-cp", ":".join(map(str, sorted((own().spark_home / "jars").glob("*.jar"))))),
            *map(str, sources),
        ],
        f"{SOURCES} could not be compiled.",
    )
    with zipfile.ZipFile(folder / NAME, "w", zipfile.ZIP_DEFLATED) as jar:
        for path in sorted(classes.rglob("*.class")):
            entry = zipfile.ZipInfo(path.relative_to(classes).as_posix(), _TIME)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            jar.writestr(entry, path.read_bytes())


def _fetch(java: str, jars: str, folder: Path) -> Path:
    """The compiler, checked, by the Ivy that PySpark brings."""
    ivy = [java, "-cp", jars, "org.apache.ivy.Main", "-cache", str(folder / "ivy")]
    what = ["-types", "jar", "-confs", "default", "-notransitive", "-dependency", *_COMPILER]
    _run(
        [*ivy, *what, "-retrieve", f"{folder}/[artifact].[ext]"],
        "The Java compiler ecj did not come from Maven Central: is there a network, and does it reach Maven Central?",
    )
    compiler = folder / "ecj.jar"
    digest = hashlib.sha256(compiler.read_bytes()).hexdigest()
    if digest != _DIGEST:
        raise PlanJarError(f"What Maven Central gave as {_COMPILER[1]} {_COMPILER[2]} is something else ({digest}).")
    return compiler


def _run(command: list[str], problem: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    if done.returncode:
        raise PlanJarError(f"{problem} {(done.stderr or done.stdout).strip()[-2000:]}")


if __name__ == "__main__":
    sys.stdout.write(f"{plan_jar()}\n")
