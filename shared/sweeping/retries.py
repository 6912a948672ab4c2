"""Retries of applications that a sweep could not fold: attempts, backoff, and when their events become dead letters.

The host gives up on a message after five attempts and moves it to the poison queue (`webjobs-blobtrigger-poison`). The
blob is still there, so the sweep finds the application and retries it with backoff. After three failures its events
that are not folded become dead letters; those are deleted once they are folded after all.

    attempt ──folded──> nothing on record
      └─failed, or crashed──> retry state ──three times──> dead letters ──folded after all──> nothing on record

A sweep records the application at which it works, so that one that crashes the whole process is known next time.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

from shared.errors import GivenUp, StorageUnavailable
from shared.events.dead_letters import (
    GIVEN_UP,
    LONGEST_ERROR,
    add_dead_letter,
    dead_letter,
    delete_letter,
)
from shared.records.cells import cells_of, record_of
from shared.records.waits import delay
from shared.secrets import text_without_secrets
from shared.storage.port import Row, Storage
from shared.storage_layout import CONTROL, StoredEvent
from shared.telemetry.port import Telemetry

_LOG = logging.getLogger("throughline.sweep")
_PARTITION = "retry"
_CURRENT = "current"
_MAX_ATTEMPTS = 3
CRASHED = "The sweep crashed while it processed this application"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryState:
    """An application that failed `count` times, the last time at `last` with `error`."""

    application: str
    count: int
    last: datetime
    error: str

    @property
    def is_exhausted(self) -> bool:
        """Whether its events are dead letters until they are folded after all."""
        return self.count >= _MAX_ATTEMPTS

    def due(self, now: datetime) -> bool:
        """Whether its backoff is over."""
        return now >= self.last + delay(self.count - 1, self.application)

    def row(self) -> Row:
        """As a row of `control`."""
        return Row(partition=_PARTITION, key=self.application, values=cells_of(self, omitted=("application",)))

    @classmethod
    def of(cls, row: Row) -> "RetryState":
        """From a row of `control`."""
        return record_of(cls, row, application=row.key)


def retry_states(storage: Storage) -> tuple[RetryState, ...]:
    """All applications to be retried: one query."""
    rows = storage.partition(CONTROL, _PARTITION)
    return tuple(RetryState.of(row) for row in rows if row.key != _CURRENT)


@dataclass(slots=True, kw_only=True)
class Retries:
    """The applications to be retried, by id, as of `now`."""

    storage: Storage
    now: datetime
    states: dict[str, RetryState] = field(default_factory=dict)

    @classmethod
    def load(cls, storage: Storage, now: datetime) -> "Retries":
        """One query; the application at which the last sweep crashed is among them."""
        rows = {row.key: row for row in storage.partition(CONTROL, _PARTITION)}
        current = rows.pop(_CURRENT, None)
        retries = cls(storage=storage, now=now, states={key: RetryState.of(row) for key, row in rows.items()})
        if current:
            retries._count(str(current.values["application"]), CRASHED)
            storage.delete(CONTROL, _PARTITION, _CURRENT, current.etag)
        return retries

    def is_due(self, application: str) -> bool:
        """Whether to look at an application: it has not failed, or its backoff is over."""
        state = self.states.get(application)
        return state is None or state.due(self.now)

    def record_failure(
        self, application: str, error: Exception, events: Iterable[StoredEvent], telemetry: Telemetry
    ) -> None:
        """Record that an application could not be folded (again); if it is exhausted, its `events` that are not folded
        become dead letters.
        """
        state = self._count(application, text_without_secrets(f"{type(error).__name__}: {error}"))
        _LOG.warning(
            "application failed, a later sweep retries application=%s attempts=%d error=%s",
            application,
            state.count,
            state.error,
        )
        if not state.is_exhausted:
            return
        given_up = GivenUp(f"Its application could not be processed in {state.count} attempts. {state.error}")
        for event in events:
            if dead_letter(self.storage, event.digest) is None:
                add_dead_letter(self.storage, event.blob, event.digest, given_up, telemetry)

    def clear(self, application: str, folded: Collection[str]) -> None:
        """Record that an application was folded, and delete the dead letters of its events (digests) that are."""
        state = self.states.pop(application, None)
        if state is None:
            return
        for digest in folded if state.is_exhausted else ():
            letter = dead_letter(self.storage, digest)
            if letter and letter.reason == GIVEN_UP and not letter.discarded:
                delete_letter(self.storage, letter)
        self.storage.delete(CONTROL, _PARTITION, application)

    def _count(self, application: str, error: str) -> RetryState:
        previous = self.states.get(application)
        state = RetryState(
            application=application,
            count=previous.count + 1 if previous else 1,
            last=self.now,
            error=error[:LONGEST_ERROR],
        )
        self.storage.upsert(CONTROL, state.row())
        self.states[application] = state
        return state


@contextmanager
def noting_current(storage: Storage) -> Iterator[Callable[[str], None]]:
    """Yield what puts the application on record that a sweep is about to change. It stays there only when the process
    ends within, not when the sweep raises an error. A sweep that lost its lease keeps off the next one's.
    """
    etag = current = ""

    def begin(application: str) -> None:
        nonlocal etag, current
        if application != current:
            row = Row(partition=_PARTITION, key=_CURRENT, values={"application": application})
            etag, current = storage.upsert(CONTROL, row), application

    def end() -> None:
        if etag:
            storage.delete(CONTROL, _PARTITION, _CURRENT, etag)

    try:
        yield begin
    except Exception:
        with suppress(StorageUnavailable):  # the sweep's own error counts
            end()
        raise
    end()
