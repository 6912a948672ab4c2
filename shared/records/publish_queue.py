"""The publish queue: which processes are to be published, and when. One row each, in one partition."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from shared.records.cells import cells_of, record_of
from shared.records.states import QueueState
from shared.storage.port import Row, Storage
from shared.storage_layout import PUBLISH_QUEUE, QUEUE_PARTITION
from shared.telemetry.port import Fact

_PAUSE = "!pause"
"""Sorts before every process, so that one query gives the pause and what is due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """A process (by key) to be published once it is `due`. `error`: why it failed, after so many `attempts`.

    `revisit`: it is published; only the passing of time may change it, and it is looked at again then. `since`: when
    the last event arrived that contributes to it. `isolated`: the catalog refused it in a call of its own, so from now
    on it is always sent by itself, behind the others.
    """

    process: str
    due: datetime
    attempts: int = 0
    error: str = ""
    revisit: bool = False
    since: datetime | None = None
    isolated: bool = False
    etag: str = ""

    def state(self, now: datetime) -> QueueState:
        """The state of its process at this time."""
        if self.revisit:
            return QueueState.REVISIT
        if self.attempts:
            return QueueState.REFUSED if self.isolated else QueueState.RETRYING
        return QueueState.PUBLISHING if now < self.due else QueueState.PENDING

    def row(self) -> Row:
        """As a row of `publishqueue`."""
        values = cells_of(self, without=("process",))
        return Row(partition=QUEUE_PARTITION, key=self.process, values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row) -> "QueueEntry":
        """From a row of `publishqueue`."""
        return record_of(cls, row, process=row.key)


def enqueue(storage: Storage, processes: Iterable[str], *, since: datetime | None = None) -> None:
    """Have these processes (by key) published, also those that a publisher is working on. `since`: when the event
    arrived that changes them; now if not given.
    """
    now = datetime.now(UTC)
    storage.upsert_all(
        PUBLISH_QUEUE, [QueueEntry(process=process, due=now, since=since or now).row() for process in sorted(processes)]
    )


def retry_refused(storage: Storage) -> int:
    """Make isolated entries due now, because the reason of their refusal was mended. How many."""
    refused = [each for each in queue_entries(storage)[0] if each.isolated]
    now = datetime.now(UTC)
    return sum(put_queued(storage, replace(each, due=now)) is not None for each in refused)


def queue_entry(storage: Storage, process: str) -> QueueEntry | None:
    """The entry of a process (by key); None when it is not in the queue."""
    row = storage.read(PUBLISH_QUEUE, QUEUE_PARTITION, process)
    return QueueEntry.of(row) if row else None


def queue_entries(storage: Storage) -> tuple[tuple[QueueEntry, ...], datetime | None, str]:
    """All entries; until when publishing pauses (None: it does not); and why."""
    until, why, found = None, "", []
    for row in storage.partition(PUBLISH_QUEUE, QUEUE_PARTITION):
        each = QueueEntry.of(row)
        if each.process == _PAUSE:
            until, why = each.due, each.error
        else:
            found.append(each)
    return tuple(found), until, why


def pause(storage: Storage, until: datetime, error: str, failures: int = 0) -> None:
    """Pause publishing until then, after so many batches in a row failed."""
    storage.upsert(PUBLISH_QUEUE, QueueEntry(process=_PAUSE, due=until, error=error, attempts=failures).row())


def failures_before(storage: Storage) -> int:
    """How many batches in a row failed before the present pause; 0 without one."""
    pausing = queue_entry(storage, _PAUSE)
    return pausing.attempts if pausing else 0


def present_pause(storage: Storage) -> tuple[datetime | None, str]:
    """Until when publishing pauses (None: it does not), and why; as `queue_entries`, without reading the entries."""
    pausing = queue_entry(storage, _PAUSE)
    return (pausing.due, pausing.error) if pausing else (None, "")


_FOR_EVER = datetime(2999, 12, 31, tzinfo=UTC)


def hold_publishing(storage: Storage, why: str) -> None:
    """Pause publishing until `resume_publishing`, because the record is incomplete."""
    pause(storage, _FOR_EVER, why)


def is_held(until: datetime) -> bool:
    """Whether a pause until then ends only by `resume_publishing`."""
    return until >= _FOR_EVER


def resume_publishing(storage: Storage) -> None:
    """End the pause."""
    storage.delete(PUBLISH_QUEUE, QUEUE_PARTITION, _PAUSE)


def dequeue(storage: Storage, entry: QueueEntry, revisit: datetime | None = None) -> bool:
    """Remove an entry, or make it due at `revisit` where the passing of time may change its process. False, and nothing
    done, when the process was enqueued again meanwhile.
    """
    if revisit is None:
        return storage.delete(PUBLISH_QUEUE, QUEUE_PARTITION, entry.process, entry.etag)
    later = replace(entry, due=revisit, revisit=True, attempts=0, error="", since=None, isolated=False)
    return put_queued(storage, later) is not None


def put_queued(storage: Storage, entry: QueueEntry) -> QueueEntry | None:
    """Write an entry over the one that it was made from: as it is now; None, and nothing written, when the process was
    enqueued again meanwhile.
    """
    etag = storage.replace(PUBLISH_QUEUE, entry.row())
    return replace(entry, etag=etag) if etag else None


def backlog(storage: Storage) -> dict[str, Fact]:
    """How many processes are to be published, and for how many seconds the oldest of them has been."""
    now = datetime.now(UTC)
    waiting = [each for each in queue_entries(storage)[0] if not each.revisit]
    oldest = min((each.since for each in waiting if each.since), default=now)
    return {"queued": len(waiting), "queue_oldest": round((now - oldest).total_seconds(), 3)}
