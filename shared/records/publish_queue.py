"""Which processes are to be published anew, and when: one row each, in one partition."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from shared.records.states import QueueState
from shared.storage.port import Row, Storage
from shared.storage_layout import PUBLISH_QUEUE, QUEUE_PARTITION
from shared.telemetry.port import Fact

_PAUSE = "!pause"
"""Sorts before every process: one query tells what is due and whether the catalog is to be left alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """A process to be published once it is `due`; `error` is what stood in the way, after so many `attempts`.

    `revisit`: it is published as it should be now, and only the passing of time may change it; `since`: when the last
    event arrived that speaks for it; `alone`: the catalog would not have it even by itself, and so it holds up no
    other again.
    """

    process: str
    due: datetime
    attempts: int = 0
    error: str = ""
    revisit: bool = False
    since: datetime | None = None
    alone: bool = False
    etag: str = ""

    def mark(self, now: datetime) -> QueueState:
        """What this says of its process, at this time."""
        if self.revisit:
            return QueueState.REVISIT
        if self.attempts:
            return QueueState.REFUSED
        return QueueState.PUBLISHING if now < self.due else QueueState.PENDING

    def row(self) -> Row:
        """As a row of `dirty`."""
        return Row(
            partition=QUEUE_PARTITION,
            key=self.process,
            etag=self.etag,
            values={
                "due": self.due.isoformat(),
                "attempts": self.attempts,
                "error": self.error,
                "revisit": self.revisit,
                "since": self.since.isoformat() if self.since else "",
                "alone": self.alone,
            },
        )

    @classmethod
    def of(cls, row: Row) -> "QueueEntry":
        """From a row of `dirty`."""
        since = str(row.values.get("since", ""))
        return cls(
            process=row.key,
            due=datetime.fromisoformat(str(row.values["due"])),
            attempts=int(str(row.values["attempts"])),
            error=str(row.values["error"]),
            revisit=bool(row.values["revisit"]),
            since=datetime.fromisoformat(since) if since else None,
            alone=bool(row.values.get("alone", False)),
            etag=row.etag,
        )


def enqueue(storage: Storage, processes: Iterable[str], *, since: datetime | None = None) -> None:
    """Have these processes (by key) published anew. A publisher at work on one of them will do it once more. `since`:
    when what changes them arrived, if not now.
    """
    now = datetime.now(UTC)
    storage.upsert_all(
        PUBLISH_QUEUE, [QueueEntry(process=process, due=now, since=since or now).row() for process in sorted(processes)]
    )


def retry_refused(storage: Storage) -> int:
    """Make what the catalog refused due now, and not after its wait, since the reason was mended. How many."""
    refused = [each for each in queue_entries(storage)[0] if each.alone]
    now = datetime.now(UTC)
    return sum(storage.replace(PUBLISH_QUEUE, replace(each, due=now).row()) is not None for each in refused)


def queue_entries(storage: Storage) -> tuple[tuple[QueueEntry, ...], datetime | None, str]:
    """All dirty processes; until when the catalog is to be left alone; and why."""
    until, why, found = None, "", []
    for row in storage.partition(PUBLISH_QUEUE, QUEUE_PARTITION):
        each = QueueEntry.of(row)
        if each.process == _PAUSE:
            until, why = each.due, each.error
        else:
            found.append(each)
    return tuple(found), until, why


def pause(storage: Storage, until: datetime, error: str, vain: int = 0) -> None:
    """Leave the catalog alone until then; so many batches came to nothing (`vain`) before."""
    storage.upsert(PUBLISH_QUEUE, QueueEntry(process=_PAUSE, due=until, error=error, attempts=vain).row())


def failures_before(storage: Storage) -> int:
    """What was told of that by the last pause, unless it is over."""
    row = storage.read(PUBLISH_QUEUE, QUEUE_PARTITION, _PAUSE)
    return QueueEntry.of(row).attempts if row else 0


_FOR_EVER = datetime(2999, 12, 31, tzinfo=UTC)


def hold_publishing(storage: Storage, why: str) -> None:
    """Leave the catalog alone until `resume_publishing`: what is on record is not all that there is."""
    pause(storage, _FOR_EVER, why)


def resume_publishing(storage: Storage) -> None:
    """The catalog answers again."""
    storage.delete(PUBLISH_QUEUE, QUEUE_PARTITION, _PAUSE)


def dequeue(storage: Storage, dirty: QueueEntry, revisit: datetime | None = None) -> bool:
    """No longer dirty, or dirty later where time alone may change it. False, and nothing done, when the process was
    marked again meanwhile.
    """
    if revisit is None:
        return storage.delete(PUBLISH_QUEUE, QUEUE_PARTITION, dirty.process, dirty.etag)
    later = replace(dirty, due=revisit, revisit=True, attempts=0, error="", since=None, alone=False)
    return storage.replace(PUBLISH_QUEUE, later.row()) is not None


def backlog(storage: Storage) -> dict[str, Fact]:
    """How many processes are to be published, and for how many seconds the oldest of them has been."""
    now = datetime.now(UTC)
    marks = [each for each in queue_entries(storage)[0] if not each.revisit]
    oldest = min((each.since for each in marks if each.since), default=now)
    return {"dirty": len(marks), "dirty_oldest": round((now - oldest).total_seconds(), 3)}
