"""Which engine runs the lake on this machine: Spark, or Sail, which is there at once and is quick with little."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.console import fail

MOST = 64 * 1024 * 1024
"""Bytes of files, packed, that Sail is given by itself: it takes some 20 times as much memory, beyond it Spark
is as quick."""

_PROGRESS = "bronze/progress/_delta_log"


class Engine(StrEnum):
    """What the user asks for."""

    auto = "auto"
    spark = "spark"
    sail = "sail"


Asked = Annotated[
    Engine, typer.Option("--engine", help="auto: Sail for little data that lies on this machine, else Spark")
]


def choose(asked: Engine, root: str, sources: Sequence[str] = (), *, report: str = "") -> Engine:
    """The engine for a lake and what it is to read. Ends the command where Sail is asked for and cannot do it."""
    from local.lake_session import has_sail  # noqa: PLC0415 - PySpark is slow to import

    if asked is Engine.spark:
        return asked
    problems = {
        "it is not installed: pip install pysail 'pyspark[connect]'": not has_sail(),
        "--report needs the listener, which runs in Spark": bool(report),
        "it reads and writes this machine's files alone": any("://" in place for place in (root, *sources)),
    }
    problem = next((words for words, holds in problems.items() if holds), "")
    if asked is Engine.sail:
        return fail(f"Sail cannot run this: {problem}", code=2) if problem else asked
    return Engine.spark if problem or _news(root, sources) > MOST else Engine.sail


def _news(root: str, sources: Sequence[str]) -> int:
    """Bytes of the files that were written since the lake last came to its end; of all, where there is none."""
    done = Path(root) / _PROGRESS
    since = done.stat().st_mtime if done.exists() else 0.0
    files = (path.stat() for source in sources for path in Path(source).rglob("*") if path.is_file())
    return sum(each.st_size for each in files if each.st_mtime >= since)
