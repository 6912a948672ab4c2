"""The ways in which the functions host finds new blobs, as in Microsoft's extensions.

Event Grid posts a notification for each blob: at least once, in any order, some twice, some late, some never. A scan
finds blobs in a listing and queues them one after another, once each. A real account is listed by one page every ten
seconds (`ScanBlobScanLogHybridPollingStrategy`), the emulator as a whole every two seconds
(`ScanContainersStrategy`); both are in azure-sdk-for-net, Microsoft.Azure.WebJobs.Extensions.Storage.Blobs. Both
compare times in whole seconds. The emulator's scan finds blobs strictly later than the newest second that it has
listed, so a blob that arrives later in that second is never found; the real account's scan includes that second.

With a queue Event Grid writes the notifications into storage, so they wait there while storage or the host is away, and
the host reads them every two seconds.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS
from tests.faults.fault_injection import Faults
from tests.faults.scheduler import Scheduler

Name = Literal["eventGrid", "polling", "emulator", "queue"]
"""Event Grid; the scan of a real account; the scan of the emulator; a queue that Event Grid fills."""

NAMES: tuple[Name, ...] = get_args(Name)

_REAL_SECONDS = 10.0
_EMULATOR_SECONDS = 2.0
_QUEUEING_SECONDS = (1 / 17, 1 / 8)
"""Seconds from one found blob to the next: 8 to 17 were queued in a second."""
_FETCHING_SECONDS = (0.05, 1.0)
"""Seconds from the queue to the function."""
_LATE_SECONDS = (60.0, 3600.0)
_LOOK_SECONDS = 2.0
"""Seconds between two looks into the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaws:
    """The faults of notifications, as shares: `missed` (never sent), `doubled` (sent twice), `late` (within an hour).

    `page` is the number of blobs that one listing of a real account returns.
    """

    missed: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    page: int = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryEnvironment:
    """The delivery's view of the history. `call` calls the function at a time (seconds) for a blob; `chance` draws."""

    scheduler: Scheduler
    faults: Faults
    storage: MemoryStorage
    chance: random.Random
    aside: random.Random
    call: Callable[[float, str], None]
    trace: Callable[[str], None]

    @property
    def now(self) -> float:
        """Seconds since the history began."""
        return self.scheduler.now

    def listing(self) -> list[tuple[str, int]]:
        """All events in order of their names, with the second in which each arrived."""
        return [(fact.name, math.floor(fact.arrived.timestamp())) for fact in self.storage.blobs(EVENTS)]

    def away_until(self, instant: float | None = None) -> float:
        """The time at which storage is available again; 0 when it is available at that time, by default now."""
        begins, ends = self.faults.away.get("storage", (0.0, 0.0))
        return ends if begins <= (self.now if instant is None else instant) < ends else 0.0


class Delivery(Protocol):
    """A way of delivery. `pending`: it will list blobs again, so the history has not ended."""

    pending: bool

    def arrived(self, name: str) -> None:
        """A blob was written."""


def delivery(name: Name, world: DeliveryEnvironment, flaws: Flaws) -> Delivery:
    """The way of this name."""
    if name in {"eventGrid", "queue"}:
        return _EventGrid(world, flaws, queue=name == "queue")
    return _Scan(world, flaws, emulator=name == "emulator")


class _EventGrid:
    def __init__(self, world: DeliveryEnvironment, flaws: Flaws, *, queue: bool) -> None:
        self.pending = False
        self._world, self._flaws, self._queue = world, flaws, queue

    def arrived(self, name: str) -> None:
        world, flaws, chance = self._world, self._flaws, self._world.chance
        draw = chance.random()
        if draw < flaws.missed:
            world.trace(f"{world.now:10.3f} no notification of {name}")
            return
        for _ in range(2 if draw > 1 - flaws.doubled else 1):
            soon = chance.uniform(0.1, 10)
            late = flaws.late > world.aside.random()
            instant = world.now + (world.aside.uniform(*_LATE_SECONDS) if late else soon)
            if self._queue:
                instant = world.away_until(instant) or instant
                instant += world.aside.uniform(0.0, _LOOK_SECONDS)
            world.call(instant, name)


@dataclass(slots=True)
class _Seen:
    """The state of a scan: the newest whole second of the last full listing and of this one, and its position."""

    newest: float = -math.inf
    current: float = -math.inf
    after: str = ""
    receipts: set[str] = field(default_factory=set)


class _Scan:
    """Lists blobs while there may be an unlisted one: later listings would show nothing new."""

    def __init__(self, world: DeliveryEnvironment, flaws: Flaws, *, emulator: bool) -> None:
        self.pending = False
        self._world, self._flaws, self._emulator = world, flaws, emulator
        self._every = _EMULATOR_SECONDS if emulator else _REAL_SECONDS
        self._next = world.chance.uniform(0, self._every)
        self._seen = _Seen()
        self._skipped: set[str] = set()
        self._news = False

    def arrived(self, name: str) -> None:
        if not self._emulator and self._world.chance.random() < self._flaws.missed:
            self._world.trace(f"{self._world.now:10.3f} the scan skips {name}")
            self._skipped.add(name)
        self._news = True
        if not self.pending:
            self._wait()

    def _wait(self) -> None:
        self.pending = True
        unneeded = math.ceil(max(0.0, self._world.now - self._next) / self._every)
        self._next += unneeded * self._every
        self._world.scheduler.schedule(self._next, self._look)

    def _look(self) -> None:
        world, chance = self._world, self._world.chance
        if back := world.away_until():  # the host ends; another one starts from the receipts
            self._seen = _Seen(receipts=self._seen.receipts)
            self._next = back + self._every
            world.scheduler.schedule(self._next, self._look)
            return
        self._news = self._news and bool(self._seen.after)
        names, is_complete = self._page()
        instant = world.now
        for name in names:
            if name in self._seen.receipts:
                continue
            self._seen.receipts.add(name)
            instant += chance.uniform(*_QUEUEING_SECONDS)
            for _ in range(2 if chance.random() < self._flaws.doubled else 1):
                world.call(instant + chance.uniform(*_FETCHING_SECONDS), name)
        self._next = instant + self._every
        self.pending = False
        if self._news or not is_complete:
            self._wait()

    def _page(self) -> tuple[list[str], bool]:
        """Return the blobs that are new in this page, and whether it reached the end of the listing."""
        scan_state = self._seen
        remaining_blobs = [entry for entry in self._world.listing() if entry[0] > scan_state.after]
        listed = remaining_blobs if self._emulator else remaining_blobs[: self._flaws.page]
        is_complete = len(listed) == len(remaining_blobs)
        newest_second = scan_state.newest
        scan_state.current = max([scan_state.current, *(second for _, second in listed)])
        scan_state.after = "" if is_complete else listed[-1][0]
        if is_complete:
            scan_state.newest, scan_state.current = max(newest_second, scan_state.current), -math.inf
        new = (
            name for name, second in listed if (second > newest_second if self._emulator else second >= newest_second)
        )
        return [name for name in new if name not in self._skipped], is_complete
