"""Deliver what is listed for each channel. A channel that fails keeps its messages, and holds up no other."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from shared.announcing.outbox import Entry, close, decided, listed
from shared.announcing.port import Never, NotNow, Sender
from shared.concurrency.parallel_map import ParallelMap
from shared.errors import ContentLost
from shared.storage.port import Row, Storage
from shared.storage_layout import WATCH
from shared.watching.rules import Rules

_LOG = logging.getLogger("throughline.watch")
_CHANNEL = "channel"
MAX_SENT = 30
"""Messages that a channel gets in one round, so that it is not throttled."""
MAX_KEPT = timedelta(days=14)
"""So long a message is offered to a channel that does not take it."""
_FIRST_PAUSE = timedelta(minutes=1)
_LONGEST_PAUSE = timedelta(hours=6)
_MAX_WAIT = timedelta(hours=24)
"""The longest wait that a channel may ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """Counts of one round: messages sent, refused for good, kept because the channel failed or for quiet hours."""

    sent: int = 0
    refused: int = 0
    failed: int = 0
    quiet: int = 0

    def __add__(self, other: "Delivered") -> "Delivered":
        return Delivered(
            sent=self.sent + other.sent,
            refused=self.refused + other.refused,
            failed=self.failed + other.failed,
            quiet=self.quiet + other.quiet,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round of delivery: the open channels by name, the rules, the time, and whether there is time for more."""

    storage: Storage
    senders: Mapping[str, Sender]
    rules: Rules
    now: datetime
    may_continue: Callable[[], bool] = lambda: True

    def deliver(self, parallel: ParallelMap) -> Delivered:
        """Offer each channel its messages, all channels in parallel. Raises StorageUnavailable."""
        total = Delivered()
        for done in parallel.each(self._deliver_to, sorted(self.senders)):
            total += done
        return total

    def _deliver_to(self, channel: str) -> Delivered:
        row = self.storage.read(WATCH, _CHANNEL, channel)
        if row and self.now < datetime.fromisoformat(str(row.values["until"])):
            return Delivered()
        sent = refused = quiet = 0
        for entry in listed(self.storage, channel):
            if sent + refused >= MAX_SENT or not self.may_continue():
                break
            outcome = self._offer(entry)
            if isinstance(outcome, NotNow):
                self._pause(channel, row, outcome)
                return Delivered(sent=sent, refused=refused, quiet=quiet, failed=1)
            sent += outcome == _SENT
            refused += outcome == _REFUSED
            quiet += outcome == _QUIET
        if row and sent:
            self.storage.delete(WATCH, _CHANNEL, channel)
        return Delivered(sent=sent, refused=refused, quiet=quiet)

    def _offer(self, entry: Entry) -> "str | NotNow":
        try:
            found = decided(self.storage, entry.message)
        except ContentLost as error:
            close(self.storage, entry, refused=str(error))
            return _REFUSED
        if found is None or entry.channel not in found.open:  # it was closed, and only the list was left
            close(self.storage, entry)
            return _CLOSED
        if self.rules.quiet_until(self.now, found.message.severity):
            return _QUIET
        answer = self.senders[entry.channel].send(found.message)
        if isinstance(answer, NotNow) and self.now - entry.decided <= MAX_KEPT:
            return answer
        if isinstance(answer, Never | NotNow):
            _LOG.error("a message was refused channel=%s message=%s why=%s", entry.channel, entry.message, answer.why)
            close(self.storage, entry, refused=answer.why)
            return _REFUSED
        close(self.storage, entry)
        return _SENT

    def _pause(self, channel: str, row: Row | None, answer: NotNow) -> None:
        """Leave a channel alone for a while, the longer the more often it failed."""
        failures = int(str(row.values["failures"])) + 1 if row else 1
        pause = min(_FIRST_PAUSE * 2 ** min(failures - 1, 20), _LONGEST_PAUSE)
        until = self.now + max(pause, min(timedelta(seconds=answer.after), _MAX_WAIT))
        _LOG.warning("a channel failed channel=%s failures=%d why=%s", channel, failures, answer.why)
        values = {"until": until.astimezone(UTC).isoformat(), "failures": failures, "why": answer.why}
        self.storage.upsert(WATCH, Row(partition=_CHANNEL, key=channel, values=values))


_SENT, _REFUSED, _QUIET, _CLOSED = "sent", "refused", "quiet", "closed"
