"""What no trigger does: ends that never come, events that were never delivered, processes left dirty."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from shared.errors import Contended, Quarantined
from shared.openlineage import END_STRENGTH
from shared.pipeline.places import EVENTS, RUNS, STATE, StoredEvent, digest_of, stored_from_blob
from shared.pipeline.records import RunState
from shared.pipeline.settle import bury, settle_run
from shared.storage import BlobFact, Storage

_LOG = logging.getLogger("throughline.sweep")
_LEASE = "sweeper"
_LEASE_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweeping:
    """`end_timeout`: how long after its last arrival a run's end is awaited; `grace`: how long a trigger may take."""

    end_timeout: timedelta = timedelta(hours=6)
    grace: timedelta = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """How many runs were decided without an end, and how many were settled because no trigger had done it."""

    timed_out: int = 0
    undelivered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrivals:
    """A run as the listing of `events` shows it."""

    run_id: str
    events: tuple[StoredEvent, ...]
    last_arrival: datetime


def sweep(storage: Storage, how: Sweeping) -> Swept:
    """Settle what time has decided and what was left behind; only one sweeper works at a time.

    Raises StorageUnavailable when storage is away; the next tick goes on.
    """
    lease = storage.lease(_LEASE, _LEASE_SECONDS)
    if lease is None:
        return Swept()
    timed_out = undelivered = 0
    try:
        now = datetime.now(UTC)
        for run in _arrivals(storage):
            if now - run.last_arrival < how.grace:
                continue
            found = storage.read(RUNS, run.run_id, STATE)
            state = RunState.of(found) if found else None
            if _is_late(run, state, now - how.end_timeout):
                settle_run(storage, run.run_id, timed_out=True)
                timed_out += 1
            elif missed := _missed(run, state):
                settle_run(storage, run.run_id, trigger=missed)
                undelivered += 1
            if not lease.renew():
                break
    except Contended as error:
        _LOG.warning("sweep cut short, the next one goes on: %s", error)
    finally:
        lease.release()
    return Swept(timed_out=timed_out, undelivered=undelivered)


def _is_late(run: _Arrivals, state: RunState | None, deadline: datetime) -> bool:
    """Whether no end was seen for too long, and nobody has decided so yet."""
    no_end = not any(event.end for event in run.events)
    return no_end and run.last_arrival <= deadline and not (state and (state.end or state.timed_out) and state.settled)


def _missed(run: _Arrivals, state: RunState | None) -> StoredEvent | None:
    """An event that should have been merged and was not, one that ends the run before others."""
    if state is None:
        return next((event for event in run.events if event.end), None)
    left = [event for event in run.events if not state.settled or event.digest not in state.merged]
    return max(left, key=lambda event: END_STRENGTH[event.end], default=None)


def _arrivals(storage: Storage) -> Iterator[_Arrivals]:
    """The runs in `events`, from one listing: the names of the blobs tell everything."""
    grouped: dict[str, list[tuple[StoredEvent, BlobFact]]] = {}
    for fact in storage.blobs(EVENTS):
        try:
            event = stored_from_blob(fact.name)
        except Quarantined as error:
            bury(storage, fact.name, digest_of(fact.name.encode()), error)
            continue
        grouped.setdefault(event.run_id, []).append((event, fact))
    for run_id, found in grouped.items():
        yield _Arrivals(
            run_id=run_id,
            events=tuple(event for event, _ in found),
            last_arrival=max(fact.arrived for _, fact in found),
        )
