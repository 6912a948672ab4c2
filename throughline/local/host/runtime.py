"""Install Microsoft's V1 worker runtime into `build/v1runtime`, and put it on the path."""

import shutil
import subprocess
import sys
from pathlib import Path

from throughline.local.toolchain.certificates import certificate_advice, with_certificates
from throughline.local.toolchain.stamp import install_once

_REQUIREMENT = Path(__file__).parents[1] / "runtime.txt"


class RuntimeInstallError(Exception):
    """Microsoft's runtime could not be installed; the message is the installer's."""


def install() -> Path:
    """Install the pinned runtime unless it is installed, and return its folder. Raises RuntimeInstallError."""
    return install_once("v1runtime", (_REQUIREMENT,), _make)


def put_on_path() -> None:
    """Make `azure_functions_runtime_v1` importable, installing it first when it is missing."""
    folder = str(install())
    if folder not in sys.path:
        sys.path.append(folder)  # last: it must not shadow the app's own packages


def _make(folder: Path) -> None:
    # The package requires Python 3.13, Azure's version for it, but also runs on 3.11. It is pure Python, so uv can
    # install it for the later version.
    command = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable, "--python-version", "3.13"]
    command += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--compile-bytecode"]
    command += ["--target", str(folder), "-r", str(_REQUIREMENT)]
    outcome = subprocess.run(command, env=with_certificates(), capture_output=True, text=True, check=False)  # noqa: S603 -- our own command
    if outcome.returncode:
        advice = certificate_advice(outcome.stderr)
        raise RuntimeInstallError(f"installing {_REQUIREMENT.name} failed: {outcome.stderr.strip()}{advice}")
    shutil.rmtree(folder / "tests", ignore_errors=True)  # shipped by mistake, it would shadow every other `tests`
