"""The archive: its files, and the index beside each.

The files of the archive: JSON lines, an event a line, those of one run packed together as one member of a gzip file.

A gzip file may consist of several members (RFC 1952, 2.2): readers of the file get them one after the other, and a
reader that knows where a member begins can read that one alone. docs/reference/archive.md describes the lines for other
readers.

The index of the archive: beside each file a blob says which runs and events it holds, where they begin, and what
their states were when their runs were closed.

The index is written after the file, and before the blobs in `events` are deleted; it goes with its file.
"""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter

import msgspec

from shared.errors import Refused, ThroughlineError
from shared.openlineage.decoding import decode, on_one_line
from shared.secrets import text_without_secrets
from shared.storage.port import Storage
from shared.storage_layout import ARCHIVE, EVENTS, LONGEST_JOB_NAME, StoredEvent, event_of_blob, stored_from_blob

_GZIP = 31
"""zlib's window for one whole gzip member, with its header and checksum."""

_SLICE = 1 << 20

DAMAGED = (OSError, EOFError, zlib.error)
"""What unpacking a damaged gzip raises."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One event: the name that its `blob` had, in `events` or, where `ignored` says why, in `ignored`.

    `event` is the text exactly as received; for a blob without text, `packed` are its bytes. `job` is the job's name,
    if the text has it. `arrived`: when the blob was written; `closed`: up to which arrival the events of its run
    counted.
    """

    digest: str
    run: str | None = None
    job: str = ""
    blob: str
    arrived: datetime
    closed: datetime | None = None
    ignored: str | None = None
    event: str | None = None
    packed: bytes | None = None

    @property
    def raw(self) -> bytes | None:
        """The bytes as they were received; None if they were damaged then."""
        return unpacked(self.packed) if self.event is None else self.event.encode()

    def compressed(self, level: int = 6) -> bytes:
        """The gzip of the event, as a blob in `events` would hold it."""
        return (self.packed or b"") if self.event is None else gzip.compress(self.event.encode(), level, mtime=0)


def unpacked(compressed: bytes | None) -> bytes | None:
    """The bytes of an event's blob; None if they are damaged or lost."""
    try:
        return gzip.decompress(compressed) if compressed is not None else None
    except DAMAGED:
        return None


def with_content(line: Line, compressed: bytes) -> Line:
    """The line with what the blob held: its text, or its bytes where it is damaged."""
    try:
        raw = gzip.decompress(compressed)
        return msgspec.structs.replace(line, event=raw.decode(), job=job_in(raw))
    except (*DAMAGED, UnicodeDecodeError):
        return msgspec.structs.replace(line, packed=compressed)


class _Job(msgspec.Struct):
    name: str = ""


class _Body(msgspec.Struct):
    job: _Job = msgspec.field(default_factory=_Job)


_decode_body = msgspec.json.Decoder(_Body).decode


def job_in(raw: bytes) -> str:
    """The name of the job in an event's bytes, as the receiver notes it; empty where they have none."""
    try:
        name = on_one_line(_decode_body(raw).job.name)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        name = _decoded_job(raw)
    return text_without_secrets(name[:LONGEST_JOB_NAME])


def _decoded_job(raw: bytes) -> str:
    """The same from bytes that are no valid JSON, which `decode` can read where their writer is known."""
    try:
        event = decode(raw)
    except Refused:
        return ""
    return event.body.job.name if event.body else ""


def member_of(lines: Iterable[Line]) -> bytes:
    """Lines as one gzip member; one line is in memory at a time."""
    packer = zlib.compressobj(6, wbits=_GZIP)
    parts: list[bytes] = []
    for line in lines:
        parts += [packer.compress(msgspec.json.encode(line)), packer.compress(b"\n")]
    return b"".join([*parts, packer.flush()])


_decode = msgspec.json.Decoder(Line).decode


def lines_of(member: bytes) -> Iterator[Line]:
    """The lines of one member. Raises zlib.error or msgspec.DecodeError where the file was damaged."""
    return (line for line, _ in _lines(member, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Where a member lies in its file, and its lines without their contents."""

    offset: int
    length: int
    lines: tuple[Line, ...]


def members_of(file: bytes) -> Iterator[Member]:
    """The members of a whole file, one after the other."""
    offset = 0
    while offset < len(file):
        lines: list[Line] = []
        end = offset
        for line, unpacked in _lines(file, offset):
            lines.append(msgspec.structs.replace(line, event=None, packed=None))
            end = unpacked
        yield Member(offset=offset, length=end - offset, lines=tuple(lines))
        offset = end


def _lines(file: bytes, offset: int) -> Iterator[tuple[Line, int]]:
    """The lines of the member at an offset, and where in the file what has been unpacked so far ends: with the last
    line, that is the end of the member. A slice is unpacked at a time.
    """
    unpacker = zlib.decompressobj(wbits=_GZIP)
    partial_line, position, compressed = b"", offset, memoryview(file)
    held_line: Line | None = None
    while not unpacker.eof:
        feed = unpacker.unconsumed_tail or compressed[position : position + _SLICE]
        if not len(feed):
            raise zlib.error("a member of an archive's file is cut off")
        position += 0 if unpacker.unconsumed_tail else len(feed)
        *whole_lines, partial_line = (partial_line + unpacker.decompress(feed, _SLICE)).split(b"\n")
        for text in whole_lines:
            if held_line:
                yield held_line, position
            held_line = _decode(text)
    if held_line:
        yield held_line, position - len(unpacker.unused_data)


_FILE_ENDING = ".jsonl.gz"
_INDEX_ENDING = ".index.json.gz"
_BLOB_ENDING = ".json.gz"
_IGNORED = "ignored/"


class ArchiveMissing(ThroughlineError):  # noqa: N818 - named for what became of it
    """A file of the archive is missing or damaged: its events can't be read any more."""


class IndexedRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The events of a run in a file, or those that were ignored for one reason.

    `folder`: where their blobs lay in `events` or `ignored`; `names` of these, without their ending; `states`: of each
    event its state and the reason. `offset`, `length`: of the member, in bytes.
    """

    folder: str
    offset: int
    length: int
    names: tuple[str, ...]
    states: tuple[tuple[str, str], ...]
    job: str = ""
    ignored: str = ""

    @property
    def blobs(self) -> tuple[str, ...]:
        """The names that the blobs had."""
        return tuple(f"{self.folder}/{name}{_BLOB_ENDING}" for name in self.names)

    @property
    def events(self) -> tuple[StoredEvent, ...]:
        """The stored events; none where they were ignored."""
        return () if self.ignored else tuple(stored_from_blob(blob) for blob in self.blobs)

    @property
    def run_id(self) -> str:
        """The run's id; empty for ignored events."""
        return "" if self.ignored else self.folder.rpartition("/")[2]

    def day(self, name: str) -> str:
        """The day of an event, as `2026-11-21`: of an ignored one by the folder, of others by the name."""
        return "-".join(self.folder.split("/")[:3]) if self.ignored else f"{name[:4]}-{name[4:6]}-{name[6:8]}"


_encode = msgspec.json.Encoder().encode
_decode_index = msgspec.json.Decoder(tuple[IndexedRun, ...]).decode


def indexed_run(member: Member, states: dict[str, tuple[str, str]]) -> IndexedRun:
    """The entry of a member of a file; `states` by digest."""
    first = member.lines[0]
    return IndexedRun(
        folder=first.blob.rpartition("/")[0],
        offset=member.offset,
        length=member.length,
        names=tuple(line.blob.rpartition("/")[2].removesuffix(_BLOB_ENDING) for line in member.lines),
        states=tuple(states.get(line.digest, ("skipped", line.ignored or "")) for line in member.lines),
        job=next((line.job for line in member.lines if line.job), ""),
        ignored=first.ignored or "",
    )


def file_of(folder: str, batch: str, *, ignored: bool) -> str:
    """The file of a batch whose first blob lay in this folder: by hour, what was ignored apart and by its reason."""
    hour = "/".join(folder.split("/")[:4])
    return f"{_IGNORED}{folder}/{batch}{_FILE_ENDING}" if ignored else f"{hour}/{batch}{_FILE_ENDING}"


def index_of(file: str) -> str:
    """The name of the index beside a file."""
    return f"{file.removesuffix(_FILE_ENDING)}{_INDEX_ENDING}"


def is_index(name: str) -> bool:
    """Whether a blob in `archive` is an index."""
    return name.endswith(_INDEX_ENDING)


def write_index(storage: Storage, file: str, runs: tuple[IndexedRun, ...]) -> None:
    """Write the index of a file, unless it is there: its name and content follow from the file's."""
    storage.put_new(ARCHIVE, index_of(file), gzip.compress(_encode(runs), mtime=0))


def read_index(storage: Storage, file: str) -> tuple[IndexedRun, ...]:
    """The index of a file; empty where there is none. Raises ArchiveMissing for a damaged one."""
    compressed = storage.get(ARCHIVE, index_of(file))
    with damage_named(index_of(file)):
        return _decode_index(gzip.decompress(compressed)) if compressed else ()


def indexes_below(storage: Storage, prefix: str) -> Iterator[tuple[str, tuple[IndexedRun, ...]]]:
    """The files below a prefix, each with its index; those of ignored events only where the prefix says so. Raises
    ArchiveMissing for a damaged index.
    """
    of_ignored = prefix.startswith(_IGNORED)
    for fact in storage.blobs(ARCHIVE, prefix):
        if is_index(fact.name) and fact.name.startswith(_IGNORED) == of_ignored:
            file = f"{fact.name.removesuffix(_INDEX_ENDING)}{_FILE_ENDING}"
            yield file, read_index(storage, file)


def indexes_of_hour(storage: Storage, event: StoredEvent) -> Iterator[tuple[str, tuple[IndexedRun, ...]]]:
    """The files that may hold an event, each with its index."""
    return indexes_below(storage, f"{event.time:%Y/%m/%d/%H}/")


def lines_in(storage: Storage, file: str, run: IndexedRun) -> Iterator[Line]:
    """The lines of one run in a file, by one read of that part. Raises ArchiveMissing."""
    part = storage.get_part(ARCHIVE, file, run.offset, run.length)
    if part is None:
        raise ArchiveMissing(f"{ARCHIVE}/{file} is missing: restore it from a copy of the account")
    with damage_named(file):
        yield from lines_of(part)


def all_lines(storage: Storage, file: str) -> Iterator[Line]:
    """The lines of a whole file of the archive; none where it is missing. Raises ArchiveMissing for a damaged one."""
    content = storage.get(ARCHIVE, file) or b""
    with damage_named(file):
        for member in members_of(content):
            yield from lines_of(content[member.offset : member.offset + member.length])


def all_members_in(file: str, content: bytes) -> tuple[Member, ...]:
    """The members of this file of the archive, once all of it has been read. Raises ArchiveMissing where it is damaged;
    no file is written empty.
    """
    with damage_named(file):
        if not content:
            raise zlib.error("it is empty")
        return tuple(members_of(content))


@contextmanager
def damage_named(file: str) -> Iterator[None]:
    """Raise errors of unpacking this file of the archive as ArchiveMissing."""
    try:
        yield
    except (zlib.error, OSError, EOFError, msgspec.DecodeError) as error:
        raise ArchiveMissing(f"{ARCHIVE}/{file} is damaged ({error}): restore it from a copy of the account") from error


def stored_packed(storage: Storage, blob: str) -> bytes | None:
    """The gzip of an event, by the name that its blob has or had in `events`; None when it is stored nowhere."""
    compressed = storage.get(EVENTS, blob)
    event = event_of_blob(blob) if compressed is None else None
    return archived_packed(storage, [event]).get(event) if event else compressed


def archived_packed(storage: Storage, events: Iterable[StoredEvent]) -> dict[StoredEvent, bytes]:
    """The gzip of those of these events that are in the archive. What a file has of a run and an hour is read once."""
    packed: dict[StoredEvent, bytes] = {}
    for folder, group in groupby(sorted(events, key=_FOLDER), key=_FOLDER):
        missing = {event.blob: event for event in group}
        for file, runs in indexes_of_hour(storage, next(iter(missing.values()))):
            for run in runs:
                if run.folder == folder and not missing.keys().isdisjoint(run.blobs):
                    with suppress(ArchiveMissing):
                        for line in lines_in(storage, file, run):
                            if event := missing.pop(line.blob, None):
                                packed[event] = line.compressed()
            if not missing:
                break
    return packed


_FOLDER = attrgetter("folder")


def is_stored(storage: Storage, blob: str) -> bool:
    """Whether there is an event of this name, in `events` or in the archive."""
    first = next(storage.blobs(EVENTS, blob), None)  # by name: the one that is called just so comes first
    return (first is not None and first.name == blob) or _in_archive(storage, blob) is not None


def _in_archive(storage: Storage, blob: str) -> tuple[str, IndexedRun] | None:
    event = event_of_blob(blob)
    indexes = indexes_of_hour(storage, event) if event else iter(())
    return next(((file, run) for file, runs in indexes for run in runs if blob in run.blobs), None)


def job_in_archive(storage: Storage, event: StoredEvent) -> str:
    """The job's name as it was noted before the event was archived."""
    location = _in_archive(storage, event.blob)
    return location[1].job if location else ""
