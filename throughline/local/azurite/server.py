"""Azurite as a child process of this one."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Self

from throughline.local.azurite.install import AzuriteError, install
from throughline.local.toolchain.node import find_node

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account and key of every Azurite, as published in its documentation: not a secret."""

SERVICES = ("blob", "queue", "table")
USUAL_PORTS: Mapping[str, int] = MappingProxyType({"blob": 10000, "queue": 10001, "table": 10002})
_LISTENING = re.compile(r"Azurite (\w+) service is successfully listening at https?://127\.0\.0\.1:(\d+)")
_TAKEN = re.compile(r"EADDRINUSE.*:(\d+)")
_WATCH_PARENT = Path(__file__).with_name("watch_parent.cjs")
_START_SECONDS = 30
_STOP_SECONDS = 15  # writing a large persistent store takes a while


class Azurite:
    """Blob, queue and table storage on 127.0.0.1, as a context manager.

    `ports` names some or all of blob, queue and table; the others get free ones. With `location` the data is kept in
    that folder, else in memory. `product_style_url` also accepts `http://devstoreaccount1.blob.localhost:PORT/`, which
    Hadoop's wasb needs on other ports than the usual ones. `accounts` are the names of further accounts with the same
    key. With `certificate` (the files of a certificate and of its key) it speaks TLS and also takes tokens. Entering
    raises AzuriteError when a port is taken or Azurite does not start, NodeError when there is no node.
    Azurite ends with the block and with this process.
    """

    def __init__(
        self,
        *,
        location: Path | None = None,
        ports: Mapping[str, int] | None = None,
        product_style_url: bool = False,
        accounts: Iterable[str] = (),
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        self.location = location
        self.ports = dict.fromkeys(SERVICES, 0) | dict(ports or {})
        self._product_style_url = product_style_url
        self._certificate = certificate
        self._accounts = (ACCOUNT, *accounts)
        self._process: subprocess.Popen[bytes] | None = None
        self._output = ""

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

    @property
    def pid(self) -> int:
        """The process id; RuntimeError when it is not running."""
        if self._process is None:
            raise RuntimeError("Azurite is not running: enter the context first")
        return self._process.pid

    def __enter__(self) -> Self:
        for port in self.ports.values():
            _refuse_if_taken(port)
        # Without a location it gets a folder of its own: some versions write a log into the current folder.
        with contextlib.ExitStack() as cleanup:
            log = cleanup.enter_context(tempfile.TemporaryFile())
            self._process = subprocess.Popen(  # noqa: S603 -- our own command
                self._command(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "AZURITE_ACCOUNTS": ";".join(f"{name}:{KEY}" for name in self._accounts)},
                start_new_session=True,  # Ctrl-C reaches only this process, which stops Azurite after its users
            )
            cleanup.callback(self.stop)
            self._wait_until_ready(log.fileno())
            cleanup.pop_all()
            log.close()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the child, by SIGTERM and then SIGKILL, and wait for its end. Does nothing when it is not running."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its own group: it is the session's leader
            process.wait()
        if process.stdin is not None:
            process.stdin.close()  # only now: closing it sends a second SIGTERM, which interrupts writing the data

    def _command(self) -> list[str]:
        keeping = ["--inMemoryPersistence"]
        if self.location is not None:
            self.location.mkdir(parents=True, exist_ok=True)
            keeping = ["--location", str(self.location.resolve())]
        command = [str(find_node().node), "--require", str(_WATCH_PARENT), str(install())]
        command += ["--silent", "--skipApiVersionCheck", "--disableTelemetry", *keeping]
        if not self._product_style_url:
            command.append("--disableProductStyleUrl")
        if self._certificate:
            certificate, key = self._certificate
            command += ["--oauth", "basic", "--cert", str(certificate), "--key", str(key)]
        for name in SERVICES:
            # Longer than any client's pool keeps a connection, else a reused one may just have been closed.
            command += [f"--{name}Port", str(self.ports[name]), f"--{name}KeepAliveTimeout", "600"]
        return command

    def _wait_until_ready(self, log: int) -> None:
        assert self._process is not None  # noqa: S101 -- for mypy: just started
        deadline = time.monotonic() + _START_SECONDS
        while True:
            is_over = self._process.poll() is not None  # before reading, so that its last output is read
            output = os.pread(log, 1 << 20, 0).decode(errors="replace")
            ports = {name.lower(): int(port) for name, port in _LISTENING.findall(output)}
            if len(ports) == len(SERVICES):
                self.ports = {name: ports[name] for name in SERVICES}
                return
            if taken := _TAKEN.search(output):
                raise _port_error(int(taken[1]))
            if is_over or time.monotonic() > deadline:
                state = "ended at once" if is_over else f"was not ready after {_START_SECONDS} s"
                raise AzuriteError(f"Azurite {state}; its output: {output.strip()[-2000:] or 'nothing'}")
            time.sleep(0.02)


def _refuse_if_taken(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as node does: old connections don't matter
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise _port_error(port) from error


def _port_error(port: int) -> AzuriteError:
    return AzuriteError(
        f"port {port} is in use by another program: stop it (`ss -ltnp 'sport = :{port}'` names it),"
        " or use --free-ports"
    )
