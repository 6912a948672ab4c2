"""A server on loopback that accepts telemetry, like a collector or Application Insights."""

import gzip
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """The collector's address, and the received bodies by path, unpacked."""

    url: str
    bodies: dict[str, bytes]


class _Collector(BaseHTTPRequestHandler):
    sent: ClassVar[dict[str, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.sent[self.path] = self.sent.get(self.path, b"") + body
        is_json = "json" in self.headers["Content-Type"]
        items = len(json.loads(body)) if is_json else 0
        answer = json.dumps({"itemsReceived": items, "itemsAccepted": items, "errors": []}) if is_json else ""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture
def collector() -> Iterator[Collected]:
    """A collector that listens while the test runs."""
    sent_bodies: dict[str, bytes] = {}
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (_Collector,), {"sent": sent_bodies})) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Collected(url=f"http://127.0.0.1:{server.server_port}", bodies=sent_bodies)
        server.shutdown()
        thread.join()
