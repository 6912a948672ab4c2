"""Archiving: the events of closed runs move from `events` to files of many events in `archive`; ignored ones likewise.

Under the sweeper's lease, a batch at a time, each from one hour:

1. The run is closed in its state row, if nothing has changed it: no later event is merged into it.
2. The batch is recorded (in `control`, one at a time) before its file is written. The file's name is made of its
   contents, so the next worker continues with the same file after any crash.
3. The file is written, if it does not exist; then rows with the position of each run's events; then the blobs in
   `events` and their rows are deleted; then the batch's record. Until an event has a row in the index its blob counts,
   then the row.

All steps are idempotent, also beside a sweeper that lost its lease: only one file of a batch is ever written, and no
batch begins before the recorded one is done. Only in place of a damaged file another one is written, under another
name, while all blobs are there.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain

from shared.concurrency.parallel_map import ParallelMap
from shared.events.archive_index import ArchiveMissing
from shared.events.archive_retention import delete_old
from shared.events.archive_writer import Item, begin, pending_batch, write_batch
from shared.events.compaction import delete_compacted, is_long
from shared.events.dead_letters import dead_letters
from shared.records.checkpoint import ARCHIVE as ARCHIVE_CHECKPOINT
from shared.records.run_state import readable_state_of
from shared.records.states import State
from shared.storage.port import BlobFact, Storage
from shared.storage_layout import EVENTS, IGNORED, RUNS, event_of_blob, is_ignored_blob, stored_from_blob

_LOG = logging.getLogger("throughline.archive")
_FINAL = frozenset({State.CONTRIBUTED, State.SKIPPED, State.DEAD})


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveOptions:
    """How to archive.

    `after`: how long a settled run must have been quiet (None: nothing is archived); `keep`: how long files of the
    archive stay (None: for ever); `every`: how long to wait after all was done; `most` events and `largest` packed
    bytes make a file; `at_once`: calls to storage side by side; `now`: the clock.
    """

    after: timedelta | None = timedelta(hours=48)
    keep: timedelta | None = None
    every: timedelta = timedelta(minutes=10)
    most: int = 4000
    largest: int = 16 * 1024 * 1024
    at_once: int = 1
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


def archive(
    storage: Storage,
    how: ArchiveOptions,
    *,
    may_continue: Callable[[], bool] = lambda: True,
    beat: Callable[[], object] = lambda: None,
) -> Counter[str]:
    """Archive closed runs and delete old files, as long as it `may_continue`. Returns how many events were `archived`,
    and how many were `deleted` from the archive.

    The caller holds the sweeper's lease; `beat` is called within a batch to renew it. Raises StorageUnavailable; the
    next call continues.
    """
    done: Counter[str] = Counter()
    now = how.now()
    if (how.after is None and how.keep is None) or now < (ARCHIVE_CHECKPOINT.load(storage) or now):
        return done
    calls = ParallelMap(at_once=how.at_once, beat=beat)
    ended = _end_pending(storage, calls)
    done["archived"] += ended or 0
    if how.after is not None and ended is not None:
        quiet_since = now - how.after
        batches = chain(
            _batches(how, _hour, *_of_closed_runs(storage, quiet_since)),
            _batches(how, _folder, storage.blobs(IGNORED), partial(_ignored, quiet_since=quiet_since)),
        )
        while may_continue():
            items = next(batches, None)
            if items is None:
                break
            if batch := begin(storage, items):
                done["archived"] += write_batch(storage, batch, calls)
        else:
            return done
    if how.keep is not None:
        for events in delete_old(storage, now - how.keep):
            done["deleted"] += events
            if not may_continue():
                return done
    ARCHIVE_CHECKPOINT.save(storage, now + how.every)
    return done


def _end_pending(storage: Storage, calls: ParallelMap) -> int | None:
    """End the batch that was begun: how many events were written. None where it can't be, so that no other can begin:
    its file is damaged, and not all of its blobs are there any more.
    """
    pending = pending_batch(storage)
    try:
        return write_batch(storage, pending, calls) if pending else 0
    except ArchiveMissing as error:
        _LOG.error("nothing is archived until this is mended error=%s", error)
        return None


_ItemOf = Callable[[BlobFact], Item | None]
"""The item of a blob that is to be archived; None for one that stays. Asking may close the blob's run."""


def _of_closed_runs(storage: Storage, quiet_since: datetime) -> tuple[list[BlobFact], _ItemOf]:
    """All events, and which of them belong to a run that is closed, or can be closed now."""
    facts: list[BlobFact] = []
    runs: dict[str, str] = {}
    arrivals: dict[str, list[BlobFact]] = {}
    for fact in storage.blobs(EVENTS):
        if place := event_of_blob(fact.name):
            facts.append(fact)
            runs[fact.name] = place.run_id
            arrivals.setdefault(place.run_id, []).append(fact)
    open_letters = {letter.place.run_id for letter in dead_letters(storage) if letter.place and not letter.discarded}
    closed: dict[str, datetime | None] = {}

    def item_of(fact: BlobFact) -> Item | None:
        run = runs[fact.name]
        if run not in closed:
            quiet = max(each.arrived for each in arrivals[run]) <= quiet_since
            final = quiet and run not in open_letters
            closed[run] = _close(storage, run, arrivals[run]) if final else None
        until = closed[run]
        return Item(EVENTS, fact.name, fact.arrived, fact.size, until) if until else None

    return facts, item_of


def _ignored(fact: BlobFact, quiet_since: datetime) -> Item | None:
    """An ignored event that came before then."""
    is_due = fact.arrived <= quiet_since and is_ignored_blob(fact.name)
    return Item(IGNORED, fact.name, fact.arrived, fact.size) if is_due else None


def _batches(
    how: ArchiveOptions, part: Callable[[str], str], facts: Iterable[BlobFact], item_of: _ItemOf
) -> Iterator[tuple[Item, ...]]:
    """Blobs in batches, each for one file: none with too many items, too large, or with another `part` of names."""
    batch: list[Item] = []
    size = 0
    for fact in facts:
        is_full = len(batch) >= how.most or size + fact.size > how.largest
        if batch and (is_full or part(batch[0].blob) != part(fact.name)):
            yield tuple(batch)  # before another run is closed: the events of a closed run are archived at once
            batch, size = [], 0
        if item := item_of(fact):
            batch.append(item)
            size += item.size
    if batch:
        yield tuple(batch)


def _folder(blob: str) -> str:
    return blob.rpartition("/")[0]


def _hour(blob: str) -> str:
    return blob[: len("2026/11/21/13")]


def _close(storage: Storage, run: str, stored: list[BlobFact]) -> datetime | None:
    """Close a run whose outcome is final. The last arrival that counts for it; None while it stays open, as a run does
    whose state is lost.
    """
    state = readable_state_of(storage, run)
    if state is None:
        return None
    if state.closed:
        return state.closed
    digests = {stored_from_blob(fact.name).digest for fact in stored}
    if not (state.settled and state.context_digest and state.verdict in _FINAL and digests <= state.merged):
        return None
    closed = replace(state, closed=max(fact.arrived for fact in stored))
    if not storage.replace(RUNS, closed.row(storage)):
        return None  # another worker is processing it
    if is_long(len(state.merged)):
        delete_compacted(storage, run)
    _LOG.info("run closed run=%s verdict=%s events=%d", run, state.verdict, len(state.merged))
    return closed.closed
