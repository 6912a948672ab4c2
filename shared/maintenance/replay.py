"""Replay: settling stored runs anew from their blobs, with what the code, the names and the blobs are now.

Settling is safe to do again at any time, so replaying is too: what comes out the same is not written to the catalog.
Runs are replayed in the order of the blobs' names, the names of one run in hand at a time; how far that has come is
noted now and then (in `control`).
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice

from shared.catalog.port import Catalog
from shared.errors import Refused, StorageUnavailable, WriteConflict
from shared.events.archive_index import is_stored, stored_packed
from shared.events.dead_letters import LONGEST_ERROR, DeadLetter, count_again, dead_letter, dead_letters, let_go
from shared.events.stored_runs import Noted, StoredRun, Wanted, note_events, noted, stored_runs
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.decoding import decode
from shared.openlineage.merging import END_STRENGTH, stronger_end
from shared.processing.processor import RunProcessor
from shared.processing.triggers import Replayed
from shared.publishing.catalog_write import Published
from shared.publishing.options import PublishOptions
from shared.publishing.publisher import Publisher
from shared.publishing.shadow import leave_shadow_mode
from shared.records.checkpoint import Checkpoint
from shared.records.publish_queue import queue_entries
from shared.records.run_state import RunState
from shared.secrets import text_without_secrets
from shared.storage.port import Storage
from shared.storage_layout import RUNS, STATE, StoredEvent

_NOTE_EVERY = 100
_AT_ONCE = 5000
"""Dead letters in hand at a time: those of one run among them cost one settling."""

_MOST_REMEMBERED = 100_000
"""Runs that were settled for their dead letters and need not be settled twice; beyond that they are."""


class RunChange(StrEnum):
    """What a replay did to a run in one hour of it."""

    SETTLED = "settled"
    EARLIER = "settled in an earlier hour"
    OPEN = "still waiting for its end"
    GONE = "no longer in the archive"
    OTHER_JOB = "of another job"
    BUSY = "kept changing"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedRun:
    """A run in one hour of it, and what was done."""

    run: StoredRun
    fate: RunChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """How far a replay has come: all folders up to `after` are done."""

    wanted: Wanted
    after: str = ""


_CHECKPOINT = Checkpoint(name="replay", position=Stop)


def last_stop(storage: Storage) -> Stop | None:
    """Where the last replay stopped; None when it came to its end."""
    return _CHECKPOINT.load(storage)


def replay(
    storage: Storage, begin: Stop, *, names: Names = BUILT_IN, stopped: Callable[[], bool] = lambda: False
) -> Iterator["ReplayedRun | ReplayedLetter"]:
    """Settle anew what `begin` wants, from behind the place where it stopped, if it did: first the runs of the dead
    letters in it, then all. One by one, as it is asked for.

    Goes no further once `stopped`. Where it is, is noted at the beginning, every hundred runs, and when it is stopped;
    at the end the note is taken away. Raises StorageUnavailable when storage is away: `last_stop` then tells where to
    go on.
    """
    here, etag = begin, _CHECKPOINT.save(storage, begin)
    done: set[str] = set()
    for letter in () if begin.after else replay_letters(storage, letters_within(begin.wanted), names=names):
        yield letter
        if stopped():
            return
        place = letter.letter.place
        if place and letter.outcome in {Outcome.USED, Outcome.FAILED} and len(done) < _MOST_REMEMBERED:
            done.add(place.run_id)
    for number, run in enumerate(stored_runs(storage, begin.wanted, after=begin.after), start=1):
        if stopped():
            _CHECKPOINT.save(storage, here)
            return
        fate = RunChange.SETTLED if run.run_id in done else _replay_run(storage, run, begin.wanted, names)
        here = replace(here, after=run.folder)
        if number % _NOTE_EVERY == 0:
            etag = _CHECKPOINT.save(storage, here)
        yield ReplayedRun(run=run, fate=fate)
    _CHECKPOINT.clear(storage, etag)  # unless another replay has begun since


def letters_within(wanted: Wanted) -> Callable[[DeadLetter], bool]:
    """Whether a dead letter is within what is wanted; a foreign name tells neither time nor run."""

    def within(letter: DeadLetter) -> bool:
        place = letter.place
        if place is None:
            return False
        return wanted.holds(place.time) and wanted.fits(letter.job) and wanted.run_id in {"", place.run_id}

    return within


def plan(storage: Storage, begin: Stop) -> Iterator[ReplayedRun]:
    """What `replay` would do to each run, as far as that can be told without settling it. Writes nothing."""
    for run in stored_runs(storage, begin.wanted, after=begin.after):
        yield ReplayedRun(run=run, fate=_destined(storage, run, begin.wanted, noted(storage, run.run_id)))


def _destined(storage: Storage, run: StoredRun, wanted: Wanted, known: Noted) -> RunChange:
    jobs = known.jobs or _jobs_told(storage, run) if wanted.job else ()
    if wanted.job and not any(wanted.fits(job) for job in jobs):
        return RunChange.OTHER_JOB
    if not known.missing(run.events) and any(
        wanted.holds(event.time) and event.time < run.hour for event in known.events
    ):
        return RunChange.EARLIER
    ends = any(event.end for event in (*known.events, *run.events))
    state = _state(storage, run.run_id)
    if state and state.expired:
        return RunChange.GONE  # a part of it is no longer there: it stays as it is
    if not ends and state is None:
        return RunChange.OPEN  # nobody has settled it yet: from then on that would have to be done for each event
    return RunChange.SETTLED


def _replay_run(storage: Storage, run: StoredRun, wanted: Wanted, names: Names) -> RunChange:
    known = noted(storage, run.run_id)
    fate = _destined(storage, run, wanted, known)
    if fate is not RunChange.OTHER_JOB:
        note_events(storage, known.missing(run.events))
    if fate is RunChange.SETTLED:
        try:
            settle_stored(storage, run.run_id, _state(storage, run.run_id), (*known.events, *run.events), names)
        except WriteConflict:
            return RunChange.BUSY
    return fate


def _jobs_told(storage: Storage, run: StoredRun) -> frozenset[str]:
    """The job's name as the first event tells that can be read: where no row does."""
    for event in run.events:
        packed = stored_packed(storage, event.blob)
        try:
            body = decode(gzip.decompress(packed)).body if packed else None
        except (Refused, OSError, EOFError, zlib.error):
            continue  # settling makes a dead letter of it
        if body:
            return frozenset({body.job.name})
    return frozenset()


def _state(storage: Storage, run_id: str) -> RunState | None:
    found = storage.read(RUNS, run_id, STATE)
    return RunState.of(found, storage) if found else None


def settle_stored(
    storage: Storage, run_id: str, state: RunState | None, events: tuple[StoredEvent, ...], names: Names
) -> None:
    """Settle a run whatever was settled of it. An end that no trigger delivered goes on record on the way, unless
    the run is closed: then it is settled with what it was closed with.
    """
    last = max(events, key=lambda event: END_STRENGTH[event.end], default=None)
    told = state.end if state else None
    is_open = state is None or not state.closed
    news = last if is_open and last and stronger_end(told, last.end) != told else None
    RunProcessor(storage=storage, names=names).process(run_id, Replayed(event=news))


class Outcome(StrEnum):
    """What a replay did to a dead letter."""

    USED = "used"
    FAILED = "failed again"
    GONE = "gone"
    MISSING = "its blob is missing"
    BUSY = "its run kept changing"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedLetter:
    """A dead letter as it is after its replay, or was if it has left; `now` tells what its run became."""

    letter: DeadLetter
    outcome: Outcome
    now: str = ""


def replay_letters(
    storage: Storage, meant: Callable[[DeadLetter], bool], *, names: Names = BUILT_IN
) -> Iterator[ReplayedLetter]:
    """Settle the runs of these dead letters anew, once for all letters of a run, also those that are not meant.

    A letter leaves once its event was merged into its run; one that failed again stays, with its new error and a higher
    count.

    Raises StorageUnavailable when storage is away: what has not left stays.
    """
    keys = {_key(letter) for letter in dead_letters(storage) if meant(letter)}
    chosen = (letter for letter in dead_letters(storage) if _key(letter) in keys)
    while batch := list(islice(chosen, _AT_ONCE)):
        runs: dict[str, list[tuple[DeadLetter, StoredEvent]]] = {}
        for letter in batch:
            place = letter.place
            if place is None:
                yield _foreign(storage, letter)
            elif not is_stored(storage, letter.blob):
                yield ReplayedLetter(letter=letter, outcome=Outcome.MISSING)
            else:
                runs.setdefault(place.run_id, []).append((letter, place))
        for run_id, group in runs.items():
            yield from _letters_of(storage, run_id, group, names)


def _key(letter: DeadLetter) -> str:
    """What is replayed together: a run; a foreign name by itself."""
    return letter.place.run_id if letter.place else letter.digest


def _foreign(storage: Storage, letter: DeadLetter) -> ReplayedLetter:
    """A name does not get better: such a letter leaves when the blob has left, for it was given its right name."""
    if not is_stored(storage, letter.blob) and let_go(storage, letter):
        return ReplayedLetter(letter=letter, outcome=Outcome.GONE)
    count_again(storage, letter, replace(letter, last=datetime.now(UTC)))
    return _failed(storage, letter)


def _failed(storage: Storage, letter: DeadLetter) -> ReplayedLetter:
    return ReplayedLetter(letter=dead_letter(storage, letter.digest) or letter, outcome=Outcome.FAILED)


def _letters_of(
    storage: Storage, run_id: str, group: list[tuple[DeadLetter, StoredEvent]], names: Names
) -> Iterator[ReplayedLetter]:
    try:
        note_events(storage, noted(storage, run_id).missing(place for _, place in group))
        settle_stored(storage, run_id, _state(storage, run_id), noted(storage, run_id).events, names)
    except WriteConflict:
        yield from (ReplayedLetter(letter=letter, outcome=Outcome.BUSY) for letter, _ in group)
        return
    except StorageUnavailable:
        raise
    except Exception as error:  # noqa: BLE001 - it is put on record: one run in trouble holds up no other
        why = text_without_secrets(f"{type(error).__name__}: {error}")[:LONGEST_ERROR]
        for letter, _ in group:
            again = replace(letter, error=why, last=datetime.now(UTC))
            count_again(storage, letter, again)
            yield _failed(storage, letter)
        return
    state = _state(storage, run_id)
    for letter, place in group:
        if state and state.settled and place.digest in state.merged and let_go(storage, letter):
            now = f"{state.verdict}: {state.reason}" if state.reason else state.verdict
            yield ReplayedLetter(letter=letter, outcome=Outcome.USED, now=now)
        else:
            yield _failed(storage, letter)


def publish_all(storage: Storage, catalog: Catalog, how: PublishOptions) -> tuple[Published, int]:
    """Publish what is due, for longer than one shift where that is needed: what was done, and how many processes are
    left: another publisher is at them, they wait for their time, or the catalog is away (then `error` says so).

    Raises StorageUnavailable when storage is away.
    """
    total, left, before = Published(), 0, -1
    leave_shadow_mode(storage, how)
    while not total.error:
        done = Publisher(storage=storage, catalog=catalog, options=how).publish()
        total.add(done)
        dirty, paused_until, why = queue_entries(storage)
        left = sum(not each.revisit for each in dirty)
        if paused_until and left and how.now() < paused_until:
            total.error = total.error or f"the catalog is left alone until {paused_until:%H:%M:%S} UTC: {why}"
        if left in {0, before}:
            break
        before = left
    return total, left
