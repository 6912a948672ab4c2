"""What the runs of one application leave for one another, as rows in the application's partition of `runs`.

A run that tells something writes it down first and then looks for those whom it concerns; a run whom it may concern
writes its own rows first and then looks for what was told. One of the two always sees the other, in any order.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta

import msgspec

from shared.errors import Contended
from shared.model import Asset, Process, Span
from shared.naming import Names
from shared.openlineage import MergedRun
from shared.pipeline.places import CONTRIBUTIONS, LINK, RUNS, digest_of, links_of, process_key, stamp, written_by
from shared.pipeline.records import ContributionRecord, packed_cell, unpacked_cell
from shared.storage import Row, Storage, Value
from shared.translation import (
    AT_ONCE,
    Around,
    Batch,
    Fate,
    Fates,
    Told,
    batch_of,
    enclosing,
    fates_in,
    names_no_source,
    present_name,
    told_by,
)

_TOLD = "application"
_BATCH, _ALONE, _FATE = "batch|", "alone|", "fate|"
_TRIES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """What is known of an application as a whole.

    `told`: what its runs have told; `heard`: how much of that all runs it concerns have been settled with; `fates`:
    whether what it says counts only together (see FATED); `streams`: whether it left any batch.
    """

    run: str
    told: Told = field(default_factory=Told)
    heard: Told = field(default_factory=Told)
    fates: bool = False
    streams: bool = False
    etag: str = ""

    def row(self, storage: Storage) -> Row:
        """As a row of `runs`."""
        cell = packed_cell(storage, "told", (self.told, self.heard))
        values: dict[str, Value] = {"fates": self.fates, "streams": self.streams, **cell}
        return Row(partition=self.run, key=_TOLD, etag=self.etag, values=values)


_decode_told = msgspec.json.Decoder(tuple[Told, Told]).decode


def application(storage: Storage, run: str) -> Application:
    """What is known of this application: a point read."""
    found = storage.read(RUNS, run, _TOLD)
    if found is None:
        return Application(run=run)
    told, heard = _decode_told(unpacked_cell(storage, "told", found))
    return Application(
        run=run,
        told=told,
        heard=heard,
        fates=bool(found.values["fates"]),
        streams=bool(found.values["streams"]),
        etag=found.etag,
    )


def tell(storage: Storage, run: str, told: Told, *, fates: bool = False, streams: bool = False) -> Application:
    """Add to what is known of an application; writes only what is new. Returns what is known then."""
    for _ in range(_TRIES):
        known = application(storage, run)
        wanted = replace(known, told=known.told | told, fates=known.fates or fates, streams=known.streams or streams)
        if wanted == known:
            return known
        etag = storage.replace(RUNS, wanted.row(storage)) if known.etag else storage.insert(RUNS, wanted.row(storage))
        if etag:
            return replace(wanted, etag=etag)
    raise Contended(f"What is known of the application {run} kept changing", after=2)


def note_heard(storage: Storage, known: Application) -> None:
    """All runs that `known.told` concerns have been settled with it. Unless more was told meanwhile: then whoever told
    it goes on.
    """
    storage.replace(RUNS, replace(known, heard=known.told).row(storage))


def note_batch(storage: Storage, application_run: str, batch: Batch, before: Span | None) -> None:
    """Leave a stream's batch for what was written inside of it; `before` is when it was thought to have run."""
    storage.upsert(
        RUNS,
        Row(
            partition=application_run,
            key=_batch_key(batch.seen, batch.run_id),
            values=packed_cell(storage, "batch", batch),
        ),
    )
    if before and before.last != batch.seen.last:
        storage.delete(RUNS, application_run, _batch_key(before, batch.run_id))


def _batch_key(seen: Span, run_id: str) -> str:
    return f"{_BATCH}{stamp(seen.last)}|{run_id}"


_decode_batch = msgspec.json.Decoder(Batch).decode
_MOMENT = timedelta(microseconds=1)


def batches_after(storage: Storage, run: MergedRun) -> Iterator[Batch]:
    """The batches of the run's application that ended after it, one after the other: the first that fits will do."""
    rows = storage.partition(RUNS, run.application_run, since=f"{_BATCH}{stamp(run.last)}", before=f"{_BATCH}~")
    return (_decode_batch(unpacked_cell(storage, "batch", row)) for row in rows)


def note_alone(storage: Storage, run: MergedRun) -> None:
    """Leave word that this run writes and names no source: a batch around it may tell."""
    storage.insert(RUNS, Row(partition=run.application_run, key=f"{_ALONE}{stamp(run.last)}|{run.run_id}"))


def alone_within(storage: Storage, application_run: str, span: Span) -> list[str]:
    """The runs of the application that ended within this time and name no source."""
    rows = storage.partition(
        RUNS,
        application_run,
        since=f"{_ALONE}{stamp(span.first)}",
        before=f"{_ALONE}{stamp(span.last + _MOMENT)}",
    )
    return sorted({row.key.rpartition("|")[2] for row in rows})


_decode_fate = msgspec.json.Decoder(Fate).decode


def note_fate(storage: Storage, application_run: str, fate: Fate) -> None:
    """Leave word of what became of a data set; of each kind the latest stays."""
    key = f"{_FATE}{digest_of(fate.qualified_name.encode())}|{fate.state}"
    fresh = Row(partition=application_run, key=key, values=packed_cell(storage, "fate", fate))
    for _ in range(_TRIES):
        if storage.insert(RUNS, fresh):
            return
        found = storage.read(RUNS, application_run, key)
        known = _decode_fate(unpacked_cell(storage, "fate", found)) if found else None
        if known and (known.at, known.after) >= (fate.at, fate.after):
            return
        if found and storage.replace(RUNS, replace(fresh, etag=found.etag)):
            return
    raise Contended(f"What became of the data sets of the application {application_run} kept changing", after=2)


def fates_of(storage: Storage, application_run: str) -> Fates:
    """What became of the application's data sets."""
    rows = storage.partition(RUNS, application_run, since=_FATE, before=f"{_FATE}~")
    return Fates.of(_decode_fate(unpacked_cell(storage, "fate", row)) for row in rows)


def listen(storage: Storage, run: MergedRun, names: Names) -> Around:
    """What the other runs of its application, and this one, have told so far of what concerns this run."""
    if names_no_source(run):
        note_alone(storage, run)
    return around(storage, run, application(storage, run.application_run), names)


def around(storage: Storage, run: MergedRun, known: Application, names: Names) -> Around:
    """What concerns this run of what is `known` of its application."""
    streams = known.streams and names_no_source(run)
    batches = _first_around(batches_after(storage, run), run) if streams else ()
    return Around(told=known.told | told_by(run), batches=batches, names=names)


def _first_around(batches: Iterable[Batch], run: MergedRun) -> tuple[Batch, ...]:
    """As `enclosing`, of batches in the order of their ends: no more are read than those that may be it."""
    found: list[Batch] = []
    for batch in batches:
        if found and batch.seen.last > found[0].seen.last + AT_ONCE:
            break
        found += enclosing((batch,), run)
    return enclosing(found, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What came of telling: what is `known` of the application then; the runs `inside` of this one, if it is a batch,
    which are to be settled anew; and whether this run brought any data set its `fate`.
    """

    known: Application
    inside: tuple[str, ...] = ()
    fate: bool = False


def leave_word(storage: Storage, run: MergedRun, heard: Around, before: Span | None, *, wants: bool = False) -> Word:
    """Leave what this run tells the others of its application, having heard what they tell; `before` is when it was
    thought to have run, `wants` whether its statement names tables that others may know.
    """
    batch, fates = batch_of(run, heard), fates_in(run, heard)
    known = tell(storage, run.application_run, told_by(run), fates=bool(fates) or wants, streams=batch is not None)
    for fate in fates:
        note_fate(storage, run.application_run, fate)
    if batch is None:
        return Word(known=known, fate=bool(fates))
    note_batch(storage, run.application_run, batch, before)
    alone = alone_within(storage, run.application_run, batch.ends)
    return Word(known=known, inside=tuple(each for each in alone if each != run.run_id), fate=bool(fates))


def speakers(storage: Storage, application_run: str) -> set[str]:
    """The runs behind all contributions of an application."""
    found: set[str] = set()
    for process in written_by(storage, application_run):
        for _, record in contributions_of(storage, process, application_run):
            found |= {run for run, word in record.supporters.items() if not word.withdrawn}
    return found


def contributions_of(storage: Storage, process: str, application_run: str) -> Iterator[tuple[Row, ContributionRecord]]:
    """What one application run says of a process: the rows, and the records whose contents are not read yet."""
    rows = storage.partition(CONTRIBUTIONS, process, since=f"{application_run}|", before=f"{application_run}|{FATED}")
    return ((row, ContributionRecord.without_content(row)) for row in rows)


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
    storage: Storage, run: MergedRun, spoken: Iterable[str], contents: Iterable[Process], *, fate: bool
) -> set[str]:
    """Have what an application wrote know that what it says counts only together with the rest.

    `spoken` are the processes that this run spoke of, now or before, `contents` what it says now; `fate` tells whether
    it brought any fate itself. A process whose sink was renamed is linked to the application under its present name.
    Returns the processes whose meaning may have changed: all of the application's when this run brought a fate or
    touched what has one, and those that wait for a table that it names.
    """
    fates = fates_of(storage, run.application_run)
    links = _all_links(storage, run.application_run, fates)
    own = set(spoken)
    contents = tuple(contents)
    assets = {asset for content in contents for asset in (*content.inputs, *content.outputs)}
    touched = fate or fates.concerns(assets) or any(fates.concerns((links[key].sink,)) for key in own if key in links)
    called = {table.rpartition(".")[2] for asset in assets for table in asset.tables}
    concerned = own | {key for key, link in links.items() if touched or called & set(link.wants)}
    for process in sorted(concerned):
        storage.insert(CONTRIBUTIONS, Row(partition=process, key=f"{run.application_run}|{FATED}"))
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
