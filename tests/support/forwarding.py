"""A world that forwards: storage in memory, a fold that leaves marks, and targets that keep what they are sent."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.applications.delivery import Delivery
from shared.applications.processor import ApplicationProcessor
from shared.applications.rows import FoldMemory
from shared.forwarding.content import OutgoingEvent
from shared.forwarding.rounds import Forwarded, ForwardOptions, forward
from shared.forwarding.rules import ForwardRules, TargetKind, TargetRule
from shared.http_errors import TAKEN, Answer
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS
from tests.support.building import IDENTITY, Json, body, dataset, lineage, packed, source
from tests.support.processing import post

BEGIN = datetime(2100, 1, 1, tzinfo=UTC)
MARQUEZ = TargetRule(name="marquez", kind=TargetKind.MARQUEZ)


@dataclass(slots=True, kw_only=True)
class KeepingTarget:
    """A target that answers as a test says, and keeps what it took."""

    answer: Callable[[OutgoingEvent], Answer] = lambda _: TAKEN
    taken: list[OutgoingEvent] = field(default_factory=list)

    def send(self, event: OutgoingEvent) -> Answer:
        answer = self.answer(event)
        if answer is TAKEN:
            self.taken.append(event)
        return answer

    @property
    def events(self) -> list[Any]:
        """What it took, as JSON."""
        return [json.loads(event.body) for event in self.taken]


@dataclass(slots=True, kw_only=True)
class ForwardWorld:
    """A world whose clock a test sets (`at`, after BEGIN)."""

    rules: ForwardRules = field(default_factory=lambda: ForwardRules(targets=(MARQUEZ,)))
    forwards: bool = True
    storage: Any = field(default_factory=MemoryStorage)
    at: timedelta = timedelta(0)
    targets: dict[str, KeepingTarget] = field(default_factory=dict)
    memory: FoldMemory = field(default_factory=FoldMemory)

    def __post_init__(self) -> None:
        for target in self.rules.targets:
            self.targets.setdefault(target.name, KeepingTarget())

    def now(self) -> datetime:
        return BEGIN + self.at

    @property
    def processor(self) -> ApplicationProcessor:
        return ApplicationProcessor(storage=self.storage, forwards=self.forwards, memory=self.memory, now=self.now)

    @property
    def options(self) -> ForwardOptions:
        return ForwardOptions(rules=self.rules, targets=self.targets, now=self.now)

    def receive(self, *bodies: Json) -> None:
        """Receive events, and fold them as the parser does."""
        for event in post(self.storage, *map(packed, bodies)):
            Delivery(processor=self.processor).deliver(event, self.storage.get(EVENTS, event.blob))

    def round(self, minutes: float = 0) -> Forwarded:
        """A round of the sweeper, so many minutes later."""
        self.at += timedelta(minutes=minutes)
        forwarded = forward(self.storage, self.options)
        assert forwarded
        return forwarded


def job(
    sink: str = "/out", *sources: str, run: str = "run", minute: float = 0, end: str = "COMPLETE", **fields: Any
) -> list[Json]:
    """START and end of a run that copies the column `x` of each source."""
    columns = lineage({"x": [source(name, "x", IDENTITY) for name in sources]})
    schema = {"fields": [{"name": "x", "type": "long"}]}
    common: Json = {
        "run": run,
        "inputs": [dataset(name, schema=schema) for name in sources],
        "outputs": [dataset(sink, schema=schema, columnLineage=columns)],
        **fields,
    }
    return [body("START", minute=minute, **common), body(end, minute=minute + 1, **common)]
