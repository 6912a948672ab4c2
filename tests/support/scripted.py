"""A server that answers as it is told, call by call, and counts the calls."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One answer: after `late` seconds; `cut`: the connection ends in the middle of the body."""

    status: int = 200
    body: str = "{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    late: float = 0.0
    cut: bool = False


@dataclass(slots=True)
class Scripted:
    """The answers, of which the last is given again and again; the calls so far."""

    url: str
    answers: list[Said]
    calls: int = 0

    def next(self) -> Said:
        self.calls += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def scripted(*answers: Said) -> Iterator[Scripted]:
    """Serve these answers, in turn, on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            said = script.next()
            time.sleep(said.late)
            data = said.body.encode()
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data) + (100 if said.cut else 0)))
            self.end_headers()
            self.wfile.write(data)
            self.close_connection = said.cut

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _answer  # noqa: N815 - the names that the library asks for

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        script = Scripted(f"http://127.0.0.1:{server.server_port}", list(answers))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield script
        server.shutdown()
