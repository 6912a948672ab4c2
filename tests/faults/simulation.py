"""The simulation of one history: senders post, a host delivers, a timer sweeps; then without faults to the end.

The parts around the pipeline behave like the real ones: a sender retries a few times; the host finds new blobs in one
of the ways of `delivery.py`, tries five times, and then moves the message to the poison queue; the message of a crashed
delivery becomes visible again later; the sweeper runs every minute or two.
"""

import heapq
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from shared.errors import Retry
from shared.naming.names import BUILT_IN, Names
from shared.reporting.status import Status, status
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS
from shared.sweeping.closing import ClosingOptions
from tests.faults.delivery import DeliveryEnvironment, Flaws, Name, delivery
from tests.faults.fault_injection import CutOff, Faults, Faulty, Rates, no_trace
from tests.faults.scheduler import Killed, Scheduler
from tests.faults.world import NOT_CLOSING, FunctionsProcess, Surroundings, left_due
from tests.support.memory_catalog import MemoryCatalog

EPOCH = datetime(2100, 1, 1, tzinfo=UTC)
"""The start of each history: later than any time of the real clock."""

END = timedelta(days=60).total_seconds()
"""The time in seconds at which the end of a history is checked."""

NEVER = timedelta(days=100_000)
_TRIES = 5
_LATEST = 6 * 3600.0
"""Seconds by which stragglers are sent later, at the most."""
_NO_FAULTS = Rates()
_NO_FLAWS = Flaws()

_DAY = 86_400.0
_CALM_TICKS = [60.0] * 15 + [1200.0] * 12 + [_DAY / 4] * 24
"""Seconds between sweeps in the fault-free end; the longest backoff is six hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The parameters of a history, all derived from `seed`.

    `workers` in `processes` share the work; `span`: the seconds over which events are sent; `persistent`: how often a
    sender retries; `delivery`: how the host finds blobs, `flaws`: its faults; `duplicates`: the share of events that
    are sent twice; `away`: when storage or catalog is unavailable; `end_timeout`, `quiet`, `names`, `redact`: as in the
    settings. `abandons`: the share of events whose receiver dies after its first write, and whose sender gives up.
    `stray`: blobs of `events` that no receiver wrote. `alternate`: processes take turns at each call of a function.
    `closing`: how long a run must be quiet until it is closed; `stragglers`: the events that are sent hours later.
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
    names: Names = BUILT_IN
    redact: bool = False
    abandons: float = 0.0
    stray: tuple[tuple[str, bytes], ...] = ()
    alternate: bool = False
    closing: timedelta | None = None
    stragglers: frozenset[bytes] = frozenset()

    @property
    def fault_free(self) -> "Scenario":
        """Return the same scenario without faults."""
        return Scenario(
            end_timeout=self.end_timeout, quiet=self.quiet, names=self.names, redact=self.redact, stray=self.stray
        )


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The end of a history.

    `promised` are the bodies that were answered with a 2xx, `calls` the number of workers' calls, `left_due` the number
    of processes left in the publish queue when the last worker had nothing to do, `calm_after` the sweeper's ticks
    after that, `quiet` the quiet time of applications. `arrivals`: when each blob arrived, in seconds.
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
    arrivals: dict[str, float] = field(default_factory=dict)


@dataclass(order=True, slots=True)
class _Job:
    at: float
    number: int
    act: Callable[[], None] = field(compare=False)
    delivery: int = field(default=0, compare=False)
    again: bool = field(default=True, compare=False)


class Simulation:
    """The simulation of one history; `storage` may be a store that records calls."""

    def __init__(
        self,
        bodies: Sequence[bytes],
        scenario: Scenario,
        trace: Callable[[str], None] = no_trace,
        storage: type[MemoryStorage] = MemoryStorage,
    ) -> None:
        self.scenario = scenario
        self.scheduler = scheduler = Scheduler()
        self.chance = random.Random(f"life {scenario.seed}")
        self.storage = storage(clock=lambda: scheduler.now)
        self.storage.now = self._now
        self.catalog = MemoryCatalog()
        self.faults = Faults(
            scheduler=scheduler,
            chance=random.Random(f"faults {scenario.seed}"),
            aside=random.Random(f"aside {scenario.seed}"),
            rates=scenario.rates,
            at=scenario.at,
            away={service: (begins, ends) for service, begins, ends in scenario.away},
            stored=self._noticed,
            later=self._later,
            trace=trace,
        )
        self.promised: set[bytes] = set()
        self._arrivals: dict[str, float] = {}
        self.poisoned = 0
        self._trace = trace
        self._reached: Any = Faulty(self.storage, "storage", self.faults)
        self._written: Any = Faulty(self.catalog, "catalog", self.faults)
        surroundings = Surroundings(
            storage=self._reached,
            catalog=self._written,
            now=self._now,
            seconds=lambda: scheduler.now,
            end_timeout=scenario.end_timeout,
            quiet=scenario.quiet,
            names=scenario.names,
            redact=scenario.redact,
            closing=NOT_CLOSING
            if scenario.closing is None
            else ClosingOptions(quiet=scenario.closing, max_references=3),
        )
        # A process that has died keeps its caches: those of a living one may be of any age.
        self._processes = [
            FunctionsProcess(surroundings) for _ in range(max(scenario.processes, 1 + scenario.alternate))
        ]
        self._turns = itertools.count()
        self._giving_up = random.Random(f"giving up {scenario.seed}")
        self._numbers = itertools.count()
        self._jobs: list[_Job] = []
        self._busy = self._ticking = 0
        environment = DeliveryEnvironment(
            scheduler=scheduler,
            faults=self.faults,
            storage=self.storage,
            chance=self.chance,
            aside=random.Random(f"late {scenario.seed}"),
            call=lambda instant, name: self._put(instant, partial(self._deliver, name), delivery=1),
            trace=trace,
        )
        self._delivery = delivery(scenario.delivery, environment, scenario.flaws)
        for body in (*bodies, *(self.chance.choice(bodies) for _ in range(scenario.duplicates if bodies else 0))):
            abandoned = self._giving_up.random() < scenario.abandons
            post = partial(self._abandon, body) if abandoned else partial(self._post, body, 1)
            hours_later = self._giving_up.uniform(0, _LATEST) if body in scenario.stragglers else 0.0
            self._put(self.chance.random() * scenario.span + hours_later, post)
        for name, data in scenario.stray:
            self._put(self._giving_up.random() * scenario.span, partial(self._stray, name, data))

    def simulate(self) -> Outcome:
        """Run the history, then sweep until nothing is left to do."""
        self._put(60.0, self._tick)
        self.scheduler.run([self._work] * self.scenario.workers, processes=self.scenario.processes)
        calls = self.faults.calls
        self.faults.rates, self.faults.at, self.faults.away = _NO_FAULTS, None, {}
        number_due = left_due(self.storage, self._now())
        ticks = drain(self.storage, self._sweep, self._pass, is_closing=self.scenario.closing is not None)
        return Outcome(
            storage=self.storage,
            catalog=self.catalog,
            faults=self.faults,
            status=status(self.storage),
            promised=self.promised,
            calls=calls,
            left_due=number_due,
            poisoned=self.poisoned,
            calm_after=ticks,
            quiet=self.scenario.quiet,
            arrivals=self._arrivals,
        )

    def _now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.scheduler.now)

    def _pass(self, seconds: float) -> None:
        self.scheduler.now += seconds

    # --- jobs

    def _put(self, instant: float, act: Callable[[], None], *, delivery: int = 0) -> None:
        heapq.heappush(self._jobs, _Job(instant, next(self._numbers), act, delivery))
        self.scheduler.wake(instant)

    def _later(self, instant: float, act: Callable[[], object]) -> None:
        self.scheduler.schedule(instant, partial(self._land, act))

    def _land(self, act: Callable[[], object]) -> None:
        self._trace(f"{self.scheduler.now:10.3f} lands late")
        act()

    def _work(self) -> None:
        scheduler = self.scheduler
        while True:
            if not self._jobs or self._jobs[0].at > scheduler.now:
                if not scheduler.park(self._jobs[0].at if self._jobs else float("inf")):
                    return
                continue
            job = heapq.heappop(self._jobs)
            self._busy += 1
            try:
                job.act()
            except Killed:
                self._trace(f"{scheduler.now:10.3f} dies")
                scheduler.revive()
                if not scheduler.failed:
                    self._again(job, died=True)
            except Retry as error:
                self._trace(f"{scheduler.now:10.3f} gives up: {error}")
                self._again(job, died=False)
            finally:
                self._busy -= 1

    def _again(self, job: _Job, *, died: bool) -> None:
        """Deliver a message again, at most five times in all; other interrupted work is not repeated."""
        if not job.delivery:
            return
        if job.delivery >= _TRIES:
            self.poisoned += 1
            return
        pause = self.chance.uniform(5, 600) if died else self.chance.uniform(0.1, 30)
        self._put(self.scheduler.now + pause, job.act, delivery=job.delivery + 1)

    # --- the parts around the pipeline

    def _post(self, body: bytes, tries: int) -> None:
        """Send a body until the receiver accepts it or the tries are used up."""
        try:
            self._process().receive(body)
        except (Killed, Retry):
            if tries < self.scenario.persistent and not self.scheduler.failed:
                self._put(self.scheduler.now + self.chance.uniform(0.5, 10), partial(self._post, body, tries + 1))
            raise
        self.promised.add(body)

    def _abandon(self, body: bytes) -> None:
        """Send a body whose receiver dies after its first write, and give up."""
        self._process().receive(body, CutOff(self._reached, self.scheduler))

    def _stray(self, name: str, data: bytes) -> None:
        """Write a blob as a person would who copies blobs."""
        if self.storage.put_new(EVENTS, name, data):
            self._noticed(EVENTS, name)

    def _noticed(self, container: str, name: str) -> None:
        if container == EVENTS:
            self._arrivals.setdefault(name, self.scheduler.now)
            self._delivery.arrived(name)

    def _deliver(self, name: str) -> None:
        """The parser's function."""
        packed_event = self.storage.get(EVENTS, name)
        if packed_event is None:  # archived meanwhile
            return
        process = self._process()
        if process.parse(name, packed_event):
            process.publish()

    def _process(self) -> FunctionsProcess:
        """The process of the running worker; with `alternate`, the next one."""
        if self.scenario.alternate:
            return self._processes[next(self._turns) % len(self._processes)]
        current = self.scheduler.current
        return self._processes[current.process if current else 0]

    def _tick(self) -> None:
        """Run the sweeper on its timer, until nothing else is left but ticks that take long."""
        self._ticking += 1
        try:
            if self._jobs or self._busy > self._ticking or self._delivery.pending:
                self._put(self.scheduler.now + self.chance.uniform(50, 150), self._tick)
            self._sweep()
        finally:
            self._ticking -= 1

    def _sweep(self) -> None:
        process = self._process()
        try:
            process.sweep()
        finally:
            process.publish()


def drain(
    storage: MemoryStorage, sweep: Callable[[], None], let_pass: Callable[[float], None], *, is_closing: bool
) -> int:
    """Sweep without faults until nothing is left to do, then some more beyond END, and where runs are closed until they
    are forgotten; returns the number of sweeps.

    `let_pass` lets seconds pass.
    """
    ticks = 0
    for pause in _CALM_TICKS:
        let_pass(pause)
        sweep()
        ticks += 1
        counts = status(storage)
        if not (counts.in_progress or counts.publish_queue):
            break
    forgetting = (31 * _DAY, _DAY, _DAY, _DAY) if is_closing else ()
    for seconds in (END, 3600.0, 3600.0, *forgetting):  # work that depends on time, and its consequences
        let_pass(seconds)
        sweep()
    return ticks


def fault_free(bodies: Sequence[bytes], scenario: Scenario) -> Outcome:
    """Return the end of the history in which these bodies arrive one by one, in order, without faults."""
    calm = replace(scenario.fault_free, span=0.0)
    return Simulation(bodies, calm).simulate()
