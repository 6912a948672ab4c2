"""How far a piece of work has come: rows of `control`, all of one shape, so that the work goes on where it stopped.

A row holds the position as JSON. Positions of batch work are decided by that work; those of the periodic work of the
sweeper are times, and stand here.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

import msgspec

from shared.storage.port import Row, Storage
from shared.storage_layout import CHECKPOINT, CONTROL

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint(Generic[T]):
    """The row of the work called `name`; `position` is the type of what it holds. No row: at the beginning, or done."""

    name: str
    position: type[T]

    def load(self, storage: Storage) -> T | None:
        """Where the work goes on. Raises StorageUnavailable."""
        row = storage.read(CONTROL, CHECKPOINT, self.name)
        return msgspec.json.decode(str(row.values["position"]), type=self.position) if row else None

    def save(self, storage: Storage, position: T) -> str:
        """Record the position, whatever was there: the row's etag. Raises StorageUnavailable."""
        values = {"position": msgspec.json.encode(position).decode()}
        return storage.upsert(CONTROL, Row(partition=CHECKPOINT, key=self.name, values=dict(values)))

    def clear(self, storage: Storage, etag: str | None = None) -> None:
        """Record that nothing is left to do; with an `etag` only if no other position was saved since."""
        storage.delete(CONTROL, CHECKPOINT, self.name, etag)


ARCHIVE = Checkpoint(name="archive", position=datetime)
"""When the next archiving is due."""

RECONCILE = Checkpoint(name="reconcile", position=datetime)
"""When placeholders are to be compared with scanned assets the next time."""


class CanaryPosition(msgspec.Struct, frozen=True, kw_only=True):
    """When the next canary is due, and the FAIL that withdraws the one before it; empty once it was accepted."""

    due: datetime
    withdrawal: str = ""


CANARY = Checkpoint(name="canary", position=CanaryPosition)
