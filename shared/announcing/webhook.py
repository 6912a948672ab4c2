"""Webhooks: a message as a POST request. One attempt for each call; the outbox keeps what is not taken.

Answers: Slack, "Sending messages using incoming webhooks" (200 `ok`; 400 and 413 for a wrong body; 403, 404 and 410 for
a webhook or channel that is gone); workflows of Teams answer 202. Both throttle by 429 with `Retry-After`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from shared.http_errors import Answer, send
from shared.watching.messages import Message
from shared.watching.rendering import MESSAGE, SIGNATURE, body, signature
from shared.watching.rules import ChannelKind

CONNECT_SECONDS, ANSWER_SECONDS = 5.0, 10.0


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
        """As the port says."""
        data = body(message, self.kind)
        headers = {MESSAGE: message.id}
        if self.secret:
            headers[SIGNATURE] = signature(self.secret, data, int(self.clock()))
        return send("POST", self.url, data, headers, (self.connect, self.answer))
