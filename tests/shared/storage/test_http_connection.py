"""What a connection sends, and how it reads responses: whole ones, and what is none."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import BadStatusLine, HTTPConnection, HTTPException, IncompleteRead, LineTooLong, RemoteDisconnected

import pytest

from shared.storage.transport import Connection

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@contextmanager
def connected() -> Iterator[tuple[Connection, socket.socket]]:
    """A connection, and the service's end of it."""
    own_socket, peer_socket = socket.socketpair()
    peer_socket.settimeout(5)
    http_connection = HTTPConnection("a.example")
    http_connection.sock = own_socket
    connection = Connection(http_connection, "a.example:10000")
    with peer_socket:
        try:
            yield connection, peer_socket
        finally:
            connection.close()


WHOLE: dict[str, tuple[bytes, int, bytes, bool]] = {
    # the response; its status and body, and whether the connection may be used again
    "with a length": (HEAD + b"Content-Length: 3\r\n\r\nabc", 200, b"abc", True),
    "empty": (HEAD + b"Content-Length: 0\r\n\r\n", 200, b"", True),
    "without content": (b"HTTP/1.1 204 No Content\r\nETag: e\r\n\r\n", 204, b"", True),
    "without a reason": (b"HTTP/1.1 204\r\n\r\n", 204, b"", True),
    "in chunks": (CHUNKED + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", 200, b"abcde", True),
    "in chunks, with trailers": (CHUNKED + b"A\r\n0123456789\r\n0\r\nX: y\r\n\r\n", 200, b"0123456789", True),
    "until the end": (HEAD + b"\r\nabc", 200, b"abc", False),
    "to be closed": (HEAD + b"Connection: close\r\nContent-Length: 1\r\n\r\na", 200, b"a", False),
    "of an old version": (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, b"a", False),
    "after an interim one": (b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"Content-Length: 1\r\n\r\na", 200, b"a", True),
    "that refuses": (b"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 2\r\n\r\nno", 412, b"no", True),
}  # fmt: skip


@pytest.mark.parametrize(("response", "status", "content", "reusable"), WHOLE.values(), ids=WHOLE)
def test_a_response_is_read_to_its_end(response: bytes, status: int, content: bytes, *, reusable: bool) -> None:
    with connected() as (connection, service):
        service.sendall(response)
        if not reusable:
            service.shutdown(socket.SHUT_WR)
        answer = connection.exchange("GET", "/", {}, b"", timeout=5)
        assert (answer.status_code, answer.read(), connection.reusable) == (status, content, reusable)
        assert connection.is_open is reusable, "nothing is left to read"


BROKEN: dict[str, tuple[bytes, type[Exception]]] = {
    "nothing": (b"", RemoteDisconnected),
    "no response": (b"SSH-2.0-x\r\n\r\n", BadStatusLine),
    "no status": (b"HTTP/1.1 abc\r\n\r\n", BadStatusLine),
    "a head that is cut off": (HEAD + b"Content-Length: 3\r\n", RemoteDisconnected),
    "a line that is cut off": (HEAD + b"Content-Le", LineTooLong),
    "a line that is too long": (HEAD + b"X: " + b"x" * 70_000 + b"\r\n\r\n", LineTooLong),
    "too many headers": (HEAD + b"".join(b"X%d: y\r\n" % number for number in range(200)), HTTPException),
    "a body that is cut off": (HEAD + b"Content-Length: 3\r\n\r\nab", IncompleteRead),
    "a length below nothing": (HEAD + b"Content-Length: -1\r\n\r\nab", HTTPException),
    "a length that is none": (HEAD + b"Content-Length: x\r\n\r\nab", HTTPException),
    "a chunk that is cut off": (CHUNKED + b"5\r\nab", IncompleteRead),
    "a chunk without a length": (CHUNKED + b"?\r\nab", HTTPException),
    "chunks without an end": (CHUNKED + b"1\r\na\r\n", RemoteDisconnected),
}


@pytest.mark.parametrize(("response", "error"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_whole_response_raises_an_error(response: bytes, error: type[Exception]) -> None:
    with connected() as (connection, service):
        sender = threading.Thread(target=_send, args=(service, response), daemon=True)
        sender.start()
        with pytest.raises(error):
            connection.exchange("GET", "/", {}, b"", timeout=5)
        sender.join()
        assert not connection.reusable


def _send(service: socket.socket, response: bytes) -> None:
    service.sendall(response)
    service.shutdown(socket.SHUT_WR)


def test_a_late_response_raises_a_timeout() -> None:
    with connected() as (connection, _):
        with pytest.raises(TimeoutError):
            connection.exchange("GET", "/", {}, b"", timeout=0.05)
        assert not connection.reusable


@pytest.mark.parametrize("size", [0, 3, 200_000])
def test_a_request_is_sent_with_its_body(size: int) -> None:
    received = list[bytes]()

    def serve(service: socket.socket) -> None:
        stream = service.makefile("rb")
        received.extend(iter(stream.readline, b"\r\n"))
        received.append(stream.read(size))
        service.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")

    with connected() as (connection, service):
        thread = threading.Thread(target=serve, args=(service,), daemon=True)
        thread.start()
        answer = connection.exchange("PUT", "/a?b=c", {"X-Name": "value"}, b"x" * size, timeout=5)
        thread.join(5)
    assert answer.status_code == 201
    line, *headers, body = received
    assert line == b"PUT /a?b=c HTTP/1.1\r\n"
    length = b"Content-Length: %d\r\n" % size
    assert headers == [b"Host: a.example:10000\r\n", b"X-Name: value\r\n", length]
    assert body == b"x" * size


def test_headers_are_found_by_their_names_in_any_case() -> None:
    with connected() as (connection, service):
        service.sendall(b'HTTP/1.1 204 x\r\nETag: W/"a:b"\r\nContent-Type:  application/json  \r\n\r\n')
        answer = connection.exchange("GET", "/", {}, b"", timeout=5)
        assert (answer.headers["ETAG"], answer.headers.get("etag"), "eTag" in answer.headers) == (
            'W/"a:b"',
            'W/"a:b"',
            True,
        )
        assert answer.content_type == "application/json"
        assert answer.headers.get("other") is None


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "a\rb"])
def test_a_header_never_holds_the_end_of_a_line(value: str) -> None:
    with connected() as (connection, service):
        with pytest.raises(ValueError, match="end of a line"):
            connection.exchange("GET", "/", {"If-Match": value}, b"", timeout=5)
        service.setblocking(False)
        with pytest.raises(BlockingIOError):
            service.recv(1)
