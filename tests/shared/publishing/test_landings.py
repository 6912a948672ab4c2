"""A publisher that is killed, slow or not answered: others wait for minutes at most, and no late call stays."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from threading import get_ident
from typing import Any

import pytest

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.catalog.port import AssetKey, HeldAsset
from shared.concurrency import ParallelMap
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.publishing.context import PublishOptions
from shared.records.ledger import ledger_entries
from shared.records.states import LedgerState
from shared.storage.memory import MemoryStorage
from tests.support.events import write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import Clock, Killed, entries, fold, publish, publish_options, the_ledger

BOUND = timedelta(seconds=100)
CALLS = 4
MINUTE = timedelta(minutes=1)


def slow_world() -> tuple[MemoryStorage, PublishOptions, Clock]:
    clock = Clock()
    options = publish_options(clock, call_bound=BOUND, seconds=clock.seconds)
    return MemoryStorage(clock=clock.seconds), options, clock


class Fatal(MemoryCatalog):
    """A catalog whose next write takes effect long after its publisher was killed (`land`); after the write that
    follows it, `meanwhile` is called.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_fatal = True
        self.land: Callable[[], object] = lambda: None
        self.meanwhile: Callable[[], object] = lambda: None

    def calls_to_write(self, processes: Sequence[ProcessEntity]) -> int:  # noqa: ARG002 - the same for all
        return CALLS

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        if self.is_fatal:
            self.is_fatal = False
            self.land = lambda: MemoryCatalog.write_processes(self, processes, guids)
            raise Killed
        written_processes = super().write_processes(processes, guids)
        self.meanwhile()
        self.meanwhile = lambda: None
        return written_processes


def sources(catalog: MemoryCatalog) -> list[str]:
    (process,) = catalog.processes.values()
    return [name.rpartition("/")[2] for _, name in process.inputs]


def killed_world() -> tuple[MemoryStorage, PublishOptions, Clock, Fatal]:
    """A world whose publisher was killed while it wrote a process that reads `a`."""
    storage, options, clock = slow_world()
    catalog = Fatal()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    with pytest.raises(Killed):
        publish(storage, catalog, options)
    return storage, options, clock, catalog


def test_a_killed_publisher_delays_a_process_by_four_minutes_at_most() -> None:
    storage, options, clock, catalog = killed_world()
    minutes = 0
    while not catalog.processes:
        clock.at += MINUTE
        minutes += 1
        publish(storage, catalog, options)
    assert minutes <= 4
    assert sources(catalog) == ["a"]


def test_a_call_of_a_killed_publisher_that_takes_effect_late_does_not_stay() -> None:
    storage, options, clock, catalog = killed_world()
    fold(storage, *write("b", "app1", "10:02", "/b"))
    clock.at += 4 * MINUTE
    assert publish(storage, catalog, options).written == 1
    assert sources(catalog) == ["a", "b"]
    clock.at += 4 * MINUTE
    catalog.land()
    assert sources(catalog) == ["a"], "it took effect eight minutes after it had begun"
    (entry,) = entries(storage, revisits=True)
    assert entry.due - clock.at <= (CALLS + 2) * BOUND - 8 * MINUTE
    clock.at = entry.due
    assert publish(storage, catalog, options).written == 1
    assert sources(catalog) == ["a", "b"]
    assert entries(storage, revisits=True) == ()
    clock.at += timedelta(days=1)
    assert publish(storage, catalog, options).progress == 0, "it is repeated once"


def test_a_repetition_that_comes_due_during_the_write_is_not_forgotten() -> None:
    storage, options, clock, catalog = killed_world()
    fold(storage, *write("b", "app1", "10:02", "/b"))
    clock.at += (CALLS + 2) * BOUND - timedelta(seconds=1)

    def land_and_go_on() -> None:
        catalog.land()
        assert sources(catalog) == ["a"]
        clock.at += timedelta(seconds=2)

    catalog.meanwhile = land_and_go_on
    publish(storage, catalog, options)
    publish(storage, catalog, options)
    assert sources(catalog) == ["a", "b"]
    assert (publish(storage, catalog, options).progress, entries(storage, revisits=True)) == (0, ())


def test_a_process_that_changes_meanwhile_is_repeated_too() -> None:
    storage, options, clock, catalog = killed_world()
    clock.at += 4 * MINUTE
    assert publish(storage, catalog, options).written == 1
    clock.at += MINUTE
    fold(storage, *write("b", "app1", "10:02", "/b"))
    assert publish(storage, catalog, options).written == 1
    catalog.land()
    assert sources(catalog) == ["a"]
    (entry,) = entries(storage, revisits=True)
    clock.at = entry.due
    assert publish(storage, catalog, options).written == 1
    assert sources(catalog) == ["a", "b"]


def test_a_removed_process_that_a_late_call_brings_back_is_removed_again() -> None:
    storage, options, clock, catalog = killed_world()
    fold(storage, write("a", "app1", "10:01", "/a", end="FAIL")[1])
    clock.at += 4 * MINUTE
    assert publish(storage, catalog, options).removed == 1
    catalog.land()
    assert sources(catalog) == ["a"]
    (entry,) = entries(storage, revisits=True)
    clock.at = entry.due
    assert publish(storage, catalog, options).removed == 1
    assert (catalog.processes, the_ledger(storage).state) == ({}, LedgerState.NOTHING)


class Slow(MemoryCatalog):
    """A catalog whose writes take four calls, each just within its bound; only the last one takes effect; another
    publisher looks in before each, which has a fresher catalog of its own.
    """

    def __init__(self, storage: MemoryStorage, options: PublishOptions, clock: Clock) -> None:
        super().__init__()
        self.storage, self.options, self.clock = storage, options, clock
        self.others: list[Any] = []

    def calls_to_write(self, processes: Sequence[ProcessEntity]) -> int:  # noqa: ARG002 - the same for all
        return CALLS

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        if not self.others:
            fold(self.storage, *write("b", "app1", "10:02", "/b"))
            for _ in range(CALLS):
                self.clock.at += BOUND - timedelta(seconds=1)
                self.others.append(publish(self.storage, self, self.options))
        return super().write_processes(processes, guids)


def test_a_slow_write_that_others_did_not_wait_for_does_not_stay() -> None:
    storage, options, clock = slow_world()
    slow = Slow(storage, options, clock)
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, slow, options)
    assert [other.written for other in slow.others] == [0, 1, 0, 0], "they waited for three minutes"
    assert sources(slow) == ["a"], "the slow write took effect last"
    for _ in range(10):
        clock.at += MINUTE
        publish(storage, slow, options)
    assert sources(slow) == ["a", "b"]


def test_an_unanswered_write_delays_the_next_one_only_by_the_bound_of_a_call() -> None:
    class Cut(MemoryCatalog):
        def calls_to_write(self, processes: Sequence[ProcessEntity]) -> int:  # noqa: ARG002 - the same for all
            return CALLS

        def write_processes(self, *_: object) -> dict[str, str]:
            raise CatalogUnavailable("no answer", after=0, over=False, blames=False)

    storage, options, clock = slow_world()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    assert publish(storage, Cut(), options).error == "no answer"
    clock.at += BOUND - timedelta(seconds=1)
    assert publish(storage, MemoryCatalog(), options).written == 0, "the call may still land"
    clock.at += timedelta(seconds=1)
    assert publish(storage, MemoryCatalog(), options).written == 1
    assert entries(storage, revisits=True) == (), "that call is over: nothing is repeated"


def test_a_lost_try_of_a_write_that_succeeded_delays_nothing_and_does_not_stay() -> None:
    class Late(MemoryCatalog):
        """Applies a try without an answer minutes later."""

        lost: Sequence[ProcessEntity] = ()

        def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
            self.lost = self.lost or processes
            return super().write_processes(processes, guids)

        def may_still_land(self) -> bool:
            return self.writes <= 2  # the first that is written; placing is the first call

        def land(self) -> None:
            ends = [key for process in self.lost for key in (*process.inputs, *process.outputs)]
            super().write_processes(self.lost, self.find(ends))

    storage, options, clock = slow_world()
    catalog = Late()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    assert publish(storage, catalog, options).written == 1
    fold(storage, *write("b", "app2", "10:01", "/a"))
    assert publish(storage, catalog, options).unchanged == 1
    fold(storage, *write("c", "app2", "10:02", "/b"))
    assert publish(storage, catalog, options).written == 1
    catalog.land()
    assert sources(catalog) == ["a"]
    clock.at += BOUND
    assert publish(storage, catalog, options).written == 1
    assert sources(catalog) == ["a", "b"]
    clock.at += BOUND
    assert publish(storage, catalog, options).progress == 0


def test_the_thread_that_called_is_asked_whether_a_try_was_lost() -> None:
    class Threaded(MemoryCatalog):
        """Answers without a guid, and knows of a lost try in the thread that called."""

        thread = 0

        def write_processes(self, *_: object) -> dict[str, str]:
            self.thread = get_ident()
            return {}

        def may_still_land(self) -> bool:
            return get_ident() == self.thread

    storage, options, clock = slow_world()
    for number in range(3):
        fold(storage, *write(f"r{number}", f"app{number}", "10:00", "/a", sink=f"/out{number}"))
    publish(storage, Threaded(), replace(options, parallel=ParallelMap(at_once=4)))
    assert {entry.landing.again for entry in ledger_entries(storage)} == {clock.at + BOUND}, "as of the first call"


def test_what_a_refused_call_may_have_written_stays_on_record_without_access() -> None:
    class HalfTaken(MemoryCatalog):
        """Writes what it answers with 500; then its access ends."""

        def write_processes(self, entities: Sequence[ProcessEntity], assets: Mapping[AssetKey, str]) -> dict[str, str]:
            if self.processes:
                raise CatalogRefused(status=403, code="", detail="no role")
            super().write_processes(entities, assets)
            raise CatalogUnavailable("500", after=0, over=True)

    storage, options, _ = slow_world()
    for number in range(2):
        fold(storage, *write(f"r{number}", f"app{number}", "10:00", "/a", sink=f"/out{number}"))
    publish(storage, HalfTaken(), options)
    assert [entry.state for entry in ledger_entries(storage)] == [LedgerState.WRITING] * 2


def test_a_slow_look_up_of_assets_does_not_shorten_the_time_of_the_write() -> None:
    class Seeking(MemoryCatalog):
        def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:
            clock.at += BOUND - timedelta(seconds=1)
            return super().look_up(keys)

    storage, options, clock = slow_world()
    fold(storage, *write("b", "app1", "10:02", "/b"))
    assert publish(storage, Seeking(), options).written == 1


def test_a_process_is_not_written_when_its_placeholders_took_too_long() -> None:
    class Placing(MemoryCatalog):
        def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
            clock.at += 3 * BOUND
            return super().create_assets(assets)

    storage, options, clock = slow_world()
    catalog = Placing()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    assert publish(storage, catalog, options).written == 0
    assert (len(catalog.assets), catalog.processes) == (2, {})
    clock.at += BOUND
    assert publish(storage, catalog, options).written == 1, "what was placed is there by now"


def test_no_further_data_sets_are_created_when_their_time_is_over() -> None:
    class Placing(MemoryCatalog):
        def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
            clock.at += 10 * BOUND
            return super().create_assets(assets)

    storage, options, clock = slow_world()
    catalog = Placing()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, replace(options, batch=1, stopped=lambda: bool(catalog.assets)))
    assert len(catalog.assets) == 1


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

    storage, options, _ = slow_world()
    for number in range(10):
        fold(storage, *write(f"r{number}", "app", "10:00", "/a", sink=f"/out{number}"))
    catalog = Heavy()
    assert publish(storage, catalog, options).written == 10
    assert sum(catalog.sizes) == 10
    assert max(catalog.sizes) <= 4
