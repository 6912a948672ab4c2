"""Run the functions host on a sample app, as a child process on this process's socket."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from throughline.local.event_grid import EventGrid, subscriptions

APPS = Path(__file__).parent / "apps"
PROJECT = Path(__file__).parents[2]
WAIT_SECONDS = 60


@dataclass(slots=True, kw_only=True)
class App:
    """A sample app, its settings, and the socket that outlives its hosts."""

    root: Path
    env: dict[str, str]
    scratch: Path
    flags: tuple[str, ...] = ()
    event_grid: EventGrid | None = None
    notices: bool = True
    listening: socket.socket = field(default_factory=socket.socket)
    hosts: list["RunningHost"] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The root URL of its hosts."""
        return f"http://127.0.0.1:{self.listening.getsockname()[1]}"

    def start(self) -> "RunningHost":
        """Start a host on the socket; a request waits in the socket until it is up."""
        log = self.scratch / f"host{len(self.hosts)}.log"
        number = str(self.listening.fileno())
        fast = ("--visibility", "2", "--restart", "0.5")
        with log.open("wb") as stderr:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "throughline.local.host",
                    "--root",
                    self.root,
                    "--fd",
                    number,
                    *fast,
                    *self.flags,
                ],
                cwd=PROJECT,
                env={**os.environ, **self.env, "CALLS": str(self.scratch / "calls")},
                pass_fds=(self.listening.fileno(),),
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )
        host = RunningHost(process=process, log=log)
        self.hosts.append(host)
        subscribed = tuple(
            subscription for subscription in subscriptions(self.root, self.env) if not subscription.queue
        )
        if self.event_grid is None and self.notices and subscribed:
            connection = self.env["AzureWebJobsStorage"]
            self.event_grid = EventGrid(connection=connection, url=self.url, subscriptions=subscribed, poll=0.2)
            self.event_grid.start()
        return host

    def get(self, path: str) -> Any:
        """Return the JSON that a path answers with."""
        return requests.get(f"{self.url}{path}", timeout=WAIT_SECONDS).json()

    def notes(self, *kinds: str) -> list[dict[str, Any]]:
        """Return the functions' records of these kinds."""
        path = self.scratch / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [note for note in map(json.loads, lines) if note["what"] in kinds]

    def ended(self, times: int) -> bool:
        """Whether the functions have recorded this many ends."""
        return len(self.notes("end")) == times

    def quiet(self) -> bool:
        """Wait until Event Grid has listed twice more, and nothing is queued: to check that nothing more happens."""
        assert self.event_grid is not None
        calls = self.event_grid.calls
        calls_before = calls["list blobs"]
        return wait_for(lambda: calls["list blobs"] >= calls_before + 2 and not self._busy())

    def _busy(self) -> bool:
        calls = self.get("/admin/host/calls")
        return bool(calls["queued"] or calls["in_flight"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningHost:
    """A host's process and its log."""

    process: subprocess.Popen[bytes]
    log: Path

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(WAIT_SECONDS)


@contextlib.contextmanager
def sample(
    name: str | Path,
    scratch: Path,
    settings: Mapping[str, str] | None = None,
    *flags: str,
) -> Iterator[App]:
    """Yield a sample app, or the one in a folder, with an open socket; its hosts are killed at the end."""
    app = App(root=APPS / name, env=dict(settings or {}), scratch=scratch, flags=flags)
    with app.listening:
        app.listening.bind(("127.0.0.1", 0))
        app.listening.listen(128)
        try:
            yield app
        finally:
            if app.event_grid is not None:
                app.event_grid.stop()
            for host in app.hosts:
                host.process.kill()
                host.process.wait()


def wait_for(true: Callable[[], object]) -> bool:
    """Wait until a condition is true; return False after the time limit."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
