"""The functions host as a child process that is started again when it dies.

The parent owns the listening socket and hands it down, so requests during a restart wait in the socket's queue instead
of being refused, as at Azure's front end, which outlives its workers.
"""

import logging
import socket
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import requests

from throughline.local.event_grid import EventGrid, subscriptions
from throughline.local.process.listening import PortError, listen
from throughline.project import ROOT

_LOG = logging.getLogger("throughline.world")
_START_SECONDS = 60
_END_SECONDS = 20
_QUICK_DEATH = 3.0
_MOST_QUICK_DEATHS = 5


class FunctionsHostError(Exception):
    """The host did not start, or keeps dying; the message says what to do."""


class Host(ABC):
    """A host of the functions of `app` on 127.0.0.1:`port` (0: a free one), which runs while its context lasts.

    `environment` are the functions' settings. The output goes to `log`. `event_grid` is the seconds after which a new
    blob is posted to the webhook. Entering raises FunctionsHostError. `restarts` counts the
    restarts, `broken` is the reason for which the host is not started again.
    """

    def __init__(self, *, app: Path, port: int, environment: Mapping[str, str], log: Path, event_grid: float) -> None:
        self._app, self._port = app, port
        self._environment = dict(environment)
        self._log = log
        self._event_grid_delay = event_grid
        self._event_grid: EventGrid | None = None
        self.restarts = 0
        self.broken = ""

    def __enter__(self) -> Self:
        try:
            self._port = self._take_port()
        except PortError as error:
            raise FunctionsHostError(str(error)) from error
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._begin()
        try:
            self._wait()
        except FunctionsHostError:
            self.stop()
            raise
        if subscribed := subscriptions(self._app, self._environment):
            self._event_grid = EventGrid(
                connection=self._environment["AzureWebJobsStorage"],
                url=self.url,
                subscriptions=subscribed,
                note=self._log.with_name("event_grid.json"),
                delay=self._event_grid_delay,
            )
            self._event_grid.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._event_grid is not None:
            self._event_grid.stop()
        self.stop()

    @property
    def url(self) -> str:
        """The root URL of the HTTP triggers."""
        return f"http://127.0.0.1:{self._port}"

    @property
    @abstractmethod
    def pid(self) -> int:
        """The host's process id."""

    @property
    def worker_pid(self) -> int:
        """The id of the process that the functions run in, as far as it is known."""
        return self.pid

    @abstractmethod
    def calls(self) -> dict[str, Any]:
        """Return the host's counts: invocations, its own storage calls, queued blobs."""

    @abstractmethod
    def stop(self) -> None:
        """End the host, and release the port."""

    @abstractmethod
    def _take_port(self) -> int:
        """Return the port for the host. Raises PortError."""

    @abstractmethod
    def _begin(self) -> None:
        """Start it."""

    @abstractmethod
    def _wait(self) -> None:
        """Wait until the host answers. Raises FunctionsHostError."""


class FunctionsHost(Host):
    """Our own host, to which Event Grid reports new blobs.

    `visibility` is the seconds until the messages of a dead host become visible again,
    `patience` those for which storage may be unavailable until a host with blob triggers ends and is started again.
    `keys` is a file of keys that requests must have, read again for each; without it they need none.
    """

    def __init__(
        self,
        *,
        app: Path,
        port: int = 0,
        environment: Mapping[str, str],
        log: Path,
        visibility: int = 5,
        patience: float = 30.0,
        keys: Path | None = None,
    ) -> None:
        super().__init__(app=app, port=port, environment=environment, log=log, event_grid=0.0)
        self._pace = ("--visibility", str(visibility), "--patience", str(patience))
        self._keys = ("--keys", str(keys)) if keys else ()
        self._socket: socket.socket | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._ending = threading.Event()
        self._starting = threading.Lock()
        self._keeper: threading.Thread | None = None

    def _take_port(self) -> int:
        self._socket = listen(self._port, "the functions host", "choose another one")
        port: int = self._socket.getsockname()[1]
        return port

    def _begin(self) -> None:
        self._start()
        self._keeper = threading.Thread(target=self._keep, name="keeper", daemon=True)
        self._keeper.start()

    @property
    def pid(self) -> int:
        """The host's process id."""
        if self._child is None:
            raise FunctionsHostError("The functions host is not running")
        return self._child.pid

    @property
    def worker_pid(self) -> int:
        """The id of the worker process, which is not the host's own."""
        worker: int = requests.get(f"{self.url}/admin/host/status", timeout=30).json()["workerProcessId"]
        return worker

    def calls(self) -> dict[str, Any]:
        """Return the host's counts; `storage` includes Event Grid's listings."""
        answer: dict[str, Any] = requests.get(f"{self.url}/admin/host/calls", timeout=30).json()
        if self._event_grid is not None:
            answer["storage"] = dict(Counter(answer["storage"]) + self._event_grid.calls)
        return answer

    def stop(self) -> None:
        """End the host gracefully and release the port."""
        with self._starting:  # before the keeper starts another host, which nothing would end
            self._ending.set()
        child = self._child
        if child is not None:
            child.terminate()
            try:
                child.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            if child.stdin is not None:
                child.stdin.close()  # only now: the child would take it as a second signal and end at once
        if self._keeper is not None:
            self._keeper.join()
        if self._socket is not None:
            self._socket.close()

    def _start(self) -> None:
        if self._socket is None:
            raise FunctionsHostError("The functions host has no socket: enter the context first")
        with self._log.open("ab") as log:
            self._child = subprocess.Popen(  # noqa: S603 - our own program, with arguments of our own code
                [
                    *(sys.executable, "-m", "throughline.local.host", "--root", str(self._app), *self._pace),
                    *("--fd", str(self._socket.fileno()), "--stop-with-stdin", *self._keys),
                ],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                pass_fds=(self._socket.fileno(),),
                start_new_session=True,  # Ctrl-C reaches only this process; the child ends when its input closes
            )

    def _keep(self) -> None:
        """Start the host again whenever it dies, unless it dies several times in quick succession."""
        quick = 0
        while not self._ending.is_set():
            began = time.monotonic()
            child = self._child
            if child is None:
                return
            code = child.wait()
            if self._ending.is_set():
                return
            if child.stdin is not None:
                child.stdin.close()
            quick = quick + 1 if time.monotonic() - began < _QUICK_DEATH else 0
            if quick >= _MOST_QUICK_DEATHS:
                self.broken = f"the functions host keeps dying (exit code {code}): {self._last_output()}"
                return
            self.restarts += 1
            _LOG.warning("the functions host died (exit code %s); it is started again", code)
            with self._starting:
                if not self._ending.is_set():
                    self._start()

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if self.broken:
                raise FunctionsHostError(self.broken)
            try:
                # The socket already listens: the call waits until the host accepts it.
                requests.get(f"{self.url}/admin/host/status", timeout=5).raise_for_status()
            except requests.RequestException:
                time.sleep(0.05)
            else:
                return
        raise FunctionsHostError(f"the functions host did not answer in {_START_SECONDS} s: {self._last_output()}")

    def _last_output(self) -> str:
        return self._log.read_text(errors="replace").strip()[-2000:] or f"{self._log} is empty"
