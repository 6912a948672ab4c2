"""Commands of Throughline in a child process of the tests."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

from typer.testing import CliRunner

P = ParamSpec("P")
T = TypeVar("T")

_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """The exit code and the output of a command."""

    returncode: int
    stdout: str
    stderr: str


class ProcessOfCommands:
    """A process that runs one command after another, as a context manager.

    In one process PySpark 3.5 works with one kind of engine only, and the tests' own process works with Spark.
    """

    def __init__(self) -> None:
        self._pool = ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def run(self, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> CommandResult:
        """Run a command in the tests' environment with these variables; an empty one is unset."""
        return self.call(_invoked, tuple(map(str, arguments)), environment or {})

    def call(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call a function of a module there, and return its result."""
        return self._pool.submit(work, *arguments, **named).result(timeout=_SECONDS)


def _invoked(arguments: Sequence[str], environment: Mapping[str, str]) -> CommandResult:
    from throughline.cli.main import app  # noqa: PLC0415 - only this process needs it, not each one that knows the fixture

    result = CliRunner().invoke(app, arguments, env={name: text or None for name, text in environment.items()})
    return CommandResult(returncode=result.exit_code, stdout=result.stdout, stderr=result.stderr)
