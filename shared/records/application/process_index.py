"""The processes that an application run has written: a row for each, and which of them are resolved only together.

Where the application dropped, renamed or emptied a process's sink, or a process waits for a table that only another run
can name, the process is marked RESOLVE_TOGETHER. The publisher then reads all contributions of the application before
it aggregates any.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import msgspec

from shared.model import Asset, Process
from shared.records.application.entries import lifecycle_and_links, located_runs
from shared.records.application.record import Application
from shared.records.cells import PackedCell
from shared.records.run_state import ContributionRecord
from shared.storage.compare_and_swap import UNREAD, RowAddress, compare_and_swap
from shared.storage.port import Row, Storage
from shared.storage_layout import CONTRIBUTIONS, PROCESS_REF, RUNS, process_key
from shared.translation.application.lifecycle import LifecycleEvents, present_name


def process_refs_of(storage: Storage, application_run: str) -> Iterator[Row]:
    """The rows of the processes that an application run has written."""
    return storage.partition(RUNS, application_run, since=PROCESS_REF, before=f"{PROCESS_REF}~")


def processes_written_by(storage: Storage, application_run: str) -> set[str]:
    """The keys of the processes that an application run has written."""
    return {row.key.removeprefix(PROCESS_REF) for row in process_refs_of(storage, application_run)}


def contributions_of(storage: Storage, process: str, application_run: str) -> Iterator[tuple[Row, ContributionRecord]]:
    """What one application run contributes to a process: rows, and records whose contents are not read yet."""
    rows = storage.partition(
        CONTRIBUTIONS, process, since=f"{application_run}|", before=f"{application_run}|{RESOLVE_TOGETHER}"
    )
    return ((row, ContributionRecord.without_content(row)) for row in rows)


def runs_to_process_again(storage: Storage, known: Application) -> set[str]:
    """The runs of an application that may contribute something else now, with what is `known` of it: those behind all
    contributions, and where its place became known, those that left a lifecycle event or a batch.

    Those that retracted a contribution are among them: while rows are read page by page they may contribute to a page
    that was read already.
    """
    placed = located_runs(storage, known.run) if known.facts.environment != known.applied.environment else set()
    return placed | {
        run
        for process in sorted(processes_written_by(storage, known.run))
        for _, record in contributions_of(storage, process, known.run)
        for run in record.supporters
    }


RESOLVE_TOGETHER = "~together"
"""In the place of a content's digest, sorting behind all of these: what the application run contributes to this process
depends on what it contributes to others, since data sets of it were dropped, renamed or emptied, or statements name
tables that others know.
"""


class ProcessRef(msgspec.Struct, frozen=True, kw_only=True):
    """A process that an application wrote: its qualified name, its sink, and the last parts of the names of tables that
    it cannot resolve by itself (`unresolved_tables`).

    `resolve_together`: its contributions bear the mark of that name. `same_name`: the qualified names of those of its
    data sets that are named like a table that a statement dropped or emptied; only others of the application may know
    that table's place.
    """

    name: str
    sink: Asset
    unresolved_tables: tuple[str, ...] = ()
    resolve_together: bool = False
    same_name: tuple[str, ...] = ()

    @classmethod
    def of(cls, content: Process) -> "ProcessRef":
        """Of a contribution to the process."""
        unresolved_tables = {each.table.rpartition(".")[2] for each in content.unresolved_tables}
        return cls(
            name=content.qualified_name, sink=content.outputs[0], unresolved_tables=tuple(sorted(unresolved_tables))
        )


def process_ref_row(storage: Storage, application_run: str, link: ProcessRef) -> Row:
    """A reference as a row of `runs`."""
    key = f"{PROCESS_REF}{process_key(link.name)}"
    return Row(partition=application_run, key=key, values=_PROCESS.pack(storage, link))


_PROCESS = PackedCell(name="process", decoder=msgspec.json.Decoder(ProcessRef))


def process_ref_of(row: Row, storage: Storage) -> ProcessRef:
    """From a row of `runs`."""
    return _PROCESS.unpack(storage, row)


def note_process_ref(storage: Storage, application_run: str, content: Process) -> None:
    """Note that the application run wrote this process; of one that is noted only unresolved tables are added."""
    link = ProcessRef.of(content)
    row = process_ref_row(storage, application_run, link)
    if not storage.insert(RUNS, row) and link.unresolved_tables:
        _add(storage, RowAddress(RUNS, application_run, row.key), link)


def _add(storage: Storage, place: RowAddress, more: ProcessRef, read: Row = UNREAD) -> None:
    """Add to the row of a process, if there is one; its name and sink stay."""

    def change(known: ProcessRef | None) -> ProcessRef | None:
        return known and msgspec.structs.replace(
            known,
            unresolved_tables=tuple(sorted({*known.unresolved_tables, *more.unresolved_tables})),
            resolve_together=known.resolve_together or more.resolve_together,
            same_name=tuple(sorted({*known.same_name, *more.same_name})),
        )

    compare_and_swap(
        storage,
        place,
        change,
        decode=lambda row: process_ref_of(row, storage),
        encode=lambda link: process_ref_row(storage, place.partition, link),
        read=read,
    )


def note_dependent(
    storage: Storage, application_run: str, spoken: Iterable[str], contents: Iterable[Process], *, touched: bool
) -> set[str]:
    """Mark what depends on the rest of an application: returns the queue keys of what is to be published.

    `spoken`: the processes to which one run contributes, now or before; `contents`: its contributions now; `touched`:
    it brought a lifecycle event or retracted something. Those are the run's own processes and those that wait for a
    table that it names. Where all of the application's processes may change, because it was touched or the run
    contributes to what has a lifecycle event, they are left to `mark_dependent`, by the application's own queue entry.
    """
    lifecycle, rows = lifecycle_and_links(storage, application_run)
    links = {row.key.removeprefix(PROCESS_REF): process_ref_of(row, storage) for row in rows}
    own = set(spoken)
    assets = {asset for content in contents for asset in (*content.inputs, *content.outputs)}
    tables = {table.rpartition(".")[2] for asset in assets for table in asset.tables}
    waiting = {key for key, link in links.items() if tables & set(link.unresolved_tables)}
    sinks = {links[key].sink for key in own if key in links}
    same_name = {name for link in links.values() for name in link.same_name}
    if (
        touched
        or (waiting and lifecycle)
        or lifecycle.concerns(assets | sinks)
        or any(sink.qualified_name in same_name for sink in sinks)
    ):
        return own | {f"{QUEUED_APPLICATION}{application_run}"}
    for process in sorted(own | waiting):
        if process not in links or not links[process].resolve_together:
            _mark_dependent(storage, application_run, process)
    return own | waiting


QUEUED_APPLICATION = "!application|"
"""Prefix of queue keys that stand for all that an application wrote: they sort first."""


def mark_dependent(storage: Storage, application_run: str) -> set[str]:
    """Mark all that an application wrote as resolved together. Returns the keys of all its processes.

    A process whose sink was renamed is noted under its present name too.
    """
    lifecycle, links = _all_links(storage, application_run)
    for process, (row, link) in sorted(links.items()):
        if not link.resolve_together:
            _mark_dependent(storage, application_run, process)
        same_name = _same_names(storage, process, application_run, lifecycle)
        if not link.resolve_together or not same_name <= set(link.same_name):
            place = RowAddress(RUNS, application_run, row.key)
            more = msgspec.structs.replace(link, resolve_together=True, same_name=tuple(same_name))
            _add(storage, place, more, read=row if row.etag else UNREAD)
    return set(links)


def _same_names(storage: Storage, process: str, application_run: str, lifecycle: LifecycleEvents) -> frozenset[str]:
    """The qualified names of all data sets in what an application run contributed to a process that are named like a
    table that a statement dropped or emptied.
    """
    if not lifecycle.by_table:
        return frozenset()
    rows = (row for row, _ in contributions_of(storage, process, application_run))
    contents = (ContributionRecord.of(row, storage).content for row in rows)
    return lifecycle.called(asset for content in contents if content for asset in (*content.inputs, *content.outputs))


def _mark_dependent(storage: Storage, application_run: str, process: str) -> None:
    storage.insert(CONTRIBUTIONS, Row(partition=process, key=f"{application_run}|{RESOLVE_TOGETHER}"))


def _all_links(storage: Storage, application_run: str) -> tuple[LifecycleEvents, dict[str, tuple[Row, ProcessRef]]]:
    """The application's lifecycle events, and what it wrote by process, also under the names that renamings gave."""
    lifecycle, rows = lifecycle_and_links(storage, application_run)
    links = {row.key.removeprefix(PROCESS_REF): (row, process_ref_of(row, storage)) for row in rows}
    todo = [link for _, link in links.values()]
    while todo:
        link = todo.pop()
        move = lifecycle.renamed.get(link.sink.qualified_name)
        if move is None or move.asset is None:
            continue
        after = ProcessRef(
            name=present_name(link.name, move), sink=move.asset, unresolved_tables=link.unresolved_tables
        )
        row = process_ref_row(storage, application_run, after)
        key = row.key.removeprefix(PROCESS_REF)
        if key not in links:
            links[key] = replace(row, etag=storage.insert(RUNS, row) or ""), after
            todo.append(after)
    return lifecycle, links
