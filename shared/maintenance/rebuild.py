"""Rebuilding the tables from the blobs: `runs`, `contributions`, `dirty` and `assets` anew from all stored events.

Three stages, one after the other, each safe to do again from any point; how far it has come is noted in `control`:

1. *wipe*: the rows go, but for what retention has made impossible to rebuild: runs of which a part is gone keep their
   state, and what they said stays.
2. *note*: each file of the archive gives the rows that say what lies where in it, and closes its runs again; each blob
   in `events` gives its row.
3. *settle*: every run is settled as if all had just arrived.

Nothing is published meanwhile, not even after a crash: half of what is on record would take lineage away. `ledger`,
`deadletters` and `refused` stay: the first tells what the catalog holds, and events do not tell the others.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial

from shared.concurrency.parallel_map import ParallelMap
from shared.errors import Quarantined
from shared.events.archive_format import members_of
from shared.events.archive_index import CLOSED
from shared.events.stored_runs import Wanted, noted, stored_runs
from shared.maintenance.rebuild_records import note_blob, note_member, unbuildable
from shared.maintenance.replay import process_stored
from shared.naming.names import BUILT_IN, Names
from shared.records.asset_lifecycle import is_asset_entry
from shared.records.checkpoint import SWEEP, Checkpoint
from shared.records.publish_queue import hold_publishing, queue_entries, resume_publishing
from shared.records.run_state import RunState
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
    STATE,
    stored_from_blob,
)

_NOTE_EVERY = 100
_RENEW_EVERY = 20
_LEASE_SECONDS = 60
_WHY = "the tables are being rebuilt: `throughline rebuild --resume` goes on"


class Stage(StrEnum):
    """What is being done."""

    WIPE = "deleting rows"
    ARCHIVE = "reading the archive"
    EVENTS = "reading events"
    SETTLE = "settling runs"


_STAGES = tuple(Stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """How far a rebuild has come: all in its `stage` up to the name `after` is done. `began` is when it began."""

    began: datetime
    stage: Stage = Stage.WIPE
    after: str = ""

    @property
    def generation(self) -> int:
        """The generation from which runs speak anew: above any that settlings have reached by counting."""
        return int(self.began.timestamp()) // 60


_CHECKPOINT = Checkpoint(name="rebuild", position=Rebuild)


def last_rebuild(storage: Storage) -> Rebuild | None:
    """Where the last rebuild stopped; None when it came to its end."""
    return _CHECKPOINT.load(storage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """One step that was done: a row deleted, a file or blob read, a run settled."""

    stage: Stage
    name: str


def rebuild(
    storage: Storage,
    begin: Rebuild | None = None,
    *,
    names: Names = BUILT_IN,
    at_once: int = 1,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Rebuilt]:
    """Rebuild the tables, from where `begin` stopped if it did; step by step, as it is asked for. `at_once`: so many
    calls are made side by side to delete and to read.

    Goes no further once `stopped`; then, and after a crash, `last_rebuild` tells where to go on, and nothing is
    published until that has been done. Raises StorageUnavailable, and WriteConflict when others keep processing
    the same run.
    """
    here = begin or Rebuild(began=datetime.now(UTC))
    others = _Others(storage)
    try:
        _CHECKPOINT.save(storage, here)
        hold_publishing(storage, _WHY)
        SWEEP.clear(storage)  # what no trigger did is to be found again
        for stage in _STAGES[_STAGES.index(here.stage) :]:
            here = replace(here, stage=stage, after=here.after if stage is here.stage else "")
            _CHECKPOINT.save(storage, here)
            how = _How(names=names, calls=ParallelMap(at_once=at_once))
            for number, name in enumerate(_DO[stage](storage, here, how), start=1):
                here = replace(here, after=name)
                others.keep_away()
                if stopped():
                    _CHECKPOINT.save(storage, here)
                    return
                if number % _NOTE_EVERY == 0:
                    _CHECKPOINT.save(storage, here)
                yield Rebuilt(stage=stage, name=name)
        resume_publishing(storage)
        _CHECKPOINT.clear(storage)
    finally:
        others.let_go()


@dataclass(frozen=True, slots=True, kw_only=True)
class _How:
    names: Names
    calls: ParallelMap


class _Others:
    """Keeps sweeper and publisher away, for they would decide by half of the rows. What a sweeper did that got in
    between is done anew; a publisher that was at work when this began may have let go of the hold, so it is renewed.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._lease: Lease | None = storage.lease("sweeper", _LEASE_SECONDS)
        self._since = datetime.now(UTC)

    def keep_away(self) -> None:
        """Renew what keeps them away, when it is time."""
        if (datetime.now(UTC) - self._since).total_seconds() < _RENEW_EVERY:
            return
        self._since = datetime.now(UTC)
        hold_publishing(self._storage, _WHY)
        if self._lease is None or not self._lease.renew():
            self._lease = self._storage.lease("sweeper", _LEASE_SECONDS)

    def let_go(self) -> None:
        """Let the sweeper work again."""
        if self._lease:
            self._lease.release()


def _wipe(storage: Storage, _here: Rebuild, how: _How) -> Iterator[str]:
    """All that can be rebuilt. The state of each run of which a part is gone stays, and so tells what else stays. The
    marks of data sets stay: no run that is settled again says that their columns were not described yet.
    """
    stays = unbuildable(storage)
    for dirty in queue_entries(storage)[0]:
        if not is_asset_entry(dirty):
            storage.delete(PUBLISH_QUEUE, QUEUE_PARTITION, dirty.process)
            yield ""

    def wipe(found: tuple[str, Row]) -> str:
        table, row = found
        kept = stays.row(storage, table, row)
        if kept is None:
            storage.delete(table, row.partition, row.key)
        elif kept != row:
            storage.upsert(table, kept)
        return ""

    yield from how.calls.each(
        wipe, ((table, row) for table in (CONTRIBUTIONS, ASSET_LIFECYCLE, RUNS) for row in storage.scan(table))
    )


def _note_archive(storage: Storage, here: Rebuild, how: _How) -> Iterator[str]:
    for fact in storage.blobs(ARCHIVE):
        if fact.name > here.after:
            batch = fact.name.rpartition("/")[2].partition(".")[0]
            members = members_of(storage.get(ARCHIVE, fact.name) or b"")
            note = partial(note_member, storage, batch, here.generation)
            how.calls.all(note, members)
            yield fact.name


def _note_events(storage: Storage, here: Rebuild, how: _How) -> Iterator[str]:
    def note(fact: BlobFact) -> str:
        with suppress(Quarantined):  # a foreign name: the sweeper puts it among the dead letters
            note_blob(storage, stored_from_blob(fact.name), fact.arrived)
        return fact.name

    yield from how.calls.each(note, (fact for fact in storage.blobs(EVENTS) if fact.name > here.after))


def _settle(storage: Storage, here: Rebuild, how: _How) -> Iterator[str]:
    """Runs that wait for their end are left to it, or to the sweeper."""
    for run in stored_runs(storage, Wanted(), after=here.after):
        _settle_run(storage, run.run_id, here.generation, how.names)
        yield run.folder


def _settle_run(storage: Storage, run_id: str, generation: int, names: Names) -> None:
    events = noted(storage, run_id).events
    found = storage.read(RUNS, run_id, STATE)
    state = RunState.of(found, storage) if found else None
    if state is None:
        if any(event.end for event in events):
            storage.insert(RUNS, RunState(run_id=run_id, generation=generation).row(storage))
            process_stored(storage, run_id, None, events, names)
    elif state.closed and not state.merged and not state.gone:  # only what came late is left of it
        storage.replace(
            RUNS, replace(state, gone=True, settled=True, verdict=State.SKIPPED, reason=CLOSED).row(storage)
        )
    elif not state.settled or not (state.closed or {event.digest for event in events} <= state.merged):
        process_stored(storage, run_id, state, events, names)


_DO: dict[Stage, Callable[[Storage, Rebuild, _How], Iterator[str]]] = {
    Stage.WIPE: _wipe,
    Stage.ARCHIVE: _note_archive,
    Stage.EVENTS: _note_events,
    Stage.SETTLE: _settle,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much a rebuild has to do: rows to delete, files of the archive and events beside it to read. `gone`: runs of
    which retention has deleted a part; these stay as they are.
    """

    rows: int
    files: int
    events: int
    gone: int


def extent(storage: Storage) -> Extent:
    """How much there is to rebuild, each container listed and each table read once. Writes nothing."""
    return Extent(
        rows=sum(1 for table in (CONTRIBUTIONS, PUBLISH_QUEUE, ASSET_LIFECYCLE, RUNS) for _ in storage.scan(table)),
        files=sum(1 for _ in storage.blobs(ARCHIVE)),
        events=sum(1 for _ in storage.blobs(EVENTS)),
        gone=len(unbuildable(storage).runs),
    )
