"""The port of channels: takes a message, or answers why not."""

from dataclasses import dataclass
from typing import Protocol

from shared.watching.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The channel has the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotNow:
    """The channel did not take it and may take it later. `after`: the seconds that it asked to wait."""

    why: str
    after: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """The channel refuses this message, now and later."""

    why: str


Answer = Taken | NotNow | Never
TAKEN = Taken()


class Sender(Protocol):
    """An open channel."""

    @property
    def waits(self) -> bool:
        """Whether sending waits for another machine, so that channels should be called in parallel."""

    def send(self, message: Message) -> Answer:
        """Hand over a message. Failures are answers, not exceptions."""
