"""A receiver that answers late, or not each time: what a real network and a cold start do to a listener."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """How a receiver answers: after `seconds`, the first request after `first_seconds`, each `refused`th with a 503."""

    name: str
    seconds: float = 0.0
    first_seconds: float = 0.0
    refused: int = 0


ANSWERS = {
    answers.name: answers
    for answers in (
        Answers(name="0"),
        Answers(name="50", seconds=0.05),
        Answers(name="200", seconds=0.2),
        Answers(name="1000", seconds=1.0),
        Answers(name="cold", first_seconds=9.0),
        Answers(name="503", refused=20),
    )
}
"""By name: milliseconds of each answer, a cold start of 9 s, 5 % of 503."""


class Received:
    """The bodies that a receiver took, in their order; `refused` counts those that got a 503."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.refused = 0
        self._over = False
        self._requests = 0
        self._lock = threading.Lock()

    def take(self, body: bytes, answers: Answers) -> int:
        """Take a request, when it is time to answer; return the status."""
        with self._lock:
            if self._over:
                return 410
            self._requests += 1
            number = self._requests
        time.sleep(answers.first_seconds if number == 1 else answers.seconds)
        with self._lock:
            if answers.refused and number % answers.refused == 0:
                self.refused += 1
                return 503
            self.bodies.append(body)
            return 201

    def close(self) -> None:
        """Take nothing more: a job of its own would have ended, though its JVM goes on with the next one."""
        with self._lock:
            self._over = True


@contextmanager
def receiver(answers: Answers) -> Iterator[tuple[str, Received]]:
    """Run a receiver; give its address, and what it took."""
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self._answer(received.take(body, answers))

        def do_DELETE(self) -> None:
            received.close()
            self._answer(204)

        def _answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received
        finally:
            server.shutdown()
            thread.join()
