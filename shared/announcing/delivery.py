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


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """Counts of one round: messages sent, refused for good, kept for quiet hours; channels that failed. `problems`: the
    failures and refusals, for the log.
    """

    sent: int = 0
    refused: int = 0
    failed: int = 0
    quiet: int = 0
    problems: tuple[str, ...] = ()

    def __add__(self, other: "Delivered") -> "Delivered":
        return Delivered(
            sent=self.sent + other.sent,
            refused=self.refused + other.refused,
            failed=self.failed + other.failed,
            quiet=self.quiet + other.quiet,
            problems=self.problems + other.problems,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round of delivery: the open channels by name, the rules, the time, and whether there is time for more."""

    storage: Storage
    senders: Mapping[str, Sender]
    rules: WatchRules
    now: datetime
    may_continue: Callable[[], bool] = lambda: True

    def deliver(self, parallel: ParallelMap) -> Delivered:
        """Offer each channel its messages; those that wait for other machines in parallel. Raises StorageUnavailable.

        Lines are written by the calling thread, since the functions host drops those of other threads.
        """
        here = sorted(name for name, sender in self.senders.items() if not sender.waits)
        elsewhere = sorted(self.senders.keys() - set(here))
        total = Delivered()
        for done in (*map(self._deliver_to, here), *parallel.each(self._deliver_to, elsewhere)):
            total += done
        for problem in total.problems:
            _LOG.warning("%s", problem)
        return total

    def _deliver_to(self, channel: str) -> Delivered:
        row = self.storage.read(WATCH, _CHANNEL, channel)
        if row and self.now < datetime.fromisoformat(str(row.values["until"])):
            return Delivered()
        sent = refused = quiet = 0
        failed = False
        problems: list[str] = []
        for entry in listed(self.storage, channel):
            if sent + refused >= MAX_SENT or not self.may_continue():
                break
            outcome = self._offer(entry)
            if isinstance(outcome, NotNow):
                problems.append(self._pause(channel, row, outcome))
                failed = True
                break
            if isinstance(outcome, Never):
                problems.append(f"message refused channel={channel} message={entry.message} why={outcome.why}")
                refused += 1
            sent += outcome == _SENT
            quiet += outcome == _QUIET
        if row and sent and not failed:
            self.storage.delete(WATCH, _CHANNEL, channel)
        return Delivered(sent=sent, refused=refused, quiet=quiet, failed=failed, problems=tuple(problems))

    def _offer(self, entry: Entry) -> "str | NotNow | Never":
        try:
            found = decided(self.storage, entry.message)
        except ContentLost as error:
            close(self.storage, entry, refused=str(error))
            return Never(why=str(error))
        if found is None or entry.channel not in found.open:  # it was closed, and only the list was left
            close(self.storage, entry)
            return _CLOSED
        if self.rules.quiet_until(self.now, found.message.severity):
            return _QUIET
        answer = self.senders[entry.channel].send(found.message)
        if isinstance(answer, NotNow) and self.now - entry.decided <= MAX_KEPT:
            return answer
        if isinstance(answer, Never | NotNow):
            close(self.storage, entry, refused=answer.why)
            return Never(why=answer.why)
        close(self.storage, entry)
        return _SENT

    def _pause(self, channel: str, row: Row | None, answer: NotNow) -> str:
        """Leave a channel alone for a while, the longer the more often it failed. Returns what to log."""
        failures = int(str(row.values["failures"])) + 1 if row else 1
        pause = min(_FIRST_PAUSE * 2 ** min(failures - 1, 20), _LONGEST_PAUSE)
        until = self.now + max(pause, min(timedelta(seconds=answer.after), _MAX_WAIT))
        values = {"until": until.astimezone(UTC).isoformat(), "failures": failures, "why": answer.why}
        self.storage.upsert(WATCH, Row(partition=_CHANNEL, key=channel, values=values))
        return f"channel failed channel={channel} failures={failures} why={answer.why}"


_SENT, _QUIET, _CLOSED = "sent", "quiet", "closed"
