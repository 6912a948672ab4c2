"""Explore all interleavings of a few actors on a small history, at each call to storage and catalog.

No seeds: in each state of the world each actor may make its next call, and, while there are faults left, it may die, or
its answer may be lost. A state that is reached twice is not walked twice, and of calls that commute one order is walked
(`reduction.py`). Each end, after a calm in which the sweeper works on, must be the one that the pure core and the
fault-free history give.
"""

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement
from typing import Any

from shared.reporting.status import status
from tests.faults.explored_actors import OVER, Actors, Case, Position, process_of
from tests.faults.explored_world import ENDED, Answer, Call, Catalog, CatalogStore, Host, Store, World
from tests.faults.fault_injection import RACES, STORAGE_WRITES, WRITES, Faults
from tests.faults.hunt import differences, expected_ends
from tests.faults.reduction import Foresight
from tests.faults.reference import PureEnd
from tests.faults.scheduler import Scheduler
from tests.faults.simulation import Outcome, Scenario, drain
from tests.faults.world import NOT_CLOSING, without_waiting

_SWEPT_AFTER = 900.0
"""Seconds from the events to the actors: the sweeper's grace is over."""
Kind = str
"""`death` before and after each call; `after`, an answer that is lost; `race`, a conditional write that took effect and
is answered as if it had not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How far to go: `states` at most, `faults` of these `kinds` in one history, and at most so many `switches` from an
    actor that could go on to another one; None: any number. Without `reduced` each order of calls is walked, and states
    differ by all that was answered: to compare.
    """

    states: int = 1_000_000
    switches: int | None = None
    faults: int = 1
    kinds: tuple[Kind, ...] = ("death",)
    reduced: bool = True


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


@dataclass(frozen=True, slots=True)
class _State:
    """`faults`: how many each actor may still meet, or all together; `running`: the actor that made the last call; None
    where switches do not count, or when it has ended.
    """

    world: World
    positions: tuple[Position, ...]
    faults: tuple[int, ...]
    switches: int | None
    running: int | None = None


def explore(case: Case, bounds: Bounds | None = None, *, first_only: bool = True) -> Explored:
    """Walk through all states of a case. `first_only`: stop at the first wrong end."""
    with without_waiting():
        return _Exploration(case, bounds or Bounds()).run(first_only=first_only)


class _Exploration:
    def __init__(self, case: Case, bounds: Bounds) -> None:
        self._case = case
        self._bounds = bounds
        self._is_reduced = bounds.reduced and bounds.switches is None
        self._actors = Actors(case, merged=bounds.reduced)
        self._foresight = Foresight()
        self._explored = Explored()
        self._came_from: dict[object, tuple[object, str]] = {}
        self._ends: dict[object, list[str]] = {}
        self._expected: dict[tuple[bytes, ...], tuple[Outcome, PureEnd]] = {}

    def run(self, *, first_only: bool) -> Explored:
        while True:
            self._explored, self._came_from = Explored(), {}
            self._foresight.has_learned = False
            self._walk(first_only=first_only)
            if not (self._foresight.has_learned and self._explored.complete):
                return self._explored

    def _walk(self, *, first_only: bool) -> None:
        explored, bounds = self._explored, self._bounds
        waiting = [(self._key(first), first) for first in self._firsts()]
        self._came_from = {key: (None, "") for key, _ in waiting}
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

    def _firsts(self) -> Iterator[_State]:
        """The state from which the actors begin; once for each choice of those that may meet faults where one order of
        calls that commute is walked, since what an actor meets must not depend on what the others have met.
        """
        world = World(storage=Store(), catalog=Catalog(CatalogStore()))
        process = process_of(self._case, world.storage, world.catalog, _Clock(world.storage))
        for body in self._case.stored:
            process.receive(body)
        world.storage.time = _SWEPT_AFTER
        for job in self._case.before:
            job.act(process, _CalmHost(world.storage))
        time = world.storage.time
        actors = range(len(self._actors.names))
        begins = tuple(self._actors.begin(actor, 0, time, 1) for actor in actors)
        if not self._is_reduced:
            yield _State(world, begins, (self._bounds.faults,) * len(actors), self._bounds.switches)
            return
        for faulty in combinations_with_replacement(actors, self._bounds.faults):
            yield _State(world, begins, tuple(map(faulty.count, actors)), self._bounds.switches)

    def _key(self, state: _State) -> int:
        current = state.world.storage.etags
        positions = tuple(position.key(current) for position in state.positions)
        contents = (state.world.contents(), None if self._bounds.reduced else current)
        faults = tuple(
            left * (position is not OVER) for left, position in zip(state.faults, state.positions, strict=True)
        )
        return hash((contents, positions, faults, state.switches, state.running))

    def _steps(self, state: _State) -> list[tuple[str, _State]]:
        """All that may happen next, each with a line of text."""
        steps: list[tuple[str, _State]] = []
        possible = {
            actor: position.call
            for actor, position in enumerate(state.positions)
            if position.call is not ENDED and self._is_possible(state, position.call)
        }
        for actor in self._enough(state, possible):
            call = possible[actor]
            is_switch = state.switches is not None and state.running in possible and actor != state.running
            if is_switch and state.switches == 0:
                continue
            origin = replace(state, switches=state.switches - 1) if is_switch and state.switches else state
            steps.append(self._step(origin, actor, call))
            if state.faults[actor]:
                steps += self._faults(origin, actor, call)
        return steps

    def _enough(self, state: _State, possible: Mapping[int, Call]) -> Collection[int]:
        """The actors with which it is enough to go on."""
        if not self._is_reduced or any(self._is_vain(state, call) for call in possible.values()):
            return possible
        points = {actor: self._point(actor, state) for actor in range(len(state.positions))}
        return self._foresight.enough(points, possible.keys())

    def _point(self, actor: int, state: _State) -> int:
        return self._foresight.point(actor, state.positions[actor], state.faults[actor])

    def _faults(self, state: _State, actor: int, call: Call) -> list[tuple[str, _State]]:
        steps, name, position = [], self._actors.names[actor], state.positions[actor]
        if "death" in self._bounds.kinds and call.name != "wait":
            nexts = {"dies, its work is lost": position.job + 1}
            if self._case.actors[name][position.job].repeatable and not position.is_new:
                nexts["dies, its message comes again"] = position.job
            for death, next_job in nexts.items():
                self._explored.faults["death"] += 1
                time, life = state.world.storage.time, position.origin.life + 1
                begun = self._actors.begin(actor, next_job, time, life)
                state_after_death = self._moved(state, state.world, actor, begun, 1)
                steps.append((f"{name} {death}", replace(state_after_death, running=None)))
        if "after" in self._bounds.kinds and call.name in STORAGE_WRITES | WRITES:
            steps.append(self._step(state, actor, call, "after"))
        if "race" in self._bounds.kinds and call.to == "storage" and call.name in RACES:
            steps.append(self._step(state, actor, call, "race"))
        return steps

    def _step(self, state: _State, actor: int, call: Call, fault: str = "") -> tuple[str, _State]:
        world = state.world.before(call)
        name = self._actors.names[actor]
        answer = world.apply(name, call, fault)
        if fault:
            self._explored.faults[fault] += 1
        position = self._actors.after(state.positions[actor], answer)
        line = f"{name} {call}{' ' + fault if fault else ''} -> {_short(answer)}"
        return line, self._moved(state, world, actor, position, int(bool(fault)))

    def _moved(self, state: _State, world: World, actor: int, position: Position, faults: int) -> _State:
        positions = (*state.positions[:actor], position, *state.positions[actor + 1 :])
        actors_hit = {actor} if self._is_reduced else range(len(positions))
        left = tuple(number - faults * (other in actors_hit) for other, number in enumerate(state.faults))
        running = None if state.switches is None else actor
        after = _State(world, positions, left, state.switches, running)
        if self._is_reduced:
            self._foresight.follow(self._point(actor, state), self._point(actor, after), looks=position.looks)
        return after

    @staticmethod
    def _is_vain(state: _State, call: Call) -> bool:
        """Whether the host waits for a blob that is not there."""
        return call.name == "blob" and state.world.storage.get(*call.given) is None

    def _is_possible(self, state: _State, call: Call) -> bool:
        """Whether the host has the blob that it waits for, or none will come: all senders have ended."""
        if not self._is_vain(state, call):
            return True
        calls = (position.call for position in state.positions)
        return all(other is ENDED or other.name in {"blob", "wait"} for other in calls)

    def _judged(self, state: _State) -> list[str]:
        """What is wrong in the end of a state in which no actor has anything to do."""
        self._explored.ends += 1
        world = state.world.copy()
        key = world.contents()
        if key not in self._ends:
            self._ends[key] = self._end_of(world)
        return self._ends[key]

    def _end_of(self, world: World) -> list[str]:
        storage, catalog = world.storage, world.catalog
        closing = self._case.closing
        process = process_of(self._case, storage, catalog, _Clock(storage))

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


def _short(answer: Answer) -> str:
    if answer.error:
        return type(answer.error).__name__
    return f"{len(answer.value)} rows" if isinstance(answer.value, list) else str(answer.value)[:60]
