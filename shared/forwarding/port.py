"""The port of targets: takes an event, or answers why not."""

from collections.abc import Callable, Mapping
from typing import Protocol

from shared.forwarding.content import OutgoingEvent
from shared.http_errors import Answer

SignIn = Callable[[], Mapping[str, str]]
"""Gives the headers that say who we are. Raises Retry without a token."""


class Target(Protocol):
    """An open target."""

    def send(self, event: OutgoingEvent) -> Answer:
        """Hand over an event, which may have been handed over before. Failures are answers, not exceptions."""
