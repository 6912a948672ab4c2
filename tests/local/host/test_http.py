"""HTTP triggers on the local functions host with Microsoft's runtime."""

import concurrent.futures
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.local.hosting import App, sample, wait_for


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The sample app with HTTP functions, and its running host."""
    scratch = tmp_path_factory.mktemp("web")
    with sample("web", scratch) as app:
        app.start()
        yield app


def test_a_request_and_its_answer_pass_through(web: App) -> None:
    """Method, body, headers, query and URL arrive; status and headers come back."""
    answer = requests.post(
        f"{web.url}/api/v1/echo?x=1&x=2&y=",
        data="Grüße".encode(),
        headers={"x-sample": "ä".encode("latin-1")},
        timeout=60,
    )
    assert answer.status_code == 201
    assert answer.json() == {
        "method": "POST",
        "body": "Grüße",
        "header": "ä",
        "query": {"x": "1,2", "y": ""},
        "url": f"{web.url}/api/v1/echo?x=1&x=2&y=",
    }
    assert answer.headers["X-Answer"] == "yes"
    assert answer.headers["Content-Type"] == "application/json"


def test_a_chunked_body_arrives_empty(web: App) -> None:
    """As in Azure; the connection stays usable."""
    with requests.Session() as session:
        answers = [session.post(f"{web.url}/api/v1/echo", data=body, timeout=60) for body in (iter([b"lost"]), b"kept")]
    assert [answer.json()["body"] for answer in answers] == ["", "kept"]


@pytest.mark.parametrize(
    ("method", "path", "status", "text"),
    [
        ("GET", "/api/items/7/a/b", 200, "item|7|a/b"),
        ("PUT", "/API/Items/7/", 200, "item|7|"),
        ("DELETE", "/api/v1/echo", 404, ""),
        ("GET", "/api/nothing", 404, ""),
        ("GET", "/items/7/a", 404, ""),
        ("GET", "/api/boom", 500, ""),
    ],
)
def test_requests_are_routed_by_the_template_of_the_function(
    web: App, method: str, path: str, status: int, text: str
) -> None:
    """Routes have parameters and a prefix; a failing function answers 500 without any detail."""
    answer = requests.request(method, f"{web.url}{path}", timeout=60)
    assert (answer.status_code, answer.text if status != 200 or text else "") == (status, text)


def test_a_failure_is_one_line_in_the_log(web: App) -> None:
    """It names function, invocation, try and error; a record's line ends are folded."""
    requests.get(f"{web.url}/api/boom", timeout=60)
    requests.get(f"{web.url}/api/slow", timeout=60)
    log = web.hosts[0].log.read_text()
    assert re.search(r"ERROR .* function=boom invocation=[0-9a-f-]{36} try=1/1 failed: RuntimeError\('secret", log)
    assert re.search(r"INFO    \[slow_hello\] slow on two\\nlines for GET\n", log)
    assert "Traceback" not in log


def test_functions_without_async_run_concurrently(web: App) -> None:
    """Six calls of half a second take less time than two in a row."""
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        texts = list(pool.map(lambda _: requests.get(f"{web.url}/api/slow", timeout=60).text, range(6)))
    assert texts == ["slow"] * 6
    assert time.monotonic() - start < 1.5


def test_the_host_reports_its_status_and_counts_of_calls(web: App) -> None:
    """They have its status, and the number of each function's calls."""
    counts_before = web.get("/admin/host/calls")["invocations"]["item"]
    requests.get(f"{web.url}/api/items/1/x", timeout=60)
    assert web.get("/admin/host/calls")["invocations"]["item"] == {"ok": counts_before["ok"] + 1, "failed": 0}
    status = web.get("/admin/host/status")
    assert (status["state"], status["functions"]) == ("Running", ["boom", "echo", "item", "slow_hello"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_running_calls_end(tmp_path: Path, number: signal.Signals) -> None:
    """Running calls are answered, and the exit status is 0."""
    with sample("web", tmp_path) as app, concurrent.futures.ThreadPoolExecutor() as pool:
        host = app.start()
        app.get("/admin/host/status")
        answer = pool.submit(requests.get, f"{app.url}/api/slow", timeout=60)
        assert wait_for(lambda: app.get("/admin/host/calls")["in_flight"] == 1)
        assert host.end(number) == 0
        assert answer.result().text == "slow"


def test_a_call_beyond_the_grace_is_interrupted(tmp_path: Path) -> None:
    """The exit status is then 1, and the log names the running functions."""
    with sample("web", tmp_path, None, "--grace", "0.1") as app, concurrent.futures.ThreadPoolExecutor() as pool:
        host = app.start()
        app.get("/admin/host/status")
        answer = pool.submit(requests.get, f"{app.url}/api/slow", timeout=60)
        assert wait_for(lambda: app.get("/admin/host/calls")["in_flight"] == 1)
        assert host.end() == 1
        assert answer.result().status_code == 500
        assert "after 0.1 s still running: {'httpTrigger': 1}" in host.log.read_text()


def test_waiting_connections_are_served_after_the_host_is_killed(tmp_path: Path) -> None:
    """A request that arrives while no host runs is answered by the next one."""
    with sample("web", tmp_path) as app, concurrent.futures.ThreadPoolExecutor() as pool:
        host = app.start()
        app.get("/admin/host/status")
        host.end(signal.SIGKILL)
        answers = [pool.submit(requests.get, f"{app.url}/api/items/{number}/x", timeout=60) for number in range(3)]
        app.start()
        assert [answer.result().text for answer in answers] == ["item|0|x", "item|1|x", "item|2|x"]


def test_an_invalid_request_is_answered_with_400(web: App) -> None:
    """It is answered 400."""
    with socket.create_connection(("127.0.0.1", web.listening.getsockname()[1]), 5) as connection:
        connection.sendall(b"POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
