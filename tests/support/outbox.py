"""All messages that the watch has decided."""

from collections.abc import Iterator
from dataclasses import dataclass

from shared.announcing.outbox import message_of
from shared.storage.port import Row, Storage
from shared.storage_layout import OUTBOX_PARTITION, WATCH
from shared.watching.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A message on record: the channels that have not taken it, and those that refused it, each with the reason."""

    message: Message
    open: tuple[str, ...]
    refused: tuple[str, ...]


def rows_of(storage: Storage, kind: str) -> Iterator[tuple[list[str], Row]]:
    """The rows of the outbox whose keys begin with this word, each with the rest of its key."""
    for row in storage.partition(WATCH, OUTBOX_PARTITION, since=f"{kind}|", before=f"{kind}|~"):
        yield row.key.split("|")[1:], row


def messages_on_record(storage: Storage) -> Iterator[Decided]:
    """The messages on record, whose ids are the keys of their rows."""
    for (name,), _ in rows_of(storage, "message"):
        yield Decided(
            message=message_of(storage, name),
            open=tuple(channel for (channel, _, message), _ in rows_of(storage, "open") if message == name),
            refused=tuple(
                f"{channel}: {row.values['reason']!s}"
                for (channel, message), row in rows_of(storage, "refused")
                if message == name
            ),
        )
