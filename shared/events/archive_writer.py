"""Move one batch of events into a file of the archive: on record first, so that a crash anywhere leaves one file."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

import msgspec

from shared.concurrency.parallel_map import ParallelMap
from shared.errors import WriteConflict
from shared.events.archive_format import Line, member_of, members_of, with_content
from shared.events.archive_index import (
    ARCHIVED,
    Archived,
    ArchiveMissing,
    all_members_in,
    archived_of,
    file_of,
    partition_of,
)
from shared.records.cells import PackedCell
from shared.storage.port import Row, Storage
from shared.storage_layout import (
    ARCHIVE,
    CONTENTS,
    CONTROL,
    EVENTS,
    IGNORED,
    RUNS,
    digest_of,
    reason_of_ignored,
    stored_from_blob,
)

_LOG = logging.getLogger("throughline.archive")
_PENDING = ("archive", "pending")


class Item(msgspec.Struct, frozen=True, array_like=True):
    """A blob to be archived: where it lies, when it came, how large it is; and when its run was `closed`."""

    container: str
    blob: str
    arrived: datetime
    size: int
    closed: datetime | None = None

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


def begin(storage: Storage, items: tuple[Item, ...]) -> Batch | None:
    """Put a batch on record; None when another one is there still."""
    partition, key = _PENDING
    row = Row(partition=partition, key=key, values=_ITEMS.pack(storage, items))
    etag = storage.insert(CONTROL, row)
    return Batch(items=items, etag=etag, overflow=_ITEMS.blob(row)) if etag else None


def pending_batch(storage: Storage) -> Batch | None:
    """The batch that was begun and not ended."""
    found = storage.read(CONTROL, *_PENDING)
    if found is None:
        return None
    return Batch(
        items=_ITEMS.unpack(storage, found),
        damaged=int(str(found.values.get("damaged", 0))),
        etag=found.etag,
        overflow=_ITEMS.blob(found),
    )


def write_batch(storage: Storage, batch: Batch, calls: ParallelMap) -> int:
    """Write the file of a batch that is on record, and delete its blobs. How many events were written.

    Any part of that may have been done before: a file that is there, of the same events, is not written again, unless
    it is damaged. Raises ArchiveMissing where it is, and some of its blobs are deleted already.
    """
    file = storage.get(ARCHIVE, batch.file)
    there_already: frozenset[str] = frozenset()
    is_new = False
    while file is not None and (damage := _damage_of(batch.file, file)):
        batch = _begin_again(storage, batch, calls, damage)
        file = storage.get(ARCHIVE, batch.file)
    if file is None:
        file, there_already = _file_of(storage, batch, calls)
        is_new = bool(file) and storage.put_new(ARCHIVE, batch.file, file)
        if file and not is_new:
            file = storage.get(ARCHIVE, batch.file) or b""  # another worker has just written it
    members = tuple(members_of(file))
    calls.all(lambda member: storage.upsert(RUNS, Archived.of_member(batch.name, member).row(storage)), members)
    packed = {line.blob for member in members for line in member.lines}
    done = (item for item in batch.items if item.blob in packed or item.blob in there_already)
    calls.all(lambda item: _delete_archived(storage, item), done)
    for number in range(batch.damaged):
        storage.delete_blob(ARCHIVE, replace(batch, damaged=number).file)
    if storage.delete(CONTROL, *_PENDING, batch.etag) and batch.overflow:
        storage.delete_blob(CONTENTS, batch.overflow)
    _LOG.info("archived file=%s events=%d bytes=%d", batch.file, len(packed), len(file))
    return len(packed) if is_new else 0


def _damage_of(name: str, file: bytes) -> ArchiveMissing | None:
    try:
        all_members_in(name, file)
    except ArchiveMissing as error:
        return error
    return None


def _begin_again(storage: Storage, batch: Batch, calls: ParallelMap, damage: ArchiveMissing) -> Batch:
    """Put the batch of a damaged file on record to be written to another one; first the rows that locate its events in
    the damaged file are deleted, so that these count through their blobs again.

    Raises `damage` unless all blobs of the batch are there, and WriteConflict if another worker was first.
    """
    if not all(calls.each(lambda item: storage.get(item.container, item.blob) is not None, batch.items)):
        raise damage
    for folder, item in {item.folder: item for item in batch.items}.items():
        partition = partition_of(folder, ignored=item.ignored)
        for row in list(storage.partition(RUNS, partition, since=ARCHIVED, before=f"{ARCHIVED}~")):
            if row.key.endswith(f"|{batch.name}"):
                storage.delete(RUNS, partition, row.key)
    partition, key = _PENDING
    again = replace(batch, damaged=batch.damaged + 1)
    values = {**_ITEMS.pack(storage, batch.items), "damaged": again.damaged}
    etag = storage.replace(CONTROL, Row(partition=partition, key=key, values=values, etag=batch.etag))
    if etag is None:
        raise WriteConflict("Another worker archives the same events", after=60)
    _LOG.warning("written to another file events=%d error=%s", len(batch.items), damage)
    return replace(again, etag=etag)


def _file_of(storage: Storage, batch: Batch, calls: ParallelMap) -> tuple[bytes, frozenset[str]]:
    """The file of the events to archive, and the blobs that are archived already: the same event was sent again after
    it had been archived.
    """

    def blobs_of(item: Item) -> Iterator[str]:
        partition = partition_of(item.folder, ignored=item.ignored)
        return (blob for archived in archived_of(storage, partition) for blob in archived.blobs)

    first_of_each = {item.folder: item for item in batch.items}.values()
    there = {blob for blobs in calls.each(lambda item: tuple(blobs_of(item)), first_of_each) for blob in blobs}
    found = calls.each(lambda item: _line(storage, item), (item for item in batch.items if item.blob not in there))
    lines = (line for line in found if line)  # another worker archived the missing ones
    file = b"".join(member_of(group) for _, group in groupby(lines, key=lambda line: line.blob.rpartition("/")[0]))
    return file, frozenset(there & {item.blob for item in batch.items})


def _line(storage: Storage, item: Item) -> Line | None:
    packed = storage.get(item.container, item.blob)
    if packed is None:
        return None
    line = Line(
        digest=item.digest,
        run=None if item.ignored else stored_from_blob(item.blob).run_id,
        blob=item.blob,
        arrived=item.arrived,
        closed=item.closed,
        ignored=reason_of_ignored(item.blob) if item.ignored else None,
    )
    return with_content(line, packed)


def _delete_archived(storage: Storage, item: Item) -> None:
    """The blob first: a row without a blob is no event."""
    storage.delete_blob(item.container, item.blob)
    if item.container == EVENTS:
        place = stored_from_blob(item.blob)
        storage.delete(RUNS, place.run_id, place.row_key)
