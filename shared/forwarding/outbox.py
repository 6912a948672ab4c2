"""The outbox: the runs that a target has not taken yet, and what it has. A partition of `forward` for each target.

    open|{due}|{run}   a run to be sent; its content is read when it is sent
    run|{run}          what the target has of a run: `digest` of the content, job, and its state here
    dead|{run}         a run that the target refuses, or did not take for two weeks
    !pause             until when the target is left alone

Each step is one transaction on the run's rows, so whoever dies in between leaves the run open, or done.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from shared.forwarding.event import JobKey
from shared.forwarding.rules import ForwardRules
from shared.outbox import Pause, pause_of
from shared.records.cells import cells_of, record_of
from shared.records.waits import delay
from shared.storage.port import Operation, OperationKind, Row, RowAddress, Storage
from shared.storage_layout import FORWARD, stamp

_OPEN, _RUN, _DEAD = "open|", "run|", "dead|"
_ATTEMPTS = 5
_DIGEST_BYTES = 16
MAX_DIGESTS = 4000
"""Raw events of a run that a target is known to have: the latest. They fit into a cell."""


class RunState(StrEnum):
    """Whether a run is in the outbox."""

    DELIVERED = "delivered"
    OPEN = "open"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRun:
    """What a target has of a run. `digest`: of the content; empty: nothing yet. `events`: raw events that it has, 16
    bytes each. `changed`: when this row was written.
    """

    run_id: str
    application: str
    state: RunState
    changed: datetime
    digest: str = ""
    namespace: str = ""
    job: str = ""
    events: bytes = b""
    etag: str = ""

    @property
    def job_key(self) -> JobKey | None:
        """The job under which the target has it."""
        return (self.namespace, self.job) if self.digest else None

    @property
    def has(self) -> frozenset[str]:
        """The digests of the raw events that the target has."""
        starts = range(0, len(self.events), _DIGEST_BYTES)
        return frozenset(self.events[start : start + _DIGEST_BYTES].hex() for start in starts)

    def with_event(self, digest: str) -> "TargetRun":
        """With one more raw event that the target has."""
        return replace(self, events=(self.events + bytes.fromhex(digest))[-MAX_DIGESTS * _DIGEST_BYTES :])

    def row(self, target: str) -> Row:
        """As a row of `forward`."""
        values = cells_of(self, omitted=("run_id", "events"))
        return Row(
            partition=target, key=f"{_RUN}{self.run_id}", values={**values, "events": self.events}, etag=self.etag
        )

    @classmethod
    def of(cls, row: Row) -> "TargetRun":
        """From its row."""
        return record_of(cls, row, run_id=row.key.removeprefix(_RUN))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxEntry:
    """A run that a target has not taken, `since` when, and after how many `attempts` why (`error`)."""

    target: str
    run_id: str
    application: str
    due: datetime
    since: datetime
    attempts: int = 0
    error: str = ""
    etag: str = ""

    def row(self) -> Row:
        """As a row of `forward`."""
        values = cells_of(self, omitted=("target", "run_id"))
        return Row(partition=self.target, key=f"{_OPEN}{stamp(self.due)}|{self.run_id}", values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row) -> "OutboxEntry":
        """From its row, or from that of a dead letter."""
        return record_of(cls, row, target=row.partition, run_id=row.key.rpartition("|")[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetStatus:
    """What waits for a target (`oldest`: since when), its dead letters with the reason of one, and its pause."""

    target: str
    waiting: int = 0
    oldest: datetime | None = None
    dead: int = 0
    dead_because: str = ""
    paused: Pause | None = None


def target_run(storage: Storage, target: str, run_id: str) -> TargetRun | None:
    """What a target has of a run; None where it was never to be sent there: a point read."""
    row = storage.read(FORWARD, target, f"{_RUN}{run_id}")
    return TargetRun.of(row) if row else None


def enqueue(storage: Storage, target: str, run_id: str, application: str, now: datetime) -> None:
    """Have a run sent, unless it is to be sent already: what is sent is its content then."""
    for _ in range(_ATTEMPTS):
        current = target_run(storage, target, run_id)
        if current and current.state is RunState.OPEN and current.application == application:
            return
        entry = OutboxEntry(target=target, run_id=run_id, application=application, due=now, since=now)
        operations = [Operation(kind=OperationKind.UPSERT, row=entry.row())]
        if current and current.state is RunState.DEAD:
            operations.append(_delete(target, f"{_DEAD}{run_id}"))
        new = replace(
            current or TargetRun(run_id=run_id, application=application, state=RunState.OPEN, changed=now),
            application=application,
            state=RunState.OPEN,
            changed=now,
        )
        kind = OperationKind.REPLACE if current else OperationKind.INSERT
        if storage.transact(FORWARD, [*operations, Operation(kind=kind, row=new.row(target))]) is not None:
            return


def due_entries(storage: Storage, target: str, now: datetime) -> Iterator[OutboxEntry]:
    """The runs that are due for a target, the oldest first."""
    rows = storage.partition(FORWARD, target, since=_OPEN, before=f"{_OPEN}{stamp(now)}~")
    return map(OutboxEntry.of, rows)


def has_entries(storage: Storage, target: str) -> bool:
    """Whether runs wait for a target, due or not."""
    return any(True for _ in storage.partition(FORWARD, target, since=_OPEN, before=f"{_OPEN}~"))


def record_delivery(storage: Storage, entry: OutboxEntry, current: TargetRun) -> bool:
    """Record what the target has now, and take the run off the outbox. False, and nothing written, where another worker
    changed either meanwhile.
    """
    return _take_off(storage, entry, _put(entry, replace(current, state=RunState.DELIVERED)))


def drop(storage: Storage, entry: OutboxEntry, current: TargetRun | None) -> None:
    """Take a run off the outbox of which nothing is to be sent."""
    if current and current.digest:
        record_delivery(storage, entry, current)
    elif current:
        _take_off(storage, entry, _delete(entry.target, f"{_RUN}{entry.run_id}", current.etag))
    else:
        _take_off(storage, entry)


def postpone(storage: Storage, entry: OutboxEntry, current: TargetRun | None, reason: str, now: datetime) -> None:
    """Have a run sent later, because it could not be now. `current`: with the raw events that were sent."""
    due_time = now + delay(entry.attempts, entry.run_id)
    postponed = replace(entry, due=due_time, attempts=entry.attempts + 1, error=reason, etag="")
    operations = [Operation(kind=OperationKind.UPSERT, row=postponed.row())]
    operations += [_put(entry, current)] if current and current.etag else []
    _take_off(storage, entry, *operations)


def bury(storage: Storage, entry: OutboxEntry, current: TargetRun | None, reason: str, now: datetime) -> None:
    """Make a run a dead letter of a target: it is not sent again by itself unless its content changes."""
    letter = replace(replace(entry, error=reason, etag="").row(), key=f"{_DEAD}{entry.run_id}")
    run = current or TargetRun(run_id=entry.run_id, application=entry.application, state=RunState.DEAD, changed=now)
    operation = _put(entry, replace(run, state=RunState.DEAD, changed=now))
    _take_off(storage, entry, Operation(kind=OperationKind.UPSERT, row=letter), operation)


def _take_off(storage: Storage, entry: OutboxEntry, *operations: Operation) -> bool:
    """Take a run off the outbox, and execute these; False, and nothing written, where another worker was faster."""
    taken = _delete(entry.target, entry.row().key, entry.etag)
    return storage.transact(FORWARD, [taken, *operations]) is not None


def _put(entry: OutboxEntry, run: TargetRun) -> Operation:
    return Operation(kind=OperationKind.REPLACE if run.etag else OperationKind.INSERT, row=run.row(entry.target))


def dead_letters(storage: Storage, target: str) -> Iterator[OutboxEntry]:
    """The runs that a target refuses."""
    return map(OutboxEntry.of, storage.partition(FORWARD, target, since=_DEAD, before=f"{_DEAD}~"))


def pause_row(target: str) -> RowAddress:
    """Where the pause of a target is."""
    return RowAddress(FORWARD, target, "!pause")


def target_status(storage: Storage, target: str) -> TargetStatus:
    """What waits for a target, and its dead letters: two queries and a read."""
    entries = list(map(OutboxEntry.of, storage.partition(FORWARD, target, since=_OPEN, before=f"{_OPEN}~")))
    letters = list(dead_letters(storage, target))
    return TargetStatus(
        target=target,
        waiting=len(entries),
        oldest=min((entry.since for entry in entries), default=None),
        dead=len(letters),
        dead_because=letters[-1].error if letters else "",
        paused=pause_of(storage, pause_row(target)),
    )


def statuses(storage: Storage, rules: ForwardRules) -> tuple[TargetStatus, ...]:
    """The status of each target."""
    return tuple(target_status(storage, target.name) for target in rules.targets)


def retry_dead_letters(storage: Storage, target: str, now: datetime) -> int:
    """Have all dead letters of a target sent again, at once. How many."""
    letters = list(dead_letters(storage, target))
    for letter in letters:
        enqueue(storage, target, letter.run_id, letter.application, now)
    return len(letters)


def old_runs(storage: Storage, target: str, limit: datetime) -> Iterator[TargetRun]:
    """What the target has, or refuses, of runs that were last sent before then: a query of all its runs."""
    rows = storage.partition(FORWARD, target, since=_RUN, before=f"{_RUN}~")
    return (run for run in map(TargetRun.of, rows) if run.state is not RunState.OPEN and run.changed < limit)


def forget(storage: Storage, target: str, run: TargetRun) -> None:
    """Forget what a target has of a run, and that it refused it."""
    if run.state is RunState.DEAD:
        storage.delete(FORWARD, target, f"{_DEAD}{run.run_id}")
    storage.delete(FORWARD, target, f"{_RUN}{run.run_id}", run.etag)


def _delete(target: str, key: str, etag: str = "") -> Operation:
    return Operation(kind=OperationKind.DELETE, row=Row(partition=target, key=key, etag=etag))
