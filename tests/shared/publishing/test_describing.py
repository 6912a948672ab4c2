"""Describing placeholders: in few calls, while the lease is held, and again after a publisher was killed."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.catalog.port import AssetKey
from shared.maintenance.reconciliation import move, placed_assets
from shared.records.assets import AssetRows
from shared.records.publish_queue import QueueEntry, put_queued
from shared.storage.memory import MemoryStorage
from shared.storage_layout import QUEUED_ASSET, asset_key
from tests.support.events import write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.placeholder_columns import FOLDER, TABLE, X, Y, Z, copy_run
from tests.support.publish_world import Clock, Killed, context_of, entries, fold, publish, publish_options
from tests.support.publishing import leased

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


class WatchedCatalog(MemoryCatalog):
    """A catalog that notes how placeholders were compared and described; `before` each call and `after` it something
    may happen. It leaves out so many processes of the next call that writes some.
    """

    def __init__(self) -> None:
        super().__init__()
        self.left_out = 0
        self.calls: list[str] = []
        self.before: Callable[[AssetEntity], object] = lambda _: None
        self.after: Callable[[], object] = lambda: None

    def up_to_date(
        self, assets: Sequence[AssetEntity], *, bare: frozenset[AssetKey] = frozenset()
    ) -> frozenset[AssetKey]:
        self.calls.append(f"compare {len(assets)}")
        self.after()
        return super().up_to_date(assets, bare=bare)

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        taken = processes[self.left_out :]
        self.left_out = 0
        return super().write_processes(taken, guids)

    def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:
        self.calls.append("describe")
        self.before(asset)
        is_changed = super().describe_placeholder(asset, bare=bare)
        self.after()
        return is_changed


class World:
    """A catalog with placeholders of a table and of a folder, each with two columns."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.storage = MemoryStorage(clock=self.clock.seconds)
        self.catalog = WatchedCatalog()
        self.run(copy_run("one", (X, Y), (X, Y)))

    def run(self, *bodies: bytes, **options: Any) -> None:
        fold(self.storage, *bodies)
        self.publish(**options)

    def publish(self, **options: Any) -> None:
        """Publish, in a process of its own."""
        publish(self.storage, self.catalog, publish_options(self.clock, seconds=self.clock.seconds, **options))

    def enqueue(self, *keys: AssetKey, **changes: Any) -> None:
        """Have the records of these data sets say something else, and have these looked at."""
        rows = AssetRows()
        for key, record in rows.read(self.storage, keys).items():
            rows.put(structs.replace(record, **changes))
            target = f"{QUEUED_ASSET}{asset_key(key)}"
            put_queued(self.storage, QueueEntry(target=target, due=self.clock.at, revisit=True))
        rows.flush(self.storage)


def test_a_placeholder_whose_publisher_was_killed_gets_the_columns_that_it_had_before() -> None:
    world = World()

    def die() -> None:
        raise Killed

    world.catalog.after = die
    with pytest.raises(Killed):
        world.run(copy_run("two", (X, Y), (X, Z), minute=5))
    assert world.catalog.assets[FOLDER].columns == (X, Z)
    world.catalog.after = lambda: None
    world.clock.at += 5 * MINUTE
    world.run(copy_run("three", (X, Y), (X, Y), minute=9))
    assert world.catalog.assets[FOLDER].columns == (X, Y)


def test_a_call_that_takes_effect_minutes_later_does_not_stay() -> None:
    world = World()
    late: list[AssetEntity] = []

    def die(asset: AssetEntity) -> None:
        late.append(asset)
        raise Killed

    world.catalog.before = die
    with pytest.raises(Killed):
        world.run(copy_run("two", (X, Y), (X, Z), minute=5), call_bound=100 * SECOND)
    world.catalog.before = lambda _: None
    world.clock.at += 5 * MINUTE
    world.run(copy_run("three", (X, Y), (X,), minute=9), call_bound=100 * SECOND)
    assert world.catalog.assets[FOLDER].columns == (X,)
    MemoryCatalog.describe_placeholder(world.catalog, late[0])
    for _ in range(30):
        world.clock.at += MINUTE
        world.publish()
    assert world.catalog.assets[FOLDER].columns == (X,)


def test_what_many_placeholders_show_is_compared_in_one_call_and_remembered() -> None:
    world = World()
    for _ in range(2):
        world.enqueue(TABLE, FOLDER, shown="")
        world.publish()
    world.enqueue(TABLE, FOLDER)
    world.publish()
    assert world.catalog.calls == ["compare 2", "compare 2"]
    assert entries(world.storage, revisits=True) == ()


def test_what_an_answer_left_out_is_sent_again_without_a_comparison() -> None:
    world = World()
    world.catalog.left_out = 1
    world.run(*write("a", "app", "10:00", "/a", sink="/b"), *write("c", "app", "10:01", "/c", sink="/d"))
    assert len(world.catalog.processes) == 3
    assert world.catalog.calls == []


def test_a_single_placeholder_is_described_without_a_comparison() -> None:
    world = World()
    world.enqueue(TABLE, shown="")
    world.publish()
    assert world.catalog.calls == ["describe"]


def test_a_scanned_asset_is_neither_compared_nor_described() -> None:
    world = World()
    world.enqueue(TABLE, FOLDER, scanned=TABLE, shown="")
    world.publish()
    assert world.catalog.calls == []
    assert entries(world.storage, revisits=True) == ()


def test_a_placeholder_that_only_the_catalog_knew_gets_the_columns_of_the_next_run() -> None:
    world = World()
    name = dict(world.catalog.assets[FOLDER].attributes)["name"]
    world.storage = MemoryStorage(clock=world.clock.seconds)
    context = context_of(world.storage, world.catalog, publish_options(world.clock))
    leased(move, context, placed_assets(context))
    world.run(copy_run("two", (X, Y), (X, Z), minute=5))
    assert world.catalog.assets[FOLDER].columns == (X, Z)
    assert dict(world.catalog.assets[FOLDER].attributes)["name"] == name
