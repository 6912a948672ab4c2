"""Deliver the messages on each channel's list. A channel that fails keeps its messages and delays no other."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from shared.announcing.outbox import OtherVersionError, OutboxEntry, close, decided, listed
from shared.announcing.port import Sender
from shared.concurrency.parallel_map import ParallelMap
from shared.errors import ContentLost
from shared.http_errors import Never, NotNow
from shared.storage.port import Row, Storage
from shared.storage_layout import WATCH
from shared.watching.rules import WatchRules

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


class Outcome(StrEnum):
    """What became of a message in a round, or of its channel."""

    SENT = "sent"
    REFUSED = "refused"
    """Refused for good."""
    QUIET = "quiet"
    """Kept for the end of the quiet hours."""
    OTHER_VERSION = "other_version"
    """Kept for the version that wrote it: this one, started again after a newer one, cannot read it."""
    CLOSED = "closed"
    """Sent by a former round, which was interrupted before it could clear the list."""
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

    def deliver(self, parallel: ParallelMap) -> Counter[Outcome]:
        """Offer each channel its messages, in parallel where channels wait for other machines. Returns the number of
        each outcome. Raises StorageUnavailable.

        The calling thread writes the log, because the functions host drops lines of other threads.
        """
        here = sorted(name for name, sender in self.senders.items() if not sender.waits)
        elsewhere = sorted(self.senders.keys() - set(here))
        total: Counter[Outcome] = Counter()
        for outcomes, problems in (*map(self._deliver_to, here), *parallel.each(self._deliver_to, elsewhere)):
            total += outcomes
            for problem in problems:
                _LOG.warning("%s", problem)
        return total

    def _deliver_to(self, channel: str) -> tuple[Counter[Outcome], list[str]]:
        """The outcomes of one channel, and the lines for the log."""
        outcomes: Counter[Outcome] = Counter()
        problems: list[str] = []
        row = self.storage.read(WATCH, _CHANNEL, channel)
        if row and self.now < datetime.fromisoformat(str(row.values["until"])):
            return outcomes, problems
        for entry in listed(self.storage, channel):
            if outcomes[Outcome.SENT] + outcomes[Outcome.REFUSED] >= MAX_SENT or not self.may_continue():
                break
            offer = self._offer(entry)
            if isinstance(offer, NotNow):
                problems.append(self._pause(channel, row, offer))
                outcomes[Outcome.FAILED] += 1
                break
            if isinstance(offer, Never):
                problems.append(f"message refused channel={channel} message={entry.message} why={offer.why}")
                offer = Outcome.REFUSED
            outcomes[offer] += 1
        if row and outcomes[Outcome.SENT] and not outcomes[Outcome.FAILED]:
            self.storage.delete(WATCH, _CHANNEL, channel)
        return outcomes, problems

    def _offer(self, entry: OutboxEntry) -> Outcome | NotNow | Never:
        try:
            found = decided(self.storage, entry.message)
        except ContentLost as error:
            close(self.storage, entry, refused=str(error))
            return Never(why=str(error))
        except OtherVersionError as error:
            if self.now - entry.decided <= MAX_KEPT:
                return Outcome.OTHER_VERSION
            close(self.storage, entry, refused=str(error))
            return Never(why=str(error))
        if found is None or entry.channel not in found.open:  # it was closed, and only the list was left
            close(self.storage, entry)
            return Outcome.CLOSED
        if self.rules.quiet_until(self.now, found.message.severity):
            return Outcome.QUIET
        answer = self.senders[entry.channel].send(found.message)
        if isinstance(answer, NotNow) and self.now - entry.decided <= MAX_KEPT:
            return answer
        if isinstance(answer, Never | NotNow):
            close(self.storage, entry, refused=answer.why)
            return Never(why=answer.why)
        close(self.storage, entry)
        return Outcome.SENT

    def _pause(self, channel: str, row: Row | None, answer: NotNow) -> str:
        """Pause a channel, longer after each failure. Returns the line for the log."""
        failures = int(str(row.values["failures"])) + 1 if row else 1
        pause = min(_FIRST_PAUSE * 2 ** min(failures - 1, 20), _LONGEST_PAUSE)
        until = self.now + max(pause, min(timedelta(seconds=answer.after), _MAX_WAIT))
        values = {"until": until.astimezone(UTC).isoformat(), "failures": failures, "why": answer.why}
        self.storage.upsert(WATCH, Row(partition=_CHANNEL, key=channel, values=values))
        return f"channel failed channel={channel} failures={failures} why={answer.why}"
