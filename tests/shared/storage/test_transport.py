"""How requests reach storage: straight or by a proxy, over kept connections, with nothing of their own added."""

import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from azure.core.exceptions import ServiceRequestError, ServiceResponseError
from azure.core.pipeline.transport import HttpRequest as PlainRequest
from azure.core.pipeline.transport import HttpTransport, RequestsTransport
from azure.core.rest import HttpRequest

from shared.storage.transport import StorageTransport
from tests.support.certificates import self_signed
from tests.support.scripted import ScriptedAnswer, scripted

Seen = list[tuple[str, int, dict[str, str]]]
"""The path, port and headers of each request."""


@contextmanager
def server(seen_requests: Seen, *, closes: bool = False, certificate: tuple[Path, Path] | None = None) -> Iterator[str]:
    """Answers everything; `closes`: and closes the connection then, without saying so. It is a proxy too."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            seen_requests.append((self.path, self.client_address[1], dict(self.headers)))
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", "2")
            self.send_header("Set-Cookie", "a=b")
            self.end_headers()
            self.wfile.write(b"ok")
            self.close_connection = closes

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        try:
            yield f"http{'s' if certificate else ''}://127.0.0.1:{httpd.server_port}"
        finally:
            httpd.shutdown()
            thread.join()


def transport(proxies: dict[str, str] | None = None, authorities: str = "", seconds: float = 2) -> StorageTransport:
    return StorageTransport(
        connection_timeout=seconds, read_timeout=seconds, proxies=proxies or {}, authorities=authorities
    )


def asked(way: StorageTransport, *urls: str) -> list[str]:
    with way:
        return [way.send(HttpRequest("GET", url)).text() for url in urls]


def test_connections_are_kept_and_cookies_are_not() -> None:
    seen_requests: Seen = []
    with server(seen_requests) as url:
        assert asked(transport(), f"{url}/one", f"{url}/two%20parts?x=1", f"{url}?three") == ["ok"] * 3
    assert [path for path, _, _ in seen_requests] == ["/one", "/two%20parts?x=1", "/?three"]
    assert len({port for _, port, _ in seen_requests}) == 1
    assert not any("Cookie" in headers for _, _, headers in seen_requests)


def test_a_connection_that_the_service_has_closed_is_not_used_again() -> None:
    seen_requests: Seen = []
    way = transport()
    with server(seen_requests, closes=True) as url, way:
        for _ in range(3):
            assert way.send(HttpRequest("GET", url)).text() == "ok"
            ((connection,),) = way._idle.values()
            _wait_until_closed(connection._sock)
    assert len({port for _, port, _ in seen_requests}) == 3


def _wait_until_closed(sock: socket.socket) -> None:
    sock.settimeout(5)
    assert sock.recv(1, socket.MSG_PEEK) == b""


def test_threads_do_not_share_a_connection() -> None:
    seen_requests: Seen = []
    with server(seen_requests) as url, transport() as way, ThreadPoolExecutor(8) as pool:
        texts = pool.map(lambda n: way.send(HttpRequest("GET", f"{url}/{n}")).text(), range(100))
        assert list(texts) == ["ok"] * 100
    assert sorted(path for path, _, _ in seen_requests) == sorted(f"/{n}" for n in range(100))
    assert len({port for _, port, _ in seen_requests}) <= 8


def test_the_proxy_is_used_for_all_hosts_except_excluded_ones_and_this_machine() -> None:
    by_proxy: Seen = []
    straight: Seen = []
    with server(by_proxy) as proxy, server(straight) as url:
        way = transport({"http": proxy, "no": "excluded.invalid"})
        urls = ("http://storage.invalid/a", f"{url}/b", f"{url.replace('127.0.0.1', 'localhost')}/c")
        assert asked(way, *urls) == ["ok"] * 3
        with pytest.raises(ServiceRequestError):
            asked(way, "http://excluded.invalid/d")
        with way:
            answer = way.send(PlainRequest("GET", "http://storage.invalid/own"))
        assert (answer.status_code, answer.read(), answer.headers.get("Content-Length")) == (200, b"ok", "2")
    assert [path for path, _, _ in by_proxy] == ["http://storage.invalid/a", "http://storage.invalid/own"]
    assert [path for path, _, _ in straight] == ["/b", "/c"]


def test_only_the_given_authorities_are_trusted(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    with server([], certificate=(certificate, key)) as url:
        assert asked(transport(authorities=str(certificate)), url) == ["ok"]
        with pytest.raises(ServiceRequestError, match="SSLCertVerificationError"):
            asked(transport(), url)


def test_a_call_costs_much_less_than_with_the_transport_of_the_sdk() -> None:
    """The reason for our own transport; `python -m tests.bench --only storage` has the CPU."""
    with server([]) as url:
        plain = RequestsTransport(use_env_settings=False, connection_timeout=2, read_timeout=2)
        assert 2 * function_calls(transport(), url) < function_calls(plain, url)


def function_calls(way: HttpTransport[Any, Any], url: str) -> int:
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


def _gone() -> str:
    with server([]) as url:
        return url


ERRORS: dict[str, tuple[ScriptedAnswer | Callable[[], str], type[Exception]]] = {
    "a host that does not listen": (_gone, ServiceRequestError),
    "a name that no host has": (lambda: "http://storage.invalid", ServiceRequestError),
    "a name that no host can have": (lambda: "http://storage..invalid", ServiceRequestError),
    "an answer that is cut off": (ScriptedAnswer(cut=True), ServiceResponseError),
    "an answer that comes too late": (ScriptedAnswer(late=2.5), ServiceResponseError),
}


@pytest.mark.parametrize(("place", "error"), ERRORS.values(), ids=ERRORS)
def test_a_failed_call_raises_the_error_of_azure_core(
    place: ScriptedAnswer | Callable[[], str], error: type[Exception]
) -> None:
    if isinstance(place, ScriptedAnswer):
        with scripted(place) as script, pytest.raises(error) as error_info:
            asked(transport(seconds=1), script.url)
    else:
        with pytest.raises(error) as error_info:
            asked(transport(seconds=1), place())
    assert type(error_info.value) is error


def test_a_host_that_takes_no_connection_in_time_raises_the_error_of_azure_core() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)), pytest.raises(ServiceRequestError, match="TimeoutError"):
            asked(transport(seconds=0.3), f"http://127.0.0.1:{port}")
