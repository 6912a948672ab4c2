"""A connection of HTTP/1.1: what storage needs of RFC 9112, and no more.

`http.client` opens it, and is too slow for requests: it reads the headers of a response with a parser of mails.
"""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from http.client import (
    BadStatusLine,
    HTTPConnection,
    HTTPException,
    IncompleteRead,
    LineTooLong,
    RemoteDisconnected,
)
from typing import BinaryIO

from urllib3.util import wait_for_read

_LONGEST_LINE = 65536
_MOST_HEADERS = 100
_SENT_WITH_HEAD = 65536
"""A body of up to so many bytes is copied behind the head, and sent with it."""
_WITHOUT_BODY = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
_WITH_BODY = frozenset({"PUT", "POST"})


class Headers(dict[str, str]):
    """The headers of a response, by their names in any case."""

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def __contains__(self, name: object) -> bool:
        return super().__contains__(str(name).lower())

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]  # of str alone
        """A header's value."""
        return super().get(name.lower(), default)


class Answer:
    """A response, read to its end: the part of azure-core's HttpResponse that its policies, the SDKs and we use."""

    def __init__(self, status: int, reason: str, headers: Headers, content: bytes) -> None:
        self.status_code = status
        self.reason = reason
        self.headers = headers
        self.content = content

    @property
    def content_type(self) -> str | None:
        """The type of the body."""
        return self.headers.get("content-type")

    def read(self) -> bytes:
        """The body."""
        return self.content

    body = read

    def text(self, encoding: str | None = None) -> str:
        """The body as text."""
        return self.content.decode(encoding or "utf-8", "replace")


class Connection:
    """An open connection, which one thread uses at a time. `host` is that of its requests, with its port."""

    def __init__(self, connection: HTTPConnection, host: str) -> None:
        self._sock = connection.sock
        self._stream = connection.sock.makefile("rb")
        self.host = host
        self.reusable = True
        """Whether it may be used for another request."""

    @property
    def is_open(self) -> bool:
        """Whether the service has not closed it: then there would be something to read."""
        return not wait_for_read(self._sock, timeout=0)

    def close(self) -> None:
        """Close it."""
        self._stream.close()
        self._sock.close()

    def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes, *, timeout: float) -> Answer:
        """Send a request, and read its response, for which each wait takes at most `timeout` seconds.

        Raises http.client's HTTPException for what is no whole response, OSError, and ValueError for a header that
        holds the end of a line. The connection must be closed then.
        """
        self.reusable = False
        self._sock.settimeout(timeout)
        head = _encoded_head(method, target, {"Host": self.host, **headers}, len(body))
        if len(body) <= _SENT_WITH_HEAD:
            self._sock.sendall(head + body)
        else:
            self._sock.sendall(head)
            self._sock.sendall(body)
        return self._read(method)

    def _read(self, method: str) -> Answer:
        status = int(HTTPStatus.CONTINUE)
        while status < HTTPStatus.OK:  # interim responses come before the final one
            version, status, reason = _status_line(self._stream)
            headers = _headers(self._stream)
        kept = version != "HTTP/1.0" and headers.get("connection") != "close"
        if method == "HEAD" or status in _WITHOUT_BODY:
            content = b""
        elif headers.get("transfer-encoding") == "chunked":
            content = b"".join(_chunks(self._stream))
        elif length := headers.get("content-length"):
            content = _exactly(self._stream, _number(length, 10))
        else:
            content, kept = self._stream.read(), False
        self.reusable = kept
        return Answer(status, reason, headers, content)


def _encoded_head(method: str, target: str, headers: Mapping[str, str], length: int) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if length or method in _WITH_BODY:
        lines.append(f"Content-Length: {length}")
    head = "\r\n".join(lines)
    if not len(lines) - 1 == head.count("\n") == head.count("\r"):
        raise ValueError("a header of a request to storage holds the end of a line")
    return f"{head}\r\n\r\n".encode("latin-1")


def _status_line(stream: BinaryIO) -> tuple[str, int, str]:
    line = _line(stream).decode("latin-1")
    version, _, rest = line.partition(" ")
    status, _, reason = rest.partition(" ")
    if not version.startswith("HTTP/1.") or not status.isdecimal():
        raise BadStatusLine(line)
    return version, int(status), reason


def _headers(stream: BinaryIO) -> Headers:
    headers = Headers()
    while line := _line(stream):
        if len(headers) == _MOST_HEADERS:
            raise HTTPException(f"more than {_MOST_HEADERS} headers")
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return headers


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    while size := _number(_line(stream).partition(b";")[0], 16):
        yield _exactly(stream, size)
        _line(stream)
    _headers(stream)  # the trailers


def _line(stream: BinaryIO) -> bytes:
    """The next line, without its end."""
    line = stream.readline(_LONGEST_LINE)
    if not line.endswith(b"\n"):
        raise LineTooLong("line") if line else RemoteDisconnected("the connection has ended")
    return line.rstrip(b"\r\n")


def _exactly(stream: BinaryIO, length: int) -> bytes:
    content = stream.read(length)
    if len(content) < length:
        raise IncompleteRead(content, length - len(content))
    return content


def _number(text: bytes | str, base: int) -> int:
    try:
        number = int(text, base)
    except ValueError:
        number = -1
    if number < 0:
        raise HTTPException("a length that is no number")
    return number
