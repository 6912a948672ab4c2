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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec
from msgspec import structs

from shared.applications.state import ApplicationState, Content, RunRecord
from shared.errors import ContentLost
from shared.storage.port import Row, Storage, Value
from shared.storage_layout import CONTENTS, HEADER, RUN, STATE_PART, digest_of

_MOST_DIGESTS = 200_000
_MOST_PARTS = 256
_MOST_COMMITS = 128
_MOST_RECORDS = 256
_KEPT_SECONDS = 3600.0
"""How long a commit is remembered: a header that was forgotten may be made again, with smaller versions."""


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
    """For all threads of a process: the events, runs and applications that it has folded, the applications with many
    events that are not folded yet, and recently read parts of long states.
    """

    def __init__(self) -> None:
        self._folded: OrderedDict[str, None] = OrderedDict()
        self._crowded: OrderedDict[str, None] = OrderedDict()
        self._parts: OrderedDict[str, Row] = OrderedDict()
        self._commits: OrderedDict[str, RememberedCommit] = OrderedDict()
        self._lock = threading.Lock()

    def note_folded(self, ids: Iterable[str]) -> None:
        """Remember digests of events, and ids of runs and applications."""
        with self._lock:
            for identifier in ids:
                self._folded[identifier] = None
            while len(self._folded) > _MOST_DIGESTS:
                self._folded.popitem(last=False)

    def has_folded(self, identifier: str) -> bool:
        """Whether this process has folded this event (by digest), run or application."""
        return identifier in self._folded

    def note_commit(
        self, application: str, previous_etag: str, etag: str, state: ApplicationState, records: Mapping[str, RunRecord]
    ) -> None:
        """Remember a commit in place of the header with `previous_etag`."""
        with self._lock:
            previous = self._commits.pop(application, None)
            if previous and previous.etag == previous_etag and len(previous.records) < _MOST_RECORDS:
                records = {**previous.records, **records}
            until = time.monotonic() + _KEPT_SECONDS
            self._commits[application] = RememberedCommit(etag=etag, state=state, records=records, until=until)
            while len(self._commits) > _MOST_COMMITS:
                self._commits.popitem(last=False)

    def commit(self, application: str) -> RememberedCommit | None:
        """The last commit of this process to an application, if it is remembered."""
        commit = self._commits.get(application)
        return commit if commit and time.monotonic() < commit.until else None

    def note_crowded(self, application: str, *, crowded: bool) -> None:
        """Remember whether an application has many events that are not folded."""
        with self._lock:
            if crowded:
                self._crowded[application] = None
                while len(self._crowded) > _MOST_PARTS:
                    self._crowded.popitem(last=False)
            else:
                self._crowded.pop(application, None)

    def is_crowded(self, application: str) -> bool:
        """Whether an application had many events that were not folded, when it was read last."""
        return application in self._crowded

    def note_part(self, digest: str, row: Row) -> None:
        """Remember a part of a state by the digest of its content."""
        with self._lock:
            self._parts[digest] = row
            while len(self._parts) > _MOST_PARTS:
                self._parts.popitem(last=False)

    def part(self, digest: str) -> Row | None:
        """The part of a state with this digest, if it was read recently."""
        return self._parts.get(digest)


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
    payload = gzip.compress(_encode(record), compresslevel=_LEVEL, mtime=0)
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
    payload = gzip.compress(_encode(state), compresslevel=_LEVEL, mtime=0)
    if len(payload) <= _MAX_IN_HEADER and not (stored_parts and len(payload) > _MAX_IN_HEADER // 2):
        values: dict[str, Value] = {"version": state.version, **_cells(payload, storage)}
        row = Row(partition=application, key=HEADER, values=values, etag=etag)
        return Header(row=row, gone=tuple(stored_parts))
    by_key: dict[str, dict[str, Content]] = {}
    for digest, content in state.contents.items():
        by_key.setdefault(_part_key(digest), {})[digest] = content
    encoded = {key: _encode(contents) for key, contents in by_key.items()}
    digests = {key: digest_of(data) for key, data in encoded.items()}
    payload = gzip.compress(_encode(structs.replace(state, contents={})), compresslevel=_LEVEL, mtime=0)
    values = {"version": state.version, "parts": _encode(digests).decode(), **_cells(payload, storage)}
    return Header(
        row=Row(partition=application, key=HEADER, values=values, etag=etag),
        parts=tuple(
            Row(
                partition=application,
                key=key,
                values={
                    "digest": digests[key],
                    **_cells(gzip.compress(data, compresslevel=_LEVEL, mtime=0), storage),
                },
            )
            for key, data in sorted(encoded.items())
            if stored_parts.get(key) != digests[key]
        ),
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


class BlobCache:
    """Packed events by digest: as many of the latest as fit into 32 MiB. For all threads of a process."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._size = 0
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, digest: str, compressed: bytes) -> None:
        """Remember one, unless it is large."""
        if len(compressed) > _LARGEST:
            return
        with self._lock:
            self._size += len(compressed) - len(self._held.pop(digest, b""))
            self._held[digest] = compressed
            while self._size > self._most:
                self._size -= len(self._held.popitem(last=False)[1])

    def get(self, digest: str) -> bytes | None:
        """The packed event, if it is cached."""
        with self._lock:
            return self._held.get(digest)


def own_run(application: str) -> str:
    """How the memory names an application that was folded, whose id may be a run's too."""
    return f"application {application}"
