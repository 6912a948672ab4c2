"""A server that gives scripted answers, call by call, and counts the calls."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedAnswer:
    """One answer, after `late` seconds; `cut`: the connection ends in the middle of the body."""

    status: int = 200
    body: str = "{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    late: float = 0.0
    cut: bool = False


@dataclass(slots=True)
class Scripted:
    """The answers, the last of which is repeated, and the number of calls so far."""

    url: str
    answers: list[ScriptedAnswer]
    calls: int = 0

    def next(self) -> ScriptedAnswer:
        self.calls += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def scripted(*answers: ScriptedAnswer) -> Iterator[Scripted]:
    """Serve these answers, in turn, on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = script.next()
            time.sleep(answer.late)
            data = answer.body.encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data) + (100 if answer.cut else 0)))
            self.end_headers()
            self.wfile.write(data)
            self.close_connection = answer.cut

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _answer  # noqa: N815 - the names that the library calls

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        script = Scripted(f"http://127.0.0.1:{server.server_port}", list(answers))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield script
        server.shutdown()
