"""Runs that could not be settled: how often that was tried, when it is tried again, and when their events are dead.

The host gives up on a message after five tries and puts it among the poisoned (`webjobs-blobtrigger-poison`). The blob
is still there, and so the sweeper finds the run: whatever kept it from being settled, it is tried again, ever less
often. After three times its events are dead letters; those leave once the run is settled after all.

    tried ──settled──> no trouble
      └─failed, or cut off──> trouble ──three times──> dead letters ──settled after all──> no trouble

A sweep notes which run it is at before it settles it, so that a run that ends the whole process is known the next time.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from shared.errors import GivenUp
from shared.events.dead_letters import GIVEN_UP, LONGEST_ERROR, dead_letter, let_go, note_letter, report_dead_letter
from shared.records.run_state import RunState
from shared.secrets import text_without_secrets
from shared.storage.port import Row, Storage, Value
from shared.storage_layout import CONTROL, StoredEvent
from shared.telemetry.port import Telemetry

_LOG = logging.getLogger("throughline.sweep")
_PARTITION = "trouble"
_AT = "at"
_HOPELESS = 3
_FIRST_PAUSE = timedelta(minutes=1)
_LONGEST_PAUSE = timedelta(hours=6)
CUT_OFF = "The sweep was cut off while it settled this run"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryState:
    """A run that could not be settled `count` times, at `last` for the last time, because of `error`. Zero times: it
    was in trouble, and waits.
    """

    run_id: str
    count: int
    last: datetime
    error: str

    @property
    def hopeless(self) -> bool:
        """Whether its events are dead letters until it is settled after all."""
        return self.count >= _HOPELESS

    def due(self, now: datetime) -> bool:
        """Whether it is to be tried again."""
        pause: timedelta = _FIRST_PAUSE * 2 ** min(self.count - 1, 16)
        return now >= self.last + min(pause, _LONGEST_PAUSE)

    def row(self) -> Row:
        """As a row of `control`."""
        values: dict[str, Value] = {"count": self.count, "last": self.last.isoformat(), "error": self.error}
        return Row(partition=_PARTITION, key=self.run_id, values=values)

    @classmethod
    def of(cls, row: Row) -> "RetryState":
        """From a row of `control`."""
        return cls(
            run_id=row.key,
            count=int(str(row.values["count"])),
            last=datetime.fromisoformat(str(row.values["last"])),
            error=str(row.values["error"]),
        )


def retry_state(storage: Storage, run_id: str) -> RetryState | None:
    """The failed attempts to process a run; None where the last one succeeded."""
    row = storage.read(CONTROL, _PARTITION, run_id)
    return RetryState.of(row) if row else None


def troubles(storage: Storage, now: datetime) -> dict[str, RetryState]:
    """The runs in trouble, by run: also that at which the last sweep was cut off. One query."""
    rows = {row.key: row for row in storage.partition(CONTROL, _PARTITION)}
    at = rows.pop(_AT, None)
    found = {run_id: RetryState.of(row) for run_id, row in rows.items()}
    if at:
        run_id = str(at.values["run"])
        found[run_id] = _once_more(storage, run_id, found.get(run_id), CUT_OFF, now)
        storage.delete(CONTROL, _PARTITION, _AT, at.etag)
    return found


@dataclass(slots=True)
class AtWork:
    """The run that this sweep is at, on record. One that has lost its lease may go on beside the next one: what that is
    at stays on record.
    """

    storage: Storage
    etag: str = ""

    def begins(self, run_id: str) -> None:
        """The sweep is about to settle this run."""
        self.etag = self.storage.upsert(CONTROL, Row(partition=_PARTITION, key=_AT, values={"run": run_id}))

    def ended(self) -> None:
        """The sweep is at no run any more."""
        if self.etag:
            self.storage.delete(CONTROL, _PARTITION, _AT, self.etag)


def _once_more(storage: Storage, run_id: str, known: RetryState | None, error: str, now: datetime) -> RetryState:
    trouble = RetryState(run_id=run_id, count=known.count + 1 if known else 1, last=now, error=error[:LONGEST_ERROR])
    storage.upsert(CONTROL, trouble.row())
    return trouble


def failed(storage: Storage, run_id: str, known: RetryState | None, error: Exception, now: datetime) -> RetryState:
    """A run could not be settled (again)."""
    trouble = _once_more(storage, run_id, known, text_without_secrets(f"{type(error).__name__}: {error}"), now)
    _LOG.warning("run left for a later sweep run=%s tries=%d error=%s", run_id, trouble.count, trouble.error)
    return trouble


def bury_run(
    storage: Storage, trouble: RetryState, events: Iterable[StoredEvent], state: RunState | None, telemetry: Telemetry
) -> None:
    """Make dead letters of those events of a hopeless run that are not settled."""
    error = GivenUp(f"Its run could not be settled, {trouble.count} times. {trouble.error}")
    for event in events:
        if not _is_used(event, state) and dead_letter(storage, event.digest) is None:
            note_letter(storage, event.blob, event.digest, error)
            report_dead_letter(telemetry, event.blob, error)


def let_used_go(storage: Storage, events: Iterable[StoredEvent], state: RunState | None) -> None:
    """A run was settled after all: the letters of those of its events that were used leave."""
    for event in events:
        letter = dead_letter(storage, event.digest)
        if letter and letter.reason == GIVEN_UP and not letter.discarded and _is_used(event, state):
            let_go(storage, letter)


def over(storage: Storage, trouble: RetryState, *, decided: bool) -> None:
    """Nothing stands in a run's way any more. Until it is `decided` it stays on record: a sweep beside this one may
    still take it for one in trouble, and have the next one begin behind it.
    """
    if decided:
        storage.delete(CONTROL, _PARTITION, trouble.run_id)
    elif trouble.count:
        storage.upsert(CONTROL, replace(trouble, count=0).row())


def _is_used(event: StoredEvent, state: RunState | None) -> bool:
    return state is not None and state.settled and event.digest in state.merged
