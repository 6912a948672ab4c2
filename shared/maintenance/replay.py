"""Replay: process stored runs again from their blobs, with the present code, naming rules and blobs.

Processing is idempotent, so replaying is too: unchanged lineage is not written to the catalog. Runs are replayed in the
order of their blobs' names; a checkpoint in `control` records the position.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from shared.catalog.batches import batches
from shared.errors import StorageUnavailable, WriteConflict
from shared.events.archive_index import is_stored
from shared.events.dead_letters import LONGEST_ERROR, DeadLetter, count_again, dead_letter, dead_letters, delete_letter
from shared.events.stored_runs import Noted, RunFilter, StoredRun, note_events, noted, readable_event, stored_runs
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.merging import END_STRENGTH, stronger_end
from shared.processing.processor import RunProcessor
from shared.processing.triggers import Replayed
from shared.publishing.planning.context import PublishContext
from shared.publishing.publisher import Publisher
from shared.publishing.shadow import leave_shadow_mode
from shared.publishing.writing.catalog_write import Published
from shared.records.checkpoint import Checkpoint
from shared.records.publish_queue import queue_entries
from shared.records.run_state import RunState, run_state_of
from shared.secrets import text_without_secrets
from shared.storage.port import Storage
from shared.storage_layout import StoredEvent

_SAVE_EVERY = 100
_MAX_LETTERS_IN_MEMORY = 5000
"""Dead letters held at a time: all those of a run among them are replayed by processing it once."""

_MAX_REMEMBERED_RUNS = 100_000
"""Runs processed for their dead letters that are not processed twice; runs beyond that bound are."""


class ReplayOutcome(StrEnum):
    """What a replay did with a run in one hour of it."""

    PROCESSED = "processed again"
    PROCESSED_EARLIER = "processed again in an earlier hour"
    WAITING = "waiting for its end"
    GONE = "no longer in the archive"
    OTHER_JOB = "of another job"
    BUSY = "busy"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedRun:
    """A run in one hour of it, and what was done with it."""

    run: StoredRun
    outcome: ReplayOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPosition:
    """The position of a replay of the `wanted` runs: all folders up to `after` are done."""

    wanted: RunFilter
    after: str = ""


_CHECKPOINT = Checkpoint(name="replay", position=ReplayPosition)


def last_position(storage: Storage) -> ReplayPosition | None:
    """Where the last replay stopped; None when it finished."""
    return _CHECKPOINT.load(storage)


def replay(
    storage: Storage, begin: ReplayPosition, *, names: Names = BUILT_IN, stopped: Callable[[], bool] = lambda: False
) -> Iterator["ReplayedRun | ReplayedLetter"]:
    """Process the wanted runs again, lazily, from the position `begin` on: first those of its dead letters, then all.
    Discarded dead letters are returned only if they were used.

    Ends once `stopped`. The position is saved at the start, every hundred runs and when stopped, and deleted at the
    end. Raises StorageUnavailable; `last_position` then is where to go on.
    """
    here, etag = begin, _CHECKPOINT.save(storage, begin)
    done: set[str] = set()
    for letter in () if begin.after else replay_dead_letters(storage, letters_within(begin.wanted), names=names):
        if not letter.stays_discarded:
            yield letter
        if stopped():
            return
        place = letter.letter.place
        if place and letter.outcome in {LetterOutcome.USED, LetterOutcome.FAILED} and len(done) < _MAX_REMEMBERED_RUNS:
            done.add(place.run_id)
    for number, run in enumerate(stored_runs(storage, begin.wanted, after=begin.after), start=1):
        if stopped():
            _CHECKPOINT.save(storage, here)
            return
        outcome = ReplayOutcome.PROCESSED if run.run_id in done else _replay_run(storage, run, begin.wanted, names)
        here = replace(here, after=run.folder)
        if number % _SAVE_EVERY == 0:
            etag = _CHECKPOINT.save(storage, here)
        yield ReplayedRun(run=run, outcome=outcome)
    _CHECKPOINT.clear(storage, etag)  # unless another replay has begun since


def letters_within(wanted: RunFilter) -> Callable[[DeadLetter], bool]:
    """A filter for the dead letters of wanted runs. A foreign blob name has neither time nor run."""

    def within(letter: DeadLetter) -> bool:
        place = letter.place
        if place is None:
            return False
        return wanted.holds(place.time) and wanted.fits(letter.job) and wanted.run_id in {"", place.run_id}

    return within


def new_letters(storage: Storage, wanted: RunFilter, since: datetime) -> int:
    """How many events of wanted runs became dead letters `since` then: a replay reads each event again."""
    within = letters_within(wanted)
    return sum(within(letter) for letter in dead_letters(storage) if letter.first >= since)


def plan(storage: Storage, begin: ReplayPosition) -> Iterator[ReplayedRun]:
    """What `replay` would do with each run, as far as is known without processing it. Writes nothing."""
    for run in stored_runs(storage, begin.wanted, after=begin.after):
        yield ReplayedRun(run=run, outcome=_planned(storage, run, begin.wanted, noted(storage, run.run_id)))


def _planned(storage: Storage, run: StoredRun, wanted: RunFilter, known: Noted) -> ReplayOutcome:
    jobs = known.jobs or _jobs_of(storage, run) if wanted.job else ()
    if wanted.job and not any(wanted.fits(job) for job in jobs):
        return ReplayOutcome.OTHER_JOB
    if not known.missing(run.events) and any(
        wanted.holds(event.time) and event.time < run.hour for event in known.events
    ):
        return ReplayOutcome.PROCESSED_EARLIER
    ends = any(event.end for event in (*known.events, *run.events))
    state = run_state_of(storage, run.run_id)
    if state and state.expired:
        return ReplayOutcome.GONE  # retention has deleted a part of it: it stays as it is
    # A run with a state is processed for each further event: an open one gets none before its end.
    return ReplayOutcome.PROCESSED if ends or state else ReplayOutcome.WAITING


def _replay_run(storage: Storage, run: StoredRun, wanted: RunFilter, names: Names) -> ReplayOutcome:
    known = noted(storage, run.run_id)
    outcome = _planned(storage, run, wanted, known)
    if outcome is not ReplayOutcome.OTHER_JOB:
        note_events(storage, known.missing(run.events))
    if outcome is ReplayOutcome.PROCESSED:
        try:
            process_stored(storage, run.run_id, run_state_of(storage, run.run_id), (*known.events, *run.events), names)
        except WriteConflict:
            return ReplayOutcome.BUSY
    return outcome


def _jobs_of(storage: Storage, run: StoredRun) -> frozenset[str]:
    """The job's name in the first readable event, where no row has it."""
    events = (readable_event(storage, place) for place in run.events)
    return next((frozenset({event.body.job.name}) for event in events if event and event.body), frozenset())


def process_stored(
    storage: Storage, run_id: str, state: RunState | None, events: tuple[StoredEvent, ...], names: Names
) -> None:
    """Process a run from its stored `events`, whatever was processed of it. An end that no trigger delivered is
    recorded, unless the run is closed.
    """
    last = max(events, key=lambda event: END_STRENGTH[event.end], default=None)
    known_end = state.end if state else None
    is_open = state is None or not state.closed
    new_end = last if is_open and last and stronger_end(known_end, last.end) != known_end else None
    RunProcessor(storage=storage, names=names).process(run_id, Replayed(event=new_end))


class LetterOutcome(StrEnum):
    """What a replay did with a dead letter."""

    USED = "used"
    FAILED = "failed again"
    GONE = "gone"
    MISSING = "its blob is missing"
    BUSY = "its run is busy"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedLetter:
    """A dead letter after its replay, or as it was before it was deleted; `now`: the state of its run."""

    letter: DeadLetter
    outcome: LetterOutcome
    now: str = ""

    @property
    def stays_discarded(self) -> bool:
        """Whether it was discarded, and its event still cannot be used."""
        return bool(self.letter.discarded) and self.outcome is not LetterOutcome.USED


def replay_dead_letters(
    storage: Storage, wanted: Callable[[DeadLetter], bool], *, names: Names = BUILT_IN
) -> Iterator[ReplayedLetter]:
    """Process the runs of the `wanted` dead letters again, once for all letters of a run, chosen or not.

    A letter is deleted once its event was merged into its run; else it stays, with its new error and a higher count.
    Raises StorageUnavailable.
    """
    keys = {_key(letter) for letter in dead_letters(storage) if wanted(letter)}
    letters = (letter for letter in dead_letters(storage) if _key(letter) in keys)
    for batch in batches(letters, _MAX_LETTERS_IN_MEMORY):
        runs: dict[str, list[tuple[DeadLetter, StoredEvent]]] = {}
        for letter in batch:
            place = letter.place
            if place is None:
                yield _foreign(storage, letter)
            elif not is_stored(storage, letter.blob):
                yield ReplayedLetter(letter=letter, outcome=LetterOutcome.MISSING)
            else:
                runs.setdefault(place.run_id, []).append((letter, place))
        for run_id, group in runs.items():
            yield from _letters_of(storage, run_id, group, names)


def _key(letter: DeadLetter) -> str:
    """What is replayed together: the letters of a run; one with a foreign blob name by itself."""
    return letter.place.run_id if letter.place else letter.digest


def _foreign(storage: Storage, letter: DeadLetter) -> ReplayedLetter:
    """Delete a letter with a foreign blob name once that blob is gone: then it was renamed."""
    if not is_stored(storage, letter.blob) and delete_letter(storage, letter):
        return ReplayedLetter(letter=letter, outcome=LetterOutcome.GONE)
    count_again(storage, letter, replace(letter, last=datetime.now(UTC)))
    return _failed(storage, letter)


def _failed(storage: Storage, letter: DeadLetter) -> ReplayedLetter:
    return ReplayedLetter(letter=dead_letter(storage, letter.digest) or letter, outcome=LetterOutcome.FAILED)


def _letters_of(
    storage: Storage, run_id: str, group: list[tuple[DeadLetter, StoredEvent]], names: Names
) -> Iterator[ReplayedLetter]:
    try:
        note_events(storage, noted(storage, run_id).missing(place for _, place in group))
        process_stored(storage, run_id, run_state_of(storage, run_id), noted(storage, run_id).events, names)
    except WriteConflict:
        yield from (ReplayedLetter(letter=letter, outcome=LetterOutcome.BUSY) for letter, _ in group)
        return
    except StorageUnavailable:
        raise
    except Exception as error:  # noqa: BLE001 - recorded in the letter: one run that fails blocks no other
        why = text_without_secrets(f"{type(error).__name__}: {error}")[:LONGEST_ERROR]
        for letter, _ in group:
            again = replace(letter, error=why, last=datetime.now(UTC))
            count_again(storage, letter, again)
            yield _failed(storage, letter)
        return
    state = run_state_of(storage, run_id)
    for letter, place in group:
        if state and state.settled and place.digest in state.merged and delete_letter(storage, letter):
            now = f"{state.verdict}: {state.reason}" if state.reason else state.verdict
            yield ReplayedLetter(letter=letter, outcome=LetterOutcome.USED, now=now)
        else:
            yield _failed(storage, letter)


def publish_all(context: PublishContext) -> tuple[Published, int]:
    """Publish the queue, in several sessions where needed: what was done, and the number of processes left: another
    publisher has them, they are not due yet, or the catalog is unavailable (see `error`).

    Raises StorageUnavailable.
    """
    total, left, before = Published(), 0, -1
    leave_shadow_mode(context.storage, context.publishing)
    while not total.error:
        done = Publisher(context=context).publish()
        total.add(done)
        queued, paused_until, why = queue_entries(context.storage)
        left = sum(not each.revisit for each in queued)
        if paused_until and left and context.publishing.now() < paused_until:
            total.error = total.error or f"publishing is paused until {paused_until:%H:%M:%S} UTC: {why}"
        if left in {0, before}:
            break
        before = left
    return total, left
