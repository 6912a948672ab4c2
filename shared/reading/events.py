"""Stored events, from blobs and from the files of the archive."""

from collections.abc import Iterator

from shared.applications.partition import read_record
from shared.applications.state import RunRecord
from shared.errors import ContentLost
from shared.events.archive_format import raw_of, unpacked
from shared.events.archive_index import lines_in
from shared.events.event_row import EventRow
from shared.events.stored_runs import ArchivedRun, RunFilter, StoredRun, stored_runs
from shared.reading.values import EventRecord
from shared.storage.port import Storage
from shared.storage_layout import APPLICATIONS, ARCHIVE, EVENT, EVENTS


def wanted_events(storage: Storage, run_filter: RunFilter, *, content: bool) -> Iterator[EventRecord]:
    """The stored events that are wanted, ordered by hour, application and run."""
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
    raw = {line.digest: raw_of(line) for line in lines}
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
