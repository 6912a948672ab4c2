"""What an application run has written: the links from it to its processes, and which of these count only together.

A process whose sink the application dropped, renamed or emptied, or that waits for a table that only another run can
name, is marked so (`RESOLVE_TOGETHER`): the publisher then reads all that the application said before it adds
anything up.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import msgspec

from shared.model import Asset, Process
from shared.records.application_entries import lifecycle_and_links, located_runs
from shared.records.application_record import Application
from shared.records.run_state import ContributionRecord, packed_cell, unpacked_cell
from shared.storage.compare_and_swap import UNREAD, Place, compare_and_swap
from shared.storage.port import Row, Storage
from shared.storage_layout import CONTRIBUTIONS, PROCESS_REF, RUNS, process_key, processes_written_by
from shared.translation.application.lifecycle import LifecycleEvents, present_name


def contributions_of(storage: Storage, process: str, application_run: str) -> Iterator[tuple[Row, ContributionRecord]]:
    """What one application run says of a process: the rows, and the records whose contents are not read yet."""
    rows = storage.partition(
        CONTRIBUTIONS, process, since=f"{application_run}|", before=f"{application_run}|{RESOLVE_TOGETHER}"
    )
    return ((row, ContributionRecord.without_content(row)) for row in rows)


def runs_to_process_again(storage: Storage, known: Application) -> set[str]:
    """The runs of an application who may say something else now, with what is `known` of it: those behind all
    contributions, and where its place became known, those that left a fate or a batch. Also those who took their word
    back: while rows are read page by page they may say something else on a page that was read already.
    """
    placed = located_runs(storage, known.run) if known.facts.where != known.applied.where else set()
    return placed | {
        run
        for process in sorted(processes_written_by(storage, known.run))
        for _, record in contributions_of(storage, process, known.run)
        for run in record.supporters
    }


RESOLVE_TOGETHER = "~fates"
"""Stands in the place of a content's digest, behind all of these: data sets of the application run have been dropped,
renamed or emptied, or statements name tables that others know, so what it says of this process counts only together
with what it says of others.
"""


class ProcessRef(msgspec.Struct, frozen=True, kw_only=True):
    """A process that an application wrote: its qualified name, its sink, and the last parts of the names of tables that
    it waits for. `fated`: it was told that what is said of it counts only together with the rest; `called`: the
    qualified names of what its runs call like a data set that a statement dropped or emptied by its table's name. Other
    runs may tell of the same only where it lies.
    """

    name: str
    sink: Asset
    wants: tuple[str, ...] = ()
    fated: bool = False
    called: tuple[str, ...] = ()

    @classmethod
    def of(cls, content: Process) -> "ProcessRef":
        """From what is said of the process."""
        wants = {each.table.rpartition(".")[2] for each in content.wanted}
        return cls(name=content.qualified_name, sink=content.outputs[0], wants=tuple(sorted(wants)))


def process_ref_row(storage: Storage, application_run: str, link: ProcessRef) -> Row:
    """A link as a row of `runs`."""
    key = f"{PROCESS_REF}{process_key(link.name)}"
    return Row(partition=application_run, key=key, values=packed_cell(storage, "link", link))


_decode_link = msgspec.json.Decoder(ProcessRef).decode


def process_ref_of(row: Row, storage: Storage) -> ProcessRef:
    """From a row of `runs`."""
    return _decode_link(unpacked_cell(storage, "link", row))


def note_process_ref(storage: Storage, application_run: str, content: Process) -> None:
    """Note that the application run wrote this process. The first word stays, but for the tables that it waits for."""
    link = ProcessRef.of(content)
    row = process_ref_row(storage, application_run, link)
    if not storage.insert(RUNS, row) and link.wants:
        _add(storage, Place(RUNS, application_run, row.key), link)


def _add(storage: Storage, place: Place, more: ProcessRef, read: Row = UNREAD) -> None:
    """Add what `more` says of a process to its row, if there is one; its name and sink stay."""

    def change(known: ProcessRef | None) -> ProcessRef | None:
        return known and msgspec.structs.replace(
            known,
            wants=tuple(sorted({*known.wants, *more.wants})),
            fated=known.fated or more.fated,
            called=tuple(sorted({*known.called, *more.called})),
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
    """Have what an application wrote know that what it says counts only together with the rest.

    `spoken` are the processes of which one run spoke, now or before, `contents` what it says now; `touched`: it brought
    a fate or took something back. Returns what is to be marked dirty: this run's own processes, and those that wait for
    a table that it names; where all of the application's may mean something else now, because it was touched or this
    run speaks of what has a fate, they are left to `mark_dependent` (the application's own mark). What a statement
    dropped by a table's name is known from the links: who writes it after that was noted finds it there, and who wrote
    it before was read by whoever noted it.
    """
    fates, rows = lifecycle_and_links(storage, application_run)
    links = {row.key.removeprefix(PROCESS_REF): process_ref_of(row, storage) for row in rows}
    own = set(spoken)
    assets = {asset for content in contents for asset in (*content.inputs, *content.outputs)}
    tables = {table.rpartition(".")[2] for asset in assets for table in asset.tables}
    waiting = {key for key, link in links.items() if tables & set(link.wants)}
    sinks = {links[key].sink for key in own if key in links}
    called = {name for link in links.values() for name in link.called}
    if (
        touched
        or (waiting and fates)
        or fates.concerns(assets | sinks)
        or any(sink.qualified_name in called for sink in sinks)
    ):
        return own | {f"{QUEUED_APPLICATION}{application_run}"}
    for process in sorted(own | waiting):
        if process not in links or not links[process].fated:
            _note_fated(storage, application_run, process)
    return own | waiting


QUEUED_APPLICATION = "!application|"
"""How the keys of those rows in `dirty` begin that stand for all that an application wrote: they sort first."""


def mark_dependent(storage: Storage, application_run: str) -> set[str]:
    """Have all that an application wrote know that it counts only together. A process whose sink was renamed is linked
    to the application under its present name. Returns the keys of all processes.
    """
    fates, links = _all_links(storage, application_run)
    for process, (row, link) in sorted(links.items()):
        if not link.fated:
            _note_fated(storage, application_run, process)
        called = _called(storage, process, application_run, fates)
        if not link.fated or not called <= set(link.called):
            place = Place(RUNS, application_run, row.key)
            more = msgspec.structs.replace(link, fated=True, called=tuple(called))
            _add(storage, place, more, read=row if row.etag else UNREAD)
    return set(links)


def _called(storage: Storage, process: str, application_run: str, fates: LifecycleEvents) -> frozenset[str]:
    """The data sets that an application run ever called, in what it said of a process, like one that a statement
    dropped or emptied by its table's name: their qualified names.
    """
    if not fates.by_table:
        return frozenset()
    rows = (row for row, _ in contributions_of(storage, process, application_run))
    contents = (ContributionRecord.of(row, storage).content for row in rows)
    return fates.called(asset for content in contents if content for asset in (*content.inputs, *content.outputs))


def _note_fated(storage: Storage, application_run: str, process: str) -> None:
    storage.insert(CONTRIBUTIONS, Row(partition=process, key=f"{application_run}|{RESOLVE_TOGETHER}"))


def _all_links(storage: Storage, application_run: str) -> tuple[LifecycleEvents, dict[str, tuple[Row, ProcessRef]]]:
    """What became of its data sets, and what the application wrote, by process: also under the names that renamings
    gave.
    """
    fates, rows = lifecycle_and_links(storage, application_run)
    links = {row.key.removeprefix(PROCESS_REF): (row, process_ref_of(row, storage)) for row in rows}
    todo = [link for _, link in links.values()]
    while todo:
        link = todo.pop()
        move = fates.renamed.get(link.sink.qualified_name)
        if move is None or move.asset is None:
            continue
        after = ProcessRef(name=present_name(link.name, move), sink=move.asset, wants=link.wants)
        row = process_ref_row(storage, application_run, after)
        key = row.key.removeprefix(PROCESS_REF)
        if key not in links:
            links[key] = replace(row, etag=storage.insert(RUNS, row) or ""), after
            todo.append(after)
    return fates, links
