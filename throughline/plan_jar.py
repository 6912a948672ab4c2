"""`python -m throughline.plan_jar`: build the plan listener's jar; the same files give the same bytes.

An installed wheel contains the jar. In a checkout `spark_listener/src` is compiled to Java 8 bytecode by the pinned
Eclipse compiler against the jars of the pinned PySpark 3.5: a Java runtime is enough, and every machine uses the same
compiler. The archive has no times and orders its files by name.
"""

import argparse
import hashlib
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

from shared.errors import ThroughlineError
from throughline.local.spark.job import LISTENER_CLASS as OPENLINEAGE_LISTENER
from throughline.local.toolchain.certificates import certificate_advice
from throughline.local.toolchain.interpreter import InterpreterError, own
from throughline.local.toolchain.java import JavaNeed, NoJavaError, find_java
from throughline.local.toolchain.stamp import install_once
from throughline.local.toolchain.versions import SPARK_3, SPARK_4
from throughline.project import BUILD, ROOT

JAR = "throughline-plan.jar"
LISTENER_CLASS = "throughline.plan.PlanListener"
LISTENERS = f"{OPENLINEAGE_LISTENER},{LISTENER_CLASS}"
"""For `spark.extraListeners`, in this order: the plan listener uses the run ids of the other one."""

SHIPPED = ROOT / "spark_listener" / JAR
"""The jar in an installed wheel; a checkout has the sources instead."""
SOURCES = ROOT / "spark_listener" / "src"
COMPILER = ("org.eclipse.jdt", "ecj", "3.44.0")
COMPILER_DIGEST = "14c46ddc2e511c46c998da728f6a80f13a689c920f3832402f7ad150f6a6188d"
"""SHA-256 of the compiler's jar."""

_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest time in a zip file
_MANIFEST = "META-INF/MANIFEST.MF"


class PlanJarError(ThroughlineError):
    """The jar could not be built; the message says why and what to do."""


def plan_jar(*, build: Path = BUILD) -> Path:
    """Return the wheel's jar or, in a checkout, the jar compiled from the current sources.

    In a checkout it raises PlanJarError, NoJavaError (the compiler needs Java 17 or later), and InterpreterError
    without PySpark.
    """
    if SHIPPED.exists():
        return SHIPPED
    sources = tuple(sorted(SOURCES.rglob("*.java")))
    made_from = (*sources, Path(__file__))
    return install_once("plan_jar", made_from, partial(_make, sources), build=build) / JAR


def plan_configuration(events: Path | None = None) -> dict[str, str]:
    """Return the Spark properties that add the jar to a session with the listener; `events`: its own file of events.

    Raises the errors of `plan_jar`.
    """
    own_file = {"spark.throughline.plan.transport.location": str(events)} if events else {}
    return {"spark.jars": str(plan_jar()), "spark.extraListeners": LISTENERS, **own_file}


def compiler(java: Path, *, build: Path = BUILD) -> Path:
    """Return the compiler's jar, which Java's Ivy downloads from Maven Central at its first use.

    Raises PlanJarError when that fails or the jar is another one, and InterpreterError without PySpark.
    """
    return install_once("ecj", (Path(__file__),), partial(_fetch, java), build=build) / f"{COMPILER[1]}.jar"


def _make(sources: tuple[Path, ...], folder: Path) -> None:
    java = find_java(JavaNeed(platform=SPARK_4)).path / "bin" / "java"
    jars = sorted((own().spark_home / "jars").glob("*.jar"))
    if not any(jar.name == f"spark-core_{SPARK_3.scala}-{SPARK_3.spark}.jar" for jar in jars):
        raise PlanJarError(f"The jar is compiled against PySpark {SPARK_3.spark}, which is not installed: `make setup`")
    classes = folder / "classes"
    command = [str(java), "-jar", str(compiler(java)), "-source", "8", "-target", "8", "-parameters", "-g:source,lines"]
    command += ["-nowarn", "-encoding", "UTF-8", "-cp", ":".join(map(str, jars)), "-d", str(classes)]
    _run([*command, *map(str, sources)], "The plan listener does not compile.")
    _zip(folder / JAR, classes)


def _fetch(java: Path, folder: Path) -> None:
    """Download the compiler into the folder by PySpark's Ivy, and check it."""
    ivy = [str(java), "-cp", str(own().spark_home / "jars" / "*"), "org.apache.ivy.Main", "-cache", str(folder / "ivy")]
    artifact = ["-types", "jar", "-confs", "default", "-notransitive", "-dependency", *COMPILER]
    _run(
        [*ivy, *artifact, "-retrieve", f"{folder}/[artifact].[ext]"],
        "The Java compiler did not come from Maven Central: is there a network, and does it reach Maven Central?",
    )
    with (folder / f"{COMPILER[1]}.jar").open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    if digest != COMPILER_DIGEST:
        raise PlanJarError(
            f"The download of {':'.join(COMPILER)} from Maven Central has the wrong SHA-256 ({digest}): not used."
        )


def _zip(jar: Path, classes: Path) -> None:
    files = {path.relative_to(classes).as_posix(): path.read_bytes() for path in classes.rglob("*.class")}
    manifest = b"Manifest-Version: 1.0\r\nAutomatic-Module-Name: throughline.plan\r\n\r\n"
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for name, content in ((_MANIFEST, manifest), *sorted(files.items())):
            entry = zipfile.ZipInfo(name, date_time=_LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix: the permissions below apply
            entry.external_attr = 0o644 << 16
            target.writestr(entry, content)


def _run(command: list[str], problem: str) -> None:
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    if outcome.returncode:
        output = (outcome.stdout + outcome.stderr).strip()  # Ivy writes to the first, Java its options to the second
        raise PlanJarError(f"{problem} {output[-2000:]}{certificate_advice(output)}")


def main() -> int:
    """Run the command line; return 0, or 2 after an error message."""
    argparse.ArgumentParser(prog="python -m throughline.plan_jar", description="Make the plan listener.").parse_args()
    try:
        jar = plan_jar()
    except (PlanJarError, NoJavaError, InterpreterError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    sys.stdout.write(f"{jar}: {jar.stat().st_size:,} bytes, SHA-256 {digest}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
