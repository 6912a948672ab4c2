"""The build hook of the wheel: one package, `throughline`, that contains all others.

In the repository `shared` is a top-level package, as the functions import it. In site-packages so general a name could
clash with another package, so the wheel has it as `throughline.shared`, and the build rewrites all imports of it
(docs/contribute/decisions/0010). Hatchling loads this file by its path:
https://hatch.pypa.io/latest/plugins/build-hook/custom/.
"""

import ast
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "throughline"
SHARED = "shared"
FUNCTIONS = ("receiver_function", "parser_function", "sweeper_function", "lineage_function")
FILES = (
    "host.json",
    ".python-version",
    "infra",
    "examples",
    "requirements",
    "requirements.txt",
    "spark_listener",
    "viewer",
)
"""The files below the project's root, `throughline/` in site-packages, that the local world and the commands read."""
_NOT_NEEDED = shutil.ignore_patterns("__pycache__", "*.pyc", "wheel.py", "node_modules", "*.java", "README.md")
_JAR = "throughline-plan.jar"


class WheelHook(BuildHookInterface):  # type: ignore[type-arg]  # the type of its configuration is internal to hatchling
    """Adds the rewritten packages to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Prepare the packages before the wheel is written. An editable install, the repository itself, needs none."""
        if version == "editable":
            return
        self._place = tempfile.TemporaryDirectory()
        tree = Path(self._place.name) / PACKAGE
        mount(Path(self.root), tree)
        shutil.copy2(_plan_jar(Path(self.root)), tree / "spark_listener" / _JAR)
        shutil.rmtree(tree / "spark_listener" / "src")
        build_data["force_include"][str(tree)] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's
        """Clean up after the wheel is written."""
        if version != "editable":
            self._place.cleanup()


def _plan_jar(root: Path) -> Path:
    """Return the plan listener's jar, compiled if needed. Raises RuntimeError when that fails."""
    command = [sys.executable, "-m", "throughline.plan_jar"]
    outcome = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603 - our own module
    if outcome.returncode:
        raise RuntimeError(
            f"The wheel contains {_JAR}, which could not be built; use `make wheel`. {outcome.stderr.strip()}"
        )
    return root / "build" / "plan_jar" / _JAR


def mount(root: Path, tree: Path) -> None:
    """Copy the packages below `root` to `tree`, with their imports rewritten."""
    shutil.copytree(root / PACKAGE, tree, ignore=_NOT_NEEDED)
    for name in (SHARED, *FUNCTIONS, *FILES):
        if (root / name).is_dir():
            shutil.copytree(root / name, tree / name, ignore=_NOT_NEEDED)
        else:
            shutil.copy2(root / name, tree / name)
    modules = {_module(path.relative_to(root)) for path in (root / SHARED).rglob("*.py")}
    for path in tree.rglob("*.py"):
        path.write_text(rewritten(path.read_text(encoding="utf-8"), modules), encoding="utf-8")


def rewritten(source: str, modules: set[str]) -> str:
    """Return a module's source with `throughline.` before each of these modules.

    It changes imports, and strings that are exactly a module's name (importlib.resources).
    Raises ValueError for `import shared.x`, which would bind another name.
    """
    edits = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == SHARED:
            edits.append((node.lineno, node.col_offset + len("from ")))
        elif isinstance(node, ast.Import) and any(alias.name.partition(".")[0] == SHARED for alias in node.names):
            raise ValueError(f"line {node.lineno}: write `from package import module`")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in modules - {SHARED}:
            edits.append((node.lineno, node.col_offset + 1))
    lines = source.splitlines(keepends=True)
    for line, column in sorted(edits, reverse=True):
        text = lines[line - 1].encode()  # ast counts bytes
        lines[line - 1] = (text[:column] + f"{PACKAGE}.".encode() + text[column:]).decode()
    return "".join(lines)


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")
