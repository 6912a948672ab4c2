"""Send an event as a listener does: a POST, once, with a function key and, where the receiver asks for it, a token."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import requests

from shared.canary.hops import SendAnswer
from shared.http_errors import NO_ANSWER, name_of

ROUTE = "/api/v1/lineage"
_TIMEOUT = 30.0


def no_token() -> str:
    """For a receiver that asks for a key alone."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Sends to the receiver at `url`. No print shows the `key`; `token` gives one of Entra ID, empty for none."""

    url: str
    key: str = field(default="", repr=False)
    token: Callable[[], str] = no_token

    def send(self, raw: bytes) -> SendAnswer:
        """The answer to one event; status 0 where there is none. Redirects are not followed, as by listeners."""
        token, headers = self.token(), {"Content-Type": "application/json; charset=UTF-8"}
        headers |= {"x-functions-key": self.key} if self.key else {}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        start = time.monotonic()
        try:
            answer = requests.post(
                f"{self.url.rstrip('/')}{ROUTE}", data=raw, headers=headers, timeout=_TIMEOUT, allow_redirects=False
            )
        except NO_ANSWER as error:
            return SendAnswer(status=0, text=f"no answer ({name_of(error)}) at {self.url}")
        return SendAnswer(status=answer.status_code, text=answer.text, seconds=time.monotonic() - start)
