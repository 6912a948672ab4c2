"""Forgetting: records of runs that were closed long ago, and the header of an application with its last contribution.

What an application contributes stays as long as the publisher keeps it: `shared/publishing/planning.py`.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import islice

from msgspec import structs

from shared.applications.partition import Commit, OpenApplication, read_record, read_whole
from shared.applications.state import ApplicationState, RunRecord
from shared.errors import ContentLost
from shared.events.archive_writer import delete_old
from shared.records.control import ARCHIVE as ARCHIVE_CHECKPOINT
from shared.storage.port import Operation, OperationKind, Row, Storage, chunks
from shared.storage_layout import APPLICATIONS, HEADER, PROCESSES
from shared.sweeping.closing import RUNS_AT_ONCE, ClosingOptions
from shared.sweeping.listing import closed_due, delete_closed, put_closed, rounded

_LOG = logging.getLogger("throughline.archive")
_RETRY = timedelta(days=1)


def forget_due(storage: Storage, options: ClosingOptions, now: datetime, *, may_continue: Callable[[], bool]) -> int:
    """Forget what is due: records of runs, headers of applications, files of the archive. Returns how many events were
    deleted from the archive.
    """
    deleted = 0
    if options.keep is not None and now >= (ARCHIVE_CHECKPOINT.load(storage) or now):
        for events in delete_old(storage, now - options.keep):
            deleted += events
            if not may_continue():
                return deleted
        ARCHIVE_CHECKPOINT.save(storage, now + options.every)
    for key, application in closed_due(storage, now):
        if not may_continue():
            break
        try:
            next_time = _forget(storage, options, application, now)
        except ContentLost as error:
            _LOG.error("application is not forgotten application=%s error=%s", application, error)
            next_time = now + _RETRY
        if next_time:
            put_closed(storage, application, rounded(next_time, now))
        if next_time is None or next_time > now:
            delete_closed(storage, key)
    return deleted


def _forget(storage: Storage, options: ClosingOptions, application: str, now: datetime) -> datetime | None:
    """Forget the records of an application that are old enough, and its header with the last contribution. Returns when
    to look again; None where nothing is left.
    """
    snapshot = read_whole(storage, application)
    if not snapshot.etag and not snapshot.records:
        return None
    by_age = {
        run_id: (record.closed or record.arrived or now) + options.keep_runs
        for run_id, record in snapshot.records.items()
        if record.closed or record.home
    }
    due_records = (snapshot.records[run_id] for run_id, due_time in sorted(by_age.items()) if due_time <= now)
    old = list(islice((record.run_id for record in due_records if _is_over(storage, record)), RUNS_AT_ONCE))
    if old:
        state = _without_runs(snapshot.state, snapshot.records, old)
        if Commit.of(storage, snapshot, state, {}, forgotten=old).execute(storage):
            _LOG.info("runs forgotten application=%s runs=%d", application, len(old))
        return now
    if snapshot.records or snapshot.unfolded:
        return max(now + _RETRY, min(by_age.values(), default=now + options.keep_runs))
    processes = snapshot.state.contributions(application)
    if any(storage.read(PROCESSES, process, application) for process in sorted(processes)):
        return now + _RETRY
    _delete_header(storage, snapshot)
    return None


def _is_over(storage: Storage, record: RunRecord) -> bool:
    """Whether all events of a run are archived; of one that is elsewhere, whether it is closed there."""
    if not record.home:
        return not record.events
    record_at_home = read_record(storage, record.home, record.run_id)
    return record_at_home is None or bool(record_at_home.closed or record_at_home.home)


def _without_runs(state: ApplicationState, records: Mapping[str, RunRecord], forgotten: list[str]) -> ApplicationState:
    """The state without the ids of these runs: what they support stays, as a span."""
    contents = dict(state.contents)
    for run_id in forgotten:
        for _, digest in records[run_id].contents:
            if digest in contents:
                contents[digest] = contents[digest].anonymous(run_id)
    return structs.replace(
        state,
        contents=contents,
        ends={run_id: end for run_id, end in state.ends.items() if run_id not in forgotten},
        runs=max(0, state.runs - len(forgotten)),
        forgotten=state.forgotten + sum(not records[run_id].home for run_id in forgotten),
    )


def _delete_header(storage: Storage, snapshot: OpenApplication) -> None:
    keys = [HEADER, *snapshot.parts]
    rows = [Row(partition=snapshot.application, key=key, etag=snapshot.etag if key == HEADER else "") for key in keys]
    for part in chunks([Operation(kind=OperationKind.DELETE, row=row) for row in rows]):
        if storage.transact(APPLICATIONS, part) is None and storage.read(APPLICATIONS, snapshot.application, HEADER):
            return  # its application has come back
    _LOG.info("application forgotten application=%s", snapshot.application)
