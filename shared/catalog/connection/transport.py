"""pyapacheatlas' client on a transport of our own: one session, timeouts, retries, a limited rate, errors of our tree.

The library (0.16.0) opens a connection for each call, has no timeouts, loses the status and headers of a 429, and
raises an AtlasException that is no `Exception`. Its verbs are kept; its four transport methods are replaced.

A token bucket limits the rate of calls, to stay below the account's own limit. The tokens of one second may be used at
once; after that each call waits for the next token. A pause that the catalog asks for (Retry-After) delays all calls
through the same bucket.
"""

import json as jsonlib
import math
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import requests
from azure.core.exceptions import AzureError
from pyapacheatlas.auth.base import AtlasAuthBase
from pyapacheatlas.core import AtlasClient
from pyapacheatlas.core.util import AtlasResponse
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential
from urllib3.exceptions import LocationParseError, NewConnectionError

from shared.errors import CatalogRefused, CatalogUnavailable, retry_after
from shared.http_errors import NO_ANSWER, name_of
from shared.telemetry.port import CALL, SILENT, Telemetry


class RateLimiter:
    """Tokens for calls: `rate` a second (0: no limit). `clock` is a monotonic clock in seconds; `sleep` is used for all
    waiting, also by callers.
    """

    def __init__(
        self,
        rate: float = 0,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = rate or math.inf
        self._most = max(1.0, rate)
        self._clock = clock
        self.sleep = sleep
        self._lock = threading.Lock()
        self._turns = self._most
        self._counted = clock()
        self._held_until = -math.inf

    def take(self, longest: float) -> float:
        """Wait for a turn: 0 once it is there. Where that would take longer than `longest` nothing is waited for and no
        turn is taken: the seconds that it would take.
        """
        wait = self._reserve(longest)
        if wait > longest:
            return wait
        if wait > 0:
            self.sleep(wait)
        return 0.0

    def hold(self, seconds: float) -> None:
        """No call gets a token for so many seconds."""
        with self._lock:
            self._held_until = max(self._held_until, self._clock() + seconds)

    def _reserve(self, longest: float) -> float:
        """The seconds until one's turn, which is taken unless that is too long."""
        with self._lock:
            now = self._clock()
            if self._rate < math.inf:
                self._turns = min(self._most, self._turns + (now - self._counted) * self._rate)
            self._counted = now
            missing = max(0.0, 1 - self._turns) / self._rate
            wait = max(missing, self._held_until - now)
            if wait <= longest and self._rate < math.inf:
                self._turns -= 1
            return wait


_NO_CREDENTIALS = 401
_NOT_FOUND = 404
_TOO_MANY = 429
_CHOKED = 500
_COME_BACK_LATER = frozenset({408, _TOO_MANY, _CHOKED, 502, 503, 504})
_REFUSED_BY_LIMITS = frozenset({_TOO_MANY, _CHOKED})
"""Answers of the catalog itself; others may be of a gateway that has given up on a call that goes on behind it."""
_BLAMELESS = frozenset({_TOO_MANY, 502, 503})
"""Answers that no content of a call brings about."""
_JITTER = 0.1
"""The share by which a pause may be longer than was asked for."""
_LONGEST_DETAIL = 500
_CALL_PATH = re.compile(r".*/(?:v2|api)((?:/[A-Za-z]+){1,2})(?=/|$)")
"""What a call is about, without names and ids: `/entity/uniqueAttribute`."""


_NO_SCOPE = (
    "The catalog's host is no known Purview host, so the token scope is unknown: set THROUGHLINE_CATALOG_SCOPE, for "
    "example to https://purview.azure.net/.default. A plain Apache Atlas needs "
    "THROUGHLINE_CATALOG_USER and THROUGHLINE_CATALOG_TOKEN instead"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Timeouts and retries of one call: `connect` and `read` in seconds, `tries`, and `max_pause`: the longest pause in
    seconds, both for the rate limiter and after a failed try.

    `bound` excludes the time of an answer that arrives slowly; take a multiple of it where certainty is needed.
    """

    connect: float = 3.05
    read: float = 30.0
    tries: int = 3
    max_pause: float = 10.0

    @property
    def bound(self) -> float:
        """Seconds after which a call is certainly over."""
        longest_try = self.connect + self.read + self.max_pause
        renewed = self.connect + self.read  # a try for which credentials had to be renewed
        return self.tries * longest_try + renewed + (self.tries - 1) * self.max_pause


class StaticToken(AtlasAuthBase):  # type: ignore[misc]  # pyapacheatlas ships no types
    """A fixed bearer token, for the local catalog."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def get_authentication_headers(self, **_: Any) -> dict[str, str]:
        """The headers that pyapacheatlas sends."""
        return {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}


class CredentialToken(AtlasAuthBase):  # type: ignore[misc]  # pyapacheatlas ships no types
    """Bearer tokens of an azure-identity credential (which caches and renews them) for a `scope`. Without a scope no
    token is requested: an unknown host must not receive a token for Purview.
    """

    def __init__(self, credential: Any, *, scope: str) -> None:
        super().__init__()
        self._credential = credential
        self._scope = scope

    def get_authentication_headers(self, **_: Any) -> dict[str, str]:
        """The headers that pyapacheatlas sends."""
        if not self._scope:
            raise CatalogUnavailable(_NO_SCOPE, after=60, over=True, blames=False)
        try:
            token = self._credential.get_token(self._scope).token
        except AzureError as error:
            reason = f"No token for {self._scope} ({type(error).__name__}): sign in (`az login`), or give an identity"
            raise CatalogUnavailable(reason, after=60, over=True, blames=False) from None
        return {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}


class SteadyAtlasClient(AtlasClient):  # type: ignore[misc]  # pyapacheatlas ships no types
    """AtlasClient with timeouts, retries, a rate limiter, and errors of `shared.errors`."""

    def __init__(
        self,
        endpoint: str,
        authentication: AtlasAuthBase,
        *,
        retry_policy: RetryPolicy | None = None,
        rate_limiter: RateLimiter | None = None,
        parameters: Mapping[str, str] | None = None,
        telemetry: Telemetry = SILENT,
    ) -> None:
        super().__init__(endpoint, authentication)
        self._retry_policy = retry_policy or RetryPolicy()
        self._rate_limiter = rate_limiter or RateLimiter()
        self._parameters = dict(parameters or {})
        self._telemetry = telemetry
        self._local = threading.local()

    @property
    def may_still_land(self) -> bool:
        """Whether a try of this thread's calls since `forget_tries` may still take effect, although all succeeded."""
        return bool(getattr(self._local, "may_still_land", False))

    def forget_tries(self) -> None:
        """Reset `may_still_land` for the calls that follow."""
        self._local.may_still_land = False

    def close(self) -> None:
        """Close the calling thread's connections; others are closed with their threads."""
        session = getattr(self._local, "session", None)
        if session:
            session.close()
            del self._local.session

    def call(self, method: str, place: str, *, params: Mapping[str, str] | None = None, json: Any = None) -> Any:
        """The JSON that the catalog answers to a call for which the library has no verb, or one that repeats calls.
        `place`: an address, or a path below the endpoint.
        """
        return self._call(method, f"{self.endpoint_url}{place}" if place.startswith("/") else place, params, json).body

    def _get_http(self, url: str, **values: Any) -> AtlasResponse:
        return self._call("GET", url, **values)

    def _post_http(self, url: str, **values: Any) -> AtlasResponse:
        return self._call("POST", url, **values)

    def _put_http(self, url: str, **values: Any) -> AtlasResponse:
        return self._call("PUT", url, **values)

    def _delete_http(self, url: str, **values: Any) -> AtlasResponse:
        return self._call("DELETE", url, **values)

    def _session(self) -> requests.Session:
        """One session for each thread: requests does not promise that a session may be shared."""
        if not hasattr(self._local, "session"):
            self._local.session = requests.Session()
        session: requests.Session = self._local.session
        return session

    def _call(self, method: str, url: str, params: Any = None, json: Any = None) -> AtlasResponse:
        tries = _Tries(headers=self.generate_request_headers)
        retrying = Retrying(
            retry=retry_if_exception(self._soon),
            stop=stop_after_attempt(self._retry_policy.tries),
            wait=self._pause,
            sleep=self._rate_limiter.sleep,
            reraise=True,
        )
        missing: CatalogRefused
        with self._telemetry.act(CALL) as act:
            path = _CALL_PATH.search(url)
            act.note(call=f"{method} {path[1] if path else 'other'}", state="ok")
            try:
                return retrying(self._try, tries, method, url, {**self._parameters, **(params or {})}, json)
            except CatalogUnavailable as error:
                act.note(state="unavailable")
                error.over, error.blames = tries.over, tries.blames
                raise
            except CatalogRefused as refusal:
                refusal.after_lost_try = tries.blames or not tries.over
                is_refused = refusal.status != _NOT_FOUND
                act.note(state="refused" if is_refused else "missing", status=refusal.status)
                if is_refused:
                    raise
                missing = refusal  # an answer like others: nothing went wrong with the call
            finally:
                self._local.may_still_land = self.may_still_land or not tries.over
                act.note(retries=retrying.statistics.get("attempt_number", 1) - 1)
        raise missing

    def _soon(self, error: BaseException) -> bool:
        """Whether trying again can help within one call."""
        return isinstance(error, CatalogUnavailable) and error.after <= self._retry_policy.max_pause

    def _pause(self, state: RetryCallState) -> float:
        """What the catalog asked for, if it did, else longer each time, with jitter."""
        error = state.outcome.exception() if state.outcome else None
        delay = error.after if isinstance(error, CatalogUnavailable) else 0.0
        delay *= random.uniform(1, 1 + _JITTER)  # many do not come back at once
        return min(delay or wait_random_exponential(multiplier=0.5)(state), self._retry_policy.max_pause)

    def _try(self, tries: "_Tries", method: str, url: str, params: Any, json: Any) -> AtlasResponse:
        """One try, in its turn. Credentials that are refused are asked for once more: they may have expired since."""
        try:
            self._take_turn()
            headers = tries.headers()
            try:
                return self._once(method, url, params, json, headers)
            except CatalogRefused as refusal:
                renewed = tries.headers() if refusal.status == _NO_CREDENTIALS else headers
                if renewed == headers:
                    raise
            return self._once(method, url, params, json, renewed)
        except CatalogUnavailable as error:
            tries.over = tries.over and error.over
            tries.blames = tries.blames or error.blames
            raise

    def _take_turn(self) -> None:
        wait = self._rate_limiter.take(self._retry_policy.max_pause)
        if wait:
            reason = f"The catalog may not be called for another {wait:.0f} s"
            raise CatalogUnavailable(reason, after=wait, over=True, blames=False)

    def _once(self, method: str, url: str, params: Any, json: Any, headers: Mapping[str, str]) -> AtlasResponse:
        try:
            answer = self._session().request(
                method,
                url,
                params=params,
                json=json,
                headers=headers,
                timeout=(self._retry_policy.connect, self._retry_policy.read),
                allow_redirects=False,
            )
        except NO_ANSWER as error:
            unsent = _was_never_sent(error)
            reason = f"The catalog did not answer: {name_of(error)}"
            raise CatalogUnavailable(reason, after=0, over=unsent, blames=not unsent) from None
        if answer.status_code in _COME_BACK_LATER:
            delay = retry_after(answer.headers.get("Retry-After", ""))
            self._rate_limiter.hold(delay)
            raise CatalogUnavailable(
                f"The catalog answered {answer.status_code}: {_detail(answer)[1]}",
                after=delay,
                over=answer.status_code in _REFUSED_BY_LIMITS,
                blames=answer.status_code not in _BLAMELESS,
            )
        if not 200 <= answer.status_code < 300:  # noqa: PLR2004 - HTTP's own numbers
            code, detail = _detail(answer)
            raise CatalogRefused(status=answer.status_code, code=code, detail=detail)
        try:
            return AtlasResponse(answer)
        except ValueError as error:
            raise CatalogUnavailable(
                "The catalog answered with something that is no JSON: is the endpoint right?", after=60, blames=False
            ) from error


@dataclass(slots=True, kw_only=True)
class _Tries:
    """The tries of one call: what gives the headers of each, and what became of all so far (as CatalogUnavailable)."""

    headers: Callable[[], dict[str, str]]
    over: bool = True
    blames: bool = False


def _was_never_sent(error: requests.RequestException | LocationParseError) -> bool:
    """Whether no connection was made, by the library's error."""
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    return isinstance(error, requests.ConnectTimeout | LocationParseError) or isinstance(reason, NewConnectionError)


def _detail(answer: requests.Response) -> tuple[str, str]:
    """Atlas' error code and message; the start of the text where the answer is no error of Atlas."""
    try:
        body = jsonlib.loads(answer.text)
        return str(body["errorCode"]), str(body.get("errorMessage", ""))[:_LONGEST_DETAIL]
    except (ValueError, KeyError, TypeError):
        return "", answer.text[:_LONGEST_DETAIL]
