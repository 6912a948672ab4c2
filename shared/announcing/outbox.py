"""The outbox: decided messages, and the channels that have not taken them yet. One partition of `watch`.

    message|{id}              a message, for ever, so that none is decided twice
    open|{channel}|{time}|{id}   that the channel has not taken it, since when it is decided
    refused|{channel}|{id}    why the channel never will
    pause|{channel}           until when the channel is left alone

A message is written with its list in one transaction, and each step of a channel is one.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from shared.errors import ContentLost
from shared.records.cells import PackedCell
from shared.storage.locking import RowAddress
from shared.storage.port import Operation, OperationKind, Row, Storage
from shared.storage_layout import OUTBOX_PARTITION, SNAPSHOTS, WATCH, stamp
from shared.watching.messages import Message

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
