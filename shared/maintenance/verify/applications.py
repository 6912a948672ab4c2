"""Checks of dead letters, events and applications: blobs against rows, the state of an application against the records
of its runs, and what it contributes against what its processes have of that.
"""

import gzip
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from shared.applications.partition import OpenApplication, read_whole
from shared.applications.processor import FoldRequest
from shared.applications.recompute import problem_of, recomputed
from shared.applications.state import ApplicationState, share_digest
from shared.errors import Refused
from shared.events.archive import DAMAGED, ArchiveMissing, is_index, is_stored, read_index, stored_packed
from shared.events.dead_letters import DeadLetter, dead_letter, dead_letters, delete_letter
from shared.events.stored_runs import StoredRun, runs_below
from shared.maintenance.replay import replay_application, replay_dead_letters
from shared.maintenance.verify.findings import CHANGED, Inconsistency, Kind, VerifyContext
from shared.openlineage.decoding import decode
from shared.publishing.headers import Part, PartContent, part_contents, part_of
from shared.publishing.planning import forgettable, read_process, read_processes
from shared.reading.reader import all_applications, home_record
from shared.records.digest_set import combined_digest, short
from shared.records.publish_queue import PROCESS_KIND, Mark, leave_marks, read_queue
from shared.records.states import State
from shared.storage_layout import APPLICATIONS, ARCHIVE, EVENTS, PROCESSES, RUN, StoredEvent, event_of_blob


def check_letters(context: VerifyContext) -> Iterator[Inconsistency]:
    """Dead letters against their blobs."""
    for letter in context.subjects("dead letters", dead_letters(context.storage)):
        subject = f"dead letter {letter.digest}"
        if not is_stored(context.storage, letter.blob):
            yield Inconsistency(
                kind=Kind.ORPHAN_ROW,
                subject=subject,
                description=f"its blob {letter.blob!r} is gone",
                repair=partial(_delete_letter, context, letter),
            )
        elif not letter.discarded and _is_usable(context, letter):
            yield Inconsistency(
                kind=Kind.APPLICATION,
                subject=subject,
                description=f"({letter.reason}) can be used now",
                repair=partial(_replay_letter, context, letter.digest),
            )


def _is_usable(context: VerifyContext, letter: DeadLetter) -> bool:
    """Whether the event can be decoded, and its run, if it is folded, computed with it."""
    storage, event = context.storage, letter.place
    compressed = stored_packed(storage, letter.blob)
    try:
        decode(gzip.decompress(compressed or b""))
    except (Refused, *DAMAGED):
        return False
    record, home = home_record(storage, event.application, event.run_id) if event else (None, "")
    if event is None or record is None or letter.digest not in record.digests:
        return event is not None
    return recomputed(context.processor, home).records[event.run_id].verdict is not State.DEAD


def _delete_letter(context: VerifyContext, letter: DeadLetter) -> str:
    """Delete a dead letter, unless its blob is back or it was met again."""
    return "" if is_stored(context.storage, letter.blob) or delete_letter(context.storage, letter) else CHANGED


def _replay_letter(context: VerifyContext, digest: str) -> str:
    list(replay_dead_letters(context.processor, lambda letter: letter.digest == digest))
    return CHANGED if dead_letter(context.storage, digest) else ""


# --- applications


def check_applications(context: VerifyContext) -> Iterator[Inconsistency]:
    """Each application by its rows, after the blobs were listed; then the events that none of them names."""
    survey = context.survey
    for fact in context.subjects("stored events", context.storage.blobs(EVENTS)):
        event = event_of_blob(fact.name)
        if event and not context.is_recent(fact.arrived):
            survey.events.add(short(event.digest))
    for snapshot in context.stoppable(all_applications(context.storage, context.progress)):
        for record in snapshot.records.values():
            for digest in record.digests:
                survey.events.meet(short(digest))
        for share in _shares(snapshot.application, snapshot.state):
            survey.shares.add(share)
        if problem := problem_of(snapshot):
            lost_runs = frozenset(key.removeprefix(RUN) for key in snapshot.lost if key.startswith(RUN))
            yield _outdated(
                context, snapshot.application, f"application {snapshot.application}", problem, lost_runs=lost_runs
            )
        yield from _unfolded(context, snapshot)
    unmet = survey.events.unmet()
    for run in context.subjects("events without records", runs_below(context.storage, "", ()) if unmet else ()):
        number = sum(short(event.digest) in unmet for event in run.events)
        if number:
            description = f"{number} of its events are stored, and not on record"
            yield _outdated(context, run.application, f"run {run.run_id}", description, runs=(run,))


def _shares(application: str, state: ApplicationState) -> Iterator[int]:
    """Digests of what an application contributes to each process, with its times."""
    for process, contributions in state.contributions(application).items():
        times = (state.first, state.last, state.ended)
        yield combined_digest(process, application, share_digest(contributions), str(times))


def _unfolded(context: VerifyContext, snapshot: OpenApplication) -> Iterator[Inconsistency]:
    """Events of an application that are not folded: those without a blob, and those of runs that are over."""
    for run_id, rows in snapshot.by_run().items():
        record, events = snapshot.records.get(run_id), [row.event for row in rows]
        stored = [event for event in events if context.survey.events.meet(short(event.digest))]
        arrived = max((row.received for row in rows if row.received), default=None)
        for event in events:
            is_missing = event not in stored and not context.is_recent(arrived)
            if is_missing and stored_packed(context.storage, event.blob) is None:
                yield Inconsistency(
                    kind=Kind.ORPHAN_ROW,
                    subject=event.blob,
                    description="has a row, but no blob",
                    repair=partial(_delete_row, context, snapshot.application, event),
                )
        is_over = any(event.end for event in events) or (record is not None and record.is_decided)
        if stored and not context.is_recent(arrived, timedelta() if is_over else context.end_timeout):
            yield Inconsistency(
                kind=Kind.APPLICATION,
                subject=f"run {run_id}",
                description="is over, and not folded" if is_over else "has no end, and was not timed out",
                repair=partial(_fold, context, snapshot.application, run_id, timed_out=not is_over),
            )


def _outdated(
    context: VerifyContext,
    application: str,
    subject: str,
    description: str,
    *,
    runs: tuple[StoredRun, ...] = (),
    lost_runs: frozenset[str] = frozenset(),
) -> Inconsistency:
    """An application to be computed again, with stored `runs` that are not on record; `lost_runs`: runs whose
    records are lost, which are looked for.
    """

    def repair() -> str:
        stored = runs_below(context.storage, "") if lost_runs else ()
        lost_stored_runs = [run for run in stored if run.application == application and run.run_id in lost_runs]
        replay_application(context.processor, application, (*runs, *lost_stored_runs), with_archive=True)
        return CHANGED if problem_of(read_whole(context.storage, application, lenient=True)) else ""

    return Inconsistency(kind=Kind.APPLICATION, subject=subject, description=description, repair=repair)


def _delete_row(context: VerifyContext, application: str, event: StoredEvent) -> str:
    """Delete the row of an event without a blob; a blob that comes back gets a row."""
    if stored_packed(context.storage, event.blob) is None:
        context.storage.delete(APPLICATIONS, application, event.row_key)
    return ""


def _fold(context: VerifyContext, application: str, run_id: str, *, timed_out: bool) -> str:
    run = frozenset({run_id})
    context.processor.fold(application, FoldRequest(timed_out=run) if timed_out else FoldRequest(force=run))
    return CHANGED if run_id in read_whole(context.storage, application, lenient=True).by_run() else ""


# --- what applications contribute


def check_shares(context: VerifyContext) -> Iterator[Inconsistency]:
    """What processes have of each application against what that says, in both directions."""
    storage, survey = context.storage, context.survey
    for rows in context.subjects("parts of processes", read_processes(storage)):
        for part in rows.parts.values():
            if part.seen and not survey.shares.meet(_digest_of(context, part)):
                yield from _outdated_share(context, rows.key, part.application)
    unmet = survey.shares.unmet()
    for snapshot in context.stoppable(all_applications(storage, context.progress)) if unmet else ():
        application, state = snapshot.application, snapshot.state
        for process, share in zip(state.contributions(application), _shares(application, state), strict=True):
            if share in unmet:
                yield from _outdated_share(context, process, application)


def _digest_of(context: VerifyContext, part: Part) -> int:
    times = (part.first, part.last, part.ended)
    share = share_digest(part.loaded(context.storage).contributions)
    return combined_digest(part.process, part.application, share, str(times))


def _outdated_share(context: VerifyContext, process: str, application: str) -> Iterator[Inconsistency]:
    """Look once more at what a process has of an application, unless the publisher is told of it already."""
    storage, options = context.storage, context.publishing
    snapshot, rows = read_whole(storage, application, lenient=True), read_process(storage, process)
    state, stored = snapshot.state, rows.parts.get(application)
    if snapshot.lost:
        return  # its application is to be computed again first
    marks = (mark for entry in read_queue(storage).entries for mark in entry.marks if entry.target == process)
    share = part_of(application, state, process, part_contents(application, state).get(process, PartContent()))
    is_same = stored is not None and _digest_of(context, stored) == _digest_of(context, share)
    if is_same or any(mark.application == application for mark in marks):
        return
    other_parts = [part for part in rows.parts.values() if part.application != application]
    loaded = {part.application: part.loaded(storage) for part in (*other_parts, share)}
    if stored is None and share in forgettable([*other_parts, share], options.now(), options.patience, loaded):
        return
    mark = Mark(kind=PROCESS_KIND, target=process, application=application, version=state.version)
    yield Inconsistency(
        kind=Kind.PART,
        subject=f"process {rows.entry.qualified_name or process}",
        description=f"has {'something else' if stored else 'nothing'} of application {application}",
        repair=partial(_take_again, context, mark, stored),
    )


def _take_again(context: VerifyContext, mark: Mark, stored: Part | None) -> str:
    """Have the publisher take what an application contributes; a part of the same version is not taken again."""
    leave_marks(context.storage, [mark])
    is_free = stored is None or context.storage.delete(PROCESSES, stored.process, stored.application, stored.etag)
    return "" if is_free else CHANGED


# --- the archive


def check_archive(context: VerifyContext) -> Iterator[Inconsistency]:
    """The files of the archive, each with its index."""
    storage = context.storage
    files = (fact.name for fact in storage.blobs(ARCHIVE) if not is_index(fact.name))
    for file in context.subjects("files of the archive", files):
        try:
            problem = "" if read_index(storage, file) else "it has no index"
        except ArchiveMissing as error:
            problem = str(error)
        if problem:
            yield Inconsistency(
                kind=Kind.ARCHIVE,
                subject=f"{ARCHIVE}/{file}",
                description=problem,
                repair=lambda: "only a copy of the account has it",
            )
