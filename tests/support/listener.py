"""A sender that behaves as OpenLineage's Java listener: it waits five seconds, and repeats 429 and 503 once.

From the source of OpenLineage's Java client 1.53: its HTTP transport treats 400 to 599 as an error and repeats only 429
and 503, once, after `Retry-After` if that is within its response timeout. On a refused connection, a timeout or any
other status the event is lost, since nothing is kept for later. It sends one event after another on one connection.
"""

import time
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from shared.versions import PACKAGE_HEADER

TIMEOUT_SECONDS = 5.0
_REPEATED = frozenset({429, 503})
_USUAL_PAUSE_SECONDS = 1.0
_PATH = "/api/v1/lineage"


@dataclass(frozen=True, slots=True, kw_only=True)
class LostEvent:
    """A lost event, and the reason."""

    body: bytes
    why: str


@dataclass(slots=True, kw_only=True)
class Listener:
    """The listener of one Spark application.

    `packages` are the digests that the answers name ("" for a checkout), one for each answered event. `timeout` is in
    seconds; tests use more than the listener's own because the machine may be busy. `key` is sent as a function key.
    """

    url: str
    timeout: float = TIMEOUT_SECONDS
    key: str = ""
    answered: list[bytes] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    lost: list[LostEvent] = field(default_factory=list)
    _connection: HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._disconnect()

    def emit(self, body: bytes) -> None:
        """Send an event; afterwards it is either answered or lost."""
        try:
            status, retry_after = self._post(body)
            if status in _REPEATED and retry_after <= TIMEOUT_SECONDS:
                time.sleep(retry_after)
                status, _ = self._post(body)
        except (OSError, HTTPException) as error:
            self._disconnect()
            self.lost.append(LostEvent(body=body, why=f"{type(error).__name__}: {error}"))
            return
        if status >= 400:
            self.lost.append(LostEvent(body=body, why=f"answered {status}"))
        else:
            self.answered.append(body)

    def _post(self, body: bytes) -> tuple[int, float]:
        """Post the event; return the status and the seconds until a retry."""
        if self._connection is None:
            self._connection = HTTPConnection(urlsplit(self.url).netloc, timeout=self.timeout)
        headers = {"Content-Type": "application/json; charset=UTF-8", "x-functions-key": self.key}
        self._connection.request("POST", _PATH, body, headers)
        answer = self._connection.getresponse()
        answer.read()
        if answer.status < 400:
            self.packages.append(answer.headers.get(PACKAGE_HEADER, ""))
        return answer.status, float(answer.headers.get("Retry-After", _USUAL_PAUSE_SECONDS))

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
