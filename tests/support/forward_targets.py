"""A real HTTP server that takes events as the documentation of each kind of target says, and can fail on demand.

Marquez: `POST /api/v1/lineage`, 201. DataHub, "OpenLineage": `POST /openapi/openlineage/api/v1/lineage`, a token, 200.
OpenMetadata, "OpenLineage Events": `POST /api/v1/openlineage/lineage`, a token, 200; an event that is no COMPLETE, or
has no input or no output, gives no edge. Event Hubs REST "Send event": `POST /HUB/messages`, 201, at most 1 MB (413).
Blob service REST "Put Blob": `PUT`, the headers `x-ms-blob-type` and `x-ms-version`, 201. It follows the documentation
only; only Marquez was compared with the real one.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_REQUIRED = ("eventTime", "producer", "schemaURL", "run", "job")
_HUB_BYTES = 1024 * 1024


@dataclass(slots=True, kw_only=True)
class TargetServer:
    """What came to each path, by method; edges of data sets that a target would show. `trouble`: a status with headers
    for every request.
    """

    port: int = 0
    came: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    edges: set[tuple[str, str]] = field(default_factory=set)
    trouble: tuple[int, Mapping[str, str]] | None = None

    def url(self, path: str = "") -> str:
        """The address of a path."""
        return f"http://127.0.0.1:{self.port}{path}"


def _edges(event: Any) -> set[tuple[str, str]]:
    return {(input_dataset["name"], sink["name"]) for input_dataset in event["inputs"] for sink in event["outputs"]}


def _status(server: TargetServer, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> int:
    """The status that the documentation gives to a request."""
    bare_path = path.partition("?")[0]
    has_token = headers.get("authorization", "").startswith("Bearer ")
    if method == "PUT":
        return 201 if headers.get("x-ms-blob-type") == "BlockBlob" and headers.get("x-ms-version") else 400
    if bare_path.endswith("/messages"):
        return 413 if len(raw) > _HUB_BYTES else 201
    event = json.loads(raw)
    if bare_path == "/api/v1/lineage":
        server.edges |= _edges(event)
        return 201 if all(key in event for key in _REQUIRED) else 422
    if bare_path in {"/openapi/openlineage/api/v1/lineage", "/api/v1/openlineage/lineage"}:
        if not has_token:
            return 401
        if event["eventType"] == "COMPLETE" and event["inputs"] and event["outputs"]:
            server.edges |= _edges(event)
        return 200
    return 404


@contextmanager
def target_server() -> Iterator[TargetServer]:
    """Run a server on a port of this machine while the context lasts."""
    state = TargetServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._take("POST")

        def do_PUT(self) -> None:
            self._take("PUT")

        def _take(self, method: str) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {key.lower(): value for key, value in self.headers.items()}
            status, extra_headers = state.trouble or (_status(state, method, self.path, headers, raw), {})
            if state.trouble is None:
                state.came.append((method, self.path, headers, raw))
            self.send_response(status)
            for name, value in extra_headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
