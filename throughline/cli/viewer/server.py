"""Serve the lineage page on loopback: to the browser that this command opened, and to nobody else.

GET only. The address has a token that works once and is then exchanged for a cookie, so that it is worth nothing in a
browser's history. The Host header is checked, so that a page of another site cannot reach this one by a name of its own
that it lets point to loopback (DNS rebinding).
"""

import secrets
from collections.abc import Mapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from shared.serving.requests import Request
from shared.serving.service import HEADERS, LineageService

_HOST = "127.0.0.1"
_COOKIE = "throughline_view"
_NO_STORE = {"Cache-Control": "no-store"}
"""A browser keeps nothing of what lies behind a token that is worth nothing later."""
_USED = "This address has been used. Run the command again for a new one."


class PageServer(ThreadingHTTPServer):
    """Serves the page and the API of one service until it is shut down.

    `port` 0 takes a free one; raises OSError where the port is taken.
    """

    daemon_threads = True
    allow_reuse_address = False

    def __init__(self, service: LineageService, port: int) -> None:
        super().__init__((_HOST, port), _Handler)
        self.service = service
        self.token: str | None = secrets.token_urlsafe(24)
        self.session = secrets.token_urlsafe(24)
        self.hosts = frozenset({f"{_HOST}:{self.server_port}", f"localhost:{self.server_port}"})

    @property
    def address(self) -> str:
        """The address with the token."""
        return f"http://{_HOST}:{self.server_port}/?token={self.token}"

    def redeem(self, token: str) -> bool:
        """Whether this is the token; it is spent then."""
        if self.token is None or not secrets.compare_digest(token.encode(), self.token.encode()):
            return False
        self.token = None
        return True


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "throughline"
    sys_version = ""
    timeout = 10  # seconds until a silent connection is closed

    def do_GET(self) -> None:
        """The page and the API, to a browser with the token or the cookie."""
        if self.headers.get("Host", "") not in self.server.hosts:
            return self._answer(HTTPStatus.MISDIRECTED_REQUEST, "This server answers to 127.0.0.1 only.")
        address = urlsplit(self.path)
        token = parse_qs(address.query).get("token")
        if token:
            return self._sign_in(token[0])
        if not self._is_signed_in():
            return self._answer(HTTPStatus.FORBIDDEN, "Open the address that the command printed.")
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.service.answer(
            Request(path=unquote(address.path).lstrip("/"), query=query, headers=headers)
        )
        return self._send(answer.status, answer.body, answer.headers)

    def _sign_in(self, token: str) -> None:
        if not self.server.redeem(token):
            return self._answer(HTTPStatus.FORBIDDEN, _USED)
        cookie = f"{_COOKIE}={self.server.session}; HttpOnly; SameSite=Strict; Path=/"
        return self._send(HTTPStatus.SEE_OTHER, b"", {"Location": "/", "Set-Cookie": cookie})

    def _is_signed_in(self) -> bool:
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(_COOKIE)
        except CookieError:
            return False
        return cookie is not None and secrets.compare_digest(cookie.value.encode(), self.server.session.encode())

    def _answer(self, status: HTTPStatus, sentence: str) -> None:
        self._send(status, f"{sentence}\n".encode(), {"Content-Type": "text/plain; charset=utf-8"})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, **headers, **_NO_STORE, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Nothing: the terminal is the command's."""
