"""Webhooks: a message as a POST request. One attempt for each call; the outbox keeps what is not taken.

Answers: Slack, "Sending messages using incoming webhooks" (200 `ok`; 400 and 413 for a wrong body; 403, 404 and 410 for
a webhook or channel that is gone); workflows of Teams answer 202. Both throttle by 429 with `Retry-After`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import requests

from shared.errors import retry_after
from shared.http_errors import NO_ANSWER, TAKEN, Answer, Never, NotNow, name_of
from shared.watching.messages import Message
from shared.watching.rendering import MESSAGE, SIGNATURE, body, signature
from shared.watching.rules import ChannelKind

CONNECT_SECONDS, ANSWER_SECONDS = 5.0, 10.0
_REFUSALS = frozenset({400, 413, 415, 422})
"""The request is wrong: it is as wrong the next time. All else may be mended, or mends itself."""
_MAX_WHY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A webhook.

    - `url`: its address. It is a secret, so no print shows it.
    - `kind`: of the channel. It decides the form of the body.
    - `secret`: signs requests; empty: they are not signed.
    - `connect`, `answer`: seconds to wait for a connection, and for an answer.
    - `clock`: seconds since 1970.
    """

    waits: ClassVar[bool] = True
    url: str = field(repr=False)
    kind: ChannelKind
    secret: str = field(default="", repr=False)
    connect: float = CONNECT_SECONDS
    answer: float = ANSWER_SECONDS
    clock: Callable[[], float] = time.time

    def send(self, message: Message) -> Answer:
        """As the port says. Redirects are not followed: the body is for this address alone."""
        data = body(message, self.kind)
        headers = {"Content-Type": "application/json", "User-Agent": "throughline", MESSAGE: message.id}
        if self.secret:
            headers[SIGNATURE] = signature(self.secret, data, int(self.clock()))
        try:
            with requests.post(
                self.url,
                data=data,
                headers=headers,
                timeout=(self.connect, self.answer),
                allow_redirects=False,
                stream=True,  # the answer's body says nothing that is needed
            ) as response:
                return _answer(response)
        except NO_ANSWER as error:
            return NotNow(why=name_of(error))  # its text holds the address


def _answer(response: requests.Response) -> Answer:
    status = response.status_code
    if 200 <= status < 300:  # noqa: PLR2004 - the class of success
        return TAKEN
    why = f"HTTP {status} {response.reason or ''}".strip()[:_MAX_WHY]
    if status in _REFUSALS:
        return Never(why=why)
    return NotNow(why=why, after=retry_after(response.headers.get("Retry-After", "")))
