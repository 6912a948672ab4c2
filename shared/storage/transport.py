"""How requests reach storage: one pool of connections, and what does not change told once instead of each time.

The SDK's own transport asks requests for every call to read the environment for proxies and to build each request
from its parts, cookies and redirects included, which storage has none of. That took a third of a call's time
(`python -m bench --only receiver`).
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed leaves it out

import requests
from azure.core.pipeline.transport import RequestsTransport
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers, requote_uri, super_len
from urllib3.util import Retry

_CONNECTIONS = 32
"""More than the threads of a functions host's worker."""

_AFTER_SCHEME = len("https://")
"""From here on the first slash of an address is the end of its host; `http://` has a host of more than a character."""


class _Adapter(HTTPAdapter):
    """Asks for the pool of connections to a host once, and takes answers as they are: storage sets no cookies."""

    def __init__(self) -> None:
        never_again = Retry(total=False, redirect=False, raise_on_status=False)
        super().__init__(pool_maxsize=_CONNECTIONS, max_retries=never_again)
        self._pools: dict[tuple[str, bool | str | None, Any, bool], Any] = {}

    def get_connection_with_tls_context(
        self,
        request: requests.PreparedRequest,
        verify: bool | str | None,
        proxies: Mapping[str, str] | None = None,
        cert: Any = None,
    ) -> Any:
        """The pool for a request's host: whether a proxy is between depends on the host alone."""
        url = request.url or ""
        key = (url[: url.find("/", _AFTER_SCHEME)], verify, cert, bool(proxies))
        found = self._pools.get(key)
        if found is None:
            found = super().get_connection_with_tls_context(request, verify, proxies=dict(proxies or {}), cert=cert)
            self._pools[key] = found
        return found

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        """An answer, not read yet."""
        response = requests.Response()
        response.status_code = resp.status
        response.headers = CaseInsensitiveDict(resp.headers)
        response.encoding = get_encoding_from_headers(response.headers)
        response.raw = resp
        response.reason = resp.reason
        response.url = req.url or ""
        response.request = req
        response.connection = self
        return response


class _Session(requests.Session):
    """A session that sends what the SDK has already built: addresses, headers, bodies."""

    def request(  # type: ignore[override]  # the one way in which the SDK's transport calls it
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        data: Any = None,
        stream: bool = False,
        timeout: tuple[float, float] | None = None,
        verify: bool | str = True,
        cert: Any = None,
        **_: Any,
    ) -> requests.Response:
        """One request, and its answer, read unless it is to be streamed."""
        prepared = requests.PreparedRequest()
        prepared.method = method
        prepared.url = requote_uri(url)
        prepared.headers = CaseInsensitiveDict(headers)
        prepared.body = data
        prepared.hooks = {"response": []}
        if data is not None and "Content-Length" not in prepared.headers:
            prepared.headers["Content-Length"] = str(super_len(data))  # type: ignore[no-untyped-call]  # of requests
        answer = self.get_adapter(prepared.url).send(
            prepared,
            stream=stream,
            timeout=timeout,
            verify=(self.verify or True) if verify is True else verify,
            cert=cert,
            proxies=self.proxies if self.proxies and not self._goes_straight(url) else {},
        )
        if not stream:
            answer.content  # noqa: B018 - reads it, and lets the connection go
        return answer

    def _goes_straight(self, url: str) -> bool:
        return bool(proxy_bypass_environment(urlsplit(url).hostname or "", {"no": self.proxies.get("no", "")}))


def transport(
    *, connection_timeout: float, read_timeout: float, proxies: Mapping[str, str], authorities: str
) -> RequestsTransport:
    """The SDK's transport, with these seconds of patience, by these proxies (by scheme; `no` names the hosts that need
    none), trusting what stands in the file `authorities` (empty: what certifi trusts). Clients may share it.
    """
    session = _Session()
    session.trust_env = False
    session.proxies = dict(proxies)
    session.verify = authorities or True
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Adapter())
    return RequestsTransport(
        session=session,
        session_owner=False,
        use_env_settings=False,
        connection_timeout=connection_timeout,
        read_timeout=read_timeout,
    )
