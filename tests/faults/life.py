"""One history lived through: senders post, a host delivers, a timer sweeps; then calm, until all is done.

The parts around the pipeline behave like the real ones: a sender comes again, or gives up; the host learns of new blobs
in one of the ways of `delivery.py`; it tries five times and then puts the message among the poisoned; a crashed
delivery is visible again some time later; the sweeper comes every minute or two.
"""

import heapq
import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from shared.catalog.memory import MemoryCatalog
from shared.errors import Retry
from shared.events.archiver import ArchiveOptions
from shared.ingest.receiver import receive
from shared.processing.application_cache import ApplicationCache
from shared.processing.processor import RunProcessor
from shared.processing.sweeper import SweepOptions, sweep
from shared.publishing.options import PublishOptions
from shared.records.publish_queue import queue_entries
from shared.reporting.status import Status, status
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS, stored_from_blob
from shared.translation.aggregate import SupersessionPolicy
from tests.faults.delivery import Flaws, Name, World, delivery
from tests.faults.faulty import Faults, Faulty, Rates
from tests.faults.turns import Killed, Turns
from tests.support.publishing import publish

EPOCH = datetime(2100, 1, 1, tzinfo=UTC)
"""When each life begins: after all that the real clock may write."""

END = timedelta(days=60).total_seconds()
"""When each life is looked at."""

NEVER = timedelta(days=100_000)
_TRIES = 5
_NO_FAULTS = Rates()
_NO_FLAWS = Flaws()
_NO_ARCHIVING = ArchiveOptions(after=None, keep=None)
"""It has threads of its own, which take no turns."""

_DAY = 86_400.0
_CALM_TICKS = [60.0] * 15 + [1200.0] * 12 + [_DAY / 4] * 24
"""Seconds between the sweeper's ticks once nothing fails any more: what is set back waits for six hours at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a history is lived through; all of it follows from `seed`.

    `workers` in `processes` share the work; `span` is the seconds over which events are sent, `persistent` how often a
    sender comes again; `delivery` is the way in which the host learns of blobs, `flaws` what goes wrong with that;
    `duplicates` are sent twice. `away` says when storage or catalog is not reached at all. `end_timeout`, `quiet`: as
    in the settings.
    """

    seed: int = 0
    workers: int = 1
    processes: int = 1
    rates: Rates = _NO_FAULTS
    at: tuple[int, str] | None = None
    span: float = 60.0
    persistent: int = 1000
    delivery: Name = "eventGrid"
    flaws: Flaws = _NO_FLAWS
    duplicates: int = 0
    away: tuple[tuple[str, float, float], ...] = ()
    end_timeout: timedelta = NEVER
    quiet: timedelta = NEVER

    @property
    def faultless(self) -> "Way":
        """The same life in which nothing goes wrong."""
        return Way(end_timeout=self.end_timeout, quiet=self.quiet)


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a life ended in. `promised` are the bodies that were answered with a 2xx, `calls` how many calls the
    workers made, `left_due` how many processes were left lying when the last worker had nothing more to do,
    `calm_after` how many ticks of the sweeper came after that, `quiet` after what time applications were so.
    """

    storage: MemoryStorage
    catalog: MemoryCatalog
    faults: Faults
    status: Status
    promised: set[bytes]
    calls: int
    left_due: int
    poisoned: int
    calm_after: int
    quiet: timedelta = NEVER


@dataclass(order=True, slots=True)
class _Job:
    at: float
    number: int
    act: Callable[[], None] = field(compare=False)
    delivery: int = field(default=0, compare=False)
    again: bool = field(default=True, compare=False)


class Life:
    """The world of one history. `storage` may be a kind of store that looks on."""

    def __init__(
        self,
        bodies: Sequence[bytes],
        way: Way,
        trace: Callable[[str], None] = lambda _line: None,
        storage: type[MemoryStorage] = MemoryStorage,
    ) -> None:
        self.way = way
        self.turns = turns = Turns()
        self.chance = random.Random(f"life {way.seed}")
        self.storage = storage(clock=lambda: turns.now)
        self.storage.now = self._now
        self.catalog = MemoryCatalog()
        self.publishing = PublishOptions(
            batch=3, patience=SupersessionPolicy(quiet=way.quiet), now=self._now, seconds=lambda: turns.now
        )
        self.sweeping = SweepOptions(
            end_timeout=way.end_timeout, now=self._now, seconds=lambda: turns.now, archiving=_NO_ARCHIVING
        )
        self.faults = Faults(
            turns=turns,
            chance=random.Random(f"faults {way.seed}"),
            aside=random.Random(f"aside {way.seed}"),
            rates=way.rates,
            at=way.at,
            away={what: (begins, ends) for what, begins, ends in way.away},
            stored=self._noticed,
            later=self._later,
            trace=trace,
        )
        self.promised: set[bytes] = set()
        self.poisoned = 0
        self._trace = trace
        self._reached: Any = Faulty(self.storage, "storage", self.faults)
        self._written: Any = Faulty(self.catalog, "catalog", self.faults)
        self._lately = defaultdict[int, ApplicationCache](ApplicationCache)
        self._numbers = itertools.count()
        self._jobs: list[_Job] = []
        self._busy = 0
        around = World(
            turns=turns,
            faults=self.faults,
            storage=self.storage,
            chance=self.chance,
            aside=random.Random(f"late {way.seed}"),
            call=lambda at, name: self._put(at, partial(self._deliver, name), delivery=1),
            trace=trace,
        )
        self._delivery = delivery(way.delivery, around, way.flaws)
        for body in (*bodies, *(self.chance.choice(bodies) for _ in range(way.duplicates))):
            self._put(self.chance.random() * way.span, partial(self._post, body, 1))

    def live(self) -> Outcome:
        """Live through it, then let the sweeper come until all is done."""
        self._put(60.0, self._tick)
        self.turns.run([self._work] * self.way.workers, processes=self.way.processes)
        calls = self.faults.calls
        self.faults.rates, self.faults.at, self.faults.away = _NO_FAULTS, None, {}
        left_due = self._left_due()
        ticks = self._calm_down()
        return Outcome(
            storage=self.storage,
            catalog=self.catalog,
            faults=self.faults,
            status=status(self.storage),
            promised=self.promised,
            calls=calls,
            left_due=left_due,
            poisoned=self.poisoned,
            calm_after=ticks,
            quiet=self.way.quiet,
        )

    def _now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.turns.now)

    def _left_due(self) -> int:
        found, paused_until, _ = queue_entries(self.storage)
        return 0 if paused_until else sum(each.due <= self._now() and not each.attempts for each in found)

    def _calm_down(self) -> int:
        """Let the sweeper come until nobody has anything to do; then once more at the end of days."""
        ticks = 0
        for pause in _CALM_TICKS:
            self.turns.now += pause
            self._sweep()
            ticks += 1
            found = status(self.storage)
            if not (found.in_progress or found.dirty):
                break
        for _ in range(3):  # what time decides, and what comes of that
            self.turns.now = max(self.turns.now + 3600, END)
            self._sweep()
        return ticks

    # --- what is to be done

    def _put(self, at: float, act: Callable[[], None], *, delivery: int = 0) -> None:
        heapq.heappush(self._jobs, _Job(at, next(self._numbers), act, delivery))
        self.turns.wake(at)

    def _later(self, at: float, act: Callable[[], object]) -> None:
        self.turns.happens(at, partial(self._land, act))

    def _land(self, act: Callable[[], object]) -> None:
        self._trace(f"{self.turns.now:10.3f} lands late")
        act()

    def _work(self) -> None:
        turns = self.turns
        while True:
            if not self._jobs or self._jobs[0].at > turns.now:
                if not turns.park(self._jobs[0].at if self._jobs else float("inf")):
                    return
                continue
            job = heapq.heappop(self._jobs)
            self._busy += 1
            try:
                job.act()
            except Killed:
                self._trace(f"{turns.now:10.3f} dies")
                turns.revive()
                if not turns.failed:
                    self._again(job, died=True)
            except Retry as error:
                self._trace(f"{turns.now:10.3f} gives up: {error}")
                self._again(job, died=False)
            finally:
                self._busy -= 1

    def _again(self, job: _Job, *, died: bool) -> None:
        """A message is delivered again, five times in all; whatever else was cut off sees to itself."""
        if not job.delivery:
            return
        if job.delivery >= _TRIES:
            self.poisoned += 1
            return
        pause = self.chance.uniform(5, 600) if died else self.chance.uniform(0.1, 30)
        self._put(self.turns.now + pause, job.act, delivery=job.delivery + 1)

    # --- who does it

    def _post(self, body: bytes, tries: int) -> None:
        """The sender, and the receiver that answers it."""
        try:
            receive(self._reached, body, most_bytes=10_000_000)
        except (Killed, Retry):
            if tries < self.way.persistent and not self.turns.failed:
                self._put(self.turns.now + self.chance.uniform(0.5, 10), partial(self._post, body, tries + 1))
            raise
        self.promised.add(body)

    def _noticed(self, container: str, name: str) -> None:
        if container == EVENTS:
            self._delivery.arrived(name)

    def _deliver(self, name: str) -> None:
        """The parser's function."""
        packed = self.storage.get(EVENTS, name)
        assert packed is not None
        current = self.turns.current
        # Also that of a process that has died since: what it holds may be as old as it likes.
        application_cache = self._lately[current.process if current else 0]
        if RunProcessor(storage=self._reached, application_cache=application_cache).receive(
            stored_from_blob(name), packed
        ):
            publish(self._reached, self._written, self.publishing)

    def _tick(self) -> None:
        """The sweeper's function, and the timer behind it; the timer ends when nothing else is going on."""
        if self._jobs or self._busy > 1 or self._delivery.pending:
            self._put(self.turns.now + self.chance.uniform(50, 150), self._tick)
        self._sweep()

    def _sweep(self) -> None:
        try:
            sweep(self._reached, self.sweeping)
        finally:
            publish(self._reached, self._written, self.publishing)


def faultless(bodies: Sequence[bytes], way: Way) -> Outcome:
    """The life in which these bodies come one by one, in this order, and nothing goes wrong."""
    calm = replace(way.faultless, span=0.0)
    return Life(bodies, calm).live()
