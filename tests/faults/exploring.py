"""Explore all interleavings of a few actors on a small history, at each call to storage and catalog.

No seeds: in each state of the world each actor may make its next call, and, while there are faults left, it may die, or
its answer may be lost. A state that is reached twice is not walked twice. Each end, after a calm in which the sweeper
works on, must be the one that the pure core and the fault-free history give.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from shared.errors import Retry
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.decoding import decode
from shared.reporting.status import status
from shared.storage_layout import EVENTS, digest_of, stored
from shared.sweeping.closing import ClosingOptions
from tests.faults.explored_world import ENDED, Answer, Call, Catalog, CatalogStore, Host, Paused, Store, Way, World
from tests.faults.fault_injection import LISTS, RACES, STORAGE_WRITES, WRITES, Faults
from tests.faults.hunt import differences, expected_ends
from tests.faults.reference import PureEnd
from tests.faults.scheduler import Scheduler
from tests.faults.simulation import NEVER, Outcome, Scenario, drain
from tests.faults.world import NOT_CLOSING, FunctionsProcess, Surroundings, without_waiting

_TRIES = 2
_SWEPT_AFTER = 900.0
"""Seconds from the events to the actors: the sweeper's grace is over."""
CLOSING = ClosingOptions(quiet=timedelta(hours=48), every=timedelta(0))

Kind = str
"""`death` before and after each call; `after`, an answer that is lost; `race`, a conditional write that took effect and
is answered as if it had not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A piece of an actor's work. `repeatable`: after a death it may be done again, as a message is delivered again."""

    act: Callable[[FunctionsProcess, Host], object]
    repeatable: bool = True


def deliver(body: bytes) -> Job:
    """The parser's function for this event's blob, without publishing."""
    name = stored(decode(body), digest_of(body)).blob

    def act(process: FunctionsProcess, host: Host) -> None:
        packed_event = host.blob(EVENTS, name)
        if packed_event is not None:
            process.parse(name, packed_event)

    return Job(act=act)


def send(body: bytes) -> Job:
    """The receiver's function; the sender may give up when it dies."""
    return Job(act=lambda process, _: process.receive(body))


def publish() -> Job:
    """A publisher's drain."""
    return Job(act=lambda process, _: process.publish(), repeatable=False)


def sweep() -> Job:
    """A sweeper's tick, without publishing."""
    return Job(act=lambda process, _: process.sweep(), repeatable=False)


def stall(seconds: float) -> Job:
    """Time passes: leases run out while others are between two calls."""
    return Job(act=lambda _, host: host.wait(seconds), repeatable=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A small history: `stored` events, and what happened `before` to them; then `actors` with their jobs, each in a
    process of its own. `sent`: the events that actors send. `closing`: when runs are closed and forgotten; `names`: the
    naming rules.
    """

    name: str
    actors: dict[str, tuple[Job, ...]]
    stored: tuple[bytes, ...]
    before: tuple[Job, ...] = ()
    sent: tuple[bytes, ...] = ()
    closing: ClosingOptions = NOT_CLOSING
    names: Names = BUILT_IN


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How far to go: `states` at most, `faults` of these `kinds` in one history, and at most so many `switches` from an
    actor that could go on to another one; None: any number.
    """

    states: int = 200_000
    switches: int | None = None
    faults: int = 1
    kinds: tuple[Kind, ...] = ("death",)


@dataclass(slots=True, kw_only=True)
class Explored:
    """What was explored. `complete`: all of it; `different_ends`: the contents of their worlds; `wrong`: the way to
    each wrong end, and what is wrong.
    """

    states: int = 0
    steps: int = 0
    ends: int = 0
    different_ends: AbstractSet[object] = frozenset()
    complete: bool = True
    faults: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[list[str], list[str]]] = field(default_factory=list)


_Position = int
"""Stands for an actor's jobs since it last began and all answers that it has got."""


@dataclass(frozen=True, slots=True)
class _State:
    """`running`: the actor that made the last call; None where switches do not count, or when it has ended."""

    world: World
    positions: tuple[_Position, ...]
    faults: int
    switches: int | None
    running: int | None = None


class _Actors:
    """The positions of actors, and their next calls. Equal answers lead to the same position."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.names = list(case.actors)
        self._numbers: dict[object, _Position] = {}
        self._origins: list[tuple[int, int, float]] = []
        self._answers: list[tuple[Answer, ...]] = []
        self._next: dict[_Position, tuple[Call, int]] = {}

    def begin(self, actor: int, job: int, time: float) -> _Position:
        """An actor's position before a job, in a new process."""
        return self._position((actor, job, time), (actor, job, time), ())

    def after(self, position: _Position, answer: Answer) -> _Position:
        """The position after one more answer."""
        return self._position((position, answer.key), self._origins[position], (*self._answers[position], answer))

    def _position(self, key: object, origin: tuple[int, int, float], answers: tuple[Answer, ...]) -> _Position:
        number = self._numbers.setdefault(key, len(self._numbers))
        if number == len(self._origins):
            self._origins.append(origin)
            self._answers.append(answers)
        return number

    def next(self, position: _Position) -> tuple[Call, int]:
        """The next call from a position, ENDED for none, and the job that makes it."""
        if position not in self._next:
            self._next[position] = self._replayed(position)
        return self._next[position]

    def _replayed(self, position: _Position) -> tuple[Call, int]:
        actor, first, began = self._origins[position]
        way = Way(self._answers[position], began)
        process = _process(way.storage, way.catalog, way, self._case, name=f"{self.names[actor]} from {first}")
        jobs = self._case.actors[self.names[actor]]
        number = first
        try:
            for number in range(first, len(jobs)):
                _do(jobs[number], process, way.host)
        except Paused:
            assert way.next
            return way.next, number
        return ENDED, len(jobs)

    def job(self, actor: int, number: int) -> Job | None:
        """A job of an actor, if there is one."""
        jobs = self._case.actors[self.names[actor]]
        return jobs[number] if number < len(jobs) else None


def _process(storage: Any, catalog: Any, clock: Any, case: Case, name: str = "") -> FunctionsProcess:
    surroundings = Surroundings(
        storage=storage,
        catalog=catalog,
        now=clock.now,
        seconds=lambda: float(clock.time),
        end_timeout=NEVER,
        quiet=NEVER,
        closing=case.closing,
        names=case.names,
    )
    return FunctionsProcess(surroundings, name)


def _do(job: Job, process: FunctionsProcess, host: Host) -> None:
    for _ in range(_TRIES):
        try:
            job.act(process, host)
        except Retry:
            continue
        return


def explore(case: Case, bounds: Bounds | None = None, *, first_only: bool = True) -> Explored:
    """Walk through all states of a case. `first_only`: stop at the first wrong end."""
    with without_waiting():
        return _Exploration(case, bounds or Bounds()).run(first_only=first_only)


class _Exploration:
    def __init__(self, case: Case, bounds: Bounds) -> None:
        self._case = case
        self._bounds = bounds
        self._actors = _Actors(case)
        self._explored = Explored()
        self._came_from: dict[object, tuple[object, str]] = {}
        self._ends: dict[object, list[str]] = {}
        self._expected: dict[tuple[bytes, ...], tuple[Outcome, PureEnd]] = {}

    def run(self, *, first_only: bool) -> Explored:
        explored, bounds = self._explored, self._bounds
        first = self._first()
        key = self._key(first)
        self._came_from[key] = (None, "")
        waiting = [(key, first)]
        while waiting:
            key, state = waiting.pop()
            explored.states += 1
            is_end = True
            for line, neighbour in self._steps(state):
                is_end = False
                explored.steps += 1
                new = self._key(neighbour)
                if new in self._came_from:
                    continue
                if len(self._came_from) >= bounds.states:
                    explored.complete = False
                    continue
                self._came_from[new] = (key, line)
                waiting.append((new, neighbour))
            if is_end and (wrong := self._judged(state)):
                explored.wrong.append((self._way(key), wrong))
                if first_only:
                    explored.complete = False
                    break
        explored.different_ends = self._ends.keys()
        return explored

    def _first(self) -> _State:
        world = World(storage=Store(), catalog=Catalog(CatalogStore()))
        process = _process(world.storage, world.catalog, _Clock(world.storage), self._case)
        for body in self._case.stored:
            process.receive(body)
        world.storage.time = _SWEPT_AFTER
        for job in self._case.before:
            job.act(process, _CalmHost(world.storage))
        time = world.storage.time
        begins = [self._actors.begin(actor, 0, time) for actor in range(len(self._actors.names))]
        return _State(world, tuple(begins), self._bounds.faults, self._bounds.switches)

    def _key(self, state: _State) -> int:
        return hash((state.world.contents(), state.positions, state.faults, state.switches, state.running))

    def _steps(self, state: _State) -> list[tuple[str, _State]]:
        """All that may happen next, each with a line of text."""
        steps: list[tuple[str, _State]] = []
        possible = {
            actor: (call, number)
            for actor, position in enumerate(state.positions)
            for call, number in (self._actors.next(position),)
            if call is not ENDED and self._is_possible(state, call)
        }
        for actor, (call, number) in possible.items():
            is_switch = state.switches is not None and state.running in possible and actor != state.running
            if is_switch and state.switches == 0:
                continue
            origin = replace(state, switches=state.switches - 1) if is_switch and state.switches else state
            steps.append(self._step(origin, actor, call))
            if state.faults:
                steps += self._faults(origin, actor, call, number)
        return steps

    def _faults(self, state: _State, actor: int, call: Call, number: int) -> list[tuple[str, _State]]:
        steps, name = [], self._actors.names[actor]
        if "death" in self._bounds.kinds and call.name != "wait":
            job = self._actors.job(actor, number)
            nexts = {"dies, its work is lost": number + 1}
            if job and job.repeatable and state.positions[actor] != self._begun(state, actor, number):
                nexts["dies, its message comes again"] = number
            for death, next_job in nexts.items():
                self._explored.faults["death"] += 1
                position = self._begun(state, actor, next_job)
                state_after_death = self._moved(state, state.world, actor, position, state.faults - 1)
                steps.append((f"{name} {death}", replace(state_after_death, running=None)))
        if "after" in self._bounds.kinds and call.name in STORAGE_WRITES | WRITES:
            steps.append(self._step(state, actor, call, "after"))
        if "race" in self._bounds.kinds and call.to == "storage" and call.name in RACES:
            steps.append(self._step(state, actor, call, "race"))
        return steps

    def _begun(self, state: _State, actor: int, job: int) -> _Position:
        return self._actors.begin(actor, job, state.world.storage.time)

    def _step(self, state: _State, actor: int, call: Call, fault: str = "") -> tuple[str, _State]:
        is_reading = call.name in _READS
        world = state.world if is_reading else state.world.copy()
        name = self._actors.names[actor]
        answer = world.apply(name, call, fault)
        if fault:
            self._explored.faults[fault] += 1
        position = self._actors.after(state.positions[actor], answer)
        line = f"{name} {call}{' ' + fault if fault else ''} -> {_short(answer)}"
        return line, self._moved(state, world, actor, position, state.faults - bool(fault))

    @staticmethod
    def _moved(state: _State, world: World, actor: int, position: _Position, faults: int) -> _State:
        positions = (*state.positions[:actor], position, *state.positions[actor + 1 :])
        running = None if state.switches is None else actor
        return _State(world, positions, faults, state.switches, running)

    def _is_possible(self, state: _State, call: Call) -> bool:
        """Whether the host has the blob that it waits for, or none will come: all senders have ended."""
        if call.name != "blob" or state.world.storage.get(*call.given) is not None:
            return True
        calls = (self._actors.next(position)[0] for position in state.positions)
        return all(other is ENDED or other.name in {"blob", "wait"} for other in calls)

    def _judged(self, state: _State) -> list[str]:
        """What is wrong in the end of a state in which no actor has anything to do."""
        self._explored.ends += 1
        world = state.world.copy()
        key = (world.storage.contents(versions=False), world.catalog.contents())
        if key not in self._ends:
            self._ends[key] = self._settled(world)
        return self._ends[key]

    def _settled(self, world: World) -> list[str]:
        storage, catalog = world.storage, world.catalog
        closing = self._case.closing
        process = _process(storage, catalog, _Clock(storage), self._case)

        def tick() -> None:
            process.sweep()
            process.publish()

        def let_pass(seconds: float) -> None:
            storage.time += seconds

        ticks = drain(storage, tick, let_pass, is_closing=closing is not NOT_CLOSING)
        outcome = Outcome(
            storage=storage,
            catalog=catalog,
            faults=Faults(scheduler=Scheduler(), chance=random.Random(0)),
            status=status(storage),
            promised=set(self._case.stored),
            calls=0,
            left_due=0,
            poisoned=0,
            calm_after=ticks,
        )
        bodies = (*self._case.stored, *self._case.sent)
        scenario = Scenario(closing=closing.quiet, names=self._case.names)
        return differences(outcome, bodies, scenario, self._ends_of)

    def _ends_of(self, bodies: Sequence[bytes], scenario: Scenario) -> tuple[Outcome, PureEnd]:
        if tuple(bodies) not in self._expected:
            self._expected[tuple(bodies)] = expected_ends(bodies, scenario)
        return self._expected[tuple(bodies)]

    def _way(self, key: object) -> list[str]:
        lines = []
        while key is not None:
            key, line = self._came_from[key]
            lines.append(line)
        return lines[-2::-1]


@dataclass(slots=True)
class _CalmHost(Host):
    """Before the actors begin: all is done at once."""

    storage: Store

    def blob(self, container: str, name: str) -> bytes | None:
        return self.storage.get(container, name)

    def wait(self, seconds: float) -> None:
        self.storage.time += seconds


@dataclass(slots=True)
class _Clock:
    storage: Store

    @property
    def time(self) -> float:
        return self.storage.time

    def now(self) -> Any:
        return self.storage.now()


_READS = LISTS | {"read", "get", "get_part", "blob", "find", "look_up", "read_processes", "placeholders", "search"}


def _short(answer: Answer) -> str:
    if answer.error:
        return type(answer.error).__name__
    return f"{len(answer.value)} rows" if isinstance(answer.value, list) else str(answer.value)[:60]
