"""The port of channels: takes a message, or answers why not."""

from typing import Protocol

from shared.http_errors import Answer
from shared.watching.messages import Message


class Sender(Protocol):
    """An open channel."""

    @property
    def waits(self) -> bool:
        """Whether sending waits for another machine, so that channels should be called in parallel."""

    def send(self, message: Message) -> Answer:
        """Hand over a message. Failures are answers, not exceptions."""
