"""The page's server answers only the browser that has the token."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from shared.serving.requests import Request
from shared.serving.service import LineageService
from shared.serving.shelf import OneDocument
from shared.serving.view import LineageView
from tests.support.lineage import random_document
from throughline.cli.viewer.server import PageServer

SERVICE = LineageService(OneDocument(view=LineageView(random_document(1), "now")))
PAGE = SERVICE.answer(Request(path="")).body


@pytest.fixture
def server() -> Iterator[PageServer]:
    with PageServer(SERVICE, 0) as page_server:
        thread = threading.Thread(target=page_server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield page_server
        page_server.shutdown()
        thread.join()


def ask(server: PageServer, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=5)) as connection:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


def path_of(server: PageServer) -> str:
    return "/" + server.address.partition(f":{server.server_port}/")[2]


def test_the_token_works_once_and_gives_a_cookie(server: PageServer) -> None:
    path = path_of(server)
    assert ask(server, "/")[0] == 403
    status, headers, _ = ask(server, path)
    assert (status, headers["location"]) == (303, "/")
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Strict" in headers["set-cookie"]
    cookie = headers["set-cookie"].partition(";")[0]
    assert ask(server, "/", Cookie=cookie)[::2] == (200, PAGE)
    assert ask(server, "/", Cookie=cookie)[0] == 200, "the page can be loaded again"
    assert ask(server, path)[0] == 403, "the token is spent"
    assert ask(server, "/?token=guessed")[0] == 403


@pytest.mark.parametrize("cookie", ["throughline_view=wrong", "throughline_view=", "other=1", '"; throughline_view'])
def test_another_cookie_is_refused(server: PageServer, cookie: str) -> None:
    assert ask(server, "/", Cookie=cookie)[0] == 403


def test_another_host_another_path_and_another_method_are_refused(server: PageServer) -> None:
    path = path_of(server)
    assert ask(server, path, Host="evil.example")[0] == 421
    assert ask(server, path, Host=f"evil.example:{server.server_port}")[0] == 421
    assert ask(server, "/etc/passwd")[0] == 403
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert ask(server, path, method)[0] == 501
    assert ask(server, path)[0] == 303, "none of these has spent the token"


def test_headers_forbid_caching_framing_and_referrers(server: PageServer) -> None:
    _, headers, _ = ask(server, "/")
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "python" not in headers["server"].lower()


def test_the_server_listens_on_loopback_only(server: PageServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_the_api_is_served_to_the_same_browser(server: PageServer) -> None:
    assert ask(server, "/api/v1/throughline/unknown")[0] == 403
    cookie = ask(server, path_of(server))[1]["set-cookie"].partition(";")[0]
    status, headers, body = ask(server, "/api/v1/throughline/unknown", Cookie=cookie)
    assert (status, headers["content-type"], headers["cache-control"]) == (200, "application/json", "no-store")
    assert b"total" in body
    assert ask(server, "/etc/passwd", Cookie=cookie)[0] == 404
