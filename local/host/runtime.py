"""Install Microsoft's V1 worker runtime into `build/v1runtime`, and put it on the path."""

import shutil
import subprocess
import sys
from pathlib import Path

from local.toolchain.stamp import install_once

_REQUIREMENT = Path(__file__).parents[1] / "runtime.txt"


class RuntimeInstallError(Exception):
    """Microsoft's runtime could not be installed; the message holds the installer's own words."""


def install() -> Path:
    """Install the pinned runtime unless it is there, and return its folder. Raises RuntimeInstallError."""
    return install_once("v1runtime", (_REQUIREMENT,), _make)


def put_on_path() -> None:
    """Make `azure_functions_runtime_v1` importable, installing it first when it is missing."""
    folder = str(install())
    if folder not in sys.path:
        sys.path.append(folder)  # last: it must not hide what the app brings


def _make(folder: Path) -> None:
    # The package asks for Python 3.13, where Azure uses it, and runs on 3.11 as well: uv gets the later version,
    # which only a pure-Python package allows.
    command = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable, "--python-version", "3.13"]
    command += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--compile-bytecode"]
    command += ["--target", str(folder), "-r", str(_REQUIREMENT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own command
    if done.returncode:
        raise RuntimeInstallError(f"installing {_REQUIREMENT.name} failed: {done.stderr.strip()}")
    shutil.rmtree(folder / "tests", ignore_errors=True)  # shipped by mistake, would hide every other `tests`
