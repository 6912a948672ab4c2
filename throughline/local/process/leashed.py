"""A command that runs in a process group of its own and ends with the process that started it."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self, TypeVar

import psutil

from throughline.local.process import leash

T = TypeVar("T")


class Leashed:
    """`with Leashed(command, …) as running:` starts a command; leaving the block ends it if it still runs.

    Its standard output goes to the file `output`, its standard error to `log` (default: to `output` too); `append`:
    after what the files hold. It runs in `folder`, by default the current one, and inherits the file descriptors
    `inherited`. It is ended by SIGTERM and, `grace` seconds later, by SIGKILL. Ctrl-C reaches only the starter, which
    ends the command by stop(); throughline/local/process/leash.py ends it when the starter is killed.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        output: Path,
        log: Path | None = None,
        append: bool = False,
        folder: Path | None = None,
        inherited: Sequence[int] = (),
        grace: float = 10.0,
    ) -> None:
        self._output = output
        mode = "ab" if append else "wb"
        with contextlib.ExitStack() as files:
            out = files.enter_context(output.open(mode))
            self._process = subprocess.Popen(  # noqa: S603 - given by our own code
                [sys.executable, "-I", leash.__file__, str(grace), *command],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=files.enter_context(log.open(mode)) if log else subprocess.STDOUT,
                start_new_session=True,
                env=environment,
                cwd=folder,
                pass_fds=inherited,
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
    def parent_pid(self) -> int:
        """The id of the command's parent process."""
        return self._process.pid

    @property
    def pid(self) -> int:
        """The id of the command's own process. Raises psutil.NoSuchProcess after its end."""
        while not (processes := psutil.Process(self._process.pid).children()):
            time.sleep(0.01)  # its parent is about to start it
        return processes[0].pid

    def last_output(self) -> str:
        """Return the end of the output, for a message."""
        return self._output.read_text(errors="replace").strip()[-2000:] or "nothing"

    def stop(self) -> int:
        """End the command and all it started, if it still runs; return its exit code."""
        if self._process.stdin:
            self._process.stdin.close()
        return self._process.wait()

    def wait(self, seconds: float | None = None) -> int | None:
        """Wait for the end and return the exit code; None when it still runs after `seconds`."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return self.stop()

    def wait_for(self, ready: Callable[[], T | None], seconds: float, *, pause: float = 0.02) -> T | None:
        """Call `ready` until it returns something true, and return that; None after `seconds`, or when it has ended."""
        deadline = time.monotonic() + seconds
        while True:
            is_over = not self.running or time.monotonic() > deadline  # before the call, which reads the last output
            if answer := ready():
                return answer
            if is_over:
                return None
            time.sleep(pause)
