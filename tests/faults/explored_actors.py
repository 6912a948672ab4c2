"""The actors of the explorer: what they do, and where they are in it.

A position is what an actor has been answered, and the call that it makes next. What comes after two positions is the
same where they differ only by etags, since an actor can only ask whether an etag is the row's; where both actors have
ended; and where both begin with a job, or with another round of it, with the same memory.
"""

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from shared.errors import Retry
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.decoding import decode
from shared.storage_layout import EVENTS, digest_of, stored
from shared.sweeping.closing import ClosingOptions
from tests.faults.explored_world import ENDED, Answer, Call, Host, Paused, Way
from tests.faults.simulation import NEVER
from tests.faults.world import NOT_CLOSING, FunctionsProcess, Surroundings, begins_anew

_TRIES = 2
_ETAG = re.compile(r'W/"[0-9a-f]{16}\.\d+"')
CLOSING = ClosingOptions(quiet=timedelta(hours=48), every=timedelta(0))


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


def process_of(case: Case, storage: Any, catalog: Any, clock: Any, name: str = "calm") -> FunctionsProcess:
    """A process of a case on storage and catalog, by a clock, with a name."""
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


class _Origin(NamedTuple):
    """Where a process of an actor began; `life`: how many the actor has had."""

    actor: int
    job: int
    time: float
    life: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Position:
    """A process of an actor that has got `answers`, and makes a `call` next, for a `job` (a number). `content` is equal
    where all is but for `etags`, which are in the order in which they came. `rounds`: how many rounds of the job the
    process has begun with its memory alone; `looks`: whether the process has read the clock since the last answer.
    """

    origin: _Origin
    answers: tuple[Answer, ...] = ()
    call: Call
    job: int = 0
    content: int = -1
    etags: tuple[str, ...] = ()
    rounds: int = 0
    looks: bool = False

    @property
    def is_new(self) -> bool:
        """Whether the process has done nothing."""
        return not self.answers and self.origin.job == self.job

    def key(self, current: AbstractSet[str]) -> tuple[object, ...]:
        """Equal where the actor goes on in the same way: of an etag it matters whether it is a row's `current` one."""
        return (self.content, *(etag in current for etag in self.etags))


OVER = Position(origin=_Origin(0, 0, 0.0, 0), call=ENDED)
"""Of all actors that do nothing more."""


class Actors:
    """The positions of the actors of a case. `merged`: of positions that are the same for what comes after them, the
    contents are equal; otherwise of equal answers.
    """

    def __init__(self, case: Case, *, merged: bool) -> None:
        self._case = case
        self._merged = merged
        self.names = list(case.actors)
        self._positions: dict[object, Position] = {}
        self._contents: dict[object, int] = {}

    def begin(self, actor: int, job: int, time: float, life: int) -> Position:
        """An actor's position before a job, in a new process."""
        origin = _Origin(actor, job, time, life)
        if origin not in self._positions:
            self._positions[origin] = self._replayed(origin, (), origin, "")
        return self._positions[origin]

    def after(self, position: Position, answer: Answer) -> Position:
        """The position after one more answer."""
        key = (position, answer.time, answer.text)
        if key not in self._positions:
            answers = (*position.answers, answer)
            self._positions[key] = self._replayed(position.origin, answers, position.content, answer.text, position)
        return self._positions[key]

    def _replayed(
        self, origin: _Origin, answers: tuple[Answer, ...], place: object, text: str, earlier: Position = OVER
    ) -> Position:
        """What is reached with these answers: `place` and `text` are what is new since an `earlier` position."""
        etags, rounds = earlier.etags, earlier.rounds
        way = Way(answers, origin.time)
        process = process_of(self._case, way.storage, way.catalog, way, f"{origin.actor} {origin.life}")
        job, attempt, number = self._act(origin, way, process)
        if way.next is None:
            return OVER
        looks = way.looks
        if self._merged and (number == len(answers) or begins_anew(way.next.name, way.next.given)):
            etags, rounds = (), rounds + 1
            place = (origin.actor, origin.life, job, attempt, rounds, way.next.name)
            text = process.memory()
        seen = way.time if looks or not self._merged else None
        new_etags = _ETAG.findall(text) if self._merged else []
        etags = tuple(dict.fromkeys((*etags, *new_etags)))
        content = (place, seen, _ETAG.sub("etag", text) if self._merged else text, *map(etags.index, new_etags))
        number = self._contents.setdefault(content, len(self._contents))
        return Position(
            origin=origin,
            answers=answers,
            call=way.next,
            job=job,
            content=number,
            etags=etags,
            rounds=rounds,
            looks=looks,
        )

    def _act(self, origin: _Origin, way: Way, process: FunctionsProcess) -> tuple[int, int, int]:
        """Work as far as there are answers: the job, the attempt at it, and how many answers there were before."""
        jobs = self._case.actors[self.names[origin.actor]]
        job, attempt, number = len(jobs), 0, 0
        for job in range(origin.job, len(jobs)):
            for attempt in range(_TRIES):
                number = way.number
                try:
                    jobs[job].act(process, way.host)
                except Paused:
                    return job, attempt, number
                except Retry:
                    continue
                break
        return job, attempt, number
