"""Compile the Java classes that captures need, against a Spark's own jars."""

import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from throughline.local.toolchain.java import JavaHome
from throughline.local.toolchain.stamp import install_once


class NoCompilerError(Exception):
    """There is no Java compiler on this machine, or it refused a class; the message says what to do."""


def compile_java(java: JavaHome, sources: Sequence[Path], class_path: str, classes: Path) -> None:
    """Compile the sources into the folder `classes`, with names of parameters. Raises NoCompilerError."""
    local_javac = java.path / "bin" / "javac"
    compiler = str(local_javac) if local_javac.exists() else shutil.which("javac")
    names = ", ".join(source.name for source in sources)
    if compiler is None:
        raise NoCompilerError(f"{names}: no Java compiler. Install a JDK (not only a runtime), 11 or later.")
    command = [compiler, "-parameters", "-nowarn", "-d", str(classes), "-cp", class_path, *map(str, sources)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode:
        raise NoCompilerError(f"{compiler} refused {names}: {outcome.stderr.strip()}")


def class_source(script: Path) -> Path:
    """Where the class beside a script would be: `PlanTyped.java` beside `plan_typed.py`."""
    return script.with_name("".join(map(str.title, script.stem.split("_"))) + ".java")


def classes_beside(script: Path, java: JavaHome, spark_home: Path) -> dict[str, str]:
    """Compile the class beside a script, once for each Spark.

    Return the properties that put it on the class path; none without a class. Raises NoCompilerError.
    """
    source = class_source(script)
    if not source.exists():
        return {}
    core = next((spark_home / "jars").glob("spark-core_*.jar"))
    folder = f"{source.stem}_{core.stem}_java{java.version}"
    make = partial(compile_java, java, (source,), str(spark_home / "jars" / "*"))
    return {"spark.driver.extraClassPath": str(install_once(folder, (source,), make))}
