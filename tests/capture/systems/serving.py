"""Starting a server for a capture and waiting until it listens."""

import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from local.process.leashed import Leashed
from local.process.listening import listen
from tests.capture.systems.system import SystemsError

_PATIENCE_SECONDS = 60


def free_port() -> int:
    """A port on 127.0.0.1 that nobody listens on just now."""
    with listen(0, "a system", "try again") as found:
        port: int = found.getsockname()[1]
        return port


@contextmanager
def serving(
    name: str, command: Sequence[str], *, environment: Mapping[str, str], port: int, log: Path
) -> Iterator[None]:
    """Run a server until the block ends; it is entered when the server takes connections on the port.

    Raises SystemsError, with the log's last words, when it does not.
    """
    with Leashed(command, environment=environment, output=log, log=log.with_suffix(".err")) as server:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not _listens(port):
            if not server.running or time.monotonic() > deadline:
                said = "".join(path.read_text(errors="replace") for path in (log, log.with_suffix(".err")))
                raise SystemsError(f"{name} did not start on port {port}: {said.strip()[-2000:] or 'it said nothing'}")
            time.sleep(0.1)
        yield


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
