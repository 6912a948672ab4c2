"""Install the pinned Azurite into `build/azurite`."""

import shutil
import subprocess
from pathlib import Path

from throughline.local.toolchain.certificates import certificate_advice, with_certificates
from throughline.local.toolchain.node import NodeTools, find_node
from throughline.local.toolchain.stamp import install_once

_HERE = Path(__file__).parent
_PACKAGES = (_HERE / "package.json", _HERE / "package-lock.json")
_SCRIPT = "azurite.js"
_BUNDLE = ("--bundle", "--platform=node", "--external:pg-hstore", "--log-level=error")  # PostgreSQL's, not installed
_FLAGS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")


class AzuriteError(Exception):
    """Azurite could not be installed or started; the message says what to do."""


def install(tools: NodeTools | None = None) -> Path:
    """Install Azurite unless this version is installed, and return its main script.

    The script is one file, bundled from all packages: node starts it in half the time. Raises AzuriteError with
    the failed program's message, NodeError when there is no node.
    """

    def make(folder: Path) -> None:
        for path in _PACKAGES:
            shutil.copy(path, folder)
        node_tools, packages = tools or find_node(), folder / "node_modules"
        _run([*node_tools.npm, "ci", *_FLAGS], folder, "`npm ci` for Azurite failed, is the registry reachable?")
        source = packages / "azurite" / "dist" / "src" / "azurite.js"
        bundle = [str(node_tools.node), str(packages / "esbuild" / "bin" / "esbuild"), str(source), *_BUNDLE]
        _run([*bundle, f"--outfile={folder / _SCRIPT}"], folder, "esbuild could not bundle Azurite:")
        shutil.rmtree(packages)

    return install_once("azurite", (*_PACKAGES, Path(__file__)), make) / _SCRIPT


def _run(command: list[str], folder: Path, problem: str) -> None:
    outcome = subprocess.run(  # noqa: S603 -- our own command
        command, cwd=folder, env=with_certificates(), capture_output=True, text=True, check=False
    )
    if outcome.returncode:
        raise AzuriteError(f"{problem} {outcome.stderr.strip()[-2000:]}{certificate_advice(outcome.stderr)}")
