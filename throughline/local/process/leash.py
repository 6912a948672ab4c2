"""Runs a command that must not outlive its starter: `python leash.py GRACE COMMAND…`.

The starter holds the other end of this process's standard input. When it closes, because the starter ends the command
or was itself killed, even by `kill -9`, the command's whole process group is ended: by SIGTERM, and by SIGKILL GRACE
seconds later. The command inherits the file descriptors that this process was given. This works on Linux and macOS.
The module is run by its path and isolated (`-I`), so it imports only the standard library.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence


def main(grace: float, command: Sequence[str]) -> int:
    """Run the command in its own process group; return its exit code (128 + signal when it was killed)."""
    child = subprocess.Popen(  # noqa: S603 - given by our own code
        command, stdin=subprocess.DEVNULL, start_new_session=True, close_fds=False
    )
    threading.Thread(target=_end_when_input_closes, args=(child, grace), daemon=True).start()
    code = child.wait()
    return code if code >= 0 else 128 - code


def _end_when_input_closes(child: subprocess.Popen[bytes], grace: float) -> None:
    # Not sys.stdin: a thread that holds its lock aborts the interpreter when that ends.
    while os.read(0, 1024):
        pass
    with contextlib.suppress(ProcessLookupError):  # it has ended by itself
        os.killpg(child.pid, signal.SIGTERM)
        try:
            child.wait(grace)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
