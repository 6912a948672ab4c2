"""The outbox: decided messages, and the channels that have not taken them yet. One partition of `watch`.

    message|{id}              a message, for ever, so that none is decided twice
    open|{channel}|{time}|{id}   that the channel has not taken it, since when it is decided
    refused|{channel}|{id}    why the channel never will
    pause|{channel}           until when the channel is left alone

A message is written with its list in one transaction, and each step of a channel is one.

The last compared state is a row of `control` that names two blobs of `watch`. A comparison is recorded before its
messages are decided (`pending`), and closed after them. A worker that finds an open comparison repeats it, with the
same two snapshots and so with the same ids of messages. The number of a comparison is never used again, because the row
is never removed.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from shared.errors import ContentLost
from shared.records.cells import PackedCell, cells_of, record_of
from shared.storage.port import Operation, OperationKind, Row, RowAddress, Storage, write_if_unchanged
from shared.storage_layout import CONTROL, OUTBOX_PARTITION, SNAPSHOTS, WATCH, digest_of, stamp
from shared.watching.messages import Message

_PARTITION = "watch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The last comparison of one source of lineage (`record` or `lake`).

    `number`: of closed comparisons. `announced`, `pending`: names of blobs, empty if there is none. `looked`: the time
    of the last snapshot.
    """

    source: str
    number: int = 0
    announced: str = ""
    pending: str = ""
    looked: datetime | None = None
    etag: str = ""

    def same(self, data: bytes) -> bool:
        """Whether this is the last announced state."""
        return self.announced.endswith(f"-{digest_of(data)}.json.gz")


def standing(storage: Storage, source: str) -> Standing:
    """The last comparison of a source."""
    row = storage.read(CONTROL, _PARTITION, source)
    return record_of(Standing, row, source=source) if row else Standing(source=source)


def note_look(storage: Storage, standing_state: Standing, now: datetime) -> Standing | None:
    """Record that nothing has changed. None, and nothing is written, if another worker was faster."""
    return _put(storage, replace(standing_state, looked=now))


def begin(storage: Storage, standing_state: Standing, data: bytes, now: datetime) -> Standing | None:
    """Record a comparison with this packed state as the later one. None if another worker was faster."""
    name = f"{standing_state.source}/{standing_state.number + 1:09}-{digest_of(data)}.json.gz"
    storage.put_new(SNAPSHOTS, name, data)
    return _put(storage, replace(standing_state, pending=name, looked=now))


def end(storage: Storage, standing_state: Standing) -> Standing | None:
    """Close a comparison, and remove the states before it. None if another worker closed it."""
    closed = _put(
        storage, replace(standing_state, number=standing_state.number + 1, announced=standing_state.pending, pending="")
    )
    if closed:
        _remove_earlier(storage, closed)
    return closed


def _put(storage: Storage, standing_state: Standing) -> Standing | None:
    values = cells_of(standing_state, omitted=("source",))
    row = Row(partition=_PARTITION, key=standing_state.source, values=values, etag=standing_state.etag)
    etag = write_if_unchanged(storage, CONTROL, row)
    return replace(standing_state, etag=etag) if etag else None


def _remove_earlier(storage: Storage, standing_state: Standing) -> None:
    """Remove states of earlier comparisons, also those that a slower worker left."""
    first = f"{standing_state.source}/{standing_state.number:09}-"
    for blob in list(storage.blobs(SNAPSHOTS, f"{standing_state.source}/")):
        if blob.name < first:
            storage.delete_blob(SNAPSHOTS, blob.name)


_MESSAGE, _REFUSED = "message|", "refused|"
_CONTENT = PackedCell(name="content", decoder=msgspec.json.Decoder(Message), container=SNAPSHOTS)


class OtherVersionError(ValueError):
    """A message that is whole, but that this version cannot read: another version wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxEntry:
    """A message in the list of a channel: its id, and when it was decided."""

    channel: str
    message: str
    key: str
    decided: datetime


def decide(storage: Storage, message: Message, channels: Sequence[str]) -> bool:
    """Put a message on record and list it for its channels, unless it is there already. Returns whether it is new."""
    keys = (f"{_list(channel)}{stamp(message.decided)}|{message.id}" for channel in channels)
    rows = [
        Row(partition=OUTBOX_PARTITION, key=f"{_MESSAGE}{message.id}", values=_CONTENT.pack(storage, message)),
        *(Row(partition=OUTBOX_PARTITION, key=key) for key in keys),
    ]
    return storage.transact(WATCH, [Operation(kind=OperationKind.INSERT, row=row) for row in rows]) is not None


def listed(storage: Storage, channel: str) -> Iterator[OutboxEntry]:
    """The messages that a channel has not taken, the oldest first."""
    prefix = _list(channel)
    for row in storage.partition(WATCH, OUTBOX_PARTITION, since=prefix, before=f"{prefix}~"):
        time, _, message = row.key.removeprefix(prefix).partition("|")
        decided = datetime.strptime(time, "%Y%m%dT%H%M%S%f%z")
        yield OutboxEntry(channel=channel, message=message, key=row.key, decided=decided)


def has_entries(storage: Storage, channel: str) -> bool:
    """Whether there are messages that a channel has not taken."""
    return any(True for _ in listed(storage, channel))


def message_of(storage: Storage, message: str) -> Message:
    """A message on record, by its id. Raises ContentLost where its content is gone or damaged; OtherVersionError."""
    row = storage.read(WATCH, OUTBOX_PARTITION, f"{_MESSAGE}{message}")
    what = f"the content of message {message} of `watch` is damaged, so it cannot be sent"
    if row is None:
        raise ContentLost(what, after=60)
    try:
        return _CONTENT.unpack(storage, row)
    except msgspec.ValidationError as error:
        raise OtherVersionError(f"another version wrote message {message} of `watch`: {error}") from error
    except (ContentLost, OSError, EOFError, zlib.error, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise ContentLost(f"{what}: {error}", after=60) from error


def close(storage: Storage, entry: OutboxEntry, *, refused: str = "") -> None:
    """Record that a channel has taken a message, or the reason why it never will."""
    operations = [Operation(kind=OperationKind.DELETE, row=Row(partition=OUTBOX_PARTITION, key=entry.key))]
    if refused:
        key = f"{_REFUSED}{entry.channel}|{entry.message}"
        row = Row(partition=OUTBOX_PARTITION, key=key, values={"reason": refused})
        operations.append(Operation(kind=OperationKind.UPSERT, row=row))
    storage.transact(WATCH, operations)


def pause_row(channel: str) -> RowAddress:
    """Where the pause of a channel is."""
    return RowAddress(WATCH, OUTBOX_PARTITION, f"pause|{channel}")


def _list(channel: str) -> str:
    return f"open|{channel}|"
