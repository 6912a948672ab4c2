"""The bytes of a file -> its events and its broken lines. No Spark in here.

There are three kinds of files, recognised by name and content: the archive's lines (docs/reference/archive.md),
raw events line by line (as OpenLineage's file transport writes them), and one event a file (`.json`, `.json.gz`, as in
the container `events`).
"""

import base64
import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from shared.errors import Refused
from shared.openlineage.decoding import Event, decode
from shared.openlineage.selection import CHECK, CHECKS, EventFilter, Ignore, select

LARGEST_EVENT = 32 * 1024 * 1024
"""The default limit of an event in bytes: a worker holds several at a time."""

_SHOWN = 65_536
_GZIP = b"\x1f\x8b"
_SLICE = 1 << 20
_AT_ONCE = 32 * _SLICE
_BITE = 16 * 1024
"""Bytes that are unpacked at once: the rest after a member's end is copied."""

_ARCHIVED = b'{"digest"'
_RECEIVED = ".json.gz"
"""The ending of the receiver's files. Their digests are of all bytes as received; other files may grow by lines."""

_WHOLE = (".json", _RECEIVED)
_BROKEN_GZIP = (OSError, EOFError, zlib.error)


class _Archived(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    digest: str
    event: str | None
    arrived: str | None = None
    closed: str | None = None
    ignored: str | None = None
    packed: str | None = None


class _Uncertain(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line: the archive's have `digest` and `event`, an OpenLineage event has neither."""

    digest: str | None = None
    event: str | None = None


_archived = msgspec.json.Decoder(_Archived).decode
_uncertain = msgspec.json.Decoder(_Uncertain).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """An event: its text, and its decoded form."""

    text: str
    size: int
    digest: str
    event: Event
    arrived: datetime
    late: bool
    ignored: str | None

    @property
    def parent(self) -> str | None:
        """The id of its parent run."""
        facets = self.event.body.run.facets if self.event.body else None
        return facets.parent.run.run_id.lower() if facets and facets.parent else None

    @property
    def has_quality(self) -> bool:
        """Whether it tests or measures a data set."""
        return self.event.body is not None and self.event.body.has_quality


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A line that could not be read: its number (0: the whole file), the reason, and its beginning."""

    line: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """How files are read: the size limit of an event, and the settings of operations."""

    largest: int = LARGEST_EVENT
    selection: EventFilter = EventFilter()  # noqa: RUF009 - frozen

    def read(self, path: str, content: bytes, written_moment: datetime) -> Iterator[Read | Broken]:
        """The events and broken lines of a file; a broken line does not stop the rest."""
        try:
            for number, line in self._lines(path, content):
                if line is None:
                    yield Broken(
                        line=number, reason=f"larger than the {self.largest} bytes that an event may have", text=""
                    )
                elif line.strip():
                    yield self._event(number, line, written_moment)
        except _BROKEN_GZIP as error:
            yield Broken(line=0, reason=f"the file is damaged: {error}", text="")

    def _lines(self, path: str, content: bytes) -> Iterator[tuple[int, bytes | None]]:
        """Lines by number, None for one that is too large. A file of one event is one line, breaks or not."""
        stream = _unpacked(content) if content[:2] == _GZIP else io.BytesIO(content)
        if path.endswith(_WHOLE):
            text = stream.read(self.largest + 1)
            if len(text) <= self.largest and _is_one(text):
                yield 1, text if path.endswith(_RECEIVED) else text.strip()
                return
            stream.seek(0)
        number = 0
        while line := stream.readline(self.largest + 2):
            number += 1
            if len(line.rstrip(b"\r\n")) > self.largest:
                yield number, None
                while line and not line.endswith(b"\n"):
                    line = stream.readline(_SLICE)
            else:
                yield number, line.strip()

    def _event(self, number: int, line: bytes, modified: datetime) -> Read | Broken:
        try:
            return self._archive_line(line, modified)
        except (msgspec.MsgspecError, RecursionError) as error:
            if line.startswith(_ARCHIVED):
                return _broken(number, f"not a line of the archive: {error}", line)
        except _BROKEN_GZIP as error:
            return _broken(number, f"the event's bytes are damaged: {error}", line)
        except (Refused, ValueError) as error:
            return _broken(number, str(error), line)
        try:
            return self._read(line, hashlib.sha256(line).hexdigest()[:32], modified, None, None)
        except (Refused, ValueError) as error:
            return _broken(number, str(error), line)

    def _archive_line(self, line: bytes, modified: datetime) -> Read:
        """Raises MsgspecError or RecursionError when it is none, Refused when its event cannot be used, and
        _BROKEN_GZIP when its bytes are damaged.
        """
        archive_line = _archived(line)
        raw = (
            base64.b64decode(archive_line.packed)
            if archive_line.event is None and archive_line.packed
            else (archive_line.event or "").encode()
        )
        if archive_line.packed and raw[:2] == _GZIP:
            raw = gzip.decompress(raw)
        arrived = _moment(archive_line.arrived) or modified
        return self._read(raw, archive_line.digest, arrived, _moment(archive_line.closed), archive_line.ignored)

    def _read(self, raw: bytes, digest: str, arrived: datetime, closed: datetime | None, ignored: str | None) -> Read:
        event = decode(raw)
        decision = select(event, self.selection)
        reason = ignored or (decision.reason if isinstance(decision, Ignore) else None)
        if event.body and event.body.job.namespace == CHECKS:
            reason = CHECK
        return Read(
            text=raw.decode(),
            size=len(raw),
            digest=digest,
            event=event,
            arrived=arrived,
            late=closed is not None and arrived > closed,
            ignored=reason,
        )


def _unpacked(content: bytes) -> io.BytesIO | gzip.GzipFile:
    """The unpacked bytes: all at once if the file is complete and small enough, since GzipFile takes three times as
    long for the many small members of an archive; else in pieces, so that everything before a break is read.
    """
    decompressed = _members(content)
    return gzip.GzipFile(fileobj=io.BytesIO(content)) if decompressed is None else io.BytesIO(decompressed)


def _members(content: bytes) -> bytes | None:
    """The contents of all members of a gzip file (RFC 1952); None if they are too large or one is damaged."""
    pieces, size, position = [], 0, 0
    while position < len(content):
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        while not member.eof and size <= _AT_ONCE and position < len(content):
            piece = content[position : position + _BITE]
            try:
                pieces.append(member.decompress(piece))
            except zlib.error:
                return None
            size += len(pieces[-1])
            position += len(piece)
        if not member.eof:
            return None
        position -= len(member.unused_data)
    return b"".join(pieces)


def _broken(number: int, reason: str, line: bytes) -> Broken:
    return Broken(line=number, reason=reason, text=line[:_SHOWN].decode(errors="replace"))


def _is_one(text: bytes) -> bool:
    """Whether the text is one JSON value."""
    try:
        _uncertain(text)
    except msgspec.ValidationError:
        return True
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return b"\n" not in text.strip()
    return True


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
