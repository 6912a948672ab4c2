"""What the runs of one application leave for one another, as rows in the application's partition of `runs`.

Batches of streams and lifecycle events of data sets are versioned entries of their runs: a run may retract them. That a
run writes without naming a source is a row of its own, which stays. `read_context` reads what concerns one run.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import msgspec

from shared.model import Span
from shared.naming.names import Names
from shared.openlineage.run import MergedRun
from shared.records.application.record import Application, ReadApplication, add_facts, read_application
from shared.records.cells import PackedCell
from shared.records.run_state import EntryKey
from shared.records.versioned_entry import VersionedEntry, contents, merge_entry
from shared.storage.compare_and_swap import RowAddress, compare_and_swap
from shared.storage.port import Row, Storage
from shared.storage_layout import APPLICATION, BATCH, LIFECYCLE, PROCESS_REF, RUNS, UNSOURCED, digest_of, stamp
from shared.translation.application.context import (
    AT_ONCE,
    ApplicationFacts,
    RunContext,
    StreamBatch,
    application_facts_of,
    enclosing_batches,
)
from shared.translation.application.lifecycle import LifecycleEvent, LifecycleEvents
from shared.translation.run.changes import batch_of, names_no_source

MAX_ENTRIES = 16
"""Runs whose entries on one data set are kept: the latest counts, and the others count once it is retracted."""

MAX_BATCHES_PROCESSED_AGAIN = 64
"""So many of the latest batches of an application are processed again when its place becomes known; older ones keep the
names that they gave to what they read.
"""

APPLICATION_KEYS = (PROCESS_REF, APPLICATION, BATCH, UNSOURCED, LIFECYCLE)
"""How the keys of all rows begin that are about an application and not about a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationEntries:
    """What one run leaves for the others of its application: its `facts` about the application as a whole, its `batch`
    if it is one, and the `lifecycle` events that it brought to data sets.
    """

    facts: ApplicationFacts = field(default_factory=ApplicationFacts)
    batch: StreamBatch | None = None
    lifecycle: tuple[LifecycleEvent, ...] = ()

    @classmethod
    def of(cls, run: MergedRun, context: RunContext, lifecycle: tuple[LifecycleEvent, ...]) -> "ApplicationEntries":
        """Of a run that is over, by what it knows of its application, with the lifecycle events it brought. Pure."""
        return cls(facts=application_facts_of(run), batch=batch_of(run, context), lifecycle=lifecycle)

    def by_key(self) -> dict[str, StreamBatch | LifecycleEvent]:
        """Those that may be retracted, by the keys of their rows. Of one data set and kind the latest."""
        found: dict[str, StreamBatch | LifecycleEvent] = {
            _lifecycle_key(event): event for event in sorted(self.lifecycle, key=LifecycleEvent.sort_key)
        }
        return {_batch_key(self.batch): self.batch, **found} if self.batch else found

    def keys(self, application_run: str) -> frozenset[EntryKey]:
        """Where they are left."""
        return frozenset((application_run, key) for key in self.by_key())


def _batch_key(batch: StreamBatch) -> str:
    return f"{BATCH}{stamp(batch.seen.last)}|{batch.run_id}"


def _lifecycle_key(event: LifecycleEvent) -> str:
    return f"{LIFECYCLE}{digest_of(f'{event.qualified_name}|{event.table}'.encode())}|{event.state}"


class _Cell(msgspec.Struct, frozen=True):
    """A row of entries. `replaced`: when the runs inside of the batch ended that its run left here before: processing
    that is cut off must find them again.
    """

    entries: dict[str, VersionedEntry[Any]]
    replaced: Span | None = None


class _BatchCell(_Cell, frozen=True):
    entries: dict[str, VersionedEntry[StreamBatch]]


class _LifecycleCell(_Cell, frozen=True):
    entries: dict[str, VersionedEntry[LifecycleEvent]]


_ENTRIES = PackedCell(name="entries", decoder=msgspec.json.Decoder(_Cell))
_BATCHES = PackedCell(name="entries", decoder=msgspec.json.Decoder(_BatchCell))
_LIFECYCLE_EVENTS = PackedCell(name="entries", decoder=msgspec.json.Decoder(_LifecycleCell))


def _cell(storage: Storage, row: Row) -> _Cell:
    return (_BATCHES if row.key.startswith(BATCH) else _LIFECYCLE_EVENTS).unpack(storage, row)


def leave_entries(
    storage: Storage,
    run: MergedRun,
    entries: ApplicationEntries,
    before: Iterable[EntryKey],
    generation: int,
    *,
    unresolved: bool,
) -> tuple[Application, tuple[str, ...]]:
    """Write this run's entries for the others of its application, and retract those of `before` that it no longer has.

    `unresolved`: its statement names tables that others may know. Returns what is known of the application then, and
    the runs inside of this one, as far as it is or was a batch: they are to be processed again. Raises WriteConflict.
    """
    known = add_facts(
        storage,
        run.application_run,
        entries.facts,
        resolve_together=bool(entries.lifecycle) or unresolved,
        has_batches=entries.batch is not None,
    )
    now = {(run.application_run, key): content for key, content in entries.by_key().items()}
    inside: set[str] = set()
    for place in sorted({*now, *before}):
        cell = _leave(storage, run.run_id, place, VersionedEntry(generation, run.last, now.get(place)))
        left = cell.entries.get(run.run_id)
        batch = left.content if left and isinstance(left.content, StreamBatch) else None
        for span in (batch and batch.ends, cell.replaced):
            inside |= unsourced_within(storage, place[0], span) if span else set()
    return known, tuple(sorted(inside - {run.run_id}))


def _leave(
    storage: Storage, run_id: str, place: EntryKey, entry: VersionedEntry[StreamBatch | LifecycleEvent]
) -> _Cell:
    """Put a run's entry in its row, unless a newer one is there: the row as it is then."""
    empty = _Cell(entries={})

    def change(found: _Cell | None) -> _Cell:
        cell = found or empty
        entries, _ = merge_entry(cell.entries, run_id, entry, most=MAX_ENTRIES)
        if found and entries is cell.entries:
            return found
        before = cell.entries.get(run_id)
        replaced = before.content.ends if before and isinstance(before.content, StreamBatch) else cell.replaced
        return _Cell(entries=dict(entries), replaced=replaced)

    swapped = compare_and_swap(
        storage,
        RowAddress(RUNS, *place),
        change,
        decode=lambda row: _cell(storage, row),
        encode=lambda cell: _row(storage, place, cell),
    )
    return swapped.after or empty


def _row(storage: Storage, place: EntryKey, cell: _Cell) -> Row:
    return Row(partition=place[0], key=place[1], values=_ENTRIES.pack(storage, cell))


def holds_entries(row: Row) -> bool:
    """Whether a row of `runs` holds entries that their runs may retract."""
    return row.key.startswith((BATCH, LIFECYCLE))


def generations_in(storage: Storage, row: Row) -> dict[str, int]:
    """The runs that left an entry in this row, or retracted it, and in which generation."""
    return {run: entry.generation for run, entry in _cell(storage, row).entries.items()}


def entries_of(storage: Storage, row: Row, runs: AbstractSet[str]) -> Row | None:
    """What these runs left in a row about their application; what is known of it as a whole stays. None for nothing."""
    if row.key.startswith(UNSOURCED):
        return row if row.key.rpartition("|")[2] in runs else None
    if not holds_entries(row):
        return row
    cell = _cell(storage, row)
    kept = {run: entry for run, entry in cell.entries.items() if run in runs}
    fresh = _row(storage, (row.partition, row.key), _Cell(entries=kept, replaced=cell.replaced))
    return replace(fresh, etag=row.etag) if kept else None


def batches_after(storage: Storage, run: MergedRun) -> Iterator[StreamBatch]:
    """The batches of the run's application that ended after it, by their ends."""
    rows = storage.partition(RUNS, run.application_run, since=f"{BATCH}{stamp(run.last)}", before=f"{BATCH}~")
    return (batch for row in rows for batch in contents(_BATCHES.unpack(storage, row).entries))


def note_unsourced(storage: Storage, run: MergedRun) -> None:
    """Note that this run writes and names no source: a batch that encloses it may name them."""
    storage.insert(RUNS, Row(partition=run.application_run, key=f"{UNSOURCED}{stamp(run.last)}|{run.run_id}"))


_MOMENT = timedelta(microseconds=1)


def unsourced_within(storage: Storage, application_run: str, span: Span) -> set[str]:
    """The runs of the application that ended within this time and name no source."""
    since, before = f"{UNSOURCED}{stamp(span.first)}", f"{UNSOURCED}{stamp(span.last + _MOMENT)}"
    rows = storage.partition(RUNS, application_run, since=since, before=before)
    return {row.key.rpartition("|")[2] for row in rows}


def lifecycle_and_links(storage: Storage, application_run: str) -> tuple[LifecycleEvents, tuple[Row, ...]]:
    """The lifecycle events of the application's data sets, and the rows of what it wrote: both in one query."""
    rows = tuple(storage.partition(RUNS, application_run, since=LIFECYCLE, before=f"{PROCESS_REF}~"))
    return lifecycle_in(storage, rows), tuple(row for row in rows if row.key.startswith(PROCESS_REF))


def lifecycle_in(storage: Storage, rows: Iterable[Row]) -> LifecycleEvents:
    """The lifecycle events in these rows of one application."""
    cells = (_LIFECYCLE_EVENTS.unpack(storage, row) for row in rows if row.key.startswith(LIFECYCLE))
    return LifecycleEvents.of(event for cell in cells for event in contents(cell.entries))


def located_runs(storage: Storage, application_run: str) -> set[str]:
    """The runs whose entries name data sets by the application's place: all of lifecycle events, the latest batches."""
    batches = storage.partition(RUNS, application_run, since=BATCH, before=f"{BATCH}~")
    lifecycle = storage.partition(RUNS, application_run, since=LIFECYCLE, before=f"{LIFECYCLE}~")
    rows = (*deque(batches, maxlen=MAX_BATCHES_PROCESSED_AGAIN), *lifecycle)
    return {run for row in rows for run in _cell(storage, row).entries}


def read_context(
    storage: Storage, run: MergedRun, names: Names, application: ReadApplication = read_application
) -> RunContext:
    """What the runs of its application, this one included, found out so far that concerns this run."""
    if names_no_source(run):
        note_unsourced(storage, run)
    return context_of(storage, run, application(storage, run.application_run), names)


def context_of(storage: Storage, run: MergedRun, known: Application, names: Names) -> RunContext:
    """What concerns this run of what is `known` of its application."""
    streams = known.has_batches and names_no_source(run)
    batches = _first_enclosing(batches_after(storage, run), run) if streams else ()
    return RunContext(facts=known.facts | application_facts_of(run), batches=batches, names=names)


def _first_enclosing(batches: Iterable[StreamBatch], run: MergedRun) -> tuple[StreamBatch, ...]:
    """As `enclosing_batches`, of batches in the order of their ends: no more are read than may enclose the run."""
    found: list[StreamBatch] = []
    for batch in batches:
        if found and batch.seen.last > found[0].seen.last + AT_ONCE:
            break
        found += enclosing_batches((batch,), run)
    return enclosing_batches(found, run)
