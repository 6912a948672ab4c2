"""Workers and publishers that get in each other's way between any two calls: the catalog ends as if they had not."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.atlas.entities import process_entity
from shared.errors import Retry
from shared.openlineage.decoding import decode
from shared.storage.memory import MemoryStorage
from shared.translation.reference import translate_history
from tests.support.events import event, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import Clock, entries, fold, publish, publish_options

SEEDS = 150


class Interleaved:
    """A store at whose calls other workers and publishers step in, and may be interrupted in turn."""

    def __init__(self, world: "World", depth: int) -> None:
        self._world, self._depth = world, depth

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._world.storage, name)

        def called(*arguments: Any, **named: Any) -> Any:
            if self._depth < 3 and self._world.chance.random() < 0.15:
                self._world.step(self._depth + 1)
            return method(*arguments, **named)

        return called


class World:
    """A history of a seed: events that are delivered in any order, publishers in between."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.clock = Clock(at=datetime.now(UTC) + timedelta(days=self.chance.randrange(2)))  # marks are new, or old
        self.storage = MemoryStorage(clock=self.clock.seconds)
        self.catalog = MemoryCatalog()
        applications = [f"app{self.chance.randrange(2)}" for _ in range(3)]
        self.bodies = [
            body
            for number, application in enumerate(applications)
            for body in (
                *write(f"r{number}", application, f"10:0{number}", f"/{self.chance.choice('ab')}", sink="/out"),
                *write(f"s{number}", application, f"10:1{number}", "/out", sink=f"/end{number % 2}"),
            )
        ]
        self.bodies += [event(f"app{number}", "COMPLETE", "10:30:00") for number in range(2)]
        if self.chance.random() < 0.5:
            self.bodies += [
                event("r0", "FAIL", "10:20:00", application=applications[0], inputs=["/a"], outputs=["/out"])
            ]
        if self.chance.random() < 0.5:
            removal_event = event(
                "d", "COMPLETE", "10:25:00", outputs=["/out"], application="app0", states={"/out": ("DROP", "")}
            )
            self.bodies += [removal_event]
        self.pending = list(self.bodies)
        self.chance.shuffle(self.pending)

    def step(self, depth: int) -> None:
        """The next event is delivered, or a publisher looks at the queue."""
        storage: Any = Interleaved(self, depth)
        try:
            if self.pending and self.chance.random() < 0.6:
                body = self.pending.pop()
                try:
                    fold(storage, body)
                except Retry:
                    self.pending.insert(0, body)  # the host delivers it again
            else:
                publish(storage, self.catalog, publish_options(self.clock, seconds=self.clock.seconds))
        finally:
            self.clock.at += timedelta(seconds=self.chance.choice((0, 0, 1, 40, 130)))

    def run(self) -> None:
        while self.pending:
            self.step(0)
        for body in self.bodies:  # the sweeper delivers what is left
            fold(self.storage, body)
        for _ in range(30):
            self.clock.at += timedelta(minutes=1)
            publish(self.storage, self.catalog, publish_options(self.clock, seconds=self.clock.seconds))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_catalog_ends_as_the_pure_core_says(seed: int) -> None:
    world = World(seed)
    world.run()
    due_entries = [entry for entry in entries(world.storage, revisits=True) if entry.due < world.clock.at]
    assert due_entries == []
    pure = translate_history(map(decode, world.bodies))
    assert world.catalog.processes == {process.qualified_name: process_entity(process) for process in pure.processes}
