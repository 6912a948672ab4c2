"""Long work: its progress on standard error, waiting for something in Azure, and the error that ends it.

Progress is a line that counts seconds on a terminal, a line now and then in a log.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from throughline.cli.deploy.azure_cli import AzureCliError


class DeployError(Exception):
    """The deployment can't go on. The text says what happened, what it means, and the command that mends it."""


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


_HOPELESS = ("AuthorizationFailed", "LinkedAuthorizationFailed", "SubscriptionNotFound", "ResourceGroupNotFound")
_NOT_SIGNED_IN = "az login"
_NO_PROGRAM = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class PollLimits:
    """How long to wait at most, and between two looks, in seconds."""

    seconds: float = 300.0
    pause: float = 5.0


def wait_until(look: Callable[[], str], step: DeployStep, limits: PollLimits, *, failed: str) -> None:
    """Call `look` until it returns nothing; what it returns is the reason to wait, shown as the step's detail.

    An error of `az` counts as not yet: a host that starts refuses its keys. Errors for which waiting does not help (no
    right, not signed in) are raised as they are. Raises DeployError(`failed` and the last reason) when time is over.
    """
    end = time.monotonic() + limits.seconds
    while True:
        try:
            reason = look()
        except AzureCliError as error:
            if error.exit_code == _NO_PROGRAM or error.code in _HOPELESS or _NOT_SIGNED_IN in str(error):
                raise
            reason = f"az says {error.code or error.first_line}"
        if not reason:
            return
        step.detail = reason
        if time.monotonic() >= end:
            raise DeployError(f"{failed} Seen last, after {limits.seconds:.0f} s: {reason}.")
        time.sleep(min(limits.pause, max(0.0, end - time.monotonic())))
