"""The events that processes were computed from, and whether they are still stored as they were received."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.applications.partition import counting_events
from shared.events.archive import ArchiveMissing
from shared.events.stored_runs import RunFilter, StoredRun, runs_below, stored_runs
from shared.publishing.headers import Part
from shared.publishing.planning import read_process
from shared.reading.reader import all_applications, events_of, runs_of
from shared.reading.values import Progress, counted, no_progress
from shared.storage.port import Storage
from shared.storage_layout import StoredEvent, digest_of
from throughline.evidence.report import Events, event_name

_HOUR = len("2026/11/21/13/")
_MOMENT = timedelta(microseconds=1)


def events_of_processes(
    storage: Storage, processes: Collection[str], *, until: datetime | None = None, progress: Progress = no_progress
) -> dict[str, frozenset[StoredEvent]]:
    """By process (key): the events of the runs that contribute to it, and of those that say what their application is.

    Of runs whose record is forgotten all stored events of their application within its time count. `until`: without
    later events. Reads all rows of `applications`. Raises StorageUnavailable, ContentLost and ArchiveMissing.
    """
    events: defaultdict[str, set[StoredEvent]] = defaultdict(set)
    complete: set[tuple[str, str]] = set()
    for application in all_applications(storage, progress):
        contributions = {
            run.run_id: {*run.processes, *run.standing}.intersection(processes) for run in runs_of(application)
        }
        if not any(contributions.values()):
            continue
        for run_id, record in application.records.items():
            affected = set().union(*contributions.values()) if record.facts else contributions.get(run_id, set())
            run_events = set(counting_events(storage, record)) if affected else set()
            for process in affected:
                events[process] |= run_events
        if not application.state.forgotten:
            complete |= {(process, application.application) for keys in contributions.values() for process in keys}
    for process in counted(progress, "processes", iter(sorted(processes))):
        for application_id, part in read_process(storage, process).parts.items():
            if (process, application_id) not in complete:
                events[process] |= set(_within(storage, application_id, part))
    return {
        process: frozenset(event for event in events[process] if until is None or event.time <= until)
        for process in processes
    }


def _within(storage: Storage, application: str, part: Part) -> Iterator[StoredEvent]:
    """All stored events of an application from its beginning to its last contribution to a process."""
    if part.began and part.seen_last:
        for run in stored_runs(storage, RunFilter(since=part.began, before=part.seen_last + _MOMENT)):
            if run.application == application:
                yield from (*run.events, *(event for archived in run.archived for event in archived.run.events))


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An event that is not stored as it was received: the name of its blob, and what is wrong."""

    blob: str
    problem: str


def differences(storage: Storage, events: Events, progress: Progress = no_progress) -> Iterator[Difference]:
    """Read the events from blobs and the archive, and compare each with the digest in its name: those that are missing,
    damaged or different. Reads an hour at a time. Raises StorageUnavailable, and ArchiveMissing for a damaged index.
    """
    hours = sorted({folder[:_HOUR] for folder in events})
    for hour in counted(progress, "hours", iter(hours)):
        missing = {folder: set(names) for folder, names in events.items() if folder.startswith(hour)}
        for run in runs_below(storage, hour):
            if run.folder in missing:
                yield from _differing(storage, run, missing[run.folder])
        for folder, names in missing.items():
            yield from (Difference(blob=f"{folder}/{name}", problem="missing") for name in sorted(names))


def _differing(storage: Storage, run: StoredRun, missing: set[str]) -> Iterator[Difference]:
    """Compare the events of a run in one hour, and take those that were read off the missing ones."""
    try:
        for record in events_of(storage, run, RunFilter(), content=True):
            name = event_name(record.event)
            if name not in missing:
                continue
            missing.discard(name)
            if record.raw is None:
                yield Difference(blob=f"{run.folder}/{name}", problem="damaged")
            elif digest_of(record.raw) != record.event.digest:
                yield Difference(blob=f"{run.folder}/{name}", problem="not the bytes that were received")
    except ArchiveMissing as error:
        yield from (Difference(blob=f"{run.folder}/{name}", problem=str(error)) for name in sorted(missing))
        missing.clear()
