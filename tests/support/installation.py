"""A whole Throughline in memory behind HTTP: it receives, processes and publishes each event before it answers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from shared.bootstrap import Worker
from shared.openlineage.decoding import decode
from shared.publishing.publisher import Publisher
from tests.support.processing import post, settle
from tests.support.publishing import context_of


@contextmanager
def installation(
    parts: Worker, *, refused: str = "", key: str = "", token: str = "", also: Callable[[bytes], None] = lambda _: None
) -> Iterator[str]:
    """Its address, while it lasts; events of the type `refused` are answered with 500, those without this key and
    token with 401. `also` is called with each accepted body, before it is processed.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            authorized = self.headers.get("Authorization", "") == (f"Bearer {token}" if token else "")
            status = 500 if decode(body).type == refused else 201
            if not authorized or self.headers.get("x-functions-key", "") != key:
                status = 401
            if status == 201:
                also(body)
                for place in post(parts.storage, body):
                    settle(parts.storage, place)
                Publisher(context=context_of(parts.storage, parts.catalog, parts.publishing)).publish()
            self.send_response(status)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
