"""Start a program whose end no failed assertion waits for."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run `command` with its output piped as text; it is killed if it still runs when the block ends.

    `subprocess.Popen` alone waits there, for ever if an assertion failed before the program was ended.
    """
    with subprocess.Popen(command, text=True, **{"stdout": subprocess.PIPE, **options}) as process:
        try:
            yield process
        finally:
            process.kill()
