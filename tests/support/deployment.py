"""A stand-in for the address of a function app."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Root:
    """The answer of both apps at `/`, like the functions host's, with `status`; 0: nothing listens."""

    def __init__(self) -> None:
        self.status = 200
        root = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = b"Function host is not running." if root.status == 503 else b"<html/>"
                self.send_response(root.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
