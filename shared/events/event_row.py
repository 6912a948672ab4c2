"""The row of an event that is not folded yet, in the partition of its application: receiver and parser share it.

A cache of recently read event blobs: a run's end comes soon after its start, and needs both.

A blob's name is made of its content and it is never overwritten, so a cached blob is never stale.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime

from shared.storage.port import Row, Value
from shared.storage_layout import LONGEST_JOB_NAME, StoredEvent, event_of_row_key

MAX_INLINE = 48 * 1024
"""Bytes of a compressed event that stands in its row; a longer one is read from its blob."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """A row of an event that is not folded yet. `payload`: the compressed event, where it is short.

    As the receiver noted them: the name and the namespace (`sender`) of its job; the run's id as it was sent where that
    is no UUID (`run_text`); the parts of it that can't be used, and that a redacted event no longer has (`omitted`);
    when it was `received`.
    """

    event: StoredEvent
    payload: bytes | None = None
    job: str = ""
    sender: str = ""
    run_text: str = ""
    omitted: tuple[str, ...] = ()
    received: datetime | None = None

    def row(self, application: str) -> Row:
        """As a row of this application's partition."""
        omitted = "\n".join(self.omitted)
        texts = {"job": self.job, "sender": self.sender, "run_text": self.run_text, "omitted": omitted}
        values: dict[str, Value] = {name: text[:LONGEST_JOB_NAME] for name, text in texts.items() if text}
        if self.received:
            values["received"] = self.received.isoformat()
        if self.payload is not None and len(self.payload) <= MAX_INLINE:
            values["packed"] = self.payload
        if self.event.application != application:
            values["named"] = self.event.application
        return Row(partition=application, key=self.event.row_key, values=values)

    @classmethod
    def of(cls, row: Row) -> "EventRow":
        """From a row of `applications`."""
        payload, arrival = row.values.get("packed"), row.values.get("received")
        return cls(
            event=event_of_row_key(row.key, str(row.values.get("named", row.partition))),
            payload=payload if isinstance(payload, bytes) else None,
            job=str(row.values.get("job", "")),
            sender=str(row.values.get("sender", "")),
            run_text=str(row.values.get("run_text", "")),
            omitted=tuple(str(row.values.get("omitted", "")).splitlines()),
            received=datetime.fromisoformat(str(arrival)) if arrival else None,
        )


_MOST_BYTES = 32 * 1024 * 1024
_LARGEST = 256 * 1024


class BlobCache:
    """Packed events by digest: as many of the latest as fit into 32 MiB. For all threads of a process."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._size = 0
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, digest: str, packed: bytes) -> None:
        """Remember one, unless it is large."""
        if len(packed) > _LARGEST:
            return
        with self._lock:
            self._size += len(packed) - len(self._held.pop(digest, b""))
            self._held[digest] = packed
            while self._size > self._most:
                self._size -= len(self._held.popitem(last=False)[1])

    def get(self, digest: str) -> bytes | None:
        """The packed event, if it is cached."""
        with self._lock:
            return self._held.get(digest)
