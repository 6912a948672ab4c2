"""Install Microsoft's V1 worker runtime into `build/v1runtime`, and put it on the path."""

import shutil
import sys
from pathlib import Path

from throughline.local.toolchain.installing import UV_INSTALL, run_installer
from throughline.local.toolchain.stamp import install_once

_REQUIREMENT = Path(__file__).parents[1] / "runtime.txt"


def install() -> Path:
    """Install the pinned runtime unless it is installed, and return its folder. Raises LocalError."""
    return install_once("v1runtime", (_REQUIREMENT,), _make)


def put_on_path() -> None:
    """Make `azure_functions_runtime_v1` importable, installing it first when it is missing."""
    folder = str(install())
    if folder not in sys.path:
        sys.path.append(folder)  # last: it must not shadow the app's own packages


def _make(folder: Path) -> None:
    # The package requires Python 3.13, Azure's version for it, but also runs on 3.11. It is pure Python, so uv can
    # install it for the later version.
    command = [*UV_INSTALL, "--python-version", "3.13", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    command += ["--compile-bytecode", "--target", str(folder), "-r", str(_REQUIREMENT)]
    run_installer(command, f"installing {_REQUIREMENT.name} failed")
    shutil.rmtree(folder / "tests", ignore_errors=True)  # shipped by mistake, it would shadow every other `tests`
