"""Deliver the messages on each channel's list.

A channel takes a message, or answers why not: that is the port of channels.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Protocol

from shared.announcing.outbox import OtherVersionError, OutboxEntry, close, has_entries, listed, message_of, pause_row
from shared.concurrency import ParallelMap
from shared.errors import ContentLost
from shared.http_errors import Answer, Never, NotNow
from shared.outbox import MAX_KEPT, Receiver, deliver
from shared.storage.port import Storage
from shared.watching.messages import Message
from shared.watching.rules import WatchRules


class Sender(Protocol):
    """An open channel."""

    @property
    def waits(self) -> bool:
        """Whether sending waits for another machine, so that channels should be called in parallel."""

    def send(self, message: Message) -> Answer:
        """Hand over a message. Failures are answers, not exceptions."""


_LOG = logging.getLogger("throughline.watch")
MAX_SENT = 30
"""Messages that a channel gets in one round, so that it is not throttled."""


class Outcome(StrEnum):
    """What became of a message in a round, or of its channel."""

    SENT = "sent"
    REFUSED = "refused"
    """Refused for good."""
    QUIET = "quiet"
    """Kept for the end of the quiet hours."""
    OTHER_VERSION = "other_version"
    """Kept for the version that wrote it: this one, started again after a newer one, cannot read it."""
    FAILED = "failed"
    """The channel did not take it, and is left alone for a while with all its messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round of delivery. `senders`: the open channels by name. `may_continue`: whether there is time for more."""

    storage: Storage
    senders: Mapping[str, Sender]
    rules: WatchRules
    now: datetime
    may_continue: Callable[[], bool] = lambda: True

    def deliver(self, parallel: ParallelMap) -> Counter[StrEnum]:
        """Offer each channel its messages. Returns the number of each outcome. Raises StorageUnavailable."""
        receivers = [
            Receiver(
                kind="channel",
                name=name,
                pause=pause_row(name),
                entries=partial(listed, self.storage, name),
                has_entries=partial(has_entries, self.storage, name),
                offer=self._offer,
                label=lambda entry: f"message={entry.message}",
                most=MAX_SENT,
                waits=sender.waits,
            )
            for name, sender in sorted(self.senders.items())
        ]
        return deliver(self.storage, receivers, parallel, _LOG, now=self.now, may_continue=self.may_continue)

    def _offer(self, entry: OutboxEntry) -> tuple[Outcome, Answer | None]:
        is_old = self.now - entry.decided > MAX_KEPT
        try:
            message = message_of(self.storage, entry.message)
            if self.rules.quiet_until(self.now, message.severity):
                return Outcome.QUIET, None
            answer = self.senders[entry.channel].send(message)
        except OtherVersionError as error:
            if not is_old:
                return Outcome.OTHER_VERSION, None
            answer = Never(why=str(error))
        except ContentLost as error:
            answer = Never(why=str(error))
        if isinstance(answer, NotNow) and not is_old:
            return Outcome.FAILED, answer
        if isinstance(answer, Never | NotNow):
            close(self.storage, entry, refused=answer.why)
            return Outcome.REFUSED, Never(why=answer.why)
        close(self.storage, entry)
        return Outcome.SENT, answer
