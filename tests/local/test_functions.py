"""The functions host as a child process: it ends gracefully."""

import os
import signal
import socket
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from tests.local.hosting import APPS
from throughline.local.functions import FunctionsHost
from throughline.local.process.leashed import Leashed

_STEP_SECONDS = 0.3


def test_a_stopping_host_answers_its_current_requests(tmp_path: Path) -> None:
    """A second signal once killed it while it finished its requests."""
    environment = {**os.environ, "CALLS": str(tmp_path / "calls")}
    with FunctionsHost(app=APPS / "web", environment=environment, log=tmp_path / "log") as host:
        place = urlsplit(host.url)
        with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as asking:
            asking.sendall(b"POST /api/v1/echo HTTP/1.1\r\nHost: here\r\nContent-Length: 4\r\n")
            asking.sendall(b"Connection: close\r\nExpect: 100-continue\r\n\r\n")
            assert asking.recv(1000).startswith(b"HTTP/1.1 100")
            stopping = threading.Thread(target=host.stop)
            stopping.start()
            time.sleep(3 * _STEP_SECONDS)
            asking.sendall(b"body")
            assert asking.recv(1000).startswith(b"HTTP/1.1 201")
            stopping.join()


def test_a_host_stopped_during_its_restart_leaves_nothing_running(tmp_path: Path) -> None:
    """The keeper started another host after the stopped one, and it kept the port."""
    environment = {**os.environ, "CALLS": str(tmp_path / "calls")}
    host = FunctionsHost(app=APPS / "web", environment=environment, log=tmp_path / "log")
    dead, starting, stop_event = threading.Event(), threading.Event(), threading.Event()
    start = host._start

    def start_late() -> Leashed:
        if dead.is_set():
            starting.set()
            stop_event.wait(_STEP_SECONDS)  # with the defect the end comes in between
        return start()

    host._start = start_late  # type: ignore[method-assign]  # the real one, later
    with host:
        dead.set()
        os.kill(host.pid, signal.SIGKILL)
        assert starting.wait(120)
        host.stop()
        stop_event.set()
        assert not host._child.running
