"""Start a server for a capture, and wait until it listens."""

import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.capture.systems.system import SystemsError
from throughline.local.process.leashed import Leashed
from throughline.local.process.listening import listen

_PATIENCE_SECONDS = 60


def free_port() -> int:
    """Return a port on 127.0.0.1 that is free now."""
    with listen(0, "a system", "try again") as bound_socket:
        port: int = bound_socket.getsockname()[1]
        return port


@contextmanager
def serving(
    name: str, command: Sequence[str], *, environment: Mapping[str, str], port: int, log: Path
) -> Iterator[None]:
    """Run a server until the block ends; the block begins when the server accepts connections on the port.

    Raises SystemsError, with the end of the log, when it does not.
    """
    with Leashed(command, environment=environment, output=log, log=log.with_suffix(".err")) as server:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not _listens(port):
            if not server.running or time.monotonic() > deadline:
                output = "".join(path.read_text(errors="replace") for path in (log, log.with_suffix(".err")))
                raise SystemsError(f"{name} did not start on port {port}: {output.strip()[-2000:] or 'no output'}")
            time.sleep(0.1)
        yield


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
