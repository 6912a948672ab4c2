"""The outbox: decided messages, and the channels that have not taken them yet.

The row of a message stays for ever, so that no message is decided twice. It names the channels that have not taken the
message. Each of these has a row that lists the message. The list is written after the message and cleared after it. A
worker that repeats a decision lists the message again while a channel is open, so an interruption at any call loses
nothing.
"""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from shared.errors import ContentLost
from shared.storage.locking import RowAddress, compare_and_swap
from shared.storage.port import Row, Storage, Value
from shared.storage_layout import SNAPSHOTS, WATCH, stamp
from shared.watching.messages import Message, decoded, encoded

_DECIDED = "decided"
_MAX_INLINE = 48 * 1024


class OtherVersionError(ValueError):
    """A message that is whole, but that this version cannot read: another version wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxEntry:
    """A message in the list of a channel: its id, and when it was decided."""

    channel: str
    message: str
    key: str
    decided: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A message on record: the channels that have not taken it, and those that refused it, each with the reason."""

    message: Message
    open: tuple[str, ...]
    refused: tuple[str, ...] = ()


def decide(storage: Storage, message: Message, channels: Sequence[str]) -> bool:
    """Put a message on record and list it for its channels, unless it is there already. Returns whether it is new."""
    row = _row(storage, message, tuple(channels))
    new = storage.insert(WATCH, row) is not None
    found = row if new else storage.read(WATCH, _DECIDED, message.id)
    for channel in _names(found, "open") if found else ():
        when = datetime.fromisoformat(str(found.values["decided"])) if found else message.decided
        storage.insert(WATCH, Row(partition=_list(channel), key=f"{stamp(when)}|{message.id}"))
    return new


def listed(storage: Storage, channel: str) -> Iterator[OutboxEntry]:
    """The messages that a channel has not taken, the oldest first."""
    for row in storage.partition(WATCH, _list(channel)):
        time, _, message = row.key.partition("|")
        decided = datetime.strptime(time, "%Y%m%dT%H%M%S%f%z")
        yield OutboxEntry(channel=channel, message=message, key=row.key, decided=decided)


def decided(storage: Storage, message: str) -> Decided | None:
    """A message on record, by its id. Raises ContentLost where its content is gone or damaged; OtherVersionError."""
    row = storage.read(WATCH, _DECIDED, message)
    return _decided(storage, row) if row else None


def close(storage: Storage, entry: OutboxEntry, *, refused: str = "") -> None:
    """Record that a channel has taken a message, or the reason why it never will. Then remove it from the channel's
    list.
    """

    def change(row: Row | None) -> Row | None:
        if row is None or entry.channel not in (names := _names(row, "open")):
            return row
        left = ",".join(name for name in names if name != entry.channel)
        reasons = "\n".join(
            filter(None, (str(row.values["refused"]), f"{entry.channel}: {refused}" if refused else ""))
        )
        return replace(row, values={**row.values, "open": left, "refused": reasons})

    place = RowAddress(WATCH, _DECIDED, entry.message)
    compare_and_swap(storage, place, change, decode=lambda row: row, encode=lambda row: row)
    storage.delete(WATCH, _list(entry.channel), entry.key)


def _list(channel: str) -> str:
    return f"open|{channel}"


def _names(row: Row, cell: str) -> tuple[str, ...]:
    return tuple(filter(None, str(row.values[cell]).split(",")))


def _row(storage: Storage, message: Message, channels: tuple[str, ...]) -> Row:
    """The row of a message; a long message becomes a blob first."""
    packed = gzip.compress(encoded(message), mtime=0)
    if len(packed) > _MAX_INLINE:
        storage.put_new(SNAPSHOTS, _blob(message.id), packed)
        packed = b"-"
    values: dict[str, Value] = {
        "decided": message.decided.isoformat(),
        "open": ",".join(channels),
        "refused": "",
        "message": packed,
    }
    return Row(partition=_DECIDED, key=message.id, values=values)


def _blob(message: str) -> str:
    return f"message/{message}.json.gz"


def _decided(storage: Storage, row: Row) -> Decided:
    packed = row.values["message"]
    content = storage.get(SNAPSHOTS, _blob(row.key)) if packed == b"-" else packed
    if not isinstance(content, bytes):
        raise ContentLost(f"the content of message {row.key} of `watch` is gone, so it cannot be sent", after=60)
    try:
        message = decoded(gzip.decompress(content))
    except msgspec.ValidationError as error:
        raise OtherVersionError(f"another version wrote message {row.key} of `watch`: {error}") from error
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, msgspec.DecodeError) as error:
        what = f"the content of message {row.key} of `watch` is damaged, so it cannot be sent: {error}"
        raise ContentLost(what, after=60) from error
    return Decided(
        message=message,
        open=_names(row, "open"),
        refused=tuple(filter(None, str(row.values["refused"]).split("\n"))),
    )
