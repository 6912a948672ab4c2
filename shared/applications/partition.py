"""Read an application's partition, and commit its next state in one transaction under the header's ETag."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from msgspec import structs

from shared.applications import rows
from shared.applications.rows import FoldMemory
from shared.applications.state import ApplicationState, RunRecord
from shared.errors import ContentLost, WriteConflict
from shared.events.stored_runs import RunFilter, stored_runs
from shared.storage.port import MAX_OPERATIONS, Operation, OperationKind, Row, Storage, chunks
from shared.storage_layout import (
    APPLICATIONS,
    EVENT,
    HEADER,
    RUN,
    STATE_PART,
    EventRow,
    StoredEvent,
    event_of_reference,
)

_MAX_READS = 3
"""Reads of a whole application, whose state may be written while it is read, before its content is lost."""
MAX_UNFOLDED = 200
"""Events of open runs that are read with the header. Of more only those of ended runs are, in a query of their own."""
MAX_READ = 999
"""Events that are read with the header at the most: with it a page of Azure Table Storage."""
_FEW_RUNS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenApplication:
    """An application as it was read: its state, and the events that are not folded yet, by the keys of their rows.

    `etag`: of the header, empty without one; `parts`: the digests of the parts of a long state; `records`: of all runs,
    where these were read too. `lost`: the keys of rows whose content is lost, where such were not refused.
    """

    application: str
    state: ApplicationState = field(default_factory=ApplicationState)
    etag: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    unfolded: Mapping[str, EventRow] = field(default_factory=dict)
    records: Mapping[str, RunRecord] = field(default_factory=dict)
    lost: tuple[str, ...] = ()

    def by_run(self) -> dict[str, list[EventRow]]:
        """The events that are not folded yet, by run."""
        by_run: dict[str, list[EventRow]] = {}
        for event in self.unfolded.values():
            by_run.setdefault(event.event.run_id, []).append(event)
        return by_run


def read_open(
    storage: Storage, application: str, *, run: str = "", memory: FoldMemory | None = None
) -> OpenApplication:
    """The header and the events that are not folded yet: one query. Where there are many, and a `run` is named, only
    those of that run and of others that have ended, in a second one. Raises ContentLost, and WriteConflict.
    """
    header: Row | None = None
    unfolded: dict[str, EventRow] = {}
    is_crowded = bool(run and memory and memory.crowded.get(application))
    is_partial = is_crowded
    if is_crowded:
        header = storage.read(APPLICATIONS, application, HEADER)
    else:
        for row in storage.partition(APPLICATIONS, application, before=RUN):
            if row.key == HEADER:
                header = row
                continue
            unfolded[row.key] = EventRow.of(row)
            if run and len(unfolded) >= MAX_READ:
                is_partial = True
                break
    if run and len(unfolded) > MAX_UNFOLDED:
        unfolded, is_crowded = _of_ended_runs(unfolded, is_partial=is_partial)
        is_partial = True
    if is_partial:
        events_of_run = storage.partition(APPLICATIONS, application, since=f"{EVENT}{run}|", before=f"{EVENT}{run}|~")
        unfolded |= {row.key: EventRow.of(row) for row in events_of_run}
    if memory and run:
        memory.crowded.put(application, is_crowded)
    return _opened(storage, application, header, unfolded, memory)


def _of_ended_runs(unfolded: dict[str, EventRow], *, is_partial: bool) -> tuple[dict[str, EventRow], bool]:
    """The events of the runs that have ended, of many events; and whether these are so few that it is not worth to read
    all. The last run may be cut off in a partial reading.
    """
    last = max(unfolded) if is_partial else ""
    cut_off = unfolded[last].event.run_id if last else ""
    ended_runs = {row.event.run_id for row in unfolded.values() if row.event.end} - {cut_off}
    return {key: row for key, row in unfolded.items() if row.event.run_id in ended_runs}, len(ended_runs) <= _FEW_RUNS


def read_whole(storage: Storage, application: str, *, lenient: bool = False) -> OpenApplication:
    """All that is known of an application: as `read_open`, with the records of its runs. `lenient`: what is lost is
    named rather than refused. Raises ContentLost.
    """
    for _ in range(_MAX_READS):
        snapshot = whole(storage, application, storage.partition(APPLICATIONS, application))
        if not snapshot.lost:
            return snapshot
    if lenient:
        return snapshot
    lost_rows = ", ".join(snapshot.lost)
    raise ContentLost(
        f"Rows of application {application} lost content ({lost_rows}): run `throughline verify --fix`", after=60
    )


def whole(storage: Storage, application: str, partition: Iterable[Row]) -> OpenApplication:
    """An application of all rows of its partition, as far as their content is there."""
    header: Row | None = None
    unfolded: dict[str, EventRow] = {}
    records: dict[str, RunRecord] = {}
    parts: list[Row] = []
    lost_rows: list[str] = []
    for row in partition:
        if row.key == HEADER:
            header = row
        elif row.key.startswith(EVENT):
            unfolded[row.key] = EventRow.of(row)
        elif row.key.startswith(RUN):
            try:
                record = rows.run_of(row, storage)
                records[record.run_id] = record
            except ContentLost:
                lost_rows.append(row.key)
        else:
            parts.append(row)
    state, stored_parts = ApplicationState(), dict[str, Row]()
    if header:
        digests = rows.part_digests(header)
        stored_parts = {part.key: part for part in parts if rows.digest_of_part(part) == digests.get(part.key)}
        lost_rows += sorted(digests.keys() - stored_parts.keys())
        try:
            state = rows.state_of(header, stored_parts.values(), storage)
        except ContentLost:
            state = ApplicationState(version=rows.version_of(header))
            lost_rows.append(HEADER)
    return OpenApplication(
        application=application,
        state=state,
        etag=header.etag if header else "",
        parts={key: rows.digest_of_part(part) for key, part in stored_parts.items()},
        unfolded=unfolded,
        records=records,
        lost=tuple(lost_rows),
    )


def read_state(storage: Storage, application: str, memory: FoldMemory | None = None) -> OpenApplication | None:
    """The header alone: a point read, and the parts of a long state; None without one. Raises ContentLost."""
    header = storage.read(APPLICATIONS, application, HEADER)
    return _opened(storage, application, header, {}, memory) if header else None


def read_record(storage: Storage, application: str, run_id: str) -> RunRecord | None:
    """The record of a run in an application: a point read. Raises ContentLost."""
    row = storage.read(APPLICATIONS, application, f"{RUN}{run_id}")
    return rows.run_of(row, storage) if row else None


def all_records(storage: Storage, application: str) -> dict[str, RunRecord]:
    """The records of all runs of an application, by id. Raises ContentLost."""
    run_rows = storage.partition(APPLICATIONS, application, since=RUN, before=f"{RUN}~")
    records = (rows.run_of(row, storage) for row in run_rows)
    return {record.run_id: record for record in records}


def counting_references(record: RunRecord) -> list[str]:
    """References to the events of a run that count: not to those that came after it was closed."""
    late = set(record.late)
    return [reference for reference in (*record.events, *record.archived) if reference not in late]


def counting_events(storage: Storage, record: RunRecord) -> Iterator[StoredEvent]:
    """The events of a run that count, each once, lazily: of a stream older ones, as far as the indexes of the archive
    name them, and those to which its record refers, by time. Raises ArchiveMissing.
    """
    events = {event_of_reference(record.run_id, reference) for reference in counting_references(record)}
    yield from (event for event in archived_before(storage, record) if event not in events)
    yield from sorted(events, key=lambda event: (event.time, event.digest))


def archived_before(storage: Storage, record: RunRecord) -> Iterator[StoredEvent]:
    """The archived events of a stream to which its record does not refer any more. Raises ArchiveMissing."""
    if record.earlier:
        until_before = record.earlier.until + timedelta(microseconds=1)
        since = record.seen.first if record.seen else None
        for run in stored_runs(storage, RunFilter(since=since, before=until_before, run_id=record.run_id)):
            yield from dict.fromkeys(event for archived in run.archived for event in archived.run.events)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """The next state of an application as one transaction: its `writes`, and the rows of folded events to delete."""

    application: str
    state: ApplicationState
    records: Mapping[str, RunRecord]
    writes: tuple[Operation, ...]
    folded: tuple[str, ...]

    @classmethod
    def of(
        cls,
        storage: Storage,
        snapshot: OpenApplication,
        state: ApplicationState,
        records: Mapping[str, RunRecord],
        *,
        new: frozenset[str] = frozenset(),
        folded: Iterable[str] = (),
        forgotten: Iterable[str] = (),
    ) -> "Commit":
        """Of the next state of an application as it was read, the `records` that change (of which some are `new`), the
        rows of `folded` events (by key), and the runs whose records are `forgotten`.
        """
        application, state = snapshot.application, structs.replace(state, version=snapshot.state.version + 1)
        header = rows.header(application, state, snapshot.etag, snapshot.parts, storage)
        writes = [Operation(kind=OperationKind.REPLACE if snapshot.etag else OperationKind.INSERT, row=header.row)]
        writes += [Operation(kind=OperationKind.UPSERT, row=part) for part in header.parts]
        writes += [_deletion(application, key) for key in header.gone]
        writes += [
            Operation(
                kind=OperationKind.INSERT if run_id in new else OperationKind.UPSERT,
                row=rows.run_row(application, record, storage),
            )
            for run_id, record in records.items()
        ]
        writes += [_deletion(application, f"{RUN}{run_id}") for run_id in forgotten]
        return cls(application=application, state=state, records=records, writes=tuple(writes), folded=tuple(folded))

    @property
    def fits(self) -> bool:
        """Whether the writes fit into one transaction."""
        return len(list(chunks(self.writes))) == 1

    def execute(self, storage: Storage, memory: FoldMemory | None = None) -> bool:
        """Write all or nothing. False, and nothing written, when another worker changed the application since it was
        read. Rows of events that do not fit into the transaction are deleted after it; until then the records show that
        they are folded. Raises ValueError where the writes do not fit.
        """
        deletions = [_deletion(self.application, key) for key in self.folded]
        fitting = max(0, MAX_OPERATIONS - len(self.writes))
        etags = storage.transact(APPLICATIONS, [*self.writes, *deletions[:fitting]])
        if etags is None:
            return False
        if memory:
            memory.note_commit(self.application, self.writes[0].row.etag, etags[0], self.state, self.records)
        for operation in self.writes:
            if memory and (digest := rows.digest_of_part(operation.row)):
                memory.parts.put(digest, operation.row)
        for part in chunks(deletions[fitting:]):
            if storage.transact(APPLICATIONS, part) is None:  # another worker has deleted some of them
                for operation in part:
                    storage.delete(APPLICATIONS, self.application, operation.row.key)
        return True


def _deletion(application: str, key: str) -> Operation:
    return Operation(kind=OperationKind.DELETE, row=Row(partition=application, key=key))


def _opened(
    storage: Storage,
    application: str,
    header: Row | None,
    unfolded: Mapping[str, EventRow],
    memory: FoldMemory | None,
) -> OpenApplication:
    if header is None:
        return OpenApplication(application=application, unfolded=unfolded)
    digests = rows.part_digests(header)
    return OpenApplication(
        application=application,
        state=rows.state_of(header, _parts(storage, application, digests, memory), storage),
        etag=header.etag,
        parts=digests,
        unfolded=unfolded,
    )


def _parts(storage: Storage, application: str, digests: Mapping[str, str], memory: FoldMemory | None) -> list[Row]:
    """The parts of a long state: remembered ones, or all of them by one query."""
    if not digests:
        return []
    remembered = [memory.parts.get(digest) for digest in digests.values()] if memory else [None]
    if all(remembered):
        return [part for part in remembered if part]
    by_digest = {
        rows.digest_of_part(row): row for row in storage.partition(APPLICATIONS, application, since=STATE_PART)
    }
    if not by_digest.keys() >= set(digests.values()):
        raise WriteConflict(f"The state of application {application} was written while it was read", after=1)
    for digest in digests.values():
        if memory:
            memory.parts.put(digest, by_digest[digest])
    return [by_digest[digest] for digest in digests.values()]
