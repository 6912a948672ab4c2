"""The sweeper: work not started by a trigger. Times out runs, delivers missed events, retries failed runs, archives."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta

from shared.errors import Quarantined, StorageUnavailable, Superseded
from shared.events.archiver import ArchiveOptions, archive
from shared.events.run_loader import add_dead_letter
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.merging import END_STRENGTH
from shared.processing.processor import RunProcessor
from shared.processing.retries import (
    CurrentRun,
    RetryState,
    clear_retry,
    dead_letter_run,
    delete_used_letters,
    record_failure,
    retry_states,
)
from shared.processing.triggers import EventArrived, TimedOut
from shared.records.application.process_index import processes_written_by
from shared.records.checkpoint import SWEEP, SweepPosition
from shared.records.run_state import RunState, readable_state_of, run_state_of
from shared.records.states import State
from shared.storage.lease_session import LeaseSession, start_session
from shared.storage.port import BlobFact, Row, Storage
from shared.storage_layout import EVENTS, RUNS, StoredEvent, digest_of, stored_from_blob
from shared.telemetry.port import SILENT, Fact, Telemetry

_LOG = logging.getLogger("throughline.sweep")
_LEASE = "sweeper"
_WAITING = ("waiting", "opened")
"""Outcomes of runs that wait for their end; `opened`: the START of an application run was processed."""
_UNDECIDED = frozenset({*_WAITING, "undelivered", "superseded"})
"""Outcomes of runs that the next sweep looks at again: an undelivered event need not be the end of its run, and the
worker that superseded this sweep may crash.
"""


_FULL_SWEEP_EVERY = timedelta(days=1)
_SHARE = 2 / 3
"""How much of a session sweeping may take; the rest is left for archiving."""
_EVER = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER_SWEPT = SweepPosition(decided_until=_EVER, full_sweep_due=_EVER)


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """`end_timeout`: how long after its last arrival a run's end is awaited; `grace`: how long a trigger may take;
    `names`: the naming rules; `archiving`: what becomes of processed events; `now`: the clock; `seconds`: a monotonic
    clock; `telemetry`: the sink of facts.
    """

    end_timeout: timedelta = timedelta(hours=6)
    grace: timedelta = timedelta(minutes=10)
    names: Names = BUILT_IN
    archiving: ArchiveOptions = field(default_factory=ArchiveOptions)
    now: Callable[[], datetime] = _utc_now
    seconds: Callable[[], float] = time.monotonic
    telemetry: Telemetry = SILENT


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """Runs that timed out, were processed for an undelivered event, or failed and are retried; events archived, and
    deleted from the archive; runs waiting for their end, as far as this sweep got, and the age of the oldest of these
    in seconds since its last arrival.
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
        """As facts of telemetry."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ListedRun:
    """A run as the listing of `events` shows it."""

    run_id: str
    events: tuple[StoredEvent, ...]
    last_arrival: datetime


def sweep(storage: Storage, options: SweepOptions) -> SweepResult:
    """Process timed-out runs and undelivered events, then archive; only one sweeper works at a time.

    Raises StorageUnavailable; the next sweep continues.
    """
    session = start_session(storage, _LEASE, options.seconds)
    if session is None:
        return SweepResult()
    try:
        done = _sweep_all(storage, options, session)
        moved = archive(storage, options.archiving, may_continue=session.may_continue, beat=session.may_continue)
    finally:
        session.lease.release()
    return replace(done, archived=moved["archived"], deleted=moved["deleted"])


def _sweep_all(storage: Storage, options: SweepOptions, session: LeaseSession) -> SweepResult:
    """Sweep runs by their last arrival, those to be retried last. The checkpoint is the last arrival up to which all
    runs are decided or recorded to be retried: there the next sweep begins. Once a day a sweep looks at all runs: a
    worker that processed a decided run again may have died, and no host delivers its event for ever. A sweep that
    takes longer than its session is continued by the next.
    """
    now = options.now()
    done: Counter[str] = Counter()
    retried = retry_states(storage, now)
    last = SWEEP.load(storage) or _NEVER_SWEPT
    is_full = last.is_full if last.reached else last.full_sweep_due <= now
    is_cut = False
    begin = reached = last.reached or (_EVER if is_full else last.decided_until)
    undecided = [last.decided_until] if last.decided_until < begin else []  # found by the sweep that this one continues
    oldest = now
    with CurrentRun(storage) as at:
        for run in sorted(
            _listed_runs(storage, options.telemetry), key=lambda each: (each.run_id in retried, each.last_arrival)
        ):
            retry = retried.get(run.run_id)
            if run.last_arrival < begin and not retry:
                continue
            if now - run.last_arrival < options.grace:
                continue
            if not session.may_continue(_SHARE):
                is_cut = True
                break
            outcome = _sweep_run(at, run, retry, options, now)
            done[outcome] += 1
            oldest = min(oldest, run.last_arrival) if outcome in {"failed", *_WAITING} else oldest
            reached = max(reached, run.last_arrival)  # a retried run may be older than the checkpoint
            undecided += [run.last_arrival] if outcome in _UNDECIDED else []
    position = SweepPosition(
        decided_until=min(undecided, default=reached),
        full_sweep_due=now + _FULL_SWEEP_EVERY if is_full and not is_cut else last.full_sweep_due,
        reached=reached if is_cut else None,
        is_full=is_full and is_cut,
    )
    if position != last:
        SWEEP.save(storage, position)
    return SweepResult(
        timed_out=done["timed_out"],
        undelivered=done["undelivered"],
        failed=done["failed"],
        waiting=sum(done[outcome] for outcome in _WAITING),
        oldest=(now - oldest).total_seconds(),
    )


def _sweep_run(at: CurrentRun, run: _ListedRun, retry: RetryState | None, options: SweepOptions, now: datetime) -> str:
    """Process a run that timed out or has an undelivered event: the outcome. A run that fails blocks no other;
    unavailable storage ends the sweep.
    """
    storage = at.storage
    if retry and not retry.due(now):
        if retry.exhausted and retry.last == now:  # the last sweep crashed at it
            _dead_letter(storage, retry, run, options)
        return "dead" if retry.exhausted else "failed"
    try:
        outcome = _process(at, run, now - options.end_timeout, options)
    except StorageUnavailable:
        raise  # nothing is wrong with this run
    except Superseded:
        return "superseded"
    except Exception as error:  # noqa: BLE001 - recorded to be retried, then a dead letter
        retry = record_failure(storage, run.run_id, retry, error, now)
        outcome = "failed"
    if retry and outcome == "failed" and retry.exhausted:
        _dead_letter(storage, retry, run, options)
        return "dead"
    if retry and outcome != "failed":
        state = readable_state_of(storage, run.run_id)
        if retry.count:
            delete_used_letters(storage, run.events, state)
        clear_retry(storage, retry, decided=outcome not in _UNDECIDED or _decided(state))
    return outcome


def _dead_letter(storage: Storage, retry: RetryState, run: _ListedRun, options: SweepOptions) -> None:
    """Make dead letters of a run's unprocessed events; a sweep believed to have crashed may still process them. Where
    the run's state is lost, of all its events.
    """
    dead_letter_run(storage, retry, run.events, readable_state_of(storage, run.run_id), options.telemetry)
    delete_used_letters(storage, run.events, readable_state_of(storage, run.run_id))


def _decided(state: RunState | None) -> bool:
    return state is not None and state.settled and state.verdict is not State.WAITING


def _process(at: CurrentRun, run: _ListedRun, deadline: datetime, options: SweepOptions) -> str:
    storage = at.storage
    state = run_state_of(storage, run.run_id)
    if state and state.closed:
        return "decided"
    timed_out, undelivered = _is_timed_out(run, state, deadline), _undelivered(storage, run, state)
    if timed_out or undelivered:
        at.begin(run.run_id)
        for event in run.events:  # a blob may have been copied here without its row
            storage.insert(RUNS, Row(partition=run.run_id, key=event.row_key))
        trigger = TimedOut() if timed_out or undelivered is None else EventArrived(event=undelivered)
        # Two sweeps at one run would supersede each other while storage is slow: the later one goes on alone.
        RunProcessor(storage=storage, names=options.names, gives_way=True, telemetry=options.telemetry).process(
            run.run_id, trigger
        )
        if timed_out:
            return "timed_out"
        return "undelivered" if state or any(event.end for event in run.events) else "opened"
    return "decided" if _decided(state) else "waiting"


def _is_timed_out(run: _ListedRun, state: RunState | None, deadline: datetime) -> bool:
    """Whether the end of a run was awaited long enough, and that was not decided yet."""
    no_end = not any(event.end for event in run.events)
    return no_end and run.last_arrival <= deadline and not (state and (state.end or state.timed_out) and state.settled)


def _undelivered(storage: Storage, run: _ListedRun, state: RunState | None) -> StoredEvent | None:
    """An event that should have been merged and was not: one that ends the run, if there is. Of an open application
    run that has written something its START counts too, once: by its time newer application runs are known.
    """
    if state is None:
        end = next((event for event in run.events if event.end), None)
        start = next((event for event in run.events if event.type == "START"), None)
        return end or (start if start and processes_written_by(storage, run.run_id) else None)
    left = [event for event in run.events if not state.settled or event.digest not in state.merged]
    return max(left, key=lambda event: END_STRENGTH[event.end], default=None)


def _listed_runs(storage: Storage, telemetry: Telemetry) -> Iterator[_ListedRun]:
    """The runs in `events`, from the names of blobs in one listing."""
    grouped: dict[str, list[tuple[StoredEvent, BlobFact]]] = {}
    for fact in storage.blobs(EVENTS):
        try:
            event = stored_from_blob(fact.name)
        except Quarantined as error:
            add_dead_letter(storage, fact.name, digest_of(fact.name.encode()), error, telemetry)
            continue
        grouped.setdefault(event.run_id, []).append((event, fact))
    for run_id, found in grouped.items():
        yield _ListedRun(
            run_id=run_id,
            events=tuple(event for event, _ in found),
            last_arrival=max(fact.arrived for _, fact in found),
        )
