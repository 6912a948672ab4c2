"""Progress of long work, on standard error: a line that counts seconds on a terminal, a line now and then in a log."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_TERMINAL_SECONDS = 0.5
_LOG_SECONDS = 30.0


class DeployStep:
    """One piece of work. `detail` is shown beside it while it lasts; it may be set at any time."""

    def __init__(self, title: str) -> None:
        self.title, self.detail, self.began = title, "", time.monotonic()

    def line(self) -> str:
        """The step as it stands: title, detail, seconds since it began."""
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.title}{detail} … {time.monotonic() - self.began:.0f} s"


class Progress:
    """Writes one step after another to `stream`. `done` holds the titles of completed steps."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self.done: list[str] = []

    @contextmanager
    def step(self, title: str) -> Iterator[DeployStep]:
        """Show a step while the block runs, and how it ended. What the block raises goes on."""
        step, end_of_step = DeployStep(title), threading.Event()
        self._write(f"{title} …" if not self._terminal else step.line(), ends_line=not self._terminal)
        ticker = threading.Thread(target=self._tick, args=(step, end_of_step), daemon=True)
        ticker.start()
        outcome = "failed"
        try:
            yield step
            outcome = "done"
            self.done.append(title)
        except KeyboardInterrupt:
            outcome = "stopped"
            raise
        finally:
            end_of_step.set()
            ticker.join()
            self._write(f"{title}: {outcome} ({time.monotonic() - step.began:.0f} s)", ends_line=True)

    def _tick(self, step: DeployStep, end_of_step: threading.Event) -> None:
        while not end_of_step.wait(_TERMINAL_SECONDS if self._terminal else _LOG_SECONDS):
            self._write(step.line(), ends_line=not self._terminal)

    def _write(self, text: str, *, ends_line: bool) -> None:
        begin, clear = ("\r", "\x1b[K") if self._terminal else ("", "")
        self._stream.write(f"{begin}{text}{clear}" + ("\n" if ends_line else ""))
        self._stream.flush()
