"""The front end of App Service, which forwards each request to one of an app's instances.

A slot swap and a rolling update both consist of two steps: from one moment on, requests go to other instances; an
instance without new requests finishes its current ones. If an instance does not answer, the sender gets a 502, as from
App Service: the front end does not send a request twice.
"""

import itertools
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_PATIENCE_SECONDS = 230
"""App Service's own: https://learn.microsoft.com/azure/azure-functions/functions-scale."""

_HELD_SECONDS = 60.0

_CONNECTION_HEADERS = frozenset({"connection", "keep-alive", "transfer-encoding", "host", "content-length"})


@dataclass(frozen=True, slots=True)
class HeldRequest:
    """A request whose second half is held back until `go_on`."""

    _begun: threading.Event = field(default_factory=threading.Event)
    _goes_on: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        """Wait until an instance has the first half. Raises TimeoutError when nobody sends the request."""
        if not self._begun.wait(_HELD_SECONDS):
            raise TimeoutError("the request to hold was not sent")

    def go_on(self) -> None:
        """Let the rest through."""
        self._goes_on.set()

    def pieces(self, body: bytes, connection: HTTPConnection) -> Iterator[bytes]:
        """Yield the parts of the body at the times to send them, after a header `Expect: 100-continue`."""
        half = len(body) // 2
        connection.sock.recv(
            1, socket.MSG_PEEK
        )  # the 100, which `getresponse` skips, shows that the instance reads the request
        yield body[:half]
        self._begun.set()
        self._goes_on.wait(_HELD_SECONDS)
        yield body[half:]


class Front:
    """Listens on a port of 127.0.0.1 while its context lasts.

    `answered` counts answers by instance, `failed` requests without an instance's answer, `cut` those whose sender's
    connection was closed instead.
    """

    def __init__(self, *instances: str) -> None:
        self.answered: Counter[str] = Counter()
        self.failed = self.cut = 0
        self._instances = instances
        self._turn = itertools.count()
        self._carried: Counter[str] = Counter()
        self._senders: dict[socket.socket, str] = {}
        self._held: dict[bytes, HeldRequest] = {}
        self._changed = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """The root URL for senders."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), name="front", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def route(self, *instances: str, cut: bool = False) -> None:
        """Send requests to these instances from now on, in turn.

        Other instances keep their current requests; with `cut` these are ended, as one of Microsoft's pages says of a
        swap: their senders' connections are closed.
        """
        with self._changed:
            self._instances = instances
            for sender in [
                known_sender for known_sender, instance in self._senders.items() if cut and instance not in instances
            ]:
                sender.shutdown(socket.SHUT_RDWR)
                self.cut += 1

    def drain(self, instance: str, *, but: int = 0, seconds: float = 60.0) -> None:
        """Wait until an instance has all its requests answered except `but` of them. Raises TimeoutError."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._carried[instance] > but:
                if not self._changed.wait(deadline - time.monotonic()):
                    raise TimeoutError(f"{instance} still has {self._carried[instance]} requests")

    @contextmanager
    def holding(self, body: bytes) -> Iterator[HeldRequest]:
        """Hold back the second half of this body, as a slow network does, until the end of the block at the latest."""
        held_request = self._held[body] = HeldRequest()
        try:
            yield held_request
        finally:
            held_request.go_on()
            del self._held[body]

    @contextmanager
    def _given(self, sender: socket.socket) -> Iterator[str]:
        """Yield an instance, and count a request for it meanwhile."""
        with self._changed:
            instance = self._instances[next(self._turn) % len(self._instances)]
            self._carried[instance] += 1
            self._senders[sender] = instance
        try:
            yield instance
        finally:
            with self._changed:
                self._carried[instance] -= 1
                del self._senders[sender]
                self._changed.notify_all()

    def _pass_on(
        self, sender: socket.socket, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        with self._given(sender) as instance:
            held_request = self._held.get(body)
            connection = HTTPConnection(urlsplit(instance).netloc, timeout=_PATIENCE_SECONDS)
            pieces = held_request.pieces(body, connection) if held_request else (body,)
            expect = {"Expect": "100-continue"} if held_request else {}
            try:
                connection.request("POST", path, pieces, {**headers, **expect, "Content-Length": str(len(body))})
                answer = connection.getresponse()
                answer_parts = answer.status, dict(answer.getheaders()), answer.read()
            except (OSError, HTTPException):
                self.failed += 1
                return 502, {}, b""
            finally:
                connection.close()
            self.answered[instance] += 1
            return answer_parts

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # senders keep their connections
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                forwarded_headers = _forwarded_headers(dict(self.headers))
                status, headers, answer = front._pass_on(self.connection, self.path, forwarded_headers, body)
                try:
                    self._answer(status, headers, answer)
                except ConnectionError:
                    self.close_connection = True  # it was cut

            def _answer(self, status: int, headers: dict[str, str], answer: bytes) -> None:
                self.send_response(status)
                for name, value in _forwarded_headers(headers).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                """Keep the test's output free of requests."""

        return Handler


def _forwarded_headers(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _CONNECTION_HEADERS}
