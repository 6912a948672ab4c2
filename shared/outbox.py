"""What forwarding and the watch do alike: each receiver gets what is listed for it. One that does not take it keeps it,
delays no other, and is left alone for a while, longer after each failure.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from logging import Logger
from typing import Any, Generic, TypeVar

from shared.concurrency import ParallelMap
from shared.http_errors import Answer, Never, NotNow, Taken
from shared.records.cells import cells_of, record_of
from shared.records.waits import delay
from shared.storage.port import Row, RowAddress, Storage

Entry = TypeVar("Entry")

MAX_KEPT = timedelta(days=14)
"""So long an entry is offered to a receiver that does not take it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A receiver is left alone `until` then, after so many `failures` in a row, because of the last (`reason`)."""

    until: datetime
    failures: int
    reason: str
    etag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver(Generic[Entry]):
    """A receiver in a round.

    - `kind`, `name`: what it is and how it is called, for the log; so is `label` of an entry, such as `run=…`.
    - `entries`: gives what is due for it, the oldest first; `has_entries`: whether anything waits, due or not.
    - `offer`: what becomes of an entry, and the receiver's answer; None where it was sent nothing.
    - `most`: entries that it is sent in a round. `failures`: entries in a row that it does not take until it is paused.
    - `pause`: the row of its pause. `waits`: whether it waits for another machine, so that it has a thread of its own.
    """

    kind: str
    name: str
    pause: RowAddress
    entries: Callable[[], Iterable[Entry]]
    has_entries: Callable[[], bool]
    offer: Callable[[Entry], tuple[StrEnum, Answer | None]]
    label: Callable[[Entry], str]
    most: int
    failures: int = 1
    waits: bool = True

    def deliver(
        self, storage: Storage, now: datetime, may_continue: Callable[[], bool]
    ) -> tuple[Counter[StrEnum], list[str]]:
        """Offer it what is due. Returns the number of each outcome, and the lines for the log."""
        outcomes, problems = Counter[StrEnum](), list[str]()
        earlier = pause_of(storage, self.pause)
        if earlier and now < earlier.until:
            return outcomes, problems
        number, failures, has_taken = 0, 0, False
        for entry in self.entries():
            if number >= self.most or not may_continue():
                break
            outcome, answer = self.offer(entry)
            outcomes[outcome] += 1
            number += answer is not None
            has_taken |= isinstance(answer, Taken)
            if isinstance(answer, Never):
                label = self.label(entry)
                problems.append(f"{label.partition('=')[0]} refused {self.kind}={self.name} {label} why={answer.why}")
            failures = failures + 1 if isinstance(answer, NotNow) else 0
            if isinstance(answer, NotNow) and (answer.after or failures >= self.failures):
                problems.append(self._pause(storage, earlier, answer, now))
                return outcomes, problems
        if earlier and not failures and (has_taken or not self.has_entries()):
            storage.delete(*self.pause)
        return outcomes, problems

    def _pause(self, storage: Storage, earlier: Pause | None, answer: NotNow, now: datetime) -> str:
        """Leave it alone, longer after each failure. Returns the line for the log."""
        failures = earlier.failures if earlier else 0
        length = max(delay(failures, self.name), timedelta(seconds=answer.after))
        pause = Pause(until=(now + length).astimezone(UTC), failures=failures + 1, reason=answer.why)
        row = Row(partition=self.pause.partition, key=self.pause.key, values=cells_of(pause))
        storage.upsert(self.pause.table, row)
        return f"{self.kind} failed {self.kind}={self.name} failures={pause.failures} why={answer.why}"


def pause_of(storage: Storage, place: RowAddress) -> Pause | None:
    """The pause of a receiver, over or not: a point read."""
    row = storage.read(*place)
    return record_of(Pause, row) if row else None


def deliver(
    storage: Storage,
    receivers: Sequence[Receiver[Any]],
    parallel: ParallelMap,
    log: Logger,
    *,
    now: datetime,
    may_continue: Callable[[], bool],
) -> Counter[StrEnum]:
    """Offer each receiver what is due for it, in parallel where they wait for other machines. Returns the number of
    each outcome. Raises StorageUnavailable.

    The calling thread writes the log, because the functions host drops lines of other threads.
    """

    def act(receiver: Receiver[Any]) -> tuple[Counter[StrEnum], list[str]]:
        return receiver.deliver(storage, now, may_continue)

    local = [receiver for receiver in receivers if not receiver.waits]
    elsewhere = [receiver for receiver in receivers if receiver.waits]
    total = Counter[StrEnum]()
    for outcomes, problems in (*map(act, local), *parallel.each(act, elsewhere)):
        total += outcomes
        for problem in problems:
            log.warning("%s", problem)
    return total
