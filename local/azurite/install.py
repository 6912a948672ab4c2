"""Install the pinned Azurite into `build/azurite`."""

import shutil
import subprocess
from pathlib import Path

from local.toolchain.node import NodeTools, find_node
from local.toolchain.stamp import install_once

_HERE = Path(__file__).parent
_MADE_FROM = (_HERE / "package.json", _HERE / "package-lock.json")
_FLAGS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")


class AzuriteError(Exception):
    """Azurite could not be installed or started; the message says what to do."""


def install(tools: NodeTools | None = None) -> Path:
    """Install Azurite unless this version is installed, and return its main script.

    Raises AzuriteError with npm's message when that fails, NodeError when there is no node.
    """

    def make(folder: Path) -> None:
        for path in _MADE_FROM:
            shutil.copy(path, folder)
        command = [*(tools or find_node()).npm, "ci", *_FLAGS]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 -- our own command
        if done.returncode:
            raise AzuriteError(f"`npm ci` for Azurite failed, is the registry reachable? {done.stderr.strip()[-2000:]}")

    return install_once("azurite", _MADE_FROM, make) / "node_modules" / "azurite" / "dist" / "src" / "azurite.js"
