"""A write of several calls, each as slow as a call may be: no other publisher writes the process until all are over."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.catalog.memory import MemoryCatalog
from shared.catalog.port import AssetKey, HeldAsset
from shared.errors import CatalogUnavailable
from shared.maintenance.import_processes import import_processes
from shared.openlineage.decoding import decode
from shared.publishing.planning.options import PublishOptions
from shared.storage.memory import MemoryStorage
from shared.translation.reference import translate_history
from tests.support.events import write
from tests.support.publishing import Clock, context_of, post_and_settle, publish, publish_options

if TYPE_CHECKING:
    from shared.publishing.writing.catalog_write import Published

BOUND = timedelta(seconds=100)
CALLS = 4


@dataclass
class Passing:
    """The clock of all, as seconds too."""

    clock: Clock

    def seconds(self) -> float:
        return self.clock.at.timestamp()


class Slow(MemoryCatalog):
    """A catalog whose writes take four calls, each just within its bound; only the last one takes effect; another
    publisher looks in before each.
    """

    def __init__(self, storage: MemoryStorage, publishing: PublishOptions, clock: Clock) -> None:
        super().__init__()
        self.storage, self.publishing, self.clock = storage, publishing, clock
        self.others: list[Published] = []
        self.swift = MemoryCatalog()

    def calls_to_write(self, processes: Sequence[ProcessEntity]) -> int:  # noqa: ARG002 - the same for all
        return CALLS

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        post_and_settle(self.storage, *write("b", "app1", "10:02", "/b"))
        for _ in range(CALLS):
            self.clock.at += BOUND - timedelta(seconds=1)
            self.others.append(publish(self.storage, self.swift, self.publishing))
        return super().write_processes(processes, guids)


def slow_world() -> tuple[MemoryStorage, PublishOptions, Slow, Clock]:
    clock = Clock()
    storage = MemoryStorage(clock=Passing(clock).seconds)
    publishing = replace(publish_options(clock), call_bound=BOUND, seconds=Passing(clock).seconds)
    return storage, publishing, Slow(storage, publishing, clock), clock


def test_no_other_publisher_writes_a_process_during_a_slow_write() -> None:
    storage, publishing, slow, clock = slow_world()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, slow, publishing)
    assert [other.written for other in slow.others] == [0] * CALLS
    assert any(other.postponed for other in slow.others), "they had their turn, and let it be"
    clock.at += timedelta(hours=1)
    assert publish(storage, slow.swift, publishing).written == 1
    (process,) = slow.swift.processes.values()
    assert [name for _, name in process.inputs] == ["file:///a", "file:///b"]


def test_no_publisher_writes_a_process_during_a_slow_backfill() -> None:
    storage, publishing, slow, _ = slow_world()
    processes = translate_history([decode(body) for body in write("a", "app1", "10:00", "/a")]).processes
    assert import_processes(context_of(storage, slow, publishing), processes).written == 1
    assert [other.written for other in slow.others] == [0] * CALLS
    assert any(other.postponed for other in slow.others)


def test_an_unanswered_write_delays_the_next_one_only_by_the_bound_of_a_call() -> None:
    class Cut(MemoryCatalog):
        def calls_to_write(self, processes: Sequence[ProcessEntity]) -> int:  # noqa: ARG002 - the same for all
            return CALLS

        def write_processes(self, *_: object) -> dict[str, str]:
            raise CatalogUnavailable("no answer", after=0, over=False, blames=False)

    storage, publishing, _, clock = slow_world()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    assert publish(storage, Cut(), publishing).error == "no answer"
    clock.at += BOUND - timedelta(seconds=1)
    assert publish(storage, MemoryCatalog(), publishing).written == 0, "the call may still land"
    clock.at += timedelta(seconds=1)
    assert publish(storage, MemoryCatalog(), publishing).written == 1


def test_an_unanswered_backfill_can_continue_after_the_bound_of_a_call() -> None:
    class Cut(MemoryCatalog):
        away = True

        def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
            if self.away:
                raise CatalogUnavailable("no answer", after=0, over=False)
            return super().write_processes(processes, guids)

    storage, publishing, _, clock = slow_world()
    processes = translate_history([decode(body) for body in write("a", "app1", "10:00", "/a")]).processes
    catalog = Cut()
    with pytest.raises(CatalogUnavailable):
        import_processes(context_of(storage, catalog, publishing), processes)
    catalog.away = False
    assert import_processes(context_of(storage, catalog, publishing), processes).postponed == 1
    clock.at += BOUND
    assert import_processes(context_of(storage, catalog, publishing), processes).written == 1


def test_a_slow_look_up_of_assets_does_not_shorten_the_time_of_the_write() -> None:
    class Seeking(MemoryCatalog):
        def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:
            clock.at += BOUND - timedelta(seconds=1)
            return super().look_up(keys)

    storage, publishing, _, clock = slow_world()
    processes = translate_history([decode(body) for body in write("a", "app1", "10:00", "/a")]).processes
    assert import_processes(context_of(storage, Seeking(), publishing), processes).written == 1
    post_and_settle(storage, *write("b", "app1", "10:02", "/b"))
    assert publish(storage, Seeking(), publishing).written == 1


def test_a_process_is_not_written_when_its_placeholders_took_too_long() -> None:
    class Placing(MemoryCatalog):
        def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
            clock.at += 3 * BOUND
            return super().create_assets(assets)

    storage, publishing, _, clock = slow_world()
    catalog = Placing()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    assert publish(storage, catalog, publishing).written == 0
    assert (len(catalog.assets), catalog.processes) == (2, {})
    clock.at += BOUND
    assert publish(storage, catalog, publishing).written == 1, "what was placed is there by now"
    processes = translate_history([decode(body) for body in write("b", "app2", "10:00", "/b", sink="/x")]).processes
    with pytest.raises(CatalogUnavailable, match="too long"):
        import_processes(context_of(storage, catalog, publishing), processes)
    clock.at += BOUND
    assert import_processes(context_of(storage, catalog, publishing), processes).written == 1


def test_the_bound_of_a_write_limits_its_number_of_processes() -> None:
    class Heavy(MemoryCatalog):
        def __init__(self) -> None:
            super().__init__()
            self.sizes: list[int] = []

        def calls_to_write(self, processes: Sequence[ProcessEntity]) -> int:
            return 5 * len(processes)

        def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
            self.sizes.append(len(processes))
            return super().write_processes(processes, guids)

    storage, publishing, _, _ = slow_world()
    for number in range(10):
        post_and_settle(storage, *write(f"r{number}", "app", "10:00", "/a", sink=f"/out{number}"))
    catalog = Heavy()
    assert publish(storage, catalog, publishing).written == 10
    assert sum(catalog.sizes) == 10
    assert max(catalog.sizes) <= 4
