"""All messages that the watch has decided."""

from collections.abc import Iterator

from shared.announcing.outbox import Decided, decided
from shared.storage.port import Storage
from shared.storage_layout import WATCH


def messages_on_record(storage: Storage) -> Iterator[Decided]:
    """The messages on record, whose ids are the keys of their rows."""
    for row in storage.partition(WATCH, "decided"):
        if message := decided(storage, row.key):
            yield message
