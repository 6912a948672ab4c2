"""The files of the archive: JSON lines, an event a line, those of one run packed together as one member of a gzip file.

A gzip file may consist of several members (RFC 1952, 2.2): readers of the file get them one after the other, and a
reader that knows where a member begins can read that one alone. docs/reference/archive.md describes the lines for other
readers.
"""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import msgspec

from shared.errors import Refused
from shared.openlineage.decoding import decode, on_one_line
from shared.secrets import text_without_secrets
from shared.storage_layout import LONGEST_JOB_NAME, StoredEvent, stored_from_blob

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
    def place(self) -> StoredEvent:
        """The parts of its blob's name in `events`."""
        return stored_from_blob(self.blob)

    @property
    def is_late(self) -> bool:
        """Whether it came after its run was closed."""
        return self.closed is not None and self.arrived > self.closed

    def raw(self) -> bytes:
        """The bytes as they were received. Raises one of DAMAGED where they were damaged."""
        return gzip.decompress(self.packed or b"") if self.event is None else self.event.encode()


def raw_of(line: Line) -> bytes | None:
    """The bytes of an archived event as they were received; None if they were damaged then."""
    try:
        return line.raw()
    except DAMAGED:
        return None


def unpacked(packed: bytes | None) -> bytes | None:
    """The bytes of an event's blob; None if they are damaged or lost."""
    try:
        return gzip.decompress(packed) if packed is not None else None
    except DAMAGED:
        return None


def with_content(line: Line, packed: bytes) -> Line:
    """The line with what the blob held: its text, or its bytes where it is damaged."""
    try:
        raw = gzip.decompress(packed)
        return msgspec.structs.replace(line, event=raw.decode(), job=job_in(raw))
    except (*DAMAGED, UnicodeDecodeError):
        return msgspec.structs.replace(line, packed=packed)


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
    rest, at, begun = b"", offset, memoryview(file)
    held_line: Line | None = None
    while not unpacker.eof:
        feed = unpacker.unconsumed_tail or begun[at : at + _SLICE]
        if not len(feed):
            raise zlib.error("a member of an archive's file is cut off")
        at += 0 if unpacker.unconsumed_tail else len(feed)
        *whole, rest = (rest + unpacker.decompress(feed, _SLICE)).split(b"\n")
        for text in whole:
            if held_line:
                yield held_line, at
            held_line = _decode(text)
    if held_line:
        yield held_line, at - len(unpacker.unused_data)
