"""What a call to another system came to: taken, not now, or never; and what `requests` raises if there is no answer."""

from collections.abc import Mapping
from dataclasses import dataclass

import requests
from urllib3.exceptions import LocationParseError

from shared.errors import retry_after

NO_ANSWER = (requests.RequestException, LocationParseError)
"""The second is urllib3's for a host name that cannot exist, such as `a..b`: requests lets it pass."""


def name_of(error: Exception) -> str:
    """The kind of an error, and where a proxy did not answer, the variables that name it. The error's own text may hold
    secrets. `error`: of requests, or of an Azure SDK, which has that of requests as its `inner_exception`.
    """
    is_proxy = isinstance(getattr(error, "inner_exception", error), requests.exceptions.ProxyError)
    return f"{type(error).__name__}{_PROXY if is_proxy else ''}"


_PROXY = " at the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names (NO_PROXY lists hosts that need none)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The other system has what it was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotNow:
    """It did not take it and may take it later. `after`: the seconds that it asked to wait."""

    why: str
    after: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """It refuses this, now and later."""

    why: str


Answer = Taken | NotNow | Never
TAKEN = Taken()
_REFUSALS = frozenset({400, 413, 415, 422})
"""What was sent is wrong: it is as wrong the next time. All else may be mended, or mends itself."""
_MAX_WHY = 200


def send(method: str, url: str, body: bytes, headers: Mapping[str, str], timeout: tuple[float, float]) -> Answer:
    """Send JSON once. `timeout`: seconds to wait for a connection, and for the answer. Redirects are not followed: the
    body is for this address alone. No reason has the address, which may be a secret.
    """
    try:
        with requests.request(
            method,
            url,
            data=body,
            headers={"Content-Type": "application/json", "User-Agent": "throughline", **headers},
            timeout=timeout,
            allow_redirects=False,
            stream=True,  # the answer's body says nothing that is needed, and may hold what no log should
        ) as response:
            why = f"HTTP {response.status_code} {response.reason or ''}".strip()[:_MAX_WHY]
            if 200 <= response.status_code < 300:  # noqa: PLR2004 - the class of success
                return TAKEN
            if response.status_code in _REFUSALS:
                return Never(why=why)
            return NotNow(why=why, after=retry_after(response.headers.get("Retry-After", "")))
    except NO_ANSWER as error:
        return NotNow(why=name_of(error))  # its text holds the address
