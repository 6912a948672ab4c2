"""A command that runs in a process group of its own and ends with the process that started it."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from throughline.local.process import leash


class Leashed:
    """`with Leashed(command, …) as running:` starts a command; leaving the block ends it if it still runs.

    Its standard output and error go to the files `output` and `log`; it runs in `folder`, by default the current one.
    Ctrl-C reaches only the starter, which ends the command by stop(); throughline/local/process/leash.py ends it when
    the starter is killed.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        output: Path,
        log: Path,
        folder: Path | None = None,
    ) -> None:
        with output.open("wb") as out, log.open("wb") as err:
            self._process = subprocess.Popen(  # noqa: S603 - given by our own code
                [sys.executable, "-I", leash.__file__, *command],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                start_new_session=True,
                env=environment,
                cwd=folder,
            )

    def __enter__(self) -> Self:
        """Return the running command."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the command if it still runs."""
        self.stop()

    @property
    def running(self) -> bool:
        """Whether the command has not ended yet."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The id of the command's parent process."""
        return self._process.pid

    def stop(self) -> int:
        """End the command and all it started, if it still runs; return its exit code."""
        if self._process.stdin:
            self._process.stdin.close()
        return self._process.wait()

    def wait(self, seconds: float | None = None) -> int | None:
        """Wait for the end and return the exit code; None when it still runs after `seconds`."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
