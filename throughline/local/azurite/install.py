"""Install the pinned Azurite into `build/azurite`."""

import shutil
from pathlib import Path

from throughline.local.toolchain.installing import run_installer
from throughline.local.toolchain.node import NodeTools, find_node
from throughline.local.toolchain.stamp import install_once

_FOLDER = Path(__file__).parent
_PACKAGES = (_FOLDER / "package.json", _FOLDER / "package-lock.json")
_SCRIPT = "azurite.js"
_BUNDLE = ("--bundle", "--platform=node", "--external:pg-hstore", "--log-level=error")  # PostgreSQL's, not installed
_FLAGS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")


def install(tools: NodeTools | None = None) -> Path:
    """Install Azurite unless this version is installed, and return its main script.

    The script is one file, bundled from all packages: node starts it in half the time. Raises LocalError with
    the failed program's message, NodeError when there is no node.
    """

    def make(folder: Path) -> None:
        for path in _PACKAGES:
            shutil.copy(path, folder)
        node_tools, packages = tools or find_node(), folder / "node_modules"
        problem = "`npm ci` for Azurite failed (is the registry reachable?)"
        run_installer([*node_tools.npm, "ci", *_FLAGS], problem, folder=folder)
        source = packages / "azurite" / "dist" / "src" / "azurite.js"
        bundle = [str(node_tools.node), str(packages / "esbuild" / "bin" / "esbuild"), str(source), *_BUNDLE]
        run_installer([*bundle, f"--outfile={folder / _SCRIPT}"], "esbuild could not bundle Azurite", folder=folder)
        shutil.rmtree(packages)

    return install_once("azurite", (*_PACKAGES, Path(__file__)), make) / _SCRIPT
