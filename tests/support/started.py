"""Start a program that is killed when an assertion fails."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run `command` with its output piped as text; kill it if it still runs when the block ends.

    `subprocess.Popen` alone would wait for it, for ever if an assertion fails before the program ends.
    """
    with subprocess.Popen(command, text=True, **{"stdout": subprocess.PIPE, **options}) as process:
        try:
            yield process
        finally:
            process.kill()
