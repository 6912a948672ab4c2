"""A run's state and the contributions of runs to processes, as rows and as values."""

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import msgspec

from shared.errors import ContentLost
from shared.model import Contribution, Process, Span
from shared.openlineage.merging import stronger_end
from shared.records.cells import PackedCell, cells_of, pack, record_of, unpack
from shared.records.states import State
from shared.records.versioned_entry import Entries, VersionedEntry, contents, merge_entry
from shared.storage.compare_and_swap import UNREAD, RowAddress, Swapped, compare_and_swap
from shared.storage.port import Row, Storage
from shared.storage_layout import RUNS, STATE, digest_of
from shared.translation.run.facts import RunFacts

MAX_SUPPORTERS = 64
"""Runs that a contribution keeps one by one; older ones are folded into one span."""

ContentKey = tuple[str, str, str]
"""A process's key, the application run that contributes to it, and the digest of the content."""

EntryKey = tuple[str, str]
"""An application run, and the key of a row in its partition of `runs`: where a run left an entry for the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """What became of a run.

    `end`: the strongest terminal state seen. `generation`: grows each time the run is processed. `merged`: the digests
    of the events that were merged; `seen`: their first and last time. `verdict`: published, skipped or waiting, as far
    as the run alone decides; it counts only when `settled`. `context_digest`: of what the run knew of its application
    then, empty while another worker processes it.

    `attempted`, `entries`, `changed_assets`: every contribution, application row and data set (by key) that any worker
    may have written for this run, so that the next one can retract what no longer holds; `current`: the contributions
    that hold. `closed`: the last arrival of an event before the run was closed; later events are never merged.
    `expired`: retention has deleted its events, so that its contributions stay as they are. `facts`: of the run, for
    people, if it counts.
    """

    run_id: str
    end: str | None = None
    timed_out: bool = False
    generation: int = 0
    settled: bool = False
    verdict: State = State.WAITING
    reason: str = ""
    context_digest: str = ""
    attempted: frozenset[ContentKey] = frozenset()
    entries: frozenset[EntryKey] = frozenset()
    changed_assets: frozenset[str] = frozenset()
    current: frozenset[ContentKey] = frozenset()
    merged: frozenset[str] = frozenset()
    seen: Span | None = None
    closed: datetime | None = None
    expired: bool = False
    facts: RunFacts | None = None
    etag: str = ""

    def done_with(self, digest: str, end: str | None) -> bool:
        """Whether an event with this digest and this end changes nothing."""
        return self.settled and digest in self.merged and stronger_end(self.end, end) == self.end

    @property
    def processes(self) -> frozenset[str]:
        """The keys of the processes to which this run contributes now."""
        return frozenset(process for process, _, _ in self.current)

    def row(self, storage: Storage) -> Row:
        """As a row of `runs`; what may be long becomes a blob first."""
        long = _LONG_CELL.pack(storage, {name: getattr(self, name) for name in _LONG})
        values = {**cells_of(self, without=("run_id", *_LONG)), **long}
        return Row(partition=self.run_id, key=STATE, values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row, storage: Storage) -> "RunState":
        """From a row of `runs`. Raises ContentLost."""
        return record_of(cls, row, run_id=row.partition, **_LONG_CELL.unpack(storage, row))


_LONG = ("attempted", "entries", "changed_assets", "current", "merged", "seen", "facts")
"""The fields of a run's state that may be long: one packed cell."""
_LONG_CELL = PackedCell(name="lists", decoder=msgspec.json.Decoder(dict[str, Any]))


def run_state_of(storage: Storage, run_id: str) -> RunState | None:
    """The state of a run: a point read; None before it was first processed. Raises ContentLost."""
    row = storage.read(RUNS, run_id, STATE)
    return RunState.of(row, storage) if row else None


def readable_run_state(row: Row | None, storage: Storage) -> RunState | None:
    """The state in a row; None without a row, and where a blob of it is lost: `verify --fix` restores that."""
    try:
        return RunState.of(row, storage) if row else None
    except ContentLost:
        return None


def readable_state_of(storage: Storage, run_id: str) -> RunState | None:
    """The state of a run, as `readable_run_state`: a point read."""
    return readable_run_state(storage.read(RUNS, run_id, STATE), storage)


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
        RowAddress(RUNS, run_id, STATE),
        change,
        decode=lambda row: RunState.of(row, storage),
        encode=lambda state: state.row(storage),
        read=read,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributionRecord:
    """A contribution with its supporters: the runs that make it, and when. `folded`: the span of those no longer kept.

    `content` is None only while no run but one that retracted it is on record.
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
        """First and last event time of its supporters; None when every run has retracted it."""
        spans = (*contents(self.supporters), *([self.folded] if self.folded else []))
        return functools.reduce(operator.or_, spans) if spans else None

    @property
    def contribution(self) -> Contribution | None:
        """The contribution for aggregation; None when every run has retracted it."""
        if not self.seen or not self.content:
            return None
        return Contribution(application_run=self.application_run, content=self.content, seen=self.seen)

    def with_supporter(
        self, run_id: str, supporter: VersionedEntry[Span], content: Process | None
    ) -> "ContributionRecord":
        """With the entry of this run, unless a newer one is there."""
        supporters, left = merge_entry(self.supporters, run_id, supporter, most=MAX_SUPPORTERS)
        if supporters is self.supporters:
            return self
        spans = (*([self.folded] if self.folded else []), *left)
        folded = functools.reduce(operator.or_, spans) if spans else None
        return replace(self, content=self.content or content, supporters=supporters, folded=folded)

    def row(self, storage: Storage) -> Row:
        """As a row of `contributions`; a long content becomes a blob first."""
        key = contribution_key(self.application_run, self.digest)
        values = {"supporters": pack([self.supporters, self.folded]), **CONTENT.pack(storage, self.content)}
        return Row(partition=self.process, key=key, values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row, storage: Storage) -> "ContributionRecord":
        """From a row of `contributions`."""
        return replace(cls.without_content(row), content=CONTENT.unpack(storage, row))

    @classmethod
    def without_content(cls, row: Row) -> "ContributionRecord":
        """From a row of `contributions`, without reading the content."""
        supporters, folded = _decode_supporters(unpack(row.values["supporters"]))
        application_run, _, digest = row.key.partition("|")
        return cls(
            process=row.partition,
            application_run=application_run,
            digest=digest,
            supporters=supporters,
            folded=folded,
            etag=row.etag,
        )


CONTENT: PackedCell[Process | None] = PackedCell(name="content", decoder=msgspec.json.Decoder(Process | None))
"""The content in a row of `contributions`."""
_decode_supporters = msgspec.json.Decoder(tuple[dict[str, VersionedEntry[Span]], Span | None]).decode


def content_digest(content: Process) -> str:
    """32 hexadecimal digits: the same for the same content."""
    return digest_of(msgspec.json.encode(content))


def contribution_key(application_run: str, digest: str) -> str:
    """The key of a contribution within its process."""
    return f"{application_run}|{digest}"
