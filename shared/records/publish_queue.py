"""Which processes are to be published anew, and when: one row each, in one partition."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from shared.records.states import Mark
from shared.storage.port import Row, Storage
from shared.storage_layout import DIRTY, DIRTY_PARTITION
from shared.telemetry.port import Fact

_PAUSE = "!pause"
"""Sorts before every process: one query tells what is due and whether the catalog is to be left alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dirty:
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

    def mark(self, now: datetime) -> Mark:
        """What this says of its process, at this time."""
        if self.revisit:
            return Mark.REVISIT
        if self.attempts:
            return Mark.REFUSED
        return Mark.POSTPONED if now < self.due else Mark.DIRTY

    def row(self) -> Row:
        """As a row of `dirty`."""
        return Row(
            partition=DIRTY_PARTITION,
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
    def of(cls, row: Row) -> "Dirty":
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


def mark_dirty(storage: Storage, processes: Iterable[str], *, since: datetime | None = None) -> None:
    """Have these processes (by key) published anew. A publisher at work on one of them will do it once more. `since`:
    when what changes them arrived, if not now.
    """
    now = datetime.now(UTC)
    storage.upsert_all(
        DIRTY, [Dirty(process=process, due=now, since=since or now).row() for process in sorted(processes)]
    )


def try_refused_again(storage: Storage) -> int:
    """Make what the catalog refused due now, and not after its wait, since the reason was mended. How many."""
    refused = [each for each in dirty_processes(storage)[0] if each.alone]
    now = datetime.now(UTC)
    return sum(storage.replace(DIRTY, replace(each, due=now).row()) is not None for each in refused)


def dirty_processes(storage: Storage) -> tuple[tuple[Dirty, ...], datetime | None, str]:
    """All dirty processes; until when the catalog is to be left alone; and why."""
    until, why, found = None, "", []
    for row in storage.partition(DIRTY, DIRTY_PARTITION):
        each = Dirty.of(row)
        if each.process == _PAUSE:
            until, why = each.due, each.error
        else:
            found.append(each)
    return tuple(found), until, why


def pause(storage: Storage, until: datetime, error: str, vain: int = 0) -> None:
    """Leave the catalog alone until then; so many batches came to nothing (`vain`) before."""
    storage.upsert(DIRTY, Dirty(process=_PAUSE, due=until, error=error, attempts=vain).row())


def vain_before(storage: Storage) -> int:
    """What was told of that by the last pause, unless it is over."""
    row = storage.read(DIRTY, DIRTY_PARTITION, _PAUSE)
    return Dirty.of(row).attempts if row else 0


_FOR_EVER = datetime(2999, 12, 31, tzinfo=UTC)


def hold(storage: Storage, why: str) -> None:
    """Leave the catalog alone until `resume`: what is on record is not all that there is."""
    pause(storage, _FOR_EVER, why)


def resume(storage: Storage) -> None:
    """The catalog answers again."""
    storage.delete(DIRTY, DIRTY_PARTITION, _PAUSE)


def clean(storage: Storage, dirty: Dirty, revisit: datetime | None = None) -> bool:
    """No longer dirty, or dirty later where time alone may change it. False, and nothing done, when the process was
    marked again meanwhile.
    """
    if revisit is None:
        return storage.delete(DIRTY, DIRTY_PARTITION, dirty.process, dirty.etag)
    later = replace(dirty, due=revisit, revisit=True, attempts=0, error="", since=None, alone=False)
    return storage.replace(DIRTY, later.row()) is not None


def backlog(storage: Storage) -> dict[str, Fact]:
    """How many processes are to be published, and for how many seconds the oldest of them has been."""
    now = datetime.now(UTC)
    marks = [each for each in dirty_processes(storage)[0] if not each.revisit]
    oldest = min((each.since for each in marks if each.since), default=now)
    return {"queued": len(marks), "queue_oldest": round((now - oldest).total_seconds(), 3)}
