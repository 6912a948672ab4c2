"""The row of an event that is not folded yet, in the partition of its application: receiver and parser share it."""

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
