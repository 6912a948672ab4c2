"""The rows behind a run's state and a process's contributions, as values."""

import functools
import gzip
import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from shared.errors import ContentLost
from shared.model import Contribution, Process, Span
from shared.openlineage.merging import stronger_end
from shared.records.states import State
from shared.records.versioned_entry import Entries, VersionedEntry, contents, merge_entry
from shared.storage.compare_and_swap import UNREAD, Place, Swapped, compare_and_swap
from shared.storage.port import Row, Storage, Value
from shared.storage_layout import CONTENTS, RUNS, STATE, digest_of
from shared.translation.run.facts import RunFacts

_INLINE = 48 * 1024
"""Bytes of packed content that stand in the row itself; a cell holds 64 KiB. Longer ones are blobs."""

MAX_SUPPORTERS = 64
"""Runs that a contribution keeps one by one; older ones are folded into one span."""

ContentKey = tuple[str, str, str]
"""A process's key, the application run that speaks, and the digest of what it says."""

EntryKey = tuple[str, str]
"""An application run, and the key of a row in its partition of `runs`: where a run left an entry for the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """What became of a run.

    `end` is the strongest terminal state seen; `generation` grows with each settling; `attempted` holds every content
    that any settling of this run may have written, `left` every word for its siblings, and `changed` every data set
    (by its key) that it may have spoken of as a whole, so that the next one can withdraw what no longer holds;
    `merged` the digests of the events that were merged, `seen` their times. `verdict` is published, skipped or waiting
    as far as the run alone can tell, and counts only when `settled`; `heard` is the digest of what its siblings had
    told then, empty while another settling is under way. `closed`: the last arrival of an event before the run was
    closed; what comes later is never merged. `gone`: retention has deleted its events, and so what it says stays as it
    is. `facts`: what people want to see of the run, if it counts.
    """

    run_id: str
    end: str | None = None
    timed_out: bool = False
    generation: int = 0
    settled: bool = False
    verdict: State = State.WAITING
    reason: str = ""
    heard: str = ""
    attempted: frozenset[ContentKey] = frozenset()
    left: frozenset[EntryKey] = frozenset()
    changed: frozenset[str] = frozenset()
    current: frozenset[ContentKey] = frozenset()
    merged: frozenset[str] = frozenset()
    seen: Span | None = None
    closed: datetime | None = None
    gone: bool = False
    facts: RunFacts | None = None
    etag: str = ""

    def done_with(self, digest: str, end: str | None) -> bool:
        """Whether an event with this digest, bringing this end, has nothing new to say."""
        return self.settled and digest in self.merged and stronger_end(self.end, end) == self.end

    @property
    def processes(self) -> frozenset[str]:
        """The keys of the processes that this run speaks for now."""
        return frozenset(process for process, _, _ in self.current)

    def row(self, storage: Storage) -> Row:
        """As a row of `runs`; long lists become a blob first."""
        lists = _Lists(
            attempted=sorted(self.attempted),
            current=sorted(self.current),
            merged=sorted(self.merged),
            seen=self.seen,
            left=sorted(self.left),
            changed=sorted(self.changed),
            facts=self.facts,
        )
        return Row(
            partition=self.run_id,
            key=STATE,
            etag=self.etag,
            values={
                "end": self.end or "",
                "timed_out": self.timed_out,
                "generation": self.generation,
                "settled": self.settled,
                "verdict": self.verdict.value,
                "reason": self.reason,
                "heard": self.heard,
                "closed": self.closed.isoformat() if self.closed else "",
                "gone": self.gone,
                **packed_cell(storage, "lists", lists),
            },
        )

    @classmethod
    def of(cls, row: Row, storage: Storage) -> "RunState":
        """From a row of `runs`."""
        lists = _decode_lists(unpacked_cell(storage, "lists", row))
        return cls(
            run_id=row.partition,
            end=str(row.values["end"]) or None,
            timed_out=bool(row.values["timed_out"]),
            generation=int(str(row.values["generation"])),
            settled=bool(row.values["settled"]),
            verdict=State(str(row.values["verdict"])),
            reason=str(row.values["reason"]),
            heard=str(row.values["heard"]),
            attempted=frozenset(lists.attempted),
            left=frozenset(lists.left),
            changed=frozenset(lists.changed),
            current=frozenset(lists.current),
            merged=frozenset(lists.merged),
            seen=lists.seen,
            facts=lists.facts,
            closed=datetime.fromisoformat(closed) if (closed := str(row.values.get("closed", ""))) else None,
            gone=bool(row.values.get("gone", False)),
            etag=row.etag,
        )


def change_run_state(
    storage: Storage,
    run_id: str,
    change: Callable[[RunState | None], RunState | None],
    *,
    read: Row | None = UNREAD,
) -> Swapped[RunState]:
    """Change a run's state by `compare_and_swap`. Raises WriteConflict."""
    return compare_and_swap(
        storage,
        Place(RUNS, run_id, STATE),
        change,
        decode=lambda row: RunState.of(row, storage),
        encode=lambda state: state.row(storage),
        read=read,
    )


class _Lists(msgspec.Struct, frozen=True):
    """The parts of a run's state that may be long."""

    attempted: list[ContentKey]
    current: list[ContentKey]
    merged: list[str]
    seen: Span | None
    left: list[EntryKey] = []
    changed: list[str] = []
    facts: RunFacts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributionRecord:
    """A contribution with its supporters: the runs that say so, and when. `folded`: the span of those no longer kept.

    `content` is missing only while nobody but a run that takes its word back has spoken.
    """

    process: str
    application_run: str
    digest: str
    content: Process | None = None
    supporters: Entries[Span] = field(default_factory=dict)
    folded: Span | None = None
    etag: str = ""

    @property
    def seen(self) -> Span | None:
        """When it was said; None when every run has taken it back."""
        spans = (*contents(self.supporters), *([self.folded] if self.folded else []))
        return functools.reduce(operator.or_, spans) if spans else None

    @property
    def contribution(self) -> Contribution | None:
        """What the process is to be made of; None when nothing stands."""
        if not self.seen or not self.content:
            return None
        return Contribution(application_run=self.application_run, content=self.content, seen=self.seen)

    def with_supporter(
        self, run_id: str, supporter: VersionedEntry[Span], content: Process | None
    ) -> "ContributionRecord":
        """With what this run says now, unless a newer entry of it is there."""
        supporters, left = merge_entry(self.supporters, run_id, supporter, most=MAX_SUPPORTERS)
        if supporters is self.supporters:
            return self
        spans = (*([self.folded] if self.folded else []), *left)
        folded = functools.reduce(operator.or_, spans) if spans else None
        return replace(self, content=self.content or content, supporters=supporters, folded=folded)

    def row(self, storage: Storage) -> Row:
        """As a row of `contributions`; a long content becomes a blob first."""
        key = contribution_key(self.application_run, self.digest)
        values: dict[str, Value] = {
            "supporters": _pack([self.supporters, self.folded]),
            **packed_cell(storage, "content", self.content),
        }
        return Row(partition=self.process, key=key, values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row, storage: Storage) -> "ContributionRecord":
        """From a row of `contributions`."""
        return replace(cls.without_content(row), content=_decode_content(unpacked_cell(storage, "content", row)))

    @classmethod
    def without_content(cls, row: Row) -> "ContributionRecord":
        """From a row of `contributions`, as far as it can be told without reading what is said."""
        supporters, folded = _decode_supporters(_unpack(row.values["supporters"]))
        application_run, _, digest = row.key.partition("|")
        return cls(
            process=row.partition,
            application_run=application_run,
            digest=digest,
            supporters=supporters,
            folded=folded,
            etag=row.etag,
        )


def packed_cell(storage: Storage, name: str, value: object) -> dict[str, Value]:
    """A value as a cell of packed JSON, or as the name of a blob where it is too long for one."""
    packed = _pack(value)
    if len(packed) <= _INLINE:
        return {name: packed}
    blob = f"{digest_of(packed)}.json.gz"
    storage.put_new(CONTENTS, blob, packed)
    return {f"{name}_blob": blob}


def unpacked_cell(storage: Storage, name: str, row: Row) -> bytes:
    """The JSON of a packed cell. Raises ContentLost when it is a blob that is gone."""
    blob = row.values.get(f"{name}_blob")
    if not blob:
        return _unpack(row.values[name])
    packed = storage.get(CONTENTS, str(blob))
    if packed is None:
        raise ContentLost(f"The blob {blob!s} of a row is gone: `throughline verify --fix` writes it anew", after=60)
    return _unpack(packed)


_decode_lists = msgspec.json.Decoder(_Lists).decode
_decode_content = msgspec.json.Decoder(Process | None).decode
_decode_supporters = msgspec.json.Decoder(tuple[dict[str, VersionedEntry[Span]], Span | None]).decode


def content_digest(content: Process) -> str:
    """32 hexadecimal digits: the same for the same content."""
    return digest_of(msgspec.json.encode(content))


def contribution_key(application_run: str, digest: str) -> str:
    """The key of a contribution within its process."""
    return f"{application_run}|{digest}"


def _pack(value: object) -> bytes:
    return gzip.compress(msgspec.json.encode(value), mtime=0)


def _unpack(cell: object) -> bytes:
    if not isinstance(cell, bytes):
        raise TypeError(f"a cell should hold bytes, it holds {type(cell).__name__}")
    return gzip.decompress(cell)
