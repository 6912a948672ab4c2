"""The one way in which reports, queries, watching and commands read what is on record: events, runs and one run by its
id.

Runs are read from the rows of `applications`: one application is in memory at a time. The id of a run does not name its
application, so the run is looked up in this order: an application of the same id (runs without a parent); where its
id tells the time at which it was made (UUIDs of version 7, as OpenLineage's clients make them), the events of that hour
and the next; all rows of `applications`; all indexes of the archive. The last two read much: `progress` is called.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from sys import intern
from uuid import UUID

from shared.applications.partition import OpenApplication, archived_before, read_open, read_record, whole
from shared.applications.state import ApplicationState, RunRecord
from shared.errors import ContentLost
from shared.events.archive import lines_in, unpacked
from shared.events.stored_runs import ArchivedRun, RunFilter, StoredRun, runs_below, stored_runs
from shared.openlineage.merging import stronger_end
from shared.reading.values import (
    EventRecord,
    LocatedRun,
    Progress,
    RecordedRun,
    counted,
    no_progress,
)
from shared.records.digest_set import shorts
from shared.records.states import State
from shared.storage.port import Storage
from shared.storage_layout import (
    APPLICATIONS,
    ARCHIVE,
    EVENT,
    EVENTS,
    RUN,
    EventRow,
    digest_in_reference,
    event_of_reference,
    process_key,
)


def wanted_events(storage: Storage, run_filter: RunFilter, *, content: bool = False) -> Iterator[EventRecord]:
    """The stored events that are wanted, ordered by hour, application and run, with their bytes where `content` is
    asked for: a listing, the archive's indexes of these hours, and a point read for each run and hour. At most the
    events of one run and hour are in memory. Raises StorageUnavailable and ArchiveMissing.
    """
    for run in stored_runs(storage, run_filter):
        yield from events_of(storage, run, run_filter, content=content)


def events_of(storage: Storage, run: StoredRun, run_filter: RunFilter, *, content: bool) -> Iterator[EventRecord]:
    """The events of a run in one hour that are wanted; archived ones first."""
    for archived in run.archived:
        yield from _archived_events(storage, archived, run_filter, content=content)
    jobs = _jobs(storage, run) if run.events else {}
    for event in run.events:
        job = jobs.get(event.digest, jobs.get("", ""))
        if run_filter.fits(job):
            raw = unpacked(storage.get(EVENTS, event.blob)) if content else None
            yield EventRecord(event=event, job=job, container=EVENTS, blob=event.blob, raw=raw)


def _archived_events(
    storage: Storage, archived: ArchivedRun, run_filter: RunFilter, *, content: bool
) -> Iterator[EventRecord]:
    if not run_filter.fits(archived.run.job):
        return
    lines = lines_in(storage, archived.file, archived.run) if content else ()
    raw = {line.digest: line.raw for line in lines}
    for event, outcome in zip(archived.run.events, archived.run.states, strict=True):
        if run_filter.holds(event.time):
            yield EventRecord(
                event=event,
                job=archived.run.job,
                container=ARCHIVE,
                blob=archived.file,
                raw=raw.get(event.digest),
                outcome=outcome,
            )


def _jobs(storage: Storage, run: StoredRun) -> dict[str, str]:
    """The job's name by digest of an event that is not folded yet; of the others under an empty digest."""
    record, _ = home_record(storage, run.application, run.run_id)
    jobs = {"": record.job} if record else {}
    if record is None or not record.digests >= {event.digest for event in run.events}:
        prefix = f"{EVENT}{run.run_id}|"
        for row in storage.partition(APPLICATIONS, run.application, since=prefix, before=f"{prefix}~"):
            unfolded = EventRow.of(row)
            jobs[unfolded.event.digest] = unfolded.job
    return jobs


def home_record(storage: Storage, application: str, run_id: str) -> tuple[RunRecord | None, str]:
    """The record of a run, and the application to which it belongs. No record also where it can't be read."""
    try:
        record = read_record(storage, application, run_id)
        if record and record.home:
            return read_record(storage, record.home, run_id), record.home
    except ContentLost:
        return None, application
    return record, application


def all_runs(storage: Storage, progress: Progress = no_progress) -> Iterator[RecordedRun]:
    """All runs on record: one scan of `applications`; one application is in memory at a time. A run whose record is
    damaged counts as not folded: `verify` finds it. Raises StorageUnavailable.
    """
    for application in all_applications(storage, progress):
        yield from runs_of(application)


def runs_of(snapshot: OpenApplication) -> Iterator[RecordedRun]:
    """The runs of an application, but for those that belong to another one."""
    stand_ins = snapshot.state.stand_ins() if snapshot.state.is_entangled else None
    for record in snapshot.records.values():
        if not record.home:
            yield recorded_run(snapshot.application, record, stand_ins)
    for run_id, events in snapshot.by_run().items():
        if run_id not in snapshot.records:
            yield received_run(snapshot.application, run_id, events)


def recorded_run(
    application: str, record: RunRecord, stand_ins: Mapping[str, frozenset[str]] | None = None
) -> RecordedRun:
    """A run by its record. `stand_ins`: what staging elimination leaves of each process of its application; without
    it each stands for itself.
    """
    processes = tuple(sorted({process for process, _ in record.contents}))
    standing = processes
    if stand_ins is not None:
        standing = tuple(sorted({key for process in processes for key in stand_ins.get(process, ())}))
    late = set(record.late)
    counting = (*record.events, *(reference for reference in record.archived if reference not in late))
    return RecordedRun(
        run_id=record.run_id,
        application=application,
        state=record.verdict,
        reason=intern(record.reason),
        end=record.ended or "",
        timed_out=record.timed_out,
        closed=record.closed,
        outcome=record.outcome,
        last=record.seen.last if record.seen else None,
        job=intern(record.job),
        sender=intern(record.sender),
        folded=shorts(map(digest_in_reference, counting)),
        late=shorts(map(digest_in_reference, record.late)),
        archived=shorts(map(digest_in_reference, record.archived)),
        processes=processes,
        standing=standing,
        columns=record.columns,
        plan_gaps=record.plan_gaps,
        rows_from=record.rows_from,
        plans_lost=record.plans_lost,
        run_text=record.run_text,
        omitted=record.omitted,
        stated=record.stated,
    )


def received_run(application: str, run_id: str, events: Iterable[EventRow]) -> RecordedRun:
    """A run of which no event is folded yet."""
    run = RecordedRun(run_id=run_id, application=application, state=State.RECEIVED)
    for row in events:
        run = replace(
            run,
            end=stronger_end(run.end or None, row.event.end) or "",
            last=max(run.last or row.event.time, row.event.time),
            job=run.job or intern(row.job),
            sender=run.sender or intern(row.sender),
            run_text=run.run_text or row.run_text,
        )
    return run


def all_applications(storage: Storage, progress: Progress) -> Iterator[OpenApplication]:
    """All applications as far as their content is there: one scan of the table."""
    scanned = counted(progress, "applications", storage.scan(APPLICATIONS))
    for application, partition in groupby(scanned, key=lambda row: row.partition):
        yield whole(storage, application, partition)


_MADE_AT_TIME = 7
"""The version of UUIDs that begin with their time, in milliseconds (RFC 9562, 5.7)."""


def locate_run(
    storage: Storage, run_id: str, progress: Progress = no_progress, *, application: str = ""
) -> LocatedRun | None:
    """One run with its events; None where nothing of it is stored. `application`: one that an event of it names; else
    it is looked for, as the module says. Raises StorageUnavailable, ArchiveMissing, and ContentLost where the state of
    its application can't be read.
    """
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
            recorded_run(home, record, open_application.state.stand_ins()), names=process_names(open_application.state)
        )
    else:
        run = received_run(application, run_id, unfolded)
    return LocatedRun(
        run=run,
        events=tuple(sorted(events, key=lambda event: (event.event.time, event.event.digest))),
        is_forgotten=record is None and not unfolded and is_archived,
    )


def process_names(state: ApplicationState) -> dict[str, str]:
    """The qualified names of all processes of an application, before and after staging elimination, by key."""
    results = state.staging_results("")
    contributions = (
        contribution for result in results for contribution in (result.contribution, result.remains) if contribution
    )
    names = (contribution.content.qualified_name for contribution in contributions)
    return {process_key(name): name for name in names}
