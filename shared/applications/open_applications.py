"""Applications that the sweeper looks at by itself: a row of `control` for each, by the time when that is due.

Those with runs that wait for their end are open; of closed ones something may be forgotten.

The times are rounded up, so that an application that is looked at again and again does not leave a row for each time.
A row too many only costs a look.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from shared.storage.port import Operation, OperationKind, Row, Storage, chunks
from shared.storage_layout import CONTROL, moment, stamp

_PARTITION, _CLOSED = "open", "closed"
_SOON = timedelta(hours=2)
_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenEntry:
    """An application to be looked at when it is `due`. `waiting`: its runs that wait for their end, of which the one
    that waits longest got its last event at `oldest`.
    """

    application: str
    due: datetime
    waiting: int = 0
    oldest: datetime | None = None

    def row(self) -> Row:
        """As a row of `control`."""
        values: dict[str, str | int] = {"waiting": self.waiting}
        if self.oldest:
            values["oldest"] = self.oldest.isoformat()
        return Row(partition=_PARTITION, key=f"{stamp(self.due)}|{self.application}", values=dict(values))

    @classmethod
    def of(cls, row: Row) -> "OpenEntry":
        """From a row of `control`."""
        due_text, application = row.key.split("|")
        oldest = row.values.get("oldest")
        return cls(
            application=application,
            due=moment(due_text),
            waiting=int(str(row.values.get("waiting", 0))),
            oldest=datetime.fromisoformat(str(oldest)) if oldest else None,
        )


def rounded(time: datetime, now: datetime) -> datetime:
    """A time that is not earlier: a whole minute, or a whole hour where it is far away."""
    step = _HOUR if time - now > _SOON else _MINUTE
    remainder = (time - _EPOCH) % step
    return time + step - remainder if remainder else time


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def due_entries(storage: Storage, until: datetime) -> Iterator[OpenEntry]:
    """The entries that are due until a time, the earliest first."""
    rows = storage.partition(CONTROL, _PARTITION, before=stamp(until + timedelta(microseconds=1)))
    return (OpenEntry.of(row) for row in rows)


def put_entries(storage: Storage, added: Iterable[OpenEntry], removed: Iterable[OpenEntry]) -> None:
    """Add entries, and remove others."""
    rows = {entry.row().key: entry.row() for entry in added}
    operations = [Operation(kind=OperationKind.UPSERT, row=row) for row in rows.values()]
    for part in chunks(operations):
        storage.transact(CONTROL, part)
    for key in {entry.row().key for entry in removed} - rows.keys():
        storage.delete(CONTROL, _PARTITION, key)


def put_closed(storage: Storage, application: str, due_time: datetime) -> None:
    """Have an application looked at when something of it may be forgotten."""
    storage.upsert(CONTROL, Row(partition=_CLOSED, key=f"{stamp(due_time)}|{application}"))


def closed_due(storage: Storage, now: datetime) -> list[tuple[str, str]]:
    """The keys and applications of which something may be forgotten now."""
    rows = storage.partition(CONTROL, _CLOSED, before=stamp(now + timedelta(microseconds=1)))
    return [(row.key, row.key.split("|")[1]) for row in rows]


def delete_closed(storage: Storage, key: str) -> None:
    """Remove the entry with this key."""
    storage.delete(CONTROL, _CLOSED, key)
