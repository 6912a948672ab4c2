"""Commands of Throughline in one process beside the tests."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Self

from typer.testing import CliRunner

from cli.main import app

_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


class ProcessOfCommands:
    """A process that runs one command after another, as a context manager: in one process PySpark 3.5 speaks to one
    kind of engine, and the tests' own speaks to Spark.
    """

    def __init__(self) -> None:
        self._pool = ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def run(self, *words: str | Path, environment: Mapping[str, str] | None = None) -> Done:
        """Run a command with these variables besides the tests' own; an empty one is not set."""
        return self._pool.submit(_invoked, tuple(map(str, words)), environment or {}).result(timeout=_SECONDS)


def _invoked(words: Sequence[str], environment: Mapping[str, str]) -> Done:
    result = CliRunner().invoke(app, words, env={name: text or None for name, text in environment.items()})
    return Done(returncode=result.exit_code, stdout=result.stdout, stderr=result.stderr)
