"""One definition of each count that commands print, and the counts of the publish queue with their reasons."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from shared.records.publish_queue import QueueEntry, queue_entries
from shared.storage.port import Storage

COUNTS: Mapping[str, str] = {
    "received": "events that were acknowledged: those whose blob is stored, and ignored ones",
    "published": "events of a run with a process in the catalog and none left to publish",
    "skipped": "events that change nothing in the catalog, each with a reason",
    "waiting": "events whose run is not processed, whose run has no end yet, or whose process is not published yet",
    "dead": "events that cannot be used (dead letters), without the discarded ones",
    "rejected": "requests that the receiver refused: their events were never received",
    "in progress": "waiting events, without those for the end of their run or of shadow mode or refused",
    "processes": "processes that the ledger holds as written to the catalog",
    "publish queue": "processes to be published: pending, publishing, retrying and refused ones",
    "pending": "queued processes that the next publisher writes",
    "publishing": "queued processes that a publisher has claimed, or of which a call may still land",
    "retrying": "queued processes in a call that failed, to be tried again after a wait",
    "refused": "queued processes that the catalog refused in a call of their own",
    "revisit": "published processes whose edges expire with time, to be looked at later; not in the sum",
}
"""Name of a count -> what it counts. An event has one of the states published, skipped, waiting and dead; a queued
process is one of pending, publishing, retrying and refused.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """The publish queue by the states that `COUNTS` defines. `error`: of the first refused, else of the first retrying
    process. `paused_until`: when the catalog, which did not answer, is called again, and why it is not called now.
    """

    pending: int = 0
    publishing: int = 0
    retrying: int = 0
    refused: int = 0
    revisit: int = 0
    error: str = ""
    paused_until: datetime | None = None
    paused_because: str = ""

    @property
    def total(self) -> int:
        """The publish queue: all but `revisit`."""
        return self.pending + self.publishing + self.retrying + self.refused

    def __str__(self) -> str:
        """`3 processes in the publish queue: 2 pending, 1 refused by the catalog (the error)`."""
        named = {
            "pending": self.pending,
            "being published, or waiting for their debounce time": self.publishing,
            "to be tried again": self.retrying,
            "refused by the catalog": self.refused,
        }
        states = ", ".join(f"{number:,} {name}" for name, number in named.items() if number)
        text = f"{self.total:,} {'process' if self.total == 1 else 'processes'} in the publish queue"
        text += f": {states}" if states else ""
        text += f" ({self.error})" if self.error else ""
        if self.paused_until:
            text += f"; publishing is paused until {self.paused_until:%H:%M:%S} UTC: {self.paused_because}"
        return text


def queue_state(entry: QueueEntry, now: datetime) -> str:
    """The name in `COUNTS` for a queue entry: pending, publishing, retrying, refused or revisit."""
    if entry.revisit:
        return "revisit"
    if entry.isolated:
        return "refused"
    if entry.error:
        return "retrying"
    return "publishing" if now < entry.due else "pending"


def queue_counts(storage: Storage, now: datetime | None = None) -> QueueCounts:
    """The publish queue as it is now: one query. Raises StorageUnavailable."""
    moment = now or datetime.now(UTC)
    entries, paused_until, why = queue_entries(storage)
    states = [queue_state(entry, moment) for entry in entries]
    number = Counter(states)
    errors = {
        state: next((entry.error for entry, each in zip(entries, states, strict=True) if each == state), "")
        for state in ("refused", "retrying")
    }
    paused = paused_until if paused_until and moment < paused_until else None
    return QueueCounts(
        **number,
        error=errors["refused"] or errors["retrying"],
        paused_until=paused,
        paused_because=why if paused else "",
    )
