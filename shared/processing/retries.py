"""Retries of runs that could not be processed: attempts, backoff, and when their events become dead letters.

The host gives up on a message after five attempts and moves it to the poison queue (`webjobs-blobtrigger-poison`). The
blob is still there, so the sweeper finds the run and retries it with backoff. After three failures its events become
dead letters; those are deleted once the run is processed after all.

    attempt ──processed──> nothing on record
      └─failed, or crashed──> retry state ──three times──> dead letters ──processed after all──> nothing on record

A sweep records the current run before it processes it, so that a run that crashes the whole process is known next time.
"""

import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from shared.errors import GivenUp, StorageUnavailable
from shared.events.dead_letters import (
    GIVEN_UP,
    LONGEST_ERROR,
    dead_letter,
    delete_letter,
    note_letter,
    report_dead_letter,
)
from shared.records.cells import cells_of, record_of
from shared.records.run_state import RunState
from shared.secrets import text_without_secrets
from shared.storage.port import Row, Storage
from shared.storage_layout import CONTROL, StoredEvent
from shared.telemetry.port import Telemetry

_LOG = logging.getLogger("throughline.sweep")
_PARTITION = "retry"
_CURRENT = "current"
_MAX_ATTEMPTS = 3
_FIRST_PAUSE = timedelta(minutes=1)
_MAX_PAUSE = timedelta(hours=6)
CRASHED = "The sweep crashed while it processed this run"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryState:
    """A run that failed `count` times, the last time at `last` with `error`. Zero: it failed before, was processed
    since, and waits for its end.
    """

    run_id: str
    count: int
    last: datetime
    error: str

    @property
    def exhausted(self) -> bool:
        """Whether its events are dead letters until it is processed after all."""
        return self.count >= _MAX_ATTEMPTS

    def due(self, now: datetime) -> bool:
        """Whether its backoff is over."""
        pause: timedelta = _FIRST_PAUSE * 2 ** min(self.count - 1, 16)
        return now >= self.last + min(pause, _MAX_PAUSE)

    def row(self) -> Row:
        """As a row of `control`."""
        return Row(partition=_PARTITION, key=self.run_id, values=cells_of(self, without=("run_id",)))

    @classmethod
    def of(cls, row: Row) -> "RetryState":
        """From a row of `control`."""
        return record_of(cls, row, run_id=row.key)


def retry_state(storage: Storage, run_id: str) -> RetryState | None:
    """The failed attempts to process a run; None if the last one succeeded."""
    row = storage.read(CONTROL, _PARTITION, run_id)
    return RetryState.of(row) if row else None


def retry_states(storage: Storage, now: datetime) -> dict[str, RetryState]:
    """The runs to be retried, by id; the one at which the last sweep crashed is among them. One query."""
    rows = {row.key: row for row in storage.partition(CONTROL, _PARTITION)}
    at = rows.pop(_CURRENT, None)
    found = {run_id: RetryState.of(row) for run_id, row in rows.items()}
    if at:
        run_id = str(at.values["run"])
        found[run_id] = _count_attempt(storage, run_id, found.get(run_id), CRASHED, now)
        storage.delete(CONTROL, _PARTITION, _CURRENT, at.etag)
    return found


@dataclass(slots=True)
class CurrentRun:
    """The run that a sweep processes, on record. A sweep that lost its lease keeps off the next one's.

    A context of the sweep: it stays on record only when the process ends within, not when the sweep raises an error.
    """

    storage: Storage
    etag: str = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: object) -> None:
        if kind is None:
            self._end()
        elif issubclass(kind, Exception):
            with suppress(StorageUnavailable):  # the sweep's own error counts
                self._end()

    def begin(self, run_id: str) -> None:
        """Record that the sweep is about to process this run."""
        self.etag = self.storage.upsert(CONTROL, Row(partition=_PARTITION, key=_CURRENT, values={"run": run_id}))

    def _end(self) -> None:
        if self.etag:
            self.storage.delete(CONTROL, _PARTITION, _CURRENT, self.etag)


def _count_attempt(storage: Storage, run_id: str, known: RetryState | None, error: str, now: datetime) -> RetryState:
    retry = RetryState(run_id=run_id, count=known.count + 1 if known else 1, last=now, error=error[:LONGEST_ERROR])
    storage.upsert(CONTROL, retry.row())
    return retry


def record_failure(
    storage: Storage, run_id: str, known: RetryState | None, error: Exception, now: datetime
) -> RetryState:
    """Record that a run could not be processed (again)."""
    retry = _count_attempt(storage, run_id, known, text_without_secrets(f"{type(error).__name__}: {error}"), now)
    _LOG.warning("run failed, a later sweep retries run=%s attempts=%d error=%s", run_id, retry.count, retry.error)
    return retry


def dead_letter_run(
    storage: Storage, retry: RetryState, events: Iterable[StoredEvent], state: RunState | None, telemetry: Telemetry
) -> None:
    """Make dead letters of the unprocessed events of an exhausted run."""
    error = GivenUp(f"Its run could not be processed in {retry.count} attempts. {retry.error}")
    for event in events:
        if not _is_used(event, state) and dead_letter(storage, event.digest) is None:
            note_letter(storage, event.blob, event.digest, error)
            report_dead_letter(telemetry, event.blob, error)


def delete_used_letters(storage: Storage, events: Iterable[StoredEvent], state: RunState | None) -> None:
    """Delete the dead letters of a run's events that were used after all."""
    for event in events:
        letter = dead_letter(storage, event.digest)
        if letter and letter.reason == GIVEN_UP and not letter.discarded and _is_used(event, state):
            delete_letter(storage, letter)


def clear_retry(storage: Storage, retry: RetryState, *, decided: bool) -> None:
    """Record that a run was processed. Its row stays until the run is `decided`: a concurrent sweep may still take it
    for a failed one, and save a checkpoint behind it.
    """
    if decided:
        storage.delete(CONTROL, _PARTITION, retry.run_id)
    elif retry.count:
        storage.upsert(CONTROL, replace(retry, count=0).row())


def _is_used(event: StoredEvent, state: RunState | None) -> bool:
    return state is not None and state.settled and event.digest in state.merged
