"""Replay: compute applications again from the stored events of their runs, with the present code and naming rules.

An application is computed as a whole, in one commit (`shared/applications/recompute.py`), so that replaying is
idempotent: what has not changed is not written, neither here nor to the catalog. A selection computes the applications
of the chosen runs alone, and brings back nothing that was forgotten; `shared/maintenance/replay_all.py` does.

Some of what is stored of an application may not be on record: whole runs, and single events. Normally there is none.
Rows may have been lost, or records been forgotten while their events are in the archive.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum

from msgspec import structs

from shared.applications.fold import CLOSED
from shared.applications.partition import OpenApplication, read_whole
from shared.applications.processor import ApplicationProcessor, FoldRequest
from shared.applications.recompute import recompute
from shared.applications.rows import BlobCache
from shared.applications.state import ApplicationState, RunRecord
from shared.errors import StorageUnavailable, WriteConflict
from shared.events.archive import is_stored, lines_in
from shared.events.dead_letters import (
    DISCARDED,
    LONGEST_ERROR,
    DeadLetter,
    count_again,
    dead_letter,
    dead_letters,
    delete_letter,
)
from shared.events.stored_runs import ArchivedRun, RunFilter, StoredRun, runs_below, stored_runs
from shared.reading.reader import events_of, home_record
from shared.records.control import Checkpoint
from shared.records.states import EventState, State
from shared.secrets import text_without_secrets
from shared.storage.port import Storage
from shared.storage_layout import APPLICATIONS, EventRow
from shared.sweeping.listing import put_closed

LATE = (EventState.SKIPPED.value, CLOSED)
"""State and reason of an event that arrived after its run was closed."""
_LEVEL = 1
"""Of gzip, for what only stays in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrecorded:
    """Runs that are over or archived, each with a record that refers to its events (`records`), and `rows` of single
    events that belong to runs on record or to runs without an end.
    """

    records: dict[str, RunRecord] = field(default_factory=dict)
    rows: tuple[EventRow, ...] = ()


def unrecorded(
    storage: Storage, snapshot: OpenApplication, runs: Iterable[StoredRun], cache: BlobCache, *, with_archive: bool
) -> Unrecorded:
    """What of these stored runs of an application is not on record. `with_archive`: archived runs too, whose events are
    put into the `cache`. Raises ArchiveMissing.
    """
    by_run: dict[str, list[StoredRun]] = {}
    for run in runs:
        by_run.setdefault(run.run_id, []).append(run)
    unfolded = snapshot.by_run()
    records: dict[str, RunRecord] = {}
    rows: list[EventRow] = []
    for run_id, parts in by_run.items():
        events = [event for part in parts for event in part.events]
        arrived = max((part.arrived for part in parts if part.arrived), default=None)
        archived = [archived for part in parts for archived in part.archived] if with_archive else []
        record = snapshot.records.get(run_id)
        is_over = bool(archived) or any(event.end for event in events)
        if record is None and run_id not in unfolded and is_over:
            record = records[run_id] = _record(storage, run_id, archived, cache)
            if not (record.closed and arrived and arrived > record.closed):
                references = (*record.events, *(event.reference for event in events))
                arrived = max(filter(None, (record.arrived, arrived)), default=None)
                record = records[run_id] = structs.replace(record, events=tuple(sorted(references)), arrived=arrived)
        digests = record.digests if record else frozenset()
        rows += [
            EventRow(event=event, received=arrived)
            for event in events
            if event.digest not in digests and event.row_key not in snapshot.unfolded
        ]
    return Unrecorded(records=records, rows=tuple(rows))


def _record(storage: Storage, run_id: str, archived: list[ArchivedRun], cache: BlobCache) -> RunRecord:
    """The record of a run as the archive says."""
    arrived: datetime | None = None
    closed: datetime | None = None
    for line in (line for part in archived for line in lines_in(storage, part.file, part.run)):
        if line.event is not None:  # what is damaged may have been repaired in `events`
            cache.put(line.digest, line.compressed(_LEVEL))
        arrived = max(line.arrived, arrived or line.arrived)
        closed = max(filter(None, (line.closed, closed)), default=None)
    events = [
        (event, state) for part in archived for event, state in zip(part.run.events, part.run.states, strict=True)
    ]
    counting = [(event, state) for event, state in events if state != LATE]
    states = [state for _, state in counting if state[1] != DISCARDED] or [state for _, state in events]
    return RunRecord(
        run_id=run_id,
        archived=tuple(sorted(event.reference for event, _ in events)),
        late=tuple(sorted(event.reference for event, state in events if state == LATE)),
        arrived=arrived,
        closed=closed,
        outcome=states[0] if states and closed else ("", ""),
        timed_out=closed is not None and not any(event.end for event, _ in counting),
    )


_SAVE_EVERY = 100


class ReplayOutcome(StrEnum):
    """What a replay did with an application."""

    CHANGED = "computed again and changed"
    SAME = "computed again, unchanged"
    FORGOTTEN = "forgotten"
    BUSY = "busy"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedApplication:
    """An application, what was done with it, and how many of its runs stay as they are because events of them are
    deleted (`kept`). `processes`: the keys of those to which it contributes; `began`: since when, if
    it has completed.
    """

    application: str
    outcome: ReplayOutcome
    kept: int = 0
    processes: frozenset[str] = frozenset()
    began: datetime | None = None


def replay_application(
    processor: ApplicationProcessor, application: str, runs: Iterable[StoredRun] = (), *, with_archive: bool = False
) -> ReplayedApplication:
    """Compute an application again, once what is stored of it and not on record is. `runs`: as they are stored;
    `with_archive`: also bring back what was forgotten. Raises StorageUnavailable and ArchiveMissing.
    """
    storage = processor.storage
    try:
        snapshot = read_whole(storage, application, lenient=True)
        missing = unrecorded(storage, snapshot, runs, processor.blob_cache, with_archive=with_archive)
        if not (snapshot.etag or snapshot.records or snapshot.unfolded or missing.records or missing.rows):
            return ReplayedApplication(application=application, outcome=ReplayOutcome.FORGOTTEN)
        for row in missing.rows:
            storage.insert(APPLICATIONS, row.row(application))
        computed = recompute(processor, application, missing.records)
        decided = {run_id for run_id, record in computed.records.items() if record.is_decided}
        further = decided & computed.snapshot.by_run().keys()  # nothing else would fold their further events
        processor.fold(application, FoldRequest(force=frozenset(further)))
        if any(record.closed for record in missing.records.values()):
            put_closed(storage, application, processor.now())  # to be forgotten again
    except WriteConflict:
        return ReplayedApplication(application=application, outcome=ReplayOutcome.BUSY)
    return ReplayedApplication(
        application=application,
        outcome=ReplayOutcome.CHANGED if computed.differs else ReplayOutcome.SAME,
        kept=len(computed.kept),
        processes=computed.contributed,
        began=_began(computed.state),
    )


def _began(state: ApplicationState) -> datetime | None:
    """When an application that has completed began: what contributed before is superseded by it."""
    moments = [content.seen.first for content in state.contents.values()]
    moments += [state.first] if state.first else []
    return min(moments, default=None) if state.ended == "COMPLETE" else None


# --- a selection


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPosition:
    """The position of a replay of the `wanted` runs: all folders up to `after` are done."""

    wanted: RunFilter
    after: str = ""


REPLAY = Checkpoint(name="replay", position=ReplayPosition)


def replay(
    processor: ApplicationProcessor, begin: ReplayPosition, *, stopped: Callable[[], bool] = lambda: False
) -> Iterator["ReplayedApplication | ReplayedLetter"]:
    """Compute the applications of the wanted runs again, lazily, from the position `begin` on, each once, with their
    dead letters.

    Ends once `stopped`. The position is saved at the start, every hundred applications and when stopped, and deleted at
    the end. Raises StorageUnavailable; `REPLAY` then is where to go on.
    """
    storage, position = processor.storage, begin
    etag = REPLAY.save(storage, begin)
    letters, number = _letters(storage), 0
    for folder, application, runs in wanted_applications(storage, begin):
        if stopped():
            REPLAY.save(storage, position)
            return
        yield from _replay_all_of(processor, application, runs, letters.pop(application, []))
        position, number = replace(position, after=folder), number + 1
        if number % _SAVE_EVERY == 0:
            etag = REPLAY.save(storage, position)
    REPLAY.clear(storage, etag)  # unless another replay has begun since


def wanted_applications(storage: Storage, begin: ReplayPosition) -> Iterator[tuple[str, str, tuple[StoredRun, ...]]]:
    """The applications of the wanted runs, each once: the folder that led to it, its id, and the runs of that folder as
    they are stored. Reads only.
    """
    seen_applications: set[str] = set()
    for run in stored_runs(storage, begin.wanted):
        if run.folder <= begin.after:
            continue
        if begin.wanted.job and not any(True for _ in events_of(storage, run, begin.wanted, content=False)):
            continue  # it is of another job
        _, home = home_record(storage, run.application, run.run_id)
        for application in {run.application, home} - seen_applications:
            yield run.folder, application, (run,) if application == run.application else ()
        seen_applications |= {run.application, home}


# --- dead letters


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
    def is_news(self) -> bool:
        """Whether it was not discarded, or its event can be used after all."""
        return not self.letter.discarded or self.outcome is LetterOutcome.USED


def replay_dead_letters(
    processor: ApplicationProcessor, is_selected: Callable[[DeadLetter], bool]
) -> Iterator[ReplayedLetter]:
    """Compute the applications of the selected dead letters again, once for all letters of an application.

    A letter is deleted once its event was used; else it stays, with its new error and a higher count. Raises
    StorageUnavailable.
    """
    storage = processor.storage
    for application, letters in _letters(storage).items():
        if not any(map(is_selected, letters)):
            continue
        folders = {f"{letter.place.folder}/" for letter in letters if letter.place}
        if not folders:
            yield _foreign(storage, letters[0])
            continue
        runs = [run for folder in sorted(folders) for run in runs_below(storage, folder)]
        replayed = _replay_all_of(processor, application, runs, letters)
        yield from (letter for letter in replayed if isinstance(letter, ReplayedLetter))


def _letters(storage: Storage) -> dict[str, list[DeadLetter]]:
    """The dead letters that are replayed together: those of an application; one with a foreign blob name by itself."""
    letters: dict[str, list[DeadLetter]] = {}
    for letter in dead_letters(storage):
        letters.setdefault(letter.place.application if letter.place else letter.digest, []).append(letter)
    return letters


def _foreign(storage: Storage, letter: DeadLetter) -> ReplayedLetter:
    """Delete a letter with a foreign blob name once that blob is gone: then it was renamed."""
    if not is_stored(storage, letter.blob) and delete_letter(storage, letter):
        return ReplayedLetter(letter=letter, outcome=LetterOutcome.GONE)
    count_again(storage, letter, replace(letter, last=datetime.now(UTC)))
    return _failed(storage, letter)


def _failed(storage: Storage, letter: DeadLetter) -> ReplayedLetter:
    return ReplayedLetter(letter=dead_letter(storage, letter.digest) or letter, outcome=LetterOutcome.FAILED)


def _replay_all_of(
    processor: ApplicationProcessor, application: str, runs: Iterable[StoredRun], letters: list[DeadLetter]
) -> Iterator[ReplayedApplication | ReplayedLetter]:
    """Compute an application again, with its dead letters: those whose events are used now are deleted."""
    storage = processor.storage
    stored = [letter for letter in letters if is_stored(storage, letter.blob)]
    yield from (
        ReplayedLetter(letter=letter, outcome=LetterOutcome.MISSING) for letter in letters if letter not in stored
    )
    try:
        homes = {home_record(storage, application, letter.place.run_id)[1] for letter in stored if letter.place}
        replayed = replay_application(processor, application, runs)
        for home in sorted(homes - {application}):
            replay_application(processor, home)
    except StorageUnavailable:
        raise
    except Exception as error:  # recorded in the letters: one application that fails blocks no other
        if not stored:
            raise
        error_message = text_without_secrets(f"{type(error).__name__}: {error}")[:LONGEST_ERROR]
        for letter in stored:
            count_again(storage, letter, replace(letter, error=error_message, last=datetime.now(UTC)))
            yield _failed(storage, letter)
        return
    yield replayed
    for letter in stored:
        record = home_record(storage, application, letter.place.run_id)[0] if letter.place else None
        is_used = record and letter.digest in record.digests and record.verdict is not State.DEAD
        if record and is_used and delete_letter(storage, letter):  # unless it was met again
            now = f"{record.verdict}: {record.reason}" if record.reason else record.verdict
            yield ReplayedLetter(letter=letter, outcome=LetterOutcome.USED, now=now)
        elif replayed.outcome is ReplayOutcome.BUSY:
            yield ReplayedLetter(letter=letter, outcome=LetterOutcome.BUSY)
        else:
            yield _failed(storage, letter)
