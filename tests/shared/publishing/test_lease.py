"""The publisher's lease is renewed between the calls to a slow catalog: no other publisher begins meanwhile."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from shared.atlas.entities import ProcessEntity
from shared.catalog.port import AssetKey
from shared.publishing.context import PUBLISHER
from shared.storage.memory import MemoryStorage
from tests.support.asset_resolution import LAKE
from tests.support.building import body, dataset, packed
from tests.support.events import write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.placeholder_columns import X, Y, Z, copy_run
from tests.support.publish_world import Clock, Killed, UnreliableCatalog, fold, publish, publish_options


class SlowCatalog:
    """A catalog of which these methods take 35 seconds, after which another publisher asks for the lease (of a minute),
    and must not get it.
    """

    def __init__(self, real: MemoryCatalog, storage: MemoryStorage, clock: Clock, *slow: str) -> None:
        self._real, self._storage, self._clock, self._slow = real, storage, clock, slow
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._real, name)

        def called(*arguments: Any, **named: Any) -> Any:
            self.calls.append(name)
            self._clock.at += timedelta(seconds=35)
            assert self._storage.lease(PUBLISHER, 60) is None, self.calls
            return method(*arguments, **named)

        return called if name in self._slow else method


def slow_calls(storage: MemoryStorage, catalog: MemoryCatalog, clock: Clock, *slow: str, **options: Any) -> list[str]:
    """Publish to a catalog of which these methods are slow: the calls of these."""
    slow_catalog: Any = SlowCatalog(catalog, storage, clock, *slow)
    publish(storage, slow_catalog, publish_options(clock, seconds=clock.seconds, **options))
    calls: list[str] = slow_catalog.calls
    return calls


def test_while_data_sets_are_looked_up_and_searched_for() -> None:
    clock = Clock()
    storage = MemoryStorage(clock=clock.seconds)
    inputs = [dataset(f"a{number}", LAKE) for number in range(17)]
    fold(storage, packed(body(inputs=inputs, outputs=[dataset("b", LAKE)])))
    calls = slow_calls(storage, MemoryCatalog(), clock, "look_up", "search", "search_all")
    assert calls == ["look_up", "look_up", "search_all", "search_all", "look_up"]


def test_while_what_the_catalog_refused_is_sent_in_halves() -> None:
    clock = Clock()
    storage, catalog = MemoryStorage(clock=clock.seconds), UnreliableCatalog()
    catalog.refuses = "/d"
    fold(storage, *write("a", "app", "10:00", "/a", sink="/b"), *write("c", "app", "10:01", "/c", sink="/d"))
    assert slow_calls(storage, catalog, clock, "write_processes") == ["write_processes"] * 3


def test_while_placeholders_are_described() -> None:
    clock = Clock()
    storage, catalog = MemoryStorage(clock=clock.seconds), MemoryCatalog()
    fold(storage, copy_run("one", (X, Y), (X, Y)))
    slow_calls(storage, catalog, clock)
    fold(storage, copy_run("two", (X, Z), (X, Z), minute=5))
    assert slow_calls(storage, catalog, clock, "describe_placeholder") == ["describe_placeholder"] * 2


class Fatal(MemoryCatalog):
    """A catalog whose first write of processes takes effect, and its publisher is killed."""

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        is_first = not self.processes
        written_processes = super().write_processes(processes, guids)
        if is_first:
            raise Killed
        return written_processes


def test_while_placeholders_of_an_interrupted_write_are_compared() -> None:
    clock = Clock()
    storage, catalog = MemoryStorage(clock=clock.seconds), Fatal()
    fold(storage, *write("a", "app", "10:00", "/a", sink="/b"), *write("c", "app", "10:01", "/c", sink="/d"))
    with pytest.raises(Killed):
        slow_calls(storage, catalog, clock, batch=2)
    clock.at += timedelta(minutes=5)
    assert slow_calls(storage, catalog, clock, "up_to_date", batch=2) == ["up_to_date"] * 2
