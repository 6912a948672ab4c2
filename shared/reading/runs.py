"""Runs from the rows of `applications`: one application is in memory at a time."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from sys import intern

from shared.applications.partition import OpenApplication, whole
from shared.applications.state import RunRecord
from shared.events.event_row import EventRow
from shared.openlineage.merging import stronger_end
from shared.reading.progress import Progress, counted
from shared.reading.values import RecordedRun
from shared.records.digest_set import shorts
from shared.records.states import State
from shared.storage.port import Storage
from shared.storage_layout import APPLICATIONS, digest_in_reference


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
