"""What no trigger does: ends that never come, events that were never delivered, processes left dirty."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta

from shared.errors import Quarantined, StorageUnavailable, Superseded
from shared.events.archiver import ArchiveOptions, archive
from shared.events.run_loader import add_dead_letter
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.merging import END_STRENGTH
from shared.processing.processor import RunProcessor
from shared.processing.retries import AtWork, RetryState, bury_run, failed, let_used_go, over, troubles
from shared.processing.triggers import EventArrived, TimedOut
from shared.records.checkpoint import SWEEP
from shared.records.process_index import processes_written_by
from shared.records.run_state import RunState
from shared.records.states import State
from shared.storage.lease_session import LeaseSession, start_session
from shared.storage.port import BlobFact, Row, Storage
from shared.storage_layout import EVENTS, RUNS, STATE, StoredEvent, digest_of, stored_from_blob
from shared.telemetry.port import SILENT, Fact, Telemetry

_LOG = logging.getLogger("throughline.sweep")
_LEASE = "sweeper"
_WAITING = ("waiting", "opened")
"""`opened`: the application that goes on is on record now, with the time when it began."""
_UNDECIDED = frozenset({*_WAITING, "undelivered", "overtaken"})
"""What is looked at again: an event that no trigger delivered need not be the end of its run, and whoever overtook us
may be cut off.
"""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """`end_timeout`: how long after its last arrival a run's end is awaited; `grace`: how long a trigger may take;
    `names`: the rules by which data sets are named; `archiving`: what becomes of events that are settled; `now`: the
    clock; `seconds`: one that is never set back; `telemetry`: who is told.
    """

    end_timeout: timedelta = timedelta(hours=6)
    grace: timedelta = timedelta(minutes=10)
    names: Names = BUILT_IN
    archiving: ArchiveOptions = field(default_factory=ArchiveOptions)
    now: Callable[[], datetime] = _utc_now
    seconds: Callable[[], float] = time.monotonic
    telemetry: Telemetry = SILENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """How many runs were decided without an end, settled because no trigger had done it, or left for the next time;
    how many events were archived, and how many deleted from the archive; how many runs wait for their end, as far as
    this sweep came, and the seconds since the first of them was heard of last.
    """

    timed_out: int = 0
    undelivered: int = 0
    failed: int = 0
    archived: int = 0
    deleted: int = 0
    waiting: int = field(default=0, compare=False)
    oldest: float = field(default=0.0, compare=False)

    @property
    def facts(self) -> dict[str, Fact]:
        """As telemetry tells it."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrivals:
    """A run as the listing of `events` shows it."""

    run_id: str
    events: tuple[StoredEvent, ...]
    last_arrival: datetime


def sweep(storage: Storage, how: SweepOptions) -> Swept:
    """Settle what time has decided and what was left behind; only one sweeper works at a time.

    Raises StorageUnavailable when storage is away; the next tick goes on.
    """
    shift = start_session(storage, _LEASE, how.seconds)
    if shift is None:
        return Swept()
    try:
        done = _sweep_all(storage, how, shift)
        moved = archive(storage, how.archiving, may_continue=shift.may_continue, beat=shift.may_continue)
    finally:
        shift.lease.release()
    return replace(done, archived=moved["archived"], deleted=moved["deleted"])


def _sweep_all(storage: Storage, how: SweepOptions, shift: LeaseSession) -> Swept:
    """Sweep the runs by their last arrival, those in trouble behind the others. Up to where all are decided, or on
    record as in trouble, is noted: there the next sweep begins.
    """
    now = how.now()
    done: Counter[str] = Counter()
    at = AtWork(storage)
    troubled = troubles(storage, now)
    begins = decided_until = _watermark(storage)
    undecided: list[datetime] = []
    oldest = now
    for run in sorted(_arrivals(storage, how.telemetry), key=lambda each: (each.run_id in troubled, each.last_arrival)):
        trouble = troubled.get(run.run_id)
        if run.last_arrival < begins and not trouble:
            continue
        if now - run.last_arrival < how.grace:
            continue
        if not shift.may_continue():
            break
        outcome = _sweep_run(at, run, trouble, how, now)
        done[outcome] += 1
        oldest = min(oldest, run.last_arrival) if outcome in {"failed", *_WAITING} else oldest
        decided_until = max(decided_until, run.last_arrival)
        undecided += [run.last_arrival] if outcome in _UNDECIDED else []
    at.ended()
    decided_until = min(undecided, default=decided_until)  # who was in trouble may be older than where it began
    if decided_until != begins:
        SWEEP.save(storage, decided_until)
    return Swept(
        timed_out=done["timed_out"],
        undelivered=done["undelivered"],
        failed=done["failed"],
        waiting=sum(done[outcome] for outcome in _WAITING),
        oldest=(now - oldest).total_seconds(),
    )


def _watermark(storage: Storage) -> datetime:
    """Up to which last arrival every run has been decided."""
    return SWEEP.load(storage) or datetime(1970, 1, 1, tzinfo=UTC)


def _sweep_run(at: AtWork, run: _Arrivals, trouble: RetryState | None, how: SweepOptions, now: datetime) -> str:
    """Settle a run when time has decided it or an event of it was missed: what was done, or that it waits. Whatever
    stands in the way of one run costs no other; storage being away does.
    """
    storage = at.storage
    if trouble and not trouble.due(now):
        if trouble.hopeless and trouble.last == now:  # the last sweep was cut off at it
            _bury(storage, trouble, run, how)
        return "dead" if trouble.hopeless else "failed"
    try:
        outcome = _settle(at, run, now - how.end_timeout, how)
    except StorageUnavailable:
        with suppress(StorageUnavailable):
            at.ended()  # nothing is wrong with this run
        raise
    except Superseded:
        return "overtaken"
    except Exception as error:  # noqa: BLE001 - it is put on record, and becomes a dead letter
        trouble = failed(storage, run.run_id, trouble, error, now)
        outcome = "failed"
    if trouble and outcome == "failed" and trouble.hopeless:
        _bury(storage, trouble, run, how)
        return "dead"
    if trouble and outcome != "failed":
        state = _state(storage, run.run_id)
        if trouble.count:
            let_used_go(storage, run.events, state)
        over(storage, trouble, decided=outcome not in _UNDECIDED or _decided(state))
    return outcome


def _bury(storage: Storage, trouble: RetryState, run: _Arrivals, how: SweepOptions) -> None:
    """Make dead letters of what is not settled of a run; a sweep that was believed to be cut off may settle it yet."""
    bury_run(storage, trouble, run.events, _state(storage, run.run_id), how.telemetry)
    let_used_go(storage, run.events, _state(storage, run.run_id))


def _decided(state: RunState | None) -> bool:
    return state is not None and state.settled and state.verdict is not State.WAITING


def _state(storage: Storage, run_id: str) -> RunState | None:
    found = storage.read(RUNS, run_id, STATE)
    return RunState.of(found, storage) if found else None


def _settle(at: AtWork, run: _Arrivals, deadline: datetime, how: SweepOptions) -> str:
    storage = at.storage
    state = _state(storage, run.run_id)
    if state and state.closed:
        return "decided"
    late, missed = _is_late(run, state, deadline), _missed(storage, run, state)
    if late or missed:
        at.begins(run.run_id)
        for event in run.events:  # a blob may have been copied here without its row
            storage.insert(RUNS, Row(partition=run.run_id, key=event.row_key))
        trigger = TimedOut() if late or missed is None else EventArrived(event=missed)
        # Two sweeps at one run would overtake each other for as long as storage is slow: the later one has it.
        RunProcessor(storage=storage, names=how.names, telemetry=how.telemetry, gives_way=True).process(
            run.run_id, trigger
        )
        if late:
            return "timed_out"
        return "undelivered" if state or any(event.end for event in run.events) else "opened"
    return "decided" if _decided(state) else "waiting"


def _is_late(run: _Arrivals, state: RunState | None, deadline: datetime) -> bool:
    """Whether no end was seen for too long, and nobody has decided so yet."""
    no_end = not any(event.end for event in run.events)
    return no_end and run.last_arrival <= deadline and not (state and (state.end or state.timed_out) and state.settled)


def _missed(storage: Storage, run: _Arrivals, state: RunState | None) -> StoredEvent | None:
    """An event that should have been merged and was not, one that ends the run before others. Of an application that
    goes on and has written something its START counts too, once: it tells which application is newer.
    """
    if state is None:
        end = next((event for event in run.events if event.end), None)
        start = next((event for event in run.events if event.type == "START"), None)
        return end or (start if start and processes_written_by(storage, run.run_id) else None)
    left = [event for event in run.events if not state.settled or event.digest not in state.merged]
    return max(left, key=lambda event: END_STRENGTH[event.end], default=None)


def _arrivals(storage: Storage, telemetry: Telemetry) -> Iterator[_Arrivals]:
    """The runs in `events`, from one listing: the names of the blobs tell everything."""
    grouped: dict[str, list[tuple[StoredEvent, BlobFact]]] = {}
    for fact in storage.blobs(EVENTS):
        try:
            event = stored_from_blob(fact.name)
        except Quarantined as error:
            add_dead_letter(storage, fact.name, digest_of(fact.name.encode()), error, telemetry)
            continue
        grouped.setdefault(event.run_id, []).append((event, fact))
    for run_id, found in grouped.items():
        yield _Arrivals(
            run_id=run_id,
            events=tuple(event for event, _ in found),
            last_arrival=max(fact.arrived for _, fact in found),
        )
