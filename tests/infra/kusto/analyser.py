"""Check the syntax, names and types of queries by Kusto's own language service, as the running service does.

`analyse.cjs` runs it in one node process for all queries. Tables and columns are in tables.json, from Azure Monitor's
table reference (https://learn.microsoft.com/azure/azure-monitor/reference/tables/apptraces and its neighbours, read in
November 2026; `_LogOperation`: https://learn.microsoft.com/azure/azure-monitor/logs/monitor-workspace).
"""

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from throughline.local.toolchain.node import find_node
from throughline.local.toolchain.stamp import install_once

_HERE = Path(__file__).parent
_PINNED = (_HERE / "package.json", _HERE / "package-lock.json")
_FLAGS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
_SECONDS = 120
TABLES: dict[str, dict[str, str]] = json.loads((_HERE / "tables.json").read_text())
"""The columns of each table that the queries read, with their types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The language service's result for a query: errors and warnings, a sentence each, and the resulting columns."""

    problems: tuple[str, ...]
    columns: Mapping[str, str]


def analyse(queries: Mapping[str, str]) -> dict[str, Analysis]:
    """Analyse queries, by any name. Raises CalledProcessError with node's message when it fails."""
    outcome = subprocess.run(
        [str(find_node().node), str(_HERE / "analyse.cjs"), str(_installed())],
        input=json.dumps({"tables": TABLES, "queries": dict(queries)}),
        capture_output=True,
        text=True,
        check=True,
        timeout=_SECONDS,
    )
    return {
        name: Analysis(problems=tuple(analysis["problems"]), columns=analysis["columns"])
        for name, analysis in json.loads(outcome.stdout).items()
    }


def _installed() -> Path:
    """Return the folder of the pinned package, installed once into `build/kusto`."""

    def make(folder: Path) -> None:
        for path in _PINNED:
            shutil.copy(path, folder)
        subprocess.run([*find_node().npm, "ci", *_FLAGS], cwd=folder, capture_output=True, check=True, timeout=_SECONDS)

    return install_once("kusto", _PINNED, make) / "node_modules" / "@kusto" / "language-service-next"
