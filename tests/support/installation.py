"""A whole Throughline in memory behind HTTP: it receives, processes and publishes each event before it answers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from shared.bootstrap import Worker
from shared.openlineage.decoding import decode
from shared.publishing.publisher import Publisher
from tests.support.processing import deliver_event, post
from tests.support.publishing import context_of

_CREATED = 201


@contextmanager
def installation(
    parts: Worker,
    *,
    refused: str = "",
    key: str = "",
    token: str = "",
    status: Callable[[], int] = lambda: _CREATED,
    folds: bool = True,
) -> Iterator[str]:
    """Its address, while it lasts; events of the type `refused` are answered with 500, those without this key and
    token with 401, all with this `status`. Unless it `folds`, events are stored alone.
    """
    turn = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with turn:
                answer = self._answer(body)
            self.send_response(answer)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def _answer(self, body: bytes) -> int:
            authorized = self.headers.get("Authorization", "") == (f"Bearer {token}" if token else "")
            if not authorized or self.headers.get("x-functions-key", "") != key:
                return 401
            if decode(body).type == refused:
                return 500
            answer = status()
            if answer == _CREATED:
                for place in post(parts.storage, body):
                    if folds:
                        deliver_event(parts.storage, place)
                if folds:
                    Publisher(context=context_of(parts.storage, parts.catalog, parts.publishing)).publish()
            return answer

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
