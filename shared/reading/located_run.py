"""One run by its id, which does not name its application.

In this order, until it is found: an application of the same id (runs without a parent); where its id tells the time at
which it was made (UUIDs of version 7, as OpenLineage's clients make them), the events of that hour and the next; all
rows of `applications`; all indexes of the archive. The last two read much: `progress` is called.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from shared.applications.partition import archived_before, read_open
from shared.applications.state import ApplicationState
from shared.events.stored_runs import RunFilter, StoredRun, runs_below
from shared.reading.events import events_of, home_record
from shared.reading.progress import Progress, counted
from shared.reading.runs import received_run, recorded_run
from shared.reading.values import LocatedRun
from shared.storage.port import Storage
from shared.storage_layout import APPLICATIONS, ARCHIVE, EVENT, RUN, event_of_reference, process_key

_MADE_AT_TIME = 7
"""The version of UUIDs that begin with their time, in milliseconds (RFC 9562, 5.7)."""


def locate_run(storage: Storage, run_id: str, application: str, progress: Progress) -> LocatedRun | None:
    """A run with its events; None where nothing of it is stored."""
    for applications, folders in _places(storage, run_id, application, progress):
        for place in sorted(applications):
            located = _run_in(storage, place, run_id, folders)
            if located:
                return located
    return None


def _places(storage: Storage, run_id: str, application: str, progress: Progress) -> Iterator[tuple[set[str], set[str]]]:
    """The applications in which a run may be, and the folders in which events of it lie."""
    yield {application} - {""}, set()
    yield {run_id}, set()
    for hour in _hours(run_id):
        yield _found(run_id, counted(progress, "runs of its hour", runs_below(storage, hour)))
    yield set(_applications_with(storage, run_id, progress)), set()
    yield _found(run_id, counted(progress, "stored runs", runs_below(storage, "")))


def _found(run_id: str, runs: Iterable[StoredRun]) -> tuple[set[str], set[str]]:
    places = [(run.application, f"{run.folder}/") for run in runs if run.run_id == run_id]
    return {application for application, _ in places}, {folder for _, folder in places}


def _hours(run_id: str) -> Iterator[str]:
    run_uuid = UUID(run_id)
    if run_uuid.version == _MADE_AT_TIME:
        moment = datetime.fromtimestamp((run_uuid.int >> 80) / 1000, UTC)
        yield from (f"{moment + timedelta(hours=hours):%Y/%m/%d/%H}/" for hours in (0, 1))


def _applications_with(storage: Storage, run_id: str, progress: Progress) -> Iterator[str]:
    for row in counted(progress, "applications", storage.scan(APPLICATIONS)):
        if row.key == f"{RUN}{run_id}" or row.key.startswith(f"{EVENT}{run_id}|"):
            yield row.partition


def _run_in(storage: Storage, application: str, run_id: str, folders: set[str]) -> LocatedRun | None:
    record, home = home_record(storage, application, run_id)
    open_application = read_open(storage, home)
    unfolded = open_application.by_run().get(run_id, [])
    if record is None and not unfolded and not folders:
        return None
    references = (*record.events, *record.late, *record.archived) if record else ()
    stored = [*(event_of_reference(run_id, reference) for reference in references), *(row.event for row in unfolded)]
    stored += archived_before(storage, record) if record else ()
    places = sorted(folders | {f"{event.folder}/" for event in stored})
    runs = (run for place in places for run in runs_below(storage, place))
    events = [event for run in runs for event in events_of(storage, run, RunFilter(), content=False)]
    is_archived = bool(events) and all(event.container == ARCHIVE for event in events)
    if record:
        run = replace(
            recorded_run(home, record, open_application.state.stand_ins()), names=_names(open_application.state)
        )
    else:
        run = received_run(application, run_id, unfolded)
    return LocatedRun(
        run=run,
        events=tuple(sorted(events, key=lambda event: (event.event.time, event.event.digest))),
        is_forgotten=record is None and not unfolded and is_archived,
    )


def _names(state: ApplicationState) -> dict[str, str]:
    """The qualified names of all processes of an application, before and after staging elimination, by key."""
    results = state.staging_results("")
    contributions = (
        contribution for result in results for contribution in (result.contribution, result.remains) if contribution
    )
    names = (contribution.content.qualified_name for contribution in contributions)
    return {process_key(name): name for name in names}
