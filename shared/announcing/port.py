"""What a channel is to the outbox: something that takes a message, or says why not."""

from dataclasses import dataclass
from typing import Protocol

from shared.watching.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The channel has the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotNow:
    """The channel did not take it, and may later; `after`: seconds that it asked for."""

    why: str
    after: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """The channel refuses this message, whenever it is sent."""

    why: str


Answer = Taken | NotNow | Never
TAKEN = Taken()


class Sender(Protocol):
    """An open channel."""

    @property
    def waits(self) -> bool:
        """Whether it waits for another machine, so that others should not wait for it."""

    def send(self, message: Message) -> Answer:
        """Hand over a message. Raises nothing of its own: what goes wrong is an answer."""
