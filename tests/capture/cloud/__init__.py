"""Cloud names on one machine: a Hadoop file system that keeps abfss, wasbs and OneLake paths in a local folder."""

import shutil
import subprocess
from functools import partial
from pathlib import Path

from local.toolchain.java import JavaHome
from local.toolchain.stamp import install_once

_SOURCE = Path(__file__).parent / "CloudNames.java"
_SCHEMES = ("abfss", "wasbs")


class NoCompilerError(Exception):
    """No Java compiler on this machine, or it refused the class; the message says what to do."""


def cloud_configuration(folder: Path, java: JavaHome, spark_home: Path) -> dict[str, str]:
    """Compile the file system against this Spark, once; return the properties that keep cloud paths in `folder`.

    Raises NoCompilerError: a Java runtime alone does not have `javac`.
    """
    hadoop = next((spark_home / "jars").glob("hadoop-client-api-*.jar"))
    classes = install_once(f"cloud_names_{hadoop.stem}_java{java.version}", (_SOURCE,), partial(_compile, java, hadoop))
    return {
        "spark.driver.extraClassPath": str(classes),
        "spark.hadoop.throughline.cloud.folder": str(folder / "cloud"),
    } | {f"spark.hadoop.fs.{scheme}.impl": "CloudNames" for scheme in _SCHEMES}


def _compile(java: JavaHome, hadoop: Path, classes: Path) -> None:
    beside = java.path / "bin" / "javac"
    compiler = str(beside) if beside.exists() else shutil.which("javac")
    if compiler is None:
        raise NoCompilerError("Cloud names need a Java compiler: install a JDK (not only a runtime), 11 or later.")
    command = [compiler, "-nowarn", "-d", str(classes), "-cp", str(hadoop), str(_SOURCE)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode:
        raise NoCompilerError(f"{compiler} refused {_SOURCE.name}: {outcome.stderr.strip()}")
