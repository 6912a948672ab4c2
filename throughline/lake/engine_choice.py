"""Choose the engine of a run on one machine: Spark, or Sail, which starts at once and is quick with little data. List
the files of a source there, as Hadoop does.

Imports no PySpark, so that `--help` stays quick.
"""

import importlib.util
import os
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote

from shared.errors import ThroughlineError

MAX_SAIL_BYTES = 64 * 1024 * 1024
"""The most bytes of new files, compressed, for which `auto` chooses Sail. Sail needs some 20 times as much memory, and
above this Spark is as quick.
"""

_AS_IT_IS = "/!$&'()+,;=:@^|~"
"""Characters of a folder's name that Sail writes as they are, beside letters and digits of ASCII, `_`, `.` and `-`. It
writes others of a Delta table percent-encoded, into another folder, where it does not find them again.
"""

_PROGRESS = "bronze/progress/_delta_log"


class EngineName(StrEnum):
    """An engine, or the choice by the amount of data."""

    auto = "auto"
    spark = "spark"
    sail = "sail"


class EngineUnsuitableError(ThroughlineError):
    """The engine that was asked for cannot do this run; the message says why."""


def choose(choice: EngineName, root: str, sources: Sequence[str] = (), *, report: str = "") -> EngineName:
    """The engine (`spark` or `sail`) for the lake at `root` and the `sources` to read. `report` is the URL of the
    receiver to which the run itself is reported, if any. Raises EngineUnsuitableError where Sail was asked for and
    cannot do it.
    """
    if choice is EngineName.spark:
        return choice
    problems = {
        "it is not installed: pip install pysail 'pyspark[connect]'": not has_sail(),
        "--report needs the listener, which runs in Spark": bool(report),
        "it reads and writes this machine's files alone": any("://" in place for place in (root, *sources)),
        "it would write to a folder of another name: use ASCII, without spaces": quote(root, safe=_AS_IT_IS) != root,
    }
    problem = next((words for words, holds in problems.items() if holds), "")
    if choice is EngineName.sail:
        if problem:
            raise EngineUnsuitableError(f"Sail cannot run this: {problem}")
        return choice
    return EngineName.spark if problem or _new_bytes(root, sources) > MAX_SAIL_BYTES else EngineName.sail


def has_sail() -> bool:
    """Whether Sail and what PySpark needs to reach it are installed."""
    return all(importlib.util.find_spec(name) for name in ("pysail", "grpc", "grpc_status"))


def _new_bytes(root: str, sources: Sequence[str]) -> int:
    """Bytes of the files written since the lake's last run ended; of all files where there was none."""
    progress_folder = Path(root) / _PROGRESS
    since = progress_folder.stat().st_mtime if progress_folder.exists() else 0.0
    files = (status for source in sources for _, status in files_below(Path(source)))
    return sum(file.st_size for file in files if file.st_mtime >= since)


def files_below(place: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The files below a folder without those in hidden folders; of a file, itself; none where nothing is. Links are
    followed, but no folder is listed again within itself. Raises OSError where a folder may not be listed.
    """
    if place.is_file():
        yield str(place), place.stat()
    elif place.is_dir():
        yield from _below(str(place), frozenset())


def _below(folder: str, upper_folders: frozenset[tuple[int, int]]) -> Iterator[tuple[str, os.stat_result]]:
    """`upper_folders`: the device and number of each folder on the way to this one."""
    folder_status = os.stat(folder)  # noqa: PTH116 - pathlib is slow for very many files
    folder_key = (folder_status.st_dev, folder_status.st_ino)
    if folder_key in upper_folders:
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if not entry.name.startswith(("_", ".")):
                    yield from _below(entry.path, upper_folders | {folder_key})
            elif entry.is_file():
                yield entry.path, entry.stat()
