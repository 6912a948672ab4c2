"""`python -m tests.faults.watching`: histories of the watch with failing storage and channels, and their required end.

Lineage changes through some states while several workers watch it. Storage fails in all ways of calls over a network,
workers die at any call, channels fail or die with a message. Then the faults stop, and:

- the messages on record are those between each announced state and the next: none lost, none decided twice;
- the last state is announced, with the policies that it breaks;
- each channel has received each of its messages, more than once only after a fault.

python -m tests.faults.watching --seeds 0 2000
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from datetime import time as dt_time
from functools import partial
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from shared.announcing.outbox import Standing, listed, standing
from shared.announcing.recorded_state import gates_of
from shared.announcing.rounds import WatchOptions, watch
from shared.errors import Retry
from shared.governance.rules_file import parse_rules
from shared.http_errors import TAKEN, Answer, Never, NotNow
from shared.storage.memory import MemoryStorage
from shared.storage.port import Operation, Row
from shared.storage_layout import CONTROL, SNAPSHOTS, WATCH
from shared.watching.comparing.changes import Severity
from shared.watching.comparing.snapshot import Snapshot, unpacked
from shared.watching.messages import Message, messages
from shared.watching.rules import Channel, ChannelKind, Quiet, RoutingRule, WatchRules
from tests.faults.fault_injection import Faults, Faulty, Rates
from tests.faults.scheduler import Killed, Scheduler
from tests.support.outbox import messages_on_record
from tests.support.states import state

EPOCH = datetime(2100, 1, 1, tzinfo=UTC)
RULES = WatchRules(
    channels=tuple(Channel(name=name, kind=ChannelKind.FILE, path=name) for name in ("all", "worst")),
    rules=(RoutingRule(at_least=Severity.RISKY, to=("worst", "all")), RoutingRule(to=("all",))),
)
_POLICIES = """
[[tag]]
classification = "PII"
datasets = "a"
columns = "x"

[[policy]]
name = "no personal data in b"
datasets = "b"
no_tag = "PII"

[[policy]]
name = "c is made of b"
datasets = "c"
sources_only = ["b"]
"""
_GATES = gates_of(parse_rules(_POLICIES, "policy.toml"), now=lambda: EPOCH)
_CALM_ROUNDS = 400
_QUIET = Quiet(begins=dt_time(0, 10), ends=dt_time(0, 25), zone=ZoneInfo("UTC"))
_NO_RATES = Rates()


class RecordingStorage(MemoryStorage):
    """Storage in memory that also keeps all announced messages and all stored states."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.announced: list[str] = []
        self.states: dict[str, bytes] = {}
        self.decisions = Counter[str]()

    def put_new(self, container: str, name: str, data: bytes) -> bool:
        if container == SNAPSHOTS:
            self.states[name] = data
        return super().put_new(container, name, data)

    def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str, ...] | None:
        etags = super().transact(table, operations)
        if table == WATCH and etags:
            messages = (operation.row.key for operation in operations if operation.row.key.startswith("message|"))
            self.decisions.update(messages)
        return etags

    def insert(self, table: str, row: Row) -> str | None:
        return self._noted(table, row, super().insert(table, row))

    def replace(self, table: str, row: Row) -> str | None:
        return self._noted(table, row, super().replace(table, row))

    def _noted(self, table: str, row: Row, etag: str | None) -> str | None:
        if etag and table == CONTROL and row.partition == "watch":
            announced = str(row.values["announced"])
            if announced and announced not in self.announced[-1:]:
                self.announced.append(announced)
        return etag


@dataclass(slots=True, kw_only=True)
class FaultyChannel:
    """A channel that randomly fails, or dies with a message before or after accepting it."""

    scheduler: Scheduler
    chance: random.Random
    failing: float = 0.0
    dying: float = 0.0
    refusing: str = ""
    taken: Counter[str] = field(default_factory=Counter)
    refused: set[str] = field(default_factory=set)
    met: int = 0
    waits: bool = False

    def send(self, message: Message) -> Answer:
        self.scheduler.sleep(self.chance.expovariate(2.0))
        draw = self.chance.random()
        if draw < self.failing:
            self.met += 1
            return NotNow(why="by chance", after=self.chance.choice((0.0, 30.0, 600.0)))
        if draw < self.failing + self.dying / 2:
            self.met += 1
            self.scheduler.kill(whole_process=False)
        if self.refusing and message.subject.name == self.refusing:
            self.refused.add(message.id)
            return Never(why="by name")
        self.taken[message.id] += 1
        if draw < self.failing + self.dying:
            self.met += 1
            self.scheduler.kill(whole_process=False)
        return TAKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parameters of a history, all derived from `seed`.

    `at` lets one call to storage fail, by number; workers watch for `seconds` with faults.
    """

    seed: int = 0
    workers: int = 1
    states: int = 4
    rates: Rates = _NO_RATES
    at: tuple[int, str] | None = None
    failing: float = 0.0
    dying: float = 0.0
    quiet: bool = False
    seconds: float = 3700.0


def plan_of(seed: int) -> Plan:
    """The history of a seed."""
    draw = random.Random(f"watch {seed}")

    def rate() -> float:
        return draw.choice((0.0, 0.0, draw.uniform(0, 0.1)))

    return Plan(
        seed=seed,
        workers=draw.randint(1, 3),
        states=draw.randint(2, 6),
        rates=Rates(
            before=rate(), after=rate(), late=rate(), race=rate(), slow=rate(), torn=rate(), death=draw.uniform(0, 0.03)
        ),
        failing=draw.choice((0.0, 0.3)),
        dying=draw.choice((0.0, 0.1)),
        quiet=draw.random() < 0.3,
    )


def random_state(chance: random.Random) -> Snapshot:
    """Return a small random state of lineage, often equal to another one, with the policies that it breaks."""
    tables = ("a", "b", "c")
    schemas = {table: "k:int " + " ".join(f"{name}:int" for name in "xyz" if chance.random() < 0.7) for table in tables}
    jobs = {
        "load": ["a.k > b.k", *(["a.x > b.x"] if chance.random() < 0.5 else ["a.x > b.x mask"])],
        "more": ["b.k > c.k"],
    }
    if chance.random() < 0.5:
        jobs["late"] = ["a.y > c.y"]
    lineage = state(jobs, schemas)
    return replace(lineage, broken=tuple(sorted(_GATES(lineage.document))))


@dataclass(slots=True, kw_only=True)
class Ended:
    """The end of a history: storage, channels, all states, the faults, and the calls before the fault-free end."""

    storage: RecordingStorage
    channels: dict[str, FaultyChannel]
    states: list[Snapshot]
    met: Counter[str]
    calls: int


def simulate(plan: Plan, storage_class: type[RecordingStorage] = RecordingStorage) -> Ended:
    """Simulate a history, then continue without faults until nothing is open.

    `storage_class`: storage in memory, or a class with a planted defect.
    """
    scheduler = Scheduler()
    chance = random.Random(f"states {plan.seed}")
    states = [random_state(chance) for _ in range(plan.states)]
    changes_at = sorted(chance.random() * (plan.seconds - 100) for _ in states[1:])
    storage = storage_class(clock=lambda: scheduler.now)
    faults = Faults(
        scheduler=scheduler,
        chance=random.Random(f"faults {plan.seed}"),
        rates=plan.rates,
        at=plan.at,
        later=lambda instant, act: scheduler.schedule(instant, partial(_land, act)),
    )
    reached: Any = Faulty(storage, "storage", faults)
    channels = {
        channel.name: FaultyChannel(
            scheduler=scheduler,
            chance=random.Random(f"{channel.name} {plan.seed}"),
            failing=plan.failing,
            dying=plan.dying,
            refusing="c" if plan.seed % 5 == 4 else "",
        )
        for channel in RULES.channels
    }
    options = WatchOptions(
        rules=WatchRules(channels=RULES.channels, rules=RULES.rules, quiet=_QUIET if plan.quiet else None),
        senders=channels,
        every=timedelta(minutes=3),
        now=lambda: EPOCH + timedelta(seconds=scheduler.now),
        seconds=lambda: scheduler.now,
    )

    def look() -> Snapshot:
        scheduler.sleep(chance.random())
        return states[sum(change_instant <= scheduler.now for change_instant in changes_at)]

    def work() -> None:
        pause_random = random.Random(f"rest {plan.seed}")
        while scheduler.now < plan.seconds:
            try:
                watch(reached, options, look)
            except Killed:
                scheduler.revive()
                if scheduler.failed:
                    return
            except Retry:
                pass
            scheduler.sleep(pause_random.uniform(20, 100))

    scheduler.run([work] * plan.workers, processes=plan.workers)
    calls = faults.calls
    faults.rates, faults.at = _NO_RATES, None
    for channel in channels.values():
        channel.failing = channel.dying = 0.0
    for _ in range(_CALM_ROUNDS):
        scheduler.now += 120.0
        watch(storage, options, look)
        if not any(True for name in channels for _ in listed(storage, name)) and _is_announced(storage, states[-1]):
            break
    fault_counts = faults.met + Counter({"channel": sum(channel.met for channel in channels.values())})
    return Ended(storage=storage, channels=channels, states=states, met=fault_counts, calls=calls)


def _land(act: Any) -> None:
    act()


def _is_announced(storage: RecordingStorage, last: Snapshot) -> bool:
    now: Standing = standing(storage, "record")
    return not now.pending and bool(now.announced) and unpacked(storage.states[now.announced]) == last


def differences(end_state: Ended) -> list[str]:
    """Return the differences of a history's end from the required one."""
    storage, chain = end_state.storage, end_state.storage.announced
    expected: dict[str, Message] = {}
    for name_before, name_after in pairwise(chain):
        first, second = (unpacked(storage.states[name]) for name in (name_before, name_after))
        expected |= {message.id: message for message in messages(first, second, comparison=name_after, now=EPOCH)}
    messages_by_id = {message.message.id: message for message in messages_on_record(storage)}
    expected_by_channel = {
        name: {key for key, message in expected.items() if name in RULES.channels_for(message)}
        for name in end_state.channels
    }
    wrong = {
        "a message is lost": expected.keys() - messages_by_id.keys(),
        "a message is on record without a change": messages_by_id.keys() - expected.keys(),
        "a message is decided twice": any(count > 1 for count in storage.decisions.values()),
        "a message has the wrong content": any(
            _content(messages_by_id[key].message) != _content(expected[key])
            for key in messages_by_id.keys() & expected.keys()
        ),
        "the last state is not announced": not _is_announced(storage, end_state.states[-1]),
        "a message is still open": any(message.open for message in messages_by_id.values()),
        "a channel's list is not empty": any(True for name in end_state.channels for _ in listed(storage, name)),
        "a channel lacks a message": any(
            expected_by_channel[name] != set(faulty_channel.taken) | faulty_channel.refused
            for name, faulty_channel in end_state.channels.items()
        ),
        "a message was sent twice although nothing failed": set(end_state.met) <= {"well", "channel"}
        and not end_state.met["channel"]
        and any(count > 1 for channel in end_state.channels.values() for count in channel.taken.values()),
        "an old state was left": len(list(storage.blobs(SNAPSHOTS, "record/"))) > 1 and set(end_state.met) <= {"well"},
    }
    return [difference for difference, is_so in wrong.items() if is_so]


def _content(message: Message) -> tuple[object, ...]:
    return message.title, message.changes, message.hit, message.subject


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 when all histories ended as required, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.watching", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, metavar=("FIRST", "BEFORE"), default=(0, 2000))
    first, end_seed = parser.parse_args(arguments).seeds
    began, failed, fault_counts, decided = time.monotonic(), 0, Counter[str](), Counter[str]()
    for seed in range(first, end_seed):
        end_state = simulate(plan_of(seed))
        fault_counts += end_state.met
        decided += Counter(message.message.topic.value for message in messages_on_record(end_state.storage))
        if wrong := differences(end_state):
            failed += 1
            sys.stdout.write(f"seed {seed}: {'; '.join(wrong)}\n")
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in fault_counts.most_common())
    topics = ", ".join(f"{count:,} {topic}" for topic, count in decided.most_common())
    seconds = time.monotonic() - began
    sys.stdout.write(
        f"{end_seed - first:,} histories, {decided.total():,} messages ({topics}; {kinds}) in {seconds:.0f} s: "
        f"{failed} ended wrong\n"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    import logging

    logging.disable()
    sys.exit(main())
