"""How requests reach storage: straight or by a proxy, over kept connections, with nothing of their own added."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import FrameType
from typing import Any

import pytest
from azure.core.exceptions import ServiceRequestError
from azure.core.pipeline.transport import RequestsTransport
from azure.core.rest import HttpRequest

from shared.storage.transport import transport


@contextmanager
def server(seen: list[tuple[str, int, dict[str, str]]]) -> Iterator[str]:
    """Answers everything, and notes the path, port and headers of each request."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            seen.append((self.path, self.client_address[1], dict(self.headers)))
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", "2")
            self.send_header("Set-Cookie", "a=b")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.daemon_threads = True
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{httpd.server_port}"
        finally:
            httpd.shutdown()
            thread.join()


def asked(proxies: dict[str, str], *urls: str) -> list[str]:
    with transport(connection_timeout=2, read_timeout=2, proxies=proxies, authorities="") as way:
        return [way.send(HttpRequest("GET", url)).text() for url in urls]


def test_connections_are_kept_and_cookies_are_not() -> None:
    seen: list[tuple[str, int, dict[str, str]]] = []
    with server(seen) as url:
        assert asked({}, f"{url}/one", f"{url}/two%20parts?x=1", f"{url}/three") == ["ok"] * 3
    assert [path for path, _, _ in seen] == ["/one", "/two%20parts?x=1", "/three"]
    assert len({port for _, port, _ in seen}) == 1
    assert not any("Cookie" in headers for _, _, headers in seen)


def test_the_proxy_is_used_for_all_hosts_except_excluded_ones() -> None:
    by_proxy: list[tuple[str, int, dict[str, str]]] = []
    straight: list[tuple[str, int, dict[str, str]]] = []
    with server(by_proxy) as proxy, server(straight) as url:
        proxies = {"http": proxy, "no": "127.0.0.1"}
        assert asked(proxies, "http://storage.invalid/a", f"{url}/b", "http://storage.invalid/c") == ["ok"] * 3
    assert [path for path, _, _ in by_proxy] == ["http://storage.invalid/a", "http://storage.invalid/c"]
    assert [path for path, _, _ in straight] == ["/b"]


def test_a_call_costs_much_less_than_with_the_transport_of_the_sdk() -> None:
    """The reason for our own transport: without it every call to storage takes about twice the CPU."""
    with server([]) as url:
        ours = transport(connection_timeout=2, read_timeout=2, proxies={}, authorities="")
        plain = RequestsTransport(use_env_settings=False, connection_timeout=2, read_timeout=2)
        assert 1.5 * function_calls(ours, url) < function_calls(plain, url)


def function_calls(way: RequestsTransport, url: str) -> int:
    """How many functions one call runs through in this thread, its connection being there."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    with way:
        way.send(HttpRequest("GET", url)).text()
        sys.setprofile(count)
        try:
            way.send(HttpRequest("GET", url)).text()
        finally:
            sys.setprofile(None)
    return calls


def test_a_host_that_does_not_answer_raises_the_sdks_own_error() -> None:
    with server([]) as url:
        pass
    with pytest.raises(ServiceRequestError):
        asked({}, f"{url}/gone")
