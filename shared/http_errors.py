"""What a call to another system came to: taken, not now, or never; and what `requests` raises if there is no answer."""

from dataclasses import dataclass

import requests
from urllib3.exceptions import LocationParseError

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
