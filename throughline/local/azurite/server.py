"""Azurite as a child process of this one."""

import contextlib
import os
import re
import socket
import tempfile
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Self

from throughline.local.azurite.install import install
from throughline.local.errors import LocalError
from throughline.local.process.leashed import Leashed
from throughline.local.toolchain.node import find_node

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account and key of every Azurite, as published in its documentation: not a secret."""

SERVICES = ("blob", "queue", "table")
USUAL_PORTS: Mapping[str, int] = MappingProxyType({"blob": 10000, "queue": 10001, "table": 10002})
_LISTENING = re.compile(r"Azurite (\w+) service is successfully listening at https?://127\.0\.0\.1:(\d+)")
_TAKEN_PORT = re.compile(r"EADDRINUSE.*:(\d+)")
YOUNG_SPACE = "--max-semi-space-size=64"
"""Node's option for new objects (MB): with the default of 16 Azurite takes a tenth more CPU, and 40 MB more memory."""
_START_SECONDS = 30
_STOP_SECONDS = 15  # writing a large persistent store takes a while


class Azurite:
    """Blob, queue and table storage on 127.0.0.1, as a context manager.

    `ports` names some or all of blob, queue and table; the others get free ones. With `location` the data is kept in
    that folder, else in memory. `accounts` are the names of further accounts with the same key. With `certificate` (the
    files of a certificate and of its key) it speaks TLS and also takes tokens. Entering raises LocalError when a port
    is taken or Azurite does not start, NodeError when there is no node. Azurite ends with the block and with this
    process.
    """

    def __init__(
        self,
        *,
        location: Path | None = None,
        ports: Mapping[str, int] | None = None,
        accounts: Iterable[str] = (),
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        self.location = location
        self.ports = dict.fromkeys(SERVICES, 0) | dict(ports or {})
        self._certificate = certificate
        self._accounts = (ACCOUNT, *accounts)
        self._parts = contextlib.ExitStack()

    @property
    def connection_string(self) -> str:
        """The connection string for `AzureWebJobsStorage`."""
        return self.connection_string_of(ACCOUNT)

    def connection_string_of(self, account: str) -> str:
        """The connection string of one of the accounts."""
        ends = (f"{name.title()}Endpoint={self.endpoint(name, account)}" for name in SERVICES)
        return f"DefaultEndpointsProtocol=http;AccountName={account};AccountKey={KEY};{';'.join(ends)};"

    def endpoint(self, service: str, account: str = ACCOUNT) -> str:
        """The address of a service: blob, queue or table."""
        return f"http{'s' if self._certificate else ''}://127.0.0.1:{self.ports[service]}/{account}"

    def __enter__(self) -> Self:
        for port in self.ports.values():
            _refuse_if_taken(port)
        accounts = ";".join(f"{name}:{KEY}" for name in self._accounts)
        with contextlib.ExitStack() as parts:
            output = Path(parts.enter_context(tempfile.TemporaryDirectory())) / "output"
            environment = {**os.environ, "AZURITE_ACCOUNTS": accounts}
            child = parts.enter_context(
                Leashed(self._command(), environment=environment, output=output, grace=_STOP_SECONDS)
            )
            ports = child.wait_for(partial(_ports, output), _START_SECONDS)
            if ports is None:
                state = f"was not ready after {_START_SECONDS} s" if child.running else "ended at once"
                raise LocalError(f"Azurite {state}; its output: {child.last_output()}")
            self.ports = ports
            self._parts = parts.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the child, and wait for its end. Does nothing when it is not running."""
        self._parts.close()

    def _command(self) -> list[str]:
        keeping = ["--inMemoryPersistence"]
        if self.location is not None:
            self.location.mkdir(parents=True, exist_ok=True)
            keeping = ["--location", str(self.location.resolve())]
        command = [str(find_node().node), YOUNG_SPACE, str(install())]
        command += ["--silent", "--skipApiVersionCheck", "--disableTelemetry", "--disableProductStyleUrl", *keeping]
        if self._certificate:
            certificate, key = self._certificate
            command += ["--oauth", "basic", "--cert", str(certificate), "--key", str(key)]
        for name in SERVICES:
            # Longer than any client's pool keeps a connection, else a reused one may just have been closed.
            command += [f"--{name}Port", str(self.ports[name]), f"--{name}KeepAliveTimeout", "600"]
        return command


def _ports(output: Path) -> dict[str, int] | None:
    """Return the ports of the services by Azurite's output; None until all listen. LocalError: one is taken."""
    text = output.read_text(errors="replace")
    if port_match := _TAKEN_PORT.search(text):
        raise _port_error(int(port_match[1]))
    ports = {name.lower(): int(port) for name, port in _LISTENING.findall(text)}
    return ports if len(ports) == len(SERVICES) else None


def _refuse_if_taken(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as node does: old connections don't matter
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise _port_error(port) from error


def _port_error(port: int) -> LocalError:
    return LocalError(
        f"port {port} is in use by another program: stop it (`ss -ltnp 'sport = :{port}'` names it),"
        " or use --free-ports"
    )
