"""The answers of the reader: frozen values without storage, rows or etags."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from shared.records.digest_set import contains, short
from shared.records.states import State
from shared.storage_layout import StoredEvent
from shared.translation.run.facts import ColumnSource, StatedFact

T = TypeVar("T")
Progress = Callable[[str, int], None]
"""Called with the name of what is being read and how many more rows or blobs of it were read."""

_STEP = 500


def no_progress(_name: str, _number: int) -> None:
    """Report nothing."""


def counted(progress: Progress, name: str, items: Iterable[T]) -> Iterator[T]:
    """The same items; calls `progress` every 500 items and at the end."""
    number = 0
    for number, item in enumerate(items, start=1):
        if number % _STEP == 0:
            progress(name, _STEP)
        yield item
    progress(name, number % _STEP)


def _no_digests() -> "array[int]":
    return array("Q")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """A run in its `application` as it was folded last. `state` is RECEIVED while none of its events is folded.

    `reason`: why it is in that state. `end`: the strongest terminal state seen, empty for none; `timed_out`: its end is
    not waited for any more. `closed`: when it was closed, with the state of its events then and the reason (`outcome`).
    `last`: the time of its last event. `job`, `sender`: the name and the namespace of its job.

    Short digests, sorted: of events that count (`folded`), of those that came after it was closed (`late`), and of
    those of both that are in the archive (`archived`).

    `processes`: the keys of those to which it contributes; `standing`: of those that stand for them in the catalog
    after staging elimination; `names`: qualified names of both by key, where one run was asked for.
    """

    run_id: str
    application: str
    state: State
    reason: str = ""
    end: str = ""
    timed_out: bool = False
    closed: datetime | None = None
    outcome: tuple[str, str] = ("", "")
    last: datetime | None = None
    job: str = ""
    sender: str = ""
    folded: "array[int]" = field(default_factory=_no_digests)
    late: "array[int]" = field(default_factory=_no_digests)
    archived: "array[int]" = field(default_factory=_no_digests)
    processes: tuple[str, ...] = ()
    standing: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    columns: ColumnSource | None = None
    plan_gaps: tuple[str, ...] = ()
    rows_from: tuple[str, ...] = ()
    plans_lost: int = 0
    run_text: str = ""
    omitted: tuple[str, ...] = ()
    stated: tuple[StatedFact, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether its end is not awaited: it was seen, or did not come in time."""
        return bool(self.end) or self.timed_out or self.state not in {State.RECEIVED, State.WAITING}

    def has_folded(self, event: StoredEvent) -> bool:
        """Whether this event of the run counts in what is known of it."""
        return contains(self.folded, short(event.digest))

    def is_late(self, event: StoredEvent) -> bool:
        """Whether this event of the run came after it was closed, so that it is skipped."""
        return contains(self.late, short(event.digest)) or (self.closed is not None and not self.has_folded(event))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """A stored event, and where it lies: a `blob` of the container `events` or `ignored`, or a file of the container
    `archive`.

    `job` is the name of its job; empty where it is not on record. `raw`: the bytes as they were received; None where
    they were not asked for, or are damaged or lost. `reason`: why the receiver ignored it. `outcome`: of an archived
    one the state that it had when its run was closed, and the reason.
    """

    event: StoredEvent
    job: str
    container: str
    blob: str
    raw: bytes | None = None
    reason: str = ""
    outcome: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedRun:
    """A run, and the stored events of it. `is_forgotten`: its record has been forgotten, and `run` says nothing."""

    run: RecordedRun
    events: tuple[EventRecord, ...] = ()
    is_forgotten: bool = False
