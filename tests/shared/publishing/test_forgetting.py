"""What applications contributed goes when it can never count again; what reports need of it stays as values."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from shared.publishing.publisher import Publisher
from shared.reading.processes import recorded_processes
from shared.records.ledger import MAX_STARTS
from shared.storage.memory import MemoryStorage
from shared.storage_layout import CATALOG, PROCESSES
from tests.support.events import event, run_id, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import (
    Clock,
    Watched,
    close_application,
    context_of,
    fold,
    publish,
    publish_options,
    the_ledger,
)

QUIET = timedelta(hours=1)


def parts(storage: MemoryStorage) -> list[str]:
    """The applications of which parts are stored."""
    return [row.key for row in storage.scan(PROCESSES) if row.key != CATALOG]


def applications(*names: str) -> list[str]:
    return sorted(map(run_id, names))


def run(name: str, hour: int, source: str = "/a", *, end: str = "COMPLETE", own_end: bool = True) -> Iterator[bytes]:
    """An application with one run."""
    yield from write(f"run of {name}", name, f"{hour:02}:00", source, end=end)
    if own_end:
        yield event(name, end, f"{hour:02}:10:00")


class World:
    """A storage and a catalog, published to by a clock that does not move."""

    def __init__(self) -> None:
        self.storage, self.catalog, self.clock = MemoryStorage(), MemoryCatalog(), Clock()

    def publish(self, *bodies: bytes, quiet: timedelta = timedelta(days=100_000)) -> None:
        fold(self.storage, *bodies)
        publish(self.storage, self.catalog, publish_options(self.clock, quiet=quiet))

    def close(self, *names: str, quiet: timedelta = timedelta(days=100_000)) -> None:
        for name in names:
            close_application(self.storage, run_id(name), self.clock.at)
        self.publish(quiet=quiet)


def test_a_part_goes_when_an_application_that_supersedes_it_is_closed() -> None:
    world = World()
    world.publish(*run("one", 10), *run("two", 11), *run("three", 12))
    assert parts(world.storage) == applications("one", "two", "three")
    world.close("one")
    assert parts(world.storage) == applications("one", "two", "three"), "the others may still turn out to have failed"
    world.close("two")
    assert parts(world.storage) == applications("two", "three")
    world.close("three")
    assert parts(world.storage) == applications("three"), "the last one stays for ever"
    assert len(world.catalog.processes) == 1


def test_a_part_stays_while_the_application_that_supersedes_it_may_fail() -> None:
    world = World()
    world.publish(*run("one", 10, "/one"), *run("two", 11, "/two"))
    world.close("one")
    world.publish(event("run of two", "FAIL", "11:05:00", application="two", outputs=["/out"], inputs=["/two"]))
    (process,) = world.catalog.processes.values()
    assert process.inputs == (("fs_path", "file:///one"),), "it counts again"


def test_a_failed_application_supersedes_nothing_when_it_is_closed() -> None:
    world = World()
    world.publish(*run("one", 10, "/one"))
    world.publish(*write("run of two", "two", "11:00", "/two"), event("two", "FAIL", "11:10:00"))
    world.close("one", "two")
    assert parts(world.storage) == applications("one", "two")
    (process,) = world.catalog.processes.values()
    assert [name for _, name in process.inputs] == ["file:///one", "file:///two"]


def test_an_application_without_an_end_supersedes_once_it_is_quiet() -> None:
    world = World()
    world.publish(*run("one", 10, "/one"), *run("two", 11, "/two", own_end=False))
    world.close("one", "two")
    assert len(parts(world.storage)) == 2, "it is not quiet by these settings"
    world.close("two", quiet=QUIET)
    assert parts(world.storage) == applications("two")


def test_what_a_part_superseded_goes_with_it_when_a_failed_application_repeats_it() -> None:
    world = World()
    world.publish(*write("run of one", "one", "10:00", "/one"), event("one", "FAIL", "10:10:00"))
    world.publish(*run("two", 11, "/two", own_end=False))
    world.publish(*write("run of three", "three", "12:00", "/two"), event("three", "FAIL", "12:10:00"), quiet=QUIET)
    world.close("one", "two", "three", quiet=QUIET)
    assert parts(world.storage) == applications("three")
    (process,) = world.catalog.processes.values()
    assert process.inputs == (("fs_path", "file:///two"),)


def test_a_job_that_always_fails_keeps_one_part_for_each_content() -> None:
    world = World()
    for hour in range(10):
        name = f"app{hour}"
        world.publish(
            *write(f"run of {name}", name, f"{hour:02}:00", f"/in{hour % 2}"), event(name, "FAIL", f"{hour:02}:10:00")
        )
        world.close(name)
        assert len(parts(world.storage)) <= 2
    (process,) = world.catalog.processes.values()
    assert [name for _, name in process.inputs] == ["file:///in0", "file:///in1"]


def test_an_application_that_contributes_nothing_any_more_has_no_part() -> None:
    world = World()
    world.publish(*run("one", 10))
    world.publish(event("run of one", "FAIL", "10:05:00", application="one", outputs=["/out"], inputs=["/a"]))
    assert (parts(world.storage), world.catalog.processes) == ([], {})


def test_first_seen_and_the_last_starts_stay() -> None:
    world = World()
    for hour in range(24):
        world.publish(*run(f"app{hour}", hour))
        world.close(f"app{hour}")
    assert parts(world.storage) == applications("app23")
    (record,) = recorded_processes(world.storage, publish_options(world.clock))
    assert record.seen
    assert record.seen.first.hour == 0
    assert [start.hour for start in record.starts] == list(range(24))
    assert the_ledger(world.storage).forgotten.applications == 23


def stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}"


@pytest.mark.parametrize("runs", [400])
def test_a_job_that_runs_for_ever_has_a_bounded_number_of_rows_and_a_publish_the_same_cost(runs: int) -> None:
    """Every five minutes; each application is closed an hour after its end."""
    storage, catalog, clock = Watched(MemoryStorage()), MemoryCatalog(), Clock()
    context = context_of(storage, catalog, publish_options(clock))
    calls: list[int] = []
    began = clock.at
    for number in range(runs):
        moment = began + number * timedelta(minutes=5)
        name = f"app{number}"
        fold(
            storage.real, *write(f"r{number}", name, stamp(moment)[:-3], "/in"), event(name, "COMPLETE", stamp(moment))
        )
        if number >= 12:
            close_application(storage.real, run_id(f"app{number - 12}"), moment)
        storage.calls.clear()
        clock.at = moment + timedelta(minutes=1)
        assert Publisher(context=context).publish().written == (number == 0)
        calls.append(storage.total)
        assert len(parts(storage.real)) <= 14
    assert set(calls[20:]) == {calls[-1]}
    assert calls[-1] <= calls[2] + 1, "the header of the closed application"
    ledger = the_ledger(storage.real)
    assert (ledger.forgotten.applications, len(ledger.forgotten.starts)) == (runs - 13, MAX_STARTS)
    assert ledger.forgotten.seen
    assert ledger.forgotten.seen.first.replace(second=0) == began.replace(second=0, microsecond=0)
