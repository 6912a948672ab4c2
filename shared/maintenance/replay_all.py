"""Replay of everything: compute all applications from the events in `events` and in the archive, and forget again.

For tables that were lost, for blobs of the format before, and where nothing of an older version shall be left. Rows
that are there are compared and corrected, one application at a time, so that publishing goes on. Where the tables are
empty, publishing is held back, because half of the record would remove lineage: the newest applications are computed
first, and a process is published as soon as it is finished. It is when an application that has completed began after
the last event of all that are left, which it supersedes.

The format before this one has events without their application in the names of blobs, and files of the archive without
an index. Conversion gives each event the name that it has now, and unpacks such files: their events are archived again
once their runs are closed. Each step may be repeated. Tables of that format are refused (`check_layout`): they are
deleted first, and a replay of everything makes them again.
"""

import gzip
import heapq
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from itertools import islice

from shared.applications.partition import OpenApplication, counting_events
from shared.applications.processor import ApplicationProcessor
from shared.applications.recompute import recompute, recomputed
from shared.applications.state import RunRecord
from shared.errors import Refused
from shared.events.archive import DAMAGED, all_lines, index_of, is_index
from shared.events.stored_runs import StoredRun, archived_below, runs_below
from shared.maintenance.replay import ReplayedApplication, replay_application, unrecorded
from shared.openlineage.decoding import Event, decode
from shared.openlineage.merging import fold
from shared.publishing.context import PublishContext
from shared.publishing.publisher import Publisher
from shared.reading.values import Progress, counted, no_progress
from shared.records.control import Checkpoint, note_versions
from shared.records.publish_queue import hold_publishing, release_publishing
from shared.records.states import State
from shared.storage.port import Storage
from shared.storage_layout import (
    APPLICATIONS,
    ARCHIVE,
    EVENTS,
    IGNORED,
    PROCESSES,
    StoredEvent,
    moment,
    stamp,
    stored,
)
from shared.sweeping.listing import SWEEP
from shared.translation.run.columns import merge_run

_BLOB = re.compile(
    r"\d{4}/\d\d/\d\d/\d\d/(?P<run>[0-9a-f-]{36})/(?P<time>\d{8}T\d{12}Z)_(?P<type>[A-Z]+)_(?P<digest>[0-9a-f]{32})"
    r"\.json\.gz"
)


def of_before(storage: Storage) -> Iterator[tuple[str, str]]:
    """The container and name of each blob and file of the archive that has the format before. Reads only."""
    yield from ((EVENTS, fact.name) for fact in storage.blobs(EVENTS) if _BLOB.fullmatch(fact.name))
    names = {fact.name for fact in storage.blobs(ARCHIVE)}
    yield from ((ARCHIVE, name) for name in sorted(names) if not is_index(name) and index_of(name) not in names)


def convert(storage: Storage) -> Iterator[str]:
    """Convert what has the format before, and yield the name of each blob and file once it is converted. Raises
    ArchiveMissing for a damaged file.
    """
    for container, name in of_before(storage):
        if container == ARCHIVE:
            for line in all_lines(storage, name):
                place, compressed = IGNORED if line.ignored else EVENTS, line.compressed()
                storage.put_new(place, _name_now(line.blob, compressed), compressed)
        elif (packed := storage.get(EVENTS, name)) is not None:
            storage.put_new(EVENTS, _name_now(name, packed), packed)
        storage.delete_blob(container, name)
        yield name


def _name_now(name: str, compressed: bytes) -> str:
    """The name that an event's blob has now, by the one before and its gzip."""
    parts = _BLOB.fullmatch(name)
    if not parts:
        return name
    application = parts["run"]
    with suppress(Refused, *DAMAGED):
        application = stored(decode(gzip.decompress(compressed)), parts["digest"]).application
    return StoredEvent(
        application=application,
        run_id=parts["run"],
        time=moment(parts["time"]),
        type=parts["type"],
        digest=parts["digest"],
    ).blob


_HOUR = len("2026/11/21/13/")
_MAX_HOURS = 8
"""Hours of which the archive's indexes are in memory."""
_CALLS = 5
"""Calls to storage in which an application is read and written, beside those for its events."""
_SAVE_EVERY = 100
_MAX_EVENTS = 1000
"""Events of a split run that are in memory at a time."""
_PUBLISH_EVERY = 5.0
"""Seconds between publishing what is finished."""
_SAMPLE = 200
"""Events that a plan computes to measure how long all take."""
_HELD = "all lineage is being computed again: `throughline replay --all --resume` continues"


@dataclass(slots=True, kw_only=True)
class StoredApplication:
    """An application by the names of its events: the time of the last one, their hours, and how many they are."""

    application: str
    last: datetime
    hours: set[str] = field(default_factory=set)
    events: int = 0

    @property
    def place(self) -> str:
        """Its place in the order of a replay: the newest first, so the greatest."""
        return f"{stamp(self.last)}|{self.application}"


@dataclass(slots=True, kw_only=True)
class Inventory:
    """All applications by the names of events, and those that have to know of a run whose events name several, or of
    one that is an application itself (`split`). Memory: some 400 bytes an application, and 100 a run.
    """

    applications: dict[str, StoredApplication] = field(default_factory=dict)
    split: dict[str, set[str]] = field(default_factory=dict)

    @property
    def events(self) -> int:
        """How many events are stored."""
        return sum(application.events for application in self.applications.values())

    def in_order(self, place_before: str = "") -> list[StoredApplication]:
        """The applications, the newest first, behind a place."""
        ordered = sorted(self.applications.values(), key=lambda application: application.place, reverse=True)
        return [application for application in ordered if not place_before or application.place < place_before]


def inventory(storage: Storage, progress: Progress = no_progress) -> Inventory:
    """List all events."""
    stored = Inventory()
    places: dict[int, str] = {}
    for run in counted(progress, "stored runs", runs_below(storage, "")):
        events = [*run.events, *(event for archived in run.archived for event in archived.run.events)]
        last = max(event.time for event in events)
        application = stored.applications.setdefault(
            run.application, StoredApplication(application=run.application, last=last)
        )
        application.last = max(application.last, last)
        application.hours.add(run.folder[:_HOUR])
        application.events += len(events)
        place = places.setdefault(hash(run.run_id), application.application)
        if place != run.application:
            stored.split.setdefault(run.run_id, {place}).add(run.application)
    for run_id in stored.applications:
        place = places.get(hash(run_id), run_id)
        if place != run_id or run_id in stored.split:
            stored.split.setdefault(run_id, {place}).add(run_id)
    return stored


@dataclass(frozen=True, slots=True, kw_only=True)
class AllPosition:
    """The position of a replay of everything: the applications before this place are done. `is_held`: publishing is
    held back meanwhile.
    """

    after: str = ""
    is_held: bool = False


REPLAY_ALL = Checkpoint(name="replay-all", position=AllPosition)


def seconds_for_all(processor: ApplicationProcessor, stored: Inventory) -> float:
    """How long a replay of everything takes: the newest applications are computed, and nothing is written, but for the
    time of which each application takes five calls more.
    """
    storage, archive = processor.storage, _ArchivedHours(processor.storage)
    began, events, sample = time.monotonic(), 0, 0
    for application in stored.in_order():
        snapshot = OpenApplication(application=application.application)
        runs = archive.runs_of(application)
        missing = unrecorded(storage, snapshot, runs, processor.blob_cache, with_archive=True)
        recomputed(processor, application.application, missing.records)
        events, sample = events + application.events, sample + 1
        if events >= _SAMPLE:
            break
    took = time.monotonic() - began
    began = time.monotonic()
    storage.read(APPLICATIONS, "plan", "nothing")
    call = time.monotonic() - began
    return took / max(events, 1) * stored.events + len(stored.applications) * _CALLS * call


def replay_all(
    context: PublishContext,
    processor: ApplicationProcessor,
    stored: Inventory,
    begin: AllPosition | None = None,
    *,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[ReplayedApplication]:
    """Compute all applications, lazily, and publish what is finished. `begin`: where an earlier one stopped.

    Ends once `stopped`; then, and after a crash, `REPLAY_ALL` is where to continue. What is not published at the end is
    in the publish queue. Raises StorageUnavailable and ArchiveMissing.
    """
    storage = processor.storage
    is_empty = any(next(storage.scan(table), None) is None for table in (APPLICATIONS, PROCESSES))
    position = begin or AllPosition(is_held=is_empty)  # half of the record would make what is published wrong
    REPLAY_ALL.save(storage, position)
    if position.is_held:
        hold_publishing(storage, _HELD)
    SWEEP.clear(storage)  # the next sweep looks at all folders
    work = _Work(context=context, processor=processor, stored=stored, is_held=position.is_held)
    for number, application in enumerate(stored.in_order(position.after), start=1):
        if stopped():
            REPLAY_ALL.save(storage, position)
            return
        yield work.replay(application)
        position = replace(position, after=application.place)
        if number % _SAVE_EVERY == 0:
            REPLAY_ALL.save(storage, position)
    release_publishing(storage)
    note_versions(storage)
    REPLAY_ALL.clear(storage)


class _ArchivedHours:
    """What the archive has of the last hours that were asked for."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._runs_in = lru_cache(_MAX_HOURS)(lambda hour: tuple(archived_below(storage, hour)))

    def runs_of(self, application: StoredApplication, run_id: str = "") -> Iterator[StoredRun]:
        """The runs of an application as they are stored, or one of them."""
        for hour in sorted(application.hours):
            folder = f"{hour}{application.application}/{run_id}"
            archived = (run for run in self._runs_in(hour) if run.run.folder.startswith(folder))
            yield from runs_below(self._storage, folder, archived)


@dataclass(slots=True, kw_only=True)
class _Work:
    """A replay of everything. `finishing`: processes and the time before which all else is superseded, the latest
    first; `finished`: those to be published; `split`: the split runs of each application.
    """

    context: PublishContext
    processor: ApplicationProcessor
    stored: Inventory
    is_held: bool
    archive: _ArchivedHours = field(init=False)
    split: dict[str, set[str]] = field(init=False)
    finishing: list[tuple[float, str]] = field(default_factory=list)
    finished: set[str] = field(default_factory=set)
    published: float = 0.0

    def __post_init__(self) -> None:
        """Find the split runs of each application."""
        self.archive = _ArchivedHours(self.processor.storage)
        self.split = {}
        for run_id, applications in self.stored.split.items():
            for application in applications:
                self.split.setdefault(application, set()).add(run_id)

    def replay(self, application: StoredApplication) -> ReplayedApplication:
        """Compute an application, with its split runs first, and publish what is finished."""
        split = self.split.get(application.application, set())
        for run_id in sorted(split & self.stored.split.keys()):
            self._reunite(run_id, self.stored.split.pop(run_id))
        runs = [run for run in self.archive.runs_of(application) if run.run_id not in split]
        replayed = replay_application(self.processor, application.application, runs, with_archive=True)
        self._publish(replayed, application.last)
        return replayed

    def _reunite(self, run_id: str, applications: set[str]) -> None:
        """Put a split run on record in its home, and references to it in the other applications."""
        storage, cache = self.processor.storage, self.processor.blob_cache
        places = [self.stored.applications[application] for application in sorted(applications)]
        runs = [run for place in places for run in self.archive.runs_of(place, run_id)]
        missing = unrecorded(storage, OpenApplication(application=""), runs, cache, with_archive=True)
        for row in missing.rows:
            storage.insert(APPLICATIONS, row.row(row.event.application))  # it is not over: the sweeper goes on
        for record in missing.records.values():
            decoded = filter(None, map(self.processor.event, counting_events(storage, record)))
            usable: tuple[Event, ...] = ()
            while part := tuple(islice(decoded, _MAX_EVENTS)):
                usable = fold((*usable, *part))
            home = merge_run(usable).application_run if usable else min(applications)
            references = (*record.events, *record.archived)
            moved = RunRecord(
                run_id=run_id, home=home, events=references, verdict=State.SKIPPED, arrived=record.arrived
            )
            for application in sorted(applications | {home}):
                recompute(self.processor, application, {run_id: record if application == home else moved})

    def _publish(self, replayed: ReplayedApplication, until: datetime) -> None:
        """Publish the processes that no application can change any more whose last event is not later than `until`."""
        self.finished |= replayed.processes if not self.is_held else set()
        if replayed.began:
            for process in replayed.processes:
                heapq.heappush(self.finishing, (-replayed.began.timestamp(), process))
        while self.finishing and -self.finishing[0][0] > until.timestamp():
            self.finished.add(heapq.heappop(self.finishing)[1])
        if self.finished and time.monotonic() - self.published >= _PUBLISH_EVERY:
            targets, self.finished = self.finished, set()
            options = replace(self.context.publishing, only=targets.__contains__ if self.is_held else None)
            Publisher(context=replace(self.context, publishing=options)).publish()
            self.published = time.monotonic()
