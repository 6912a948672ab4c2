"""What an application run has written: the links from it to its processes, and which of these count only together.

A process whose sink the application dropped, renamed or emptied, or that waits for a table that only another run can
name, is marked so (`FATED`): the publisher then reads all that the application said before it adds anything up.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import msgspec

from shared.errors import Contended
from shared.model import Asset, Process
from shared.pipeline.places import CONTRIBUTIONS, LINK, RUNS, links_of, process_key, written_by
from shared.pipeline.records import ContributionRecord, packed_cell, unpacked_cell
from shared.pipeline.siblings import Application, fates_of, placed_by
from shared.storage import Row, Storage
from shared.translation import Fates, present_name

_TRIES = 8


def contributions_of(storage: Storage, process: str, application_run: str) -> Iterator[tuple[Row, ContributionRecord]]:
    """What one application run says of a process: the rows, and the records whose contents are not read yet."""
    rows = storage.partition(CONTRIBUTIONS, process, since=f"{application_run}|", before=f"{application_run}|{FATED}")
    return ((row, ContributionRecord.without_content(row)) for row in rows)


def speakers(storage: Storage, known: Application) -> set[str]:
    """The runs of an application who may say something else now, with what is `known` of it: those behind all
    contributions, and where its place became known, those that left a fate or a batch.
    """
    placed = placed_by(storage, known.run) if known.told.where != known.heard.where else set()
    return placed | {
        run
        for process in written_by(storage, known.run)
        for _, record in contributions_of(storage, process, known.run)
        for run, word in record.supporters.items()
        if not word.withdrawn
    }


FATED = "~fates"
"""Stands in the place of a content's digest, behind all of these: data sets of the application run have been dropped,
renamed or emptied, or statements name tables that others know, so what it says of this process counts only together
with what it says of others.
"""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A process that an application wrote: its qualified name, its sink, and the last parts of the names of tables that
    it waits for.
    """

    name: str
    sink: Asset
    wants: tuple[str, ...] = ()

    @classmethod
    def of(cls, content: Process) -> "Link":
        """From what is said of the process."""
        wants = {each.table.rpartition(".")[2] for each in content.wanted}
        return cls(name=content.qualified_name, sink=content.outputs[0], wants=tuple(sorted(wants)))


def link_row(storage: Storage, application_run: str, link: Link) -> Row:
    """A link as a row of `runs`."""
    key = f"{LINK}{process_key(link.name)}"
    return Row(partition=application_run, key=key, values=packed_cell(storage, "link", link))


_decode_link = msgspec.json.Decoder(Link).decode


def link_of(row: Row, storage: Storage) -> Link:
    """From a row of `runs`."""
    return _decode_link(unpacked_cell(storage, "link", row))


def note_link(storage: Storage, application_run: str, content: Process) -> None:
    """Note that the application run wrote this process. The first word stays, but for the tables that it waits for."""
    link = Link.of(content)
    row = link_row(storage, application_run, link)
    if storage.insert(RUNS, row) or not link.wants:
        return
    for _ in range(_TRIES):
        found = storage.read(RUNS, application_run, row.key)
        known = link_of(found, storage) if found else link
        wants = tuple(sorted({*known.wants, *link.wants}))
        if found is None or wants == known.wants:
            return
        fresh = link_row(storage, application_run, msgspec.structs.replace(known, wants=wants))
        if storage.replace(RUNS, replace(fresh, etag=found.etag)):
            return
    raise Contended(f"What the application {application_run} wrote kept changing", after=2)


def note_fated(
    storage: Storage, application_run: str, spoken: Iterable[str], contents: Iterable[Process], *, touched: bool
) -> set[str]:
    """Have what an application wrote know that what it says counts only together with the rest.

    `spoken` are the processes of which one run spoke, now or before, `contents` what it says now; `touched`: it brought
    a fate or took something back. A process whose sink was renamed is linked to the application under its present name.
    Returns the processes whose meaning may have changed: all of the application's when it was touched or this run
    speaks of what has a fate; else this run's own, and those that wait for a table that it names.
    """
    fates = fates_of(storage, application_run)
    links = _all_links(storage, application_run, fates)
    own = set(spoken)
    assets = {asset for content in contents for asset in (*content.inputs, *content.outputs)}
    called = {table.rpartition(".")[2] for asset in assets for table in asset.tables}
    waiting = {key for key, link in links.items() if called & set(link.wants)}
    everything = (
        touched
        or (waiting and fates)
        or fates.concerns(assets)
        or any(fates.concerns((links[key].sink,)) for key in own if key in links)
    )
    concerned = own | (set(links) if everything else waiting)
    for process in sorted(concerned):
        storage.insert(CONTRIBUTIONS, Row(partition=process, key=f"{application_run}|{FATED}"))
    return concerned


def _all_links(storage: Storage, application_run: str, fates: Fates) -> dict[str, Link]:
    """What the application wrote, by process: also under the names that renamings gave."""
    links: dict[str, Link] = {}
    todo = [(row.key.removeprefix(LINK), link_of(row, storage)) for row in links_of(storage, application_run)]
    while todo:
        key, link = todo.pop()
        if key in links:
            continue
        links[key] = link
        move = fates.renamed.get(link.sink.qualified_name)
        if move and move.asset:
            after = Link(name=present_name(link.name, move), sink=move.asset, wants=link.wants)
            storage.insert(RUNS, link_row(storage, application_run, after))
            todo.append((process_key(after.name), after))
    return links
