"""The rows of an application's partition: its header with the state, and runs (`shared/storage_layout.py` has those
of events).

A state of up to 200 KB (compressed) stands in cells of the header. Contents of a longer one stand in rows of their own,
by the first digits of their digests: a commit writes those that changed, in its transaction.

`FoldMemory` is what one process remembers of the applications that it has folded. It only saves calls: commits are
conditional.
"""

import gzip
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec
from msgspec import structs

from shared.applications.state import ApplicationState, Content, RunRecord
from shared.errors import ContentLost
from shared.storage.port import Row, Storage, Value
from shared.storage_layout import CONTENTS, HEADER, RUN, STATE_PART, digest_of

T = TypeVar("T")

_MOST_DIGESTS = 200_000
_MOST_PARTS = 256
_MOST_CROWDED = 4096
_MOST_COMMITS = 128
_MOST_RECORDS = 256
_KEPT_SECONDS = 3600.0
"""How long a commit is remembered: a header that was forgotten may be made again, with smaller versions."""


class Recent(Generic[T]):
    """The values that were put last, by key: `most` of them, or as many as together have that size."""

    def __init__(self, most: int, size: Callable[[T], int] = lambda _: 1) -> None:
        self._most, self._size = most, size
        self._total = 0
        self._values: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, key: str, value: T) -> None:
        """Remember a value; the oldest are forgotten."""
        with self._lock:
            if key in self._values:
                self._total -= self._size(self._values.pop(key))
            self._values[key] = value
            self._total += self._size(value)
            while self._total > self._most:
                self._total -= self._size(self._values.popitem(last=False)[1])

    def get(self, key: str) -> T | None:
        """The value, if it is remembered."""
        return self._values.get(key)

    def __contains__(self, key: str) -> bool:
        return key in self._values


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedCommit:
    """The last commit of this process to an application: the header's etag, the state, and records of runs. While the
    header has this etag, these are what is stored. `until`: when it is forgotten, in seconds of the monotonic clock.
    """

    etag: str
    state: ApplicationState
    records: Mapping[str, RunRecord]
    until: float


class FoldMemory:
    """For all threads of a process: the events, runs and applications that it has folded; whether an application had
    many events that were not folded (`crowded`), when it was read last; and parts of long states (`parts`) by digest.
    """

    def __init__(self) -> None:
        self.crowded = Recent[bool](_MOST_CROWDED)
        self.parts = Recent[Row](_MOST_PARTS)
        self._folded = Recent[None](_MOST_DIGESTS)
        self._commits = Recent[RememberedCommit](_MOST_COMMITS)

    def note_folded(self, ids: Iterable[str]) -> None:
        """Remember digests of events, and ids of runs and applications."""
        for identifier in ids:
            self._folded.put(identifier, None)

    def has_folded(self, identifier: str) -> bool:
        """Whether this process has folded this event (by digest), run or application."""
        return identifier in self._folded

    def note_commit(
        self, application: str, previous_etag: str, etag: str, state: ApplicationState, records: Mapping[str, RunRecord]
    ) -> None:
        """Remember a commit in place of the header with `previous_etag`."""
        previous = self._commits.get(application)
        if previous and previous.etag == previous_etag and len(previous.records) < _MOST_RECORDS:
            records = {**previous.records, **records}
        until = time.monotonic() + _KEPT_SECONDS
        self._commits.put(application, RememberedCommit(etag=etag, state=state, records=records, until=until))

    def commit(self, application: str) -> RememberedCommit | None:
        """The last commit of this process to an application, if it is remembered."""
        commit = self._commits.get(application)
        return commit if commit and time.monotonic() < commit.until else None


_MAX_CELL = 60 * 1024
_MAX_CELLS = 12
_MAX_IN_HEADER = 200 * 1024
"""Packed bytes of a state whose contents stand in the header."""
_LEVEL = 3
"""Of gzip: a state is compressed at each commit."""

_encode = msgspec.json.Encoder(order="deterministic").encode
_state = msgspec.json.Decoder(ApplicationState).decode
_contents = msgspec.json.Decoder(dict[str, Content]).decode
_record = msgspec.json.Decoder(RunRecord).decode
_parts = msgspec.json.Decoder(dict[str, str]).decode


def run_row(application: str, record: RunRecord, storage: Storage) -> Row:
    """The record of a run as a row; a very long one is a blob, which is written first."""
    payload = _compressed(_encode(record))
    return Row(partition=application, key=f"{RUN}{record.run_id}", values=_cells(payload, storage))


def run_of(row: Row, storage: Storage) -> RunRecord:
    """The record of a run in its row. Raises ContentLost."""
    return _record(gzip.decompress(_packed(row, storage)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A state as rows: the header's, those of its parts that changed, and the keys of parts that are gone."""

    row: Row
    parts: tuple[Row, ...] = ()
    gone: tuple[str, ...] = ()


def header(
    application: str, state: ApplicationState, etag: str, stored_parts: Mapping[str, str], storage: Storage
) -> Header:
    """A state as rows. `stored_parts`: the digests of the parts that are stored."""
    payload, by_key = _compressed(_encode(state)), dict[str, dict[str, Content]]()
    if len(payload) > _MAX_IN_HEADER or (stored_parts and len(payload) > _MAX_IN_HEADER // 2):
        for digest, content in state.contents.items():
            by_key.setdefault(_part_key(digest), {})[digest] = content
        payload = _compressed(_encode(structs.replace(state, contents={})))
    encoded = {key: _encode(contents) for key, contents in sorted(by_key.items())}
    digests = {key: digest_of(data) for key, data in encoded.items()}
    values: dict[str, Value] = {"version": state.version, **_cells(payload, storage)}
    if digests:
        values["parts"] = _encode(digests).decode()
    changed = {key: data for key, data in encoded.items() if stored_parts.get(key) != digests[key]}
    parts = {key: {"digest": digests[key], **_cells(_compressed(data), storage)} for key, data in changed.items()}
    return Header(
        row=Row(partition=application, key=HEADER, values=values, etag=etag),
        parts=tuple(Row(partition=application, key=key, values=cells) for key, cells in parts.items()),
        gone=tuple(key for key in stored_parts if key not in digests),
    )


def version_of(row: Row) -> int:
    """The version in a header's row."""
    return int(str(row.values["version"]))


def part_digests(row: Row) -> dict[str, str]:
    """The digests of the parts of which a header's row speaks, by the keys of their rows."""
    return _parts(str(row.values["parts"])) if "parts" in row.values else {}


def digest_of_part(row: Row) -> str:
    """The digest of a part of a state, as its row says."""
    return str(row.values.get("digest", ""))


def state_of(row: Row, parts: Iterable[Row], storage: Storage) -> ApplicationState:
    """The state in a header's row, with its parts. Raises ContentLost."""
    state = _state(gzip.decompress(_packed(row, storage)))
    contents = dict(state.contents)
    for part in parts:
        contents |= _contents(gzip.decompress(_packed(part, storage)))
    return structs.replace(state, contents=contents, version=version_of(row))


def with_version(row: Row, version: int) -> Row:
    """A header's row with another version: what a commit of the version before can no longer replace."""
    return Row(partition=row.partition, key=row.key, values={**row.values, "version": version}, etag=row.etag)


def _compressed(data: bytes) -> bytes:
    return gzip.compress(data, compresslevel=_LEVEL, mtime=0)


def _part_key(digest: str) -> str:
    """The row of a content in an application with many: one of thirty-two."""
    return f"{STATE_PART}{int(digest[:2], 16) // 8:02d}"


def _cells(payload: bytes, storage: Storage) -> dict[str, Value]:
    """Bytes as cells; as a blob, named by its content, where they are too many for a row."""
    if len(payload) <= _MAX_CELL * _MAX_CELLS:
        starts = range(0, len(payload), _MAX_CELL)
        return {f"c{number:02d}": payload[start : start + _MAX_CELL] for number, start in enumerate(starts)}
    blob = f"{digest_of(payload)}.json.gz"
    storage.put_new(CONTENTS, blob, payload)
    return {"blob": blob}


def _packed(row: Row, storage: Storage) -> bytes:
    if blob := str(row.values.get("blob", "")):
        payload = storage.get(CONTENTS, blob)
        if payload is None:
            raise ContentLost(f"Blob {blob} of a row is missing: run `throughline verify --fix`", after=60)
        return payload
    names = sorted(name for name in row.values if len(name) == _CELL_NAME and name[0] == "c" and name[1:].isdigit())
    return b"".join(cell for name in names if isinstance(cell := row.values[name], bytes))


_CELL_NAME = len("c00")


_MOST_BYTES = 32 * 1024 * 1024
_LARGEST = 256 * 1024


class BlobCache(Recent[bytes]):
    """Packed events by digest: as many of the latest as fit into 32 MiB. For all threads of a process."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        super().__init__(most_bytes, len)

    def put(self, key: str, value: bytes) -> None:
        """Remember one, unless it is large."""
        if len(value) <= _LARGEST:
            super().put(key, value)


def own_run(application: str) -> str:
    """How the memory names an application that was folded, whose id may be a run's too."""
    return f"application {application}"
