"""The functions host as a child process that is started again when it dies.

The parent owns the listening socket and hands it down, so requests during a restart wait in the socket's queue instead
of being refused, as at Azure's front end, which outlives its workers.
"""

import logging
import socket
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import requests

from throughline.local.errors import LocalError
from throughline.local.event_grid import EventGrid, subscriptions
from throughline.local.process.answering import answer_of
from throughline.local.process.leashed import Leashed
from throughline.local.process.listening import listen
from throughline.project import ROOT

_LOG = logging.getLogger("throughline.world")
_END_SECONDS = 20.0
_QUICK_DEATH = 3.0
_MOST_QUICK_DEATHS = 5


class Host(ABC):
    """A host of the functions of `app` on 127.0.0.1:`port` (0: a free one), which runs while its context lasts.

    `environment` are the functions' settings. The output goes to `log`. Entering raises LocalError. `restarts` counts
    the restarts, `broken` is the reason for which the host is not started again.
    """

    name: str
    """What it is, for messages."""
    start_seconds: float
    """It runs so many seconds after its start."""
    notice_seconds: float
    """So many seconds after a blob is new, Event Grid posts it to the webhook."""

    def __init__(self, *, app: Path, port: int = 0, environment: Mapping[str, str], log: Path) -> None:
        self._app, self._port = app, port
        self._environment = dict(environment)
        self._log = log
        self._child: Leashed
        self._event_grid: EventGrid | None = None
        self.restarts = 0
        self.broken = ""

    def __enter__(self) -> Self:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._child = self._start()
        if not self._child.wait_for(self._is_running, self.start_seconds):
            state = f"did not run after {self.start_seconds:.0f} s" if self._child.running else "ended"
            self.stop()
            raise LocalError(f"{self.name} {state}: {self._child.last_output()}")
        if subscribed := subscriptions(self._app, self._environment):
            self._event_grid = EventGrid(
                connection=self._environment["AzureWebJobsStorage"],
                url=self.url,
                subscriptions=subscribed,
                note=self._log.with_name("event_grid.json"),
                delay=self.notice_seconds,
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
    def pid(self) -> int:
        """The host's process id."""
        return self._child.pid

    @abstractmethod
    def calls(self) -> dict[str, Any]:
        """Return the host's counts: invocations, its own storage calls, queued blobs."""

    def stop(self) -> None:
        """End the host gracefully, and release the port."""
        self._child.stop()

    @abstractmethod
    def _start(self) -> Leashed:
        """Start a process of the host. Raises PortError."""

    def _is_running(self) -> bool:
        """Whether the host's status page, which Azure has too, says that it runs."""
        answer = answer_of(f"{self.url}/admin/host/status")
        return answer is not None and answer.json().get("state") == "Running"


class FunctionsHost(Host):
    """Our own host, to which Event Grid reports new blobs.

    `patience` are the seconds for which storage may be unavailable until a host with blob triggers ends and is started
    again. `keys` is a file of keys that requests must have, read again for each; without it they need none.
    """

    name = "the functions host"
    start_seconds = 60.0
    notice_seconds = 0.0

    def __init__(
        self,
        *,
        app: Path,
        port: int = 0,
        environment: Mapping[str, str],
        log: Path,
        patience: float = 30.0,
        keys: Path | None = None,
    ) -> None:
        super().__init__(app=app, port=port, environment=environment, log=log)
        # A dead host's messages become visible again after five seconds, not thirty.
        self._options = ("--visibility", "5", "--patience", str(patience), *(("--keys", str(keys)) if keys else ()))
        self._socket: socket.socket
        self._ending = threading.Event()
        self._starting = threading.Lock()
        self._keeper = threading.Thread(target=self._keep, name="keeper", daemon=True)

    def __enter__(self) -> Self:
        self._socket = listen(self._port, self.name, "choose another one")
        self._port = self._socket.getsockname()[1]
        super().__enter__()
        self._keeper.start()
        return self

    @property
    def worker_pid(self) -> int:
        """The id of the worker process, in which the functions run."""
        worker: int = requests.get(f"{self.url}/admin/host/status", timeout=30).json()["workerProcessId"]
        return worker

    def calls(self) -> dict[str, Any]:
        """Return the host's counts; `storage` includes Event Grid's listings."""
        answer: dict[str, Any] = requests.get(f"{self.url}/admin/host/calls", timeout=30).json()
        if self._event_grid is not None:
            answer["storage"] = dict(Counter(answer["storage"]) + self._event_grid.calls)
        return answer

    def stop(self) -> None:
        """End the host gracefully, and release the port."""
        with self._starting:  # before the keeper starts another host, which nothing would end
            self._ending.set()
        super().stop()
        if self._keeper.is_alive():
            self._keeper.join()
        self._socket.close()

    def _start(self) -> Leashed:
        return Leashed(
            [
                *(sys.executable, "-m", "throughline.local.host", "--root", str(self._app)),
                *("--fd", str(self._socket.fileno()), *self._options),
            ],
            environment=self._environment,
            output=self._log,
            append=True,
            folder=ROOT,
            inherited=(self._socket.fileno(),),
            grace=_END_SECONDS,
        )

    def _keep(self) -> None:
        """Start the host again whenever it dies, unless it dies several times in quick succession."""
        quick = 0
        while not self._ending.is_set():
            began = time.monotonic()
            code = self._child.wait()
            if self._ending.is_set():
                return
            quick = quick + 1 if time.monotonic() - began < _QUICK_DEATH else 0
            if quick >= _MOST_QUICK_DEATHS:
                self.broken = f"{self.name} keeps dying (exit code {code}): {self._child.last_output()}"
                return
            self.restarts += 1
            _LOG.warning("%s died (exit code %s); it is started again", self.name, code)
            with self._starting:
                if not self._ending.is_set():
                    self._child = self._start()
