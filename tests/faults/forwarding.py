"""`python -m tests.faults.forwarding`: histories of forwarding with failing storage and targets, and their end.

Parsers fold runs, some of which change or fail later, while several workers forward them. Storage fails in all ways of
calls over a network, workers die at any call, targets are away, fail, or die with a run. Then the faults stop, and:

- each target has each run that contributes, with the content that is on record, and nothing else as its last word;
- a run that failed after a target got it has a FAIL as its last word there;
- a target got the same content twice in a row only after a fault;
- no mark, no entry and no pause is left.

python -m tests.faults.forwarding --seeds 0 2000
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

from shared.applications.delivery import Delivery
from shared.applications.processor import ApplicationProcessor, FoldRequest
from shared.applications.rows import FoldMemory
from shared.errors import Retry
from shared.forwarding.content import DecidedRun, OutgoingEvent, RunReader
from shared.forwarding.outbox import target_status
from shared.forwarding.rounds import ForwardOptions, forward
from shared.forwarding.rules import ForwardRule, ForwardRules, Mode, TargetKind, TargetRule
from shared.http_errors import TAKEN, Answer, NotNow
from shared.records.publish_queue import forward_marks
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS, StoredEvent
from tests.faults.fault_injection import Faults, Faulty, Rates
from tests.faults.scheduler import Killed, Scheduler
from tests.support.building import Json, body, packed
from tests.support.events import run_id
from tests.support.forwarding import job
from tests.support.processing import post

EPOCH = datetime(2100, 1, 1, tzinfo=UTC)
RULES = ForwardRules(
    targets=(
        TargetRule(name="all", kind=TargetKind.MARQUEZ),
        TargetRule(name="some", kind=TargetKind.OPENMETADATA, explicit=True),
        TargetRule(name="raw", kind=TargetKind.FOLDER, mode=Mode.RAW),
    ),
    rules=(ForwardRule(datasets=("*private*",), to=("all",)), ForwardRule(to=("all", "some", "raw"))),
)
_CALM_ROUNDS = 200
_NO_RATES = Rates()


@dataclass(slots=True, kw_only=True)
class FaultyTarget:
    """A target that randomly fails, is away for a time, or dies with a run before or after it took it."""

    scheduler: Scheduler
    chance: random.Random
    failing: float = 0.0
    dying: float = 0.0
    away: tuple[float, float] = (0.0, 0.0)
    taken: list[OutgoingEvent] = field(default_factory=list)
    met: int = 0

    def send(self, event: OutgoingEvent) -> Answer:
        self.scheduler.sleep(self.chance.expovariate(2.0))
        draw = self.chance.random()
        if self.away[0] <= self.scheduler.now < self.away[1] or draw < self.failing:
            self.met += 1
            return NotNow(why="away", after=self.chance.choice((0.0, 30.0)))
        if draw < self.failing + self.dying / 2:
            self.met += 1
            self.scheduler.kill(whole_process=False)
        self.taken.append(event)
        if draw < self.failing + self.dying:
            self.met += 1
            self.scheduler.kill(whole_process=False)
        return TAKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parameters of a history, all derived from `seed`. `at` lets one call to storage fail, by number."""

    seed: int = 0
    forwarders: int = 1
    runs: int = 6
    rates: Rates = _NO_RATES
    at: tuple[int, str] | None = None
    failing: float = 0.0
    dying: float = 0.0
    outage: float = 0.0
    seconds: float = 5400.0


def plan_of(seed: int) -> Plan:
    """The history of a seed."""
    draw = random.Random(f"forward {seed}")

    def rate() -> float:
        return draw.choice((0.0, 0.0, draw.uniform(0, 0.1)))

    return Plan(
        seed=seed,
        forwarders=draw.randint(1, 2),
        runs=draw.randint(3, 12),
        rates=Rates(
            before=rate(), after=rate(), late=rate(), race=rate(), slow=rate(), torn=rate(), death=draw.uniform(0, 0.02)
        ),
        failing=draw.choice((0.0, 0.3)),
        dying=draw.choice((0.0, 0.1)),
        outage=draw.choice((0.0, 1800.0)),
    )


def history(plan: Plan) -> list[tuple[float, Json]]:
    """Events with the seconds of their arrival: some runs change after they were forwarded, some fail then."""
    chance, events = random.Random(f"events {plan.seed}"), list[tuple[float, Json]]()
    for number in range(plan.runs):
        name, application = f"run{number}", f"application{number % 3}"
        folder = chance.choice(("lake", "lake", "private"))
        fields: dict[str, Any] = {"run": name, "application": application, "app_name": application}
        arrival = chance.uniform(0, plan.seconds / 2)
        job_events = job(f"/{folder}/out{number}", "/lake/in", **fields, minute=number)
        events += [(arrival, job_events[0]), (arrival + 1, job_events[1])]
        change_time = arrival + chance.uniform(60, plan.seconds / 2)
        match chance.choice(("stays", "stays", "changes", "fails")):
            case "changes":
                events.append((change_time, body("COMPLETE", minute=number + 2, inputs=["/lake/more"], **fields)))
            case "fails":
                events.append((change_time, body("FAIL", minute=number + 2, **fields)))
    return sorted(events, key=lambda event: event[0])


@dataclass(slots=True, kw_only=True)
class Ended:
    """The end of a history: storage, targets, faults, and the calls before the fault-free end."""

    storage: MemoryStorage
    targets: dict[str, FaultyTarget]
    met: Counter[str]
    calls: int


@dataclass(slots=True, kw_only=True)
class _World:
    """A history at work: `reached` is the storage with faults."""

    plan: Plan
    scheduler: Scheduler
    storage: MemoryStorage
    reached: Any
    targets: dict[str, FaultyTarget]
    arrivals: list[tuple[float, StoredEvent]]

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.scheduler.now)

    @property
    def options(self) -> ForwardOptions:
        return ForwardOptions(rules=RULES, targets=self.targets, now=self.now, seconds=lambda: self.scheduler.now)

    def processor(self, store: Any, memory: FoldMemory) -> ApplicationProcessor:
        return ApplicationProcessor(storage=store, forwards=True, memory=memory, now=self.now)

    def deliver(self, store: Any, memory: FoldMemory, event: StoredEvent) -> None:
        payload = self.storage.get(EVENTS, event.blob) or b""
        Delivery(processor=self.processor(store, memory)).deliver(event, payload)

    def parse(self) -> None:
        """Deliver each event when it arrives, five times at the most, as the host does."""
        memory, tries = FoldMemory(), 0
        pending = list(self.arrivals)
        while pending and not self.scheduler.failed:
            instant, event = pending[0]
            try:
                self.scheduler.sleep(30.0 if tries else max(0.0, instant - self.scheduler.now))
                tries += 1
                self.deliver(self.reached, memory, event)
                tries = 5
            except Killed:
                self.scheduler.revive()
                memory = FoldMemory()
            except Retry:
                pass
            if tries >= 5:
                del pending[0]
                tries = 0

    def forward(self) -> None:
        """A round now and then."""
        pauses = random.Random(f"rest {self.plan.seed}")
        while self.scheduler.now < self.plan.seconds and not self.scheduler.failed:
            try:
                forward(self.reached, self.options)
                self.scheduler.sleep(pauses.uniform(20, 100))
            except Killed:
                self.scheduler.revive()
            except Retry:
                pass

    def end(self) -> None:
        """Without faults: fold what is not folded yet, as the sweeper does, and forward until nothing is open."""
        for target in self.targets.values():
            target.failing = target.dying = 0.0
        self.scheduler.now += 3600.0
        for _, event in self.arrivals:
            self.deliver(self.storage, FoldMemory(), event)
        for application in sorted({event.application for _, event in self.arrivals}):
            runs = frozenset(event.run_id for _, event in self.arrivals if event.application == application)
            self.processor(self.storage, FoldMemory()).fold(application, FoldRequest(force=runs))
        for _ in range(_CALM_ROUNDS):
            self.scheduler.now += 900.0
            forward(self.storage, self.options)
            if not _open(self.storage):
                return


def _schedule(scheduler: Scheduler, instant: float, act: Callable[[], object]) -> None:
    """Have a call take effect later."""

    def land() -> None:
        act()

    scheduler.schedule(instant, land)


def simulate(plan: Plan, storage_class: type[MemoryStorage] = MemoryStorage) -> Ended:
    """Simulate a history, then continue without faults until nothing is open. `storage_class`: storage in memory, or a
    class with a planted defect.
    """
    scheduler = Scheduler()
    storage = storage_class(clock=lambda: scheduler.now)
    chance = random.Random(f"faults {plan.seed}")
    faults = Faults(
        scheduler=scheduler, chance=chance, rates=plan.rates, at=plan.at, later=partial(_schedule, scheduler)
    )
    targets = {
        target.name: FaultyTarget(
            scheduler=scheduler,
            chance=random.Random(f"{target.name} {plan.seed}"),
            failing=plan.failing,
            dying=plan.dying,
            away=(600.0, 600.0 + plan.outage),
        )
        for target in RULES.targets
    }
    world = _World(
        plan=plan,
        scheduler=scheduler,
        storage=storage,
        reached=Faulty(storage, "storage", faults),
        targets=targets,
        arrivals=[(instant, stored) for instant, event in history(plan) for stored in post(storage, packed(event))],
    )
    scheduler.run([world.parse, *[world.forward] * plan.forwarders], processes=2)
    calls = faults.calls
    faults.rates, faults.at = _NO_RATES, None
    world.end()
    fault_counts = faults.met + Counter({"target": sum(target.met for target in targets.values())})
    return Ended(storage=storage, targets=targets, met=fault_counts, calls=calls)


def _open(storage: MemoryStorage) -> bool:
    statuses = [target_status(storage, target.name) for target in RULES.targets]
    return bool(forward_marks(storage)) or any(status.waiting or status.paused for status in statuses)


def differences(end_state: Ended, plan: Plan) -> list[str]:
    """Return the differences of a history's end from the required one."""
    wrong = {difference for target in RULES.targets for difference in _differences_of(target, end_state, plan)}
    return sorted(wrong | ({"something is left"} if _open(end_state.storage) else set()))


def _differences_of(target: TargetRule, end_state: Ended, plan: Plan) -> Iterator[str]:
    reader = RunReader(storage=end_state.storage)
    events: dict[str, list[OutgoingEvent]] = {}
    for event in end_state.targets[target.name].taken:
        events.setdefault(event.run_id, []).append(event)
    for number in range(plan.runs):
        run, application = run_id(f"run{number}"), run_id(f"application{number % 3}")
        decided_run = reader.decided_run(application, run)
        target_events = events.pop(run, [])
        if decided_run and decided_run.run.job:
            yield from _of_contributing(target, decided_run, target_events)
        elif target_events and target.mode is Mode.MERGED and json.loads(target_events[-1].body)["eventType"] != "FAIL":
            yield "a target was not told that a run failed"
        if set(end_state.met) <= {"well"} and any(
            first.digest == second.digest for first, second in _pairs(target_events, target)
        ):
            yield "a target got the same content twice although nothing failed"
    if events:
        yield "a target has a run that does not exist"


def _of_contributing(
    target: TargetRule, decided_run: DecidedRun, target_events: Sequence[OutgoingEvent]
) -> Iterator[str]:
    is_wanted = target.name in RULES.targets_for(*decided_run.job, decided_run.names)
    if is_wanted != bool(target_events):
        yield "a target lacks a run" if is_wanted else "a target has a run that no rule sends there"
    elif target_events and target.mode is Mode.RAW:
        if {event.digest for event in target_events} != decided_run.record.digests:
            yield "a target has other raw events than are on record"
    elif target_events and target_events[-1].digest != decided_run.digest(target, decided_run.job):
        yield "the last word of a target is not what is on record"


def _pairs(events: Sequence[OutgoingEvent], rule: TargetRule) -> list[tuple[OutgoingEvent, OutgoingEvent]]:
    """The events of a run that should differ: all of raw ones, neighbours of merged ones."""
    if rule.mode is Mode.MERGED:
        return list(pairwise(events))
    return [(first, second) for place, first in enumerate(events) for second in events[place + 1 :]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 when all histories ended as required, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.forwarding", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, metavar=("FIRST", "BEFORE"), default=(0, 2000))
    first, last = parser.parse_args(arguments).seeds
    began, failed, fault_counts, delivered = time.monotonic(), 0, Counter[str](), 0
    for seed in range(first, last):
        end_state = simulate(plan_of(seed))
        fault_counts += end_state.met
        delivered += sum(len(target.taken) for target in end_state.targets.values())
        if wrong := differences(end_state, plan_of(seed)):
            failed += 1
            sys.stdout.write(f"seed {seed}: {'; '.join(wrong)}\n")
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in fault_counts.most_common())
    seconds = time.monotonic() - began
    sys.stdout.write(
        f"{last - first:,} histories, {delivered:,} events taken ({kinds}) in {seconds:.0f} s: {failed} ended wrong\n"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    import logging

    logging.disable()
    sys.exit(main())
