"""Rebuild the tables of runs, contributions, asset lifecycles and the publish queue from all stored events.

Stages, each idempotent; a checkpoint in `control` records the position:

1. *wipe*: rows are deleted, except what retention has made impossible to rebuild: runs with deleted events keep their
   state and their contributions.
2. *archive*, *events*: each archive file yields the rows of its index and closes its runs again; each blob in `events`
   yields its row.
3. *process*: every run is processed as if all its events had just arrived.

Nothing is published meanwhile, not even after a crash: publishing half of the record would remove lineage. `ledger`,
`deadletters` and `refused` stay: the ledger has what the catalog holds, and the others do not follow from events.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial

from shared.concurrency.parallel_map import ParallelMap
from shared.events.archive_index import CLOSED, members_in
from shared.events.stored_runs import RunFilter, noted, stored_runs
from shared.maintenance.rebuild_records import expired_runs, record_blob, record_member
from shared.maintenance.replay import process_stored
from shared.naming.names import BUILT_IN, Names
from shared.records.asset_lifecycle import is_asset_entry
from shared.records.checkpoint import SWEEP, Checkpoint
from shared.records.publish_queue import hold_publishing, queue_entries, resume_publishing
from shared.records.run_state import RunState, run_state_of
from shared.records.states import State
from shared.storage.port import BlobFact, Lease, Row, Storage
from shared.storage_layout import (
    ARCHIVE,
    ASSET_LIFECYCLE,
    CONTRIBUTIONS,
    EVENTS,
    PUBLISH_QUEUE,
    QUEUE_PARTITION,
    RUNS,
    event_of_blob,
)

_SAVE_EVERY = 100
_RENEW_EVERY = 20
_LEASE_SECONDS = 60
_WHY = "the tables are being rebuilt: `throughline rebuild --resume` continues"


class RebuildStage(StrEnum):
    """What is done, in this order."""

    WIPE = "deleting rows"
    ARCHIVE = "reading the archive"
    EVENTS = "reading events"
    PROCESS = "processing runs"


_STAGES = tuple(RebuildStage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """The position of a rebuild that began at `began`: all in its `stage` up to the name `after` is done."""

    began: datetime
    stage: RebuildStage = RebuildStage.WIPE
    after: str = ""

    @property
    def generation(self) -> int:
        """The generation that runs start from: minutes, so above any generation reached by counting."""
        return int(self.began.timestamp()) // 60


_CHECKPOINT = Checkpoint(name="rebuild", position=Rebuild)


def last_rebuild(storage: Storage) -> Rebuild | None:
    """Where the last rebuild stopped; None when it finished."""
    return _CHECKPOINT.load(storage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """One step that was done: a row deleted, a file or blob read, a run processed."""

    stage: RebuildStage
    name: str


def rebuild(
    storage: Storage,
    begin: Rebuild | None = None,
    *,
    names: Names = BUILT_IN,
    at_once: int = 1,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Rebuilt]:
    """Rebuild the tables, lazily, from the position `begin` on. `at_once`: concurrent calls to delete and to read.

    Ends once `stopped`; then, and after a crash, `last_rebuild` is where to continue, and nothing is published before
    that is done. Raises StorageUnavailable, and WriteConflict when others keep processing the same run.
    """
    here = begin or Rebuild(began=datetime.now(UTC))
    exclusion = _Exclusion(storage)
    try:
        _CHECKPOINT.save(storage, here)
        hold_publishing(storage, _WHY)
        SWEEP.clear(storage)  # the next sweep looks at all runs
        for stage in _STAGES[_STAGES.index(here.stage) :]:
            here = replace(here, stage=stage, after=here.after if stage is here.stage else "")
            _CHECKPOINT.save(storage, here)
            options = _Options(names=names, calls=ParallelMap(at_once=at_once))
            for number, name in enumerate(_DO[stage](storage, here, options), start=1):
                here = replace(here, after=name)
                exclusion.renew()
                if stopped():
                    _CHECKPOINT.save(storage, here)
                    return
                if number % _SAVE_EVERY == 0:
                    _CHECKPOINT.save(storage, here)
                yield Rebuilt(stage=stage, name=name)
        resume_publishing(storage)
        _CHECKPOINT.clear(storage)
    finally:
        exclusion.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    names: Names
    calls: ParallelMap


class _Exclusion:
    """Keeps sweeper and publisher from deciding by half of the rows: holds the sweeper's lease and pauses publishing.
    A publisher that was active at the start may have ended the pause, so both are renewed.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._lease: Lease | None = storage.lease("sweeper", _LEASE_SECONDS)
        self._since = datetime.now(UTC)

    def renew(self) -> None:
        """Renew lease and pause, when it is time."""
        if (datetime.now(UTC) - self._since).total_seconds() < _RENEW_EVERY:
            return
        self._since = datetime.now(UTC)
        hold_publishing(self._storage, _WHY)
        if self._lease is None or not self._lease.renew():
            self._lease = self._storage.lease("sweeper", _LEASE_SECONDS)

    def release(self) -> None:
        """Let the sweeper work again."""
        if self._lease:
            self._lease.release()


def _wipe(storage: Storage, _here: Rebuild, options: _Options) -> Iterator[str]:
    """Delete what can be rebuilt. Expired runs keep their state, which lists what else stays. Queued assets stay:
    no run that is processed again queues them.
    """
    stays = expired_runs(storage)
    for entry in queue_entries(storage)[0]:
        if not is_asset_entry(entry):
            storage.delete(PUBLISH_QUEUE, QUEUE_PARTITION, entry.process)
            yield ""

    def wipe(found: tuple[str, Row]) -> str:
        table, row = found
        kept = stays.row(storage, table, row)
        if kept is None:
            storage.delete(table, row.partition, row.key)
        elif kept != row:
            storage.upsert(table, kept)
        return ""

    yield from options.calls.each(
        wipe, ((table, row) for table in (CONTRIBUTIONS, ASSET_LIFECYCLE, RUNS) for row in storage.scan(table))
    )


def _read_archive(storage: Storage, here: Rebuild, options: _Options) -> Iterator[str]:
    for fact in storage.blobs(ARCHIVE):
        if fact.name > here.after:
            batch = fact.name.rpartition("/")[2].partition(".")[0]
            members = members_in(storage, fact.name)
            note = partial(record_member, storage, batch, here.generation)
            options.calls.all(note, members)
            yield fact.name


def _read_events(storage: Storage, here: Rebuild, options: _Options) -> Iterator[str]:
    def note(fact: BlobFact) -> str:
        if place := event_of_blob(fact.name):
            record_blob(storage, place, fact.arrived)
        return fact.name

    yield from options.calls.each(note, (fact for fact in storage.blobs(EVENTS) if fact.name > here.after))


def _process_runs(storage: Storage, here: Rebuild, options: _Options) -> Iterator[str]:
    """Process all runs but those that wait for their end: that, or the sweeper, will."""
    for run in stored_runs(storage, RunFilter(), after=here.after):
        _process_run(storage, run.run_id, here.generation, options.names)
        yield run.folder


def _process_run(storage: Storage, run_id: str, generation: int, names: Names) -> None:
    events = noted(storage, run_id).events
    state = run_state_of(storage, run_id)
    if state is None:
        if any(event.end for event in events):
            storage.insert(RUNS, RunState(run_id=run_id, generation=generation).row(storage))
            process_stored(storage, run_id, None, events, names)
    elif state.closed and not state.merged and not state.expired:  # only late events are left of it
        storage.replace(
            RUNS, replace(state, expired=True, settled=True, verdict=State.SKIPPED, reason=CLOSED).row(storage)
        )
    elif not state.settled or not (state.closed or {event.digest for event in events} <= state.merged):
        process_stored(storage, run_id, state, events, names)


_DO: dict[RebuildStage, Callable[[Storage, Rebuild, _Options], Iterator[str]]] = {
    RebuildStage.WIPE: _wipe,
    RebuildStage.ARCHIVE: _read_archive,
    RebuildStage.EVENTS: _read_events,
    RebuildStage.PROCESS: _process_runs,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildPlan:
    """How much a rebuild has to do: `rows` to delete, archive `files` and unarchived `events` to read. `expired`: runs
    that stay as they are, since retention has deleted events of them.
    """

    rows: int
    files: int
    events: int
    expired: int


def plan_rebuild(storage: Storage) -> RebuildPlan:
    """How much there is to rebuild; lists each container and reads each table once. Writes nothing."""
    return RebuildPlan(
        rows=sum(1 for table in (CONTRIBUTIONS, PUBLISH_QUEUE, ASSET_LIFECYCLE, RUNS) for _ in storage.scan(table)),
        files=sum(1 for _ in storage.blobs(ARCHIVE)),
        events=sum(1 for _ in storage.blobs(EVENTS)),
        expired=len(expired_runs(storage).runs),
    )
