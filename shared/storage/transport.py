"""The HTTP transport of storage: a pool of kept connections, for our own requests and the SDKs'.

`requests` and urllib3 build each request and each answer once more, with cookies, redirects and retries, none of which
storage has (decision 13). They are used only where there is a proxy.
"""

import ssl
import weakref
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed leaves it out

import certifi
from azure.core.exceptions import ServiceRequestError, ServiceResponseError
from azure.core.pipeline.transport import HttpTransport
from azure.core.rest import HttpRequest

from shared.storage.http_connection import Connection

_Place = tuple[str, str]
"""The scheme of an address, and its host with the port."""
_Idle = dict[_Place, deque[Connection]]
"""The connections that no request uses, the last used one last."""


class StorageTransport(HttpTransport[HttpRequest, Any]):
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

    def send(self, request: HttpRequest, **options: Any) -> Any:
        """Send a request and read its answer: an Answer, or that of azure-core's RequestsTransport from a proxy.

        Raises azure-core's ServiceRequestError where nothing was sent, and its ServiceResponseError where the answer is
        missing or incomplete.
        """
        parts = urlsplit(request.url)
        place = parts.scheme, parts.netloc
        idle = self._idle.get(place)
        if idle is None:
            if self._needs_proxy(parts.scheme, parts.hostname or ""):
                return self._by_proxy.send(request, **options)
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
    def _by_proxy(self) -> HttpTransport[HttpRequest, Any]:
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
        return cast("HttpTransport[HttpRequest, Any]", transport)


def _open_one(idle: deque[Connection]) -> Connection | None:
    """The last used idle connection that is still open."""
    with suppress(IndexError):  # there is none, or another thread takes the last one
        while True:
            connection = idle.pop()
            if connection.is_open:
                return connection
            connection.close()
    return None


def _body(request: HttpRequest) -> bytes:
    content = request.content
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
