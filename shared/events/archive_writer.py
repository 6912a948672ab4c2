"""Move one batch of events into a file of the archive: on record first, so that a crash anywhere leaves one file.

1. The batch is recorded (in `control`, one at a time) before its file is written. The file's name is made of its
   contents, so the next worker continues with the same file after any crash.
2. The file is written, if it does not exist; then the index beside it, the counts of its events by state, and the blobs
   in `events` are deleted. The caller then notes in the records of the runs that these events are archived, and ends
   the batch. Until it is ended, `status` counts its events once (`shared/reading/reader.py`).

All steps are idempotent, also beside a sweeper that lost its lease: only one file of a batch is ever written, and no
batch begins before the recorded one is done. Only in place of a damaged file another one is written, under another
name, while all blobs are there.

Retention: files of the archive that are old enough are deleted, with their counts. Their lineage stays on record.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

import msgspec

from shared.concurrency import ParallelMap
from shared.errors import WriteConflict
from shared.events.archive import (
    ArchiveMissing,
    IndexedRun,
    Line,
    all_members_in,
    file_of,
    index_of,
    indexed_run,
    indexes_below,
    is_index,
    member_of,
    read_index,
    with_content,
    write_index,
)
from shared.records.cells import PackedCell
from shared.storage.port import Row, Storage
from shared.storage_layout import (
    ARCHIVE,
    CONTENTS,
    CONTROL,
    COUNTS,
    IGNORED,
    digest_of,
    reason_of_ignored,
    stored_from_blob,
)

_LOG = logging.getLogger("throughline.archive")
_PENDING = ("archive", "pending")
COUNTS_PARTITION = "event"


class Item(msgspec.Struct, frozen=True, array_like=True):
    """A blob to be archived: where it lies, when it came, how large it is, and the state of its event with the reason;
    when its run was `closed`; the `home` of the run, if the blob's name has another application.
    """

    container: str
    blob: str
    arrived: datetime
    size: int
    state: str
    reason: str = ""
    closed: datetime | None = None
    home: str = ""

    @property
    def folder(self) -> str:
        """The folder in which it lies."""
        return self.blob.rpartition("/")[0]

    @property
    def digest(self) -> str:
        """The digest of its event, from its name."""
        return self.blob.rpartition("/")[2].partition(".")[0].rpartition("_")[2]

    @property
    def ignored(self) -> bool:
        """Whether it is an ignored event's."""
        return self.container == IGNORED


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Events that go into one file. Its `name` is made of which events these are, and of how many files of them were
    `damaged`: a file that takes the place of a damaged one has another name, since its deletion may take effect late.
    """

    items: tuple[Item, ...]
    damaged: int = 0
    etag: str = ""
    overflow: str = ""

    @property
    def name(self) -> str:
        """32 hexadecimal digits."""
        blobs = [f"{item.container}/{item.blob}" for item in self.items]
        return digest_of("\n".join([*blobs, *([str(self.damaged)] if self.damaged else [])]).encode())

    @property
    def file(self) -> str:
        """The name of its file."""
        return file_of(self.items[0].folder, self.name, ignored=self.items[0].ignored)


_ITEMS = PackedCell(name="items", decoder=msgspec.json.Decoder(tuple[Item, ...]))
CountedStates = dict[str, dict[str, int]]
"""By the day of the events: how many are in each state; a skipped one with its reason, as `skipped|reason`."""
_COUNTS = PackedCell(name="states", decoder=msgspec.json.Decoder(CountedStates))


def begin(storage: Storage, items: tuple[Item, ...]) -> Batch | None:
    """Put a batch on record; None when another one is there still."""
    partition, key = _PENDING
    row = Row(partition=partition, key=key, values=_ITEMS.pack(storage, items))
    etag = storage.insert(CONTROL, row)
    return Batch(items=items, etag=etag, overflow=_ITEMS.blob(row)) if etag else None


def pending_batch(storage: Storage) -> Batch | None:
    """The batch that was begun and not ended."""
    row = storage.read(CONTROL, *_PENDING)
    if row is None:
        return None
    return Batch(
        items=_ITEMS.unpack(storage, row),
        damaged=int(str(row.values.get("damaged", 0))),
        etag=row.etag,
        overflow=_ITEMS.blob(row),
    )


def end(storage: Storage, batch: Batch) -> None:
    """Remove a batch from the record: its events are archived, and the records of their runs say so."""
    if storage.delete(CONTROL, *_PENDING, batch.etag) and batch.overflow:
        storage.delete_blob(CONTENTS, batch.overflow)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedFile:
    """A file of the archive, and the states of its events."""

    file: str
    states: CountedStates


def counted_files(storage: Storage) -> dict[str, CountedFile]:
    """All files of the archive, by batch."""
    return {
        row.key: CountedFile(file=str(row.values["file"]), states=_COUNTS.unpack(storage, row))
        for row in storage.partition(COUNTS, COUNTS_PARTITION)
    }


def write_batch(storage: Storage, batch: Batch, calls: ParallelMap) -> tuple[Batch, int]:
    """Write file, index and counts of a batch that is on record, and delete its blobs. The batch as it is then, and how
    many events were written.

    Any part of that may have been done before: a file that is there, of the same events, is not written again, unless
    it is damaged. Raises ArchiveMissing where it is, and some of its blobs are deleted already.
    """
    file = storage.get(ARCHIVE, batch.file)
    repeated: frozenset[str] = frozenset()
    is_new = False
    while file is not None and (damage := _damage_of(batch.file, file)):
        batch = _begin_again(storage, batch, calls, damage)
        file = storage.get(ARCHIVE, batch.file)
    if file is None:
        file, repeated = _file_of(storage, batch, calls)
        is_new = bool(file) and storage.put_new(ARCHIVE, batch.file, file)
        if file and not is_new:
            file = storage.get(ARCHIVE, batch.file) or b""  # another worker has just written it
    members = all_members_in(batch.file, file) if file else ()
    states = {item.digest: (item.state, item.reason) for item in batch.items}
    runs = tuple(indexed_run(member, states) for member in members)
    if runs:
        write_index(storage, batch.file, runs)
        cell = _COUNTS.pack(storage, _counts(runs))
        storage.upsert(COUNTS, Row(partition=COUNTS_PARTITION, key=batch.name, values={**cell, "file": batch.file}))
    archived_blobs = {line.blob for member in members for line in member.lines}
    finished_items = (item for item in batch.items if item.blob in archived_blobs or item.blob in repeated)
    calls.all(lambda item: storage.delete_blob(item.container, item.blob), finished_items)
    for damaged in (replace(batch, damaged=number).file for number in range(batch.damaged)):
        if not storage.delete_blob(ARCHIVE, damaged):
            _LOG.warning("kept by an immutability policy file=%s: it is damaged, and its events are elsewhere", damaged)
    _LOG.info("archived file=%s events=%d bytes=%d", batch.file, len(archived_blobs), len(file))
    return batch, len(archived_blobs) if is_new else 0


def _counts(runs: Iterable[IndexedRun]) -> CountedStates:
    days: dict[str, Counter[str]] = {}
    for run in runs:
        for name, (state, reason) in zip(run.names, run.states, strict=True):
            days.setdefault(run.day(name), Counter())[f"{state}|{reason}" if state == "skipped" else state] += 1
    return {day: dict(states) for day, states in days.items()}


def delete_file(storage: Storage, file: str) -> bool:
    """Delete a file of the archive with its counts and its index, the file last. False, and the counts stay, where an
    immutability policy keeps it: the index, which is younger, is tried first.
    """
    batch = file.rpartition("/")[2].partition(".")[0]
    if not storage.delete_blob(ARCHIVE, index_of(file)):
        return False
    counts = storage.read(COUNTS, COUNTS_PARTITION, batch)
    storage.delete(COUNTS, COUNTS_PARTITION, batch)
    if storage.delete_blob(ARCHIVE, file):
        return True
    if counts:
        storage.upsert(COUNTS, counts)
    return False


def _damage_of(name: str, file: bytes) -> ArchiveMissing | None:
    try:
        all_members_in(name, file)
    except ArchiveMissing as error:
        return error
    return None


def _begin_again(storage: Storage, batch: Batch, calls: ParallelMap, damage: ArchiveMissing) -> Batch:
    """Put the batch of a damaged file on record to be written to another one; first its index and its counts go, so
    that its events count through their blobs again.

    Raises `damage` unless all blobs of the batch are there, and WriteConflict if another worker was first.
    """
    if not all(calls.each(lambda item: storage.get(item.container, item.blob) is not None, batch.items)):
        raise damage
    if not storage.delete_blob(ARCHIVE, index_of(batch.file)):
        raise damage  # an index that a policy keeps would say that these events are archived
    storage.delete(COUNTS, COUNTS_PARTITION, batch.name)
    partition, key = _PENDING
    next_batch = replace(batch, damaged=batch.damaged + 1)
    values = {**_ITEMS.pack(storage, batch.items), "damaged": next_batch.damaged}
    etag = storage.replace(CONTROL, Row(partition=partition, key=key, values=values, etag=batch.etag))
    if etag is None:
        raise WriteConflict("Another worker archives the same events", after=60)
    _LOG.warning("written to another file events=%d error=%s", len(batch.items), damage)
    return replace(next_batch, etag=etag)


def _file_of(storage: Storage, batch: Batch, calls: ParallelMap) -> tuple[bytes, frozenset[str]]:
    """The file of the events to archive, and the blobs that are in another one already: the same event was sent again
    after it had been archived.
    """
    prefix = batch.file.rpartition("/")[0]
    other_indexes = (runs for file, runs in indexes_below(storage, f"{prefix}/") if file != batch.file)
    archived = {blob for runs in other_indexes for run in runs for blob in run.blobs}
    lines = calls.each(lambda item: _line(storage, item), (item for item in batch.items if item.blob not in archived))
    stored_lines = (line for line in lines if line)  # another worker archived the missing ones
    file = b"".join(
        member_of(group) for _, group in groupby(stored_lines, key=lambda line: line.blob.rpartition("/")[0])
    )
    return file, frozenset(archived & {item.blob for item in batch.items})


def _line(storage: Storage, item: Item) -> Line | None:
    compressed = storage.get(item.container, item.blob)
    if compressed is None:
        return None
    line = Line(
        digest=item.digest,
        run=None if item.ignored else stored_from_blob(item.blob).run_id,
        blob=item.blob,
        arrived=item.arrived,
        closed=item.closed,
        ignored=reason_of_ignored(item.blob) if item.ignored else None,
    )
    return with_content(line, compressed)


def delete_old(storage: Storage, moment_before: datetime) -> Iterator[int]:
    """Delete the files that were written before then; how many events were in each, one by one as it is asked for.

    A file that is damaged stays, because it may be mended from a copy; one that an immutability policy keeps stays
    until the policy lets it go.
    """
    kept_files = 0
    for fact in storage.blobs(ARCHIVE):
        if fact.arrived >= moment_before or is_index(fact.name):
            continue
        try:
            events = sum(len(run.names) for run in read_index(storage, fact.name))
            if not events:
                file = storage.get(ARCHIVE, fact.name) or b""
                events = sum(len(member.lines) for member in all_members_in(fact.name, file))
        except ArchiveMissing as error:
            _LOG.error("kept in the archive file=%s error=%s", fact.name, error)
            continue
        if not delete_file(storage, fact.name):
            kept_files += 1
            continue
        _LOG.info("deleted from the archive file=%s events=%d", fact.name, events)
        yield events
    if kept_files:
        _LOG.info("kept in the archive by an immutability policy files=%d", kept_files)
