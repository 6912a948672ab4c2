"""The HTTP transport of storage: a pool of kept connections, for our own requests and the SDKs'.

`requests` and urllib3 build each request and each answer once more, with cookies, redirects and retries, none of which
storage has (decision 13). They are used only where there is a proxy.

A connection does what storage needs of RFC 9112 (HTTP/1.1), and no more. `http.client` opens it, and is too slow for
requests: it reads the headers of a response with a parser of mails.
"""

import ssl
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from http import HTTPStatus
from http.client import (
    BadStatusLine,
    HTTPConnection,
    HTTPException,
    HTTPSConnection,
    IncompleteRead,
    LineTooLong,
    RemoteDisconnected,
)
from ipaddress import ip_address
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed leaves it out

import certifi
from azure.core.exceptions import ServiceRequestError, ServiceResponseError
from azure.core.pipeline.transport import HttpRequest as PlainRequest
from azure.core.pipeline.transport import HttpTransport
from azure.core.rest import HttpRequest
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
        keep_alive = version != "HTTP/1.0" and headers.get("connection") != "close"
        if method == "HEAD" or status in _WITHOUT_BODY:
            content = b""
        elif headers.get("transfer-encoding") == "chunked":
            content = b"".join(_chunks(self._stream))
        elif length := headers.get("content-length"):
            content = _exactly(self._stream, _number(length, 10))
        else:
            content, keep_alive = self._stream.read(), False
        self.reusable = keep_alive
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
    version, _, status_and_reason = line.partition(" ")
    status, _, reason = status_and_reason.partition(" ")
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


AnyRequest = HttpRequest | PlainRequest
"""The SDKs', or our own of `service.py`: azure-core's older kind, which takes less than half of the CPU."""
_Place = tuple[str, str]
"""The scheme of an address, and its host with the port."""
_Idle = dict[_Place, deque[Connection]]
"""The connections that no request uses, the last used one last."""


class StorageTransport(HttpTransport[Any, Any]):
    """azure-core's transport, with these timeouts in seconds, through these proxies (by scheme; `no` names the hosts
    that need none; this machine never needs one), trusting the certificates in the file or folder `authorities`
    (empty: those of certifi). Clients and threads may share it.
    """

    def __init__(
        self, *, connection_timeout: float, read_timeout: float, proxies: Mapping[str, str], authorities: str
    ) -> None:
        self._connection_timeout = connection_timeout
        self._read_timeout = read_timeout
        self._proxies = proxies
        self._authorities = authorities or certifi.where()
        self._idle: _Idle = {}
        weakref.finalize(self, _close, self._idle)

    def open(self) -> None:
        """Do nothing: a request opens its connection."""

    def close(self) -> None:
        """Close the idle connections. Later requests open new ones."""
        _close(self._idle)

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, request: AnyRequest, **options: Any) -> Any:
        """Send a request and read its answer: an Answer, or that of azure-core's RequestsTransport from a proxy.

        Raises azure-core's ServiceRequestError where nothing was sent, and its ServiceResponseError where the answer is
        missing or incomplete.
        """
        parts = urlsplit(request.url)
        place = parts.scheme, parts.netloc
        idle = self._idle.get(place)
        if idle is None:
            if self._needs_proxy(parts.scheme, parts.hostname or ""):
                return _read(self._by_proxy.send(request, **options))
            idle = self._idle.setdefault(place, deque())
        connection = _open_one(idle) or self._connected(place, options.get("connection_timeout"))
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        try:
            return connection.exchange(
                request.method,
                target,
                {name: value for name, value in request.headers.items() if name.lower() != "content-length"},
                _body(request),
                timeout=options.get("read_timeout", self._read_timeout),
            )
        except (OSError, HTTPException) as error:
            raise ServiceResponseError(type(error).__name__, error=error) from None
        finally:
            if connection.reusable:
                idle.append(connection)
            else:
                connection.close()

    def _connected(self, place: _Place, timeout: float | None) -> Connection:
        scheme, host = place
        timeout = timeout or self._connection_timeout
        try:
            if scheme == "https":
                connection: HTTPConnection = HTTPSConnection(host, timeout=timeout, context=self._tls)
            else:
                connection = HTTPConnection(host, timeout=timeout)
            connection.connect()
        except (OSError, HTTPException, ValueError) as error:  # the last: of a host name that cannot exist
            raise ServiceRequestError(type(error).__name__, error=error) from None
        return Connection(connection, host)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        file, folder = (None, self._authorities) if Path(self._authorities).is_dir() else (self._authorities, None)
        context = ssl.create_default_context(cafile=file, capath=folder)
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _needs_proxy(self, scheme: str, host: str) -> bool:
        if scheme not in self._proxies and "all" not in self._proxies:
            return False
        return not (_is_loopback(host) or proxy_bypass_environment(host, {"no": self._proxies.get("no", "")}))

    @cached_property
    def _by_proxy(self) -> HttpTransport[Any, Any]:
        import requests  # noqa: PLC0415 - slow to import, and most networks have no proxy
        from azure.core.pipeline.transport import RequestsTransport  # noqa: PLC0415 - the same

        session = requests.Session()
        session.trust_env = False
        session.proxies = dict(self._proxies)
        transport = RequestsTransport(
            session=session,
            session_owner=False,
            use_env_settings=False,
            connection_timeout=self._connection_timeout,
            read_timeout=self._read_timeout,
            connection_verify=self._authorities,
        )
        return cast("HttpTransport[Any, Any]", transport)


def _open_one(idle: deque[Connection]) -> Connection | None:
    """The last used idle connection that is still open."""
    with suppress(IndexError):  # there is none, or another thread takes the last one
        while True:
            connection = idle.pop()
            if connection.is_open:
                return connection
            connection.close()
    return None


def _read(response: Any) -> Any:
    """An answer from a proxy: azure-core's to a request of its own kind cannot be read as those to the SDKs' can."""
    if hasattr(response, "read"):
        return response
    headers = Headers({name.lower(): value for name, value in response.headers.items()})
    return Answer(response.status_code, response.reason, headers, response.body())


def _body(request: AnyRequest) -> bytes:
    content: Any = request.body if isinstance(request, PlainRequest) else request.content
    return content.encode() if isinstance(content, str) else content or b""


def _close(idle: _Idle) -> None:
    for connections in idle.values():
        while connections:
            connections.pop().close()


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
