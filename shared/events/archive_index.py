"""Find the events of closed runs in the archive, and read the stored events of a run from both places.

`runs` has a row for each file with events of a run. It is written after the file and before the blobs in `events` are
deleted: a reader that finds neither blob nor row reads the row once more.
"""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from shared.errors import ThroughlineError
from shared.events.archive_format import Line, Member, lines_of, members_of
from shared.events.blob_cache import PackedEvents
from shared.records.cells import PackedCell, cells_of, record_of
from shared.records.run_state import RunState
from shared.storage.port import Row, Storage
from shared.storage_layout import ARCHIVE, EVENTS, RUNS, StoredEvent, event_of_blob, reason_of_ignored, stored_from_blob

ARCHIVED = "archived|"
"""Prefix of the keys in `runs` of the rows with a run's events in the archive."""

CLOSED = "closed"
"""Why an event is skipped that arrived after its run was closed."""

_IGNORED = "ignored|"
_ENDING = ".json.gz"
NAMES = PackedCell(name="names", decoder=msgspec.json.Decoder(tuple[str, ...]))
"""The names in a row of the index."""


class ArchiveMissing(ThroughlineError):  # noqa: N818 - named for what became of it
    """A file of the archive is missing or damaged: its events can't be read any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """The events of a run, or those that were ignored for one reason, in one file: `names` are those of their blobs, in
    the `folder` in which these lay in `events` or `ignored`.
    """

    folder: str
    batch: str
    offset: int
    length: int
    names: tuple[str, ...]
    ignored: bool = False
    job: str = ""

    @classmethod
    def of_member(cls, batch: str, member: Member) -> "Archived":
        """Of a member of the file of this batch."""
        first = member.lines[0]
        return cls(
            folder=first.blob.rpartition("/")[0],
            batch=batch,
            offset=member.offset,
            length=member.length,
            names=tuple(line.blob.rpartition("/")[2].removesuffix(_ENDING) for line in member.lines),
            ignored=first.ignored is not None,
            job=next((line.job for line in member.lines if line.job), ""),
        )

    @property
    def file(self) -> str:
        """The name of the file in `archive`."""
        return file_of(self.folder, self.batch, ignored=self.ignored)

    @property
    def blobs(self) -> tuple[str, ...]:
        """The names that the blobs had."""
        return tuple(f"{self.folder}/{name}{_ENDING}" for name in self.names)

    @property
    def events(self) -> tuple[StoredEvent, ...]:
        """The stored events of these names; none where they were ignored."""
        return () if self.ignored else tuple(stored_from_blob(blob) for blob in self.blobs)

    @property
    def reason(self) -> str:
        """Why they were ignored."""
        return reason_of_ignored(self.blobs[0])

    @property
    def partition(self) -> str:
        """The partition of `runs` in which its row lies."""
        return partition_of(self.folder, ignored=self.ignored)

    def row(self, storage: Storage) -> Row:
        """As a row of `runs`."""
        hour = self.folder.rpartition("/")[0].replace("/", "")
        values = {**cells_of(self, without=("batch", "names")), **NAMES.pack(storage, self.names)}
        return Row(partition=self.partition, key=f"{ARCHIVED}{hour}|{self.batch}", values=values)

    @classmethod
    def of(cls, row: Row, storage: Storage) -> "Archived":
        """From a row of `runs`."""
        return record_of(cls, row, batch=row.key.rpartition("|")[2], names=NAMES.unpack(storage, row))


def file_of(folder: str, batch: str, *, ignored: bool) -> str:
    """The file of a batch: by hour, what was ignored apart and by its reason."""
    hour = folder.rpartition("/")[0]
    return f"ignored/{folder}/{batch}.jsonl.gz" if ignored else f"{hour}/{batch}.jsonl.gz"


def partition_of(folder: str, *, ignored: bool) -> str:
    """The partition of `runs` that has the rows of this folder's events: the run's, or for ignored events that of their
    hour and reason.
    """
    return f"{_IGNORED}{folder.replace('/', '|')}" if ignored else folder.rpartition("/")[2]


def archived_of(storage: Storage, partition: str) -> Iterator[Archived]:
    """The events of a run in the archive, by file: one query."""
    rows = storage.partition(RUNS, partition, since=ARCHIVED, before=f"{ARCHIVED}~")
    return (Archived.of(row, storage) for row in rows)


def lines_in(storage: Storage, archived: Archived) -> Iterator[Line]:
    """The lines of one run in a file, by one read of that part. Raises ArchiveMissing."""
    part = storage.get_part(ARCHIVE, archived.file, archived.offset, archived.length)
    if part is None:
        raise ArchiveMissing(f"{ARCHIVE}/{archived.file} is missing: restore it from a copy of the account")
    with damage_named(archived.file):
        yield from lines_of(part)


def members_in(storage: Storage, file: str) -> Iterator[Member]:
    """The members of a whole file of the archive; none where it is missing. Raises ArchiveMissing for a damaged one."""
    with damage_named(file):
        yield from members_of(storage.get(ARCHIVE, file) or b"")


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
    except (zlib.error, msgspec.DecodeError) as error:
        raise ArchiveMissing(f"{ARCHIVE}/{file} is damaged ({error}): restore it from a copy of the account") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A stored event: as the `packed` bytes of its blob, or as a `line` of the archive."""

    place: StoredEvent
    packed: bytes = b""
    line: Line | None = None

    def raw(self) -> bytes:
        """The bytes as they were received. Raises one of DAMAGED where they are damaged."""
        return self.line.raw() if self.line else gzip.decompress(self.packed)


def kept_events(
    storage: Storage,
    state: RunState,
    noted: Iterable[StoredEvent],
    archived: Iterable[Archived],
    known: PackedEvents,
) -> Iterator[Kept]:
    """The stored events of a run that count, each once: those that are `noted`, from `known` bytes by digest or from
    their blobs, and those in the archive. Of a closed run only those with which it was closed.

    Raises ArchiveMissing where a file of the archive is not there.
    """
    seen: set[str] = set()

    def counts(digest: str) -> bool:
        return digest not in seen and (state.closed is None or digest in state.merged)

    def from_archive(members: Iterable[Archived]) -> Iterator[Kept]:
        for member in members:
            for line in lines_in(storage, member):
                if counts(line.digest):
                    seen.add(line.digest)
                    yield Kept(place=line.place, line=line)

    yield from from_archive(archived)
    missing = False
    for place in noted:
        if not counts(place.digest):
            continue
        packed = known.get(place.digest) or storage.get(EVENTS, place.blob)
        if packed is None:
            missing = True  # a row without a blob is no event: its sender never got a 2xx; or it has just moved
            continue
        seen.add(place.digest)
        yield Kept(place=place, packed=packed)
    if missing and state.closed:
        yield from from_archive(archived_of(storage, state.run_id))


def stored_packed(storage: Storage, blob: str) -> bytes | None:
    """The gzip of an event, by the name that its blob has or had in `events`; None when it is stored nowhere."""
    packed = storage.get(EVENTS, blob)
    if packed is not None:
        return packed
    found = _in_archive(storage, blob)
    try:
        lines = lines_in(storage, found) if found else iter(())
        line = next((line for line in lines if line.blob == blob), None)
    except ArchiveMissing:
        return None
    if line is None:
        return None
    return line.packed if line.event is None else gzip.compress(line.event.encode(), mtime=0)


def is_stored(storage: Storage, blob: str) -> bool:
    """Whether there is an event of this name, in `events` or in the archive."""
    first = next(storage.blobs(EVENTS, blob), None)  # by name: the one that is called just so comes first
    return (first is not None and first.name == blob) or _in_archive(storage, blob) is not None


def _in_archive(storage: Storage, blob: str) -> Archived | None:
    place = event_of_blob(blob)
    archived = archived_of(storage, place.run_id) if place else ()
    return next((each for each in archived if blob in each.blobs), None)


def job_in_archive(storage: Storage, place: StoredEvent) -> str:
    """The job's name as it was noted before the event was archived."""
    found = _in_archive(storage, place.blob)
    return found.job if found else ""
