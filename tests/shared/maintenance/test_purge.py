"""Purging removes all of our entities and nothing else, continues after an interruption, and a replay restores them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.applications.processor import ApplicationProcessor
from shared.atlas.entities import AssetEntity
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import StaticToken, SteadyAtlasClient
from shared.catalog.port import AssetKey, Catalog
from shared.events.stored_runs import RunFilter
from shared.maintenance.publish_missing import publish_all
from shared.maintenance.removal import placeholders_to_purge, processes_to_purge, purge
from shared.maintenance.replay import ReplayPosition, replay
from shared.publishing.context import PublishOptions
from shared.records.publish_queue import read_queue
from shared.records.waits import LONGEST_WAIT
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from tests.support.events import event, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publishing import Clock, context_of, post_and_deliver, publish, publish_options

SCANNED = AssetEntity(
    type="fs_path",
    qualified_name="file:///scanned",
    attributes=(("name", "S"), ("description", "Found by a scan."), ("path", "/scanned")),
)
NAMES = ("scanned", "o0", "o1", "o2", "o3", "o4")


def file(name: str) -> AssetKey:
    return ("fs_path", f"file:///{name}")


@pytest.fixture(params=["memory", "atlas"])
def catalog(request: pytest.FixtureRequest) -> Catalog:
    if request.param == "memory":
        return MemoryCatalog()
    server = request.getfixturevalue("fresh_catalog")
    return AtlasCatalog(SteadyAtlasClient(server.endpoint, StaticToken(server.token)))


def filled(catalog: Catalog) -> MemoryStorage:
    """Five processes, from one scanned table to five placeholders."""
    storage = MemoryStorage()
    catalog.create_assets([SCANNED])
    for number in range(5):
        post_and_deliver(storage, *write(f"r{number}", "app1", f"10:0{number}", "/scanned", sink=f"/o{number}"))
    assert publish(storage, catalog, publish_options(Clock())).written == 5
    return storage


def by_twos(clock: Clock | None = None) -> PublishOptions:
    return replace(publish_options(clock or Clock()), batch=2)


def total(steps: Sequence[Counter[str]]) -> Counter[str]:
    return sum(steps, Counter[str]())


def test_a_purge_removes_all_of_our_entities_and_nothing_else(catalog: Catalog) -> None:
    storage = filled(catalog)
    assert len(list(processes_to_purge(storage))) == 5
    assert list(placeholders_to_purge(context_of(storage, catalog, by_twos()))) == [file(name) for name in NAMES[1:]]
    steps = list(purge(context_of(storage, catalog, by_twos())))
    assert total(steps) == Counter(processes=5, placeholders=5)
    assert max(step["processes"] + step["placeholders"] for step in steps) == 2
    assert list(catalog.find(file(name) for name in NAMES)) == [file("scanned")]
    current_status = status(storage)
    assert (current_status.processes, current_status.skipped_because, current_status.reconciles) == (
        0,
        {"its process was purged": 10},
        True,
    )
    assert total(list(purge(context_of(storage, catalog, by_twos())))) == Counter()


def test_a_replay_creates_everything_again(catalog: Catalog) -> None:
    storage = filled(catalog)
    list(purge(context_of(storage, catalog, by_twos())))
    list(replay(ApplicationProcessor(storage=storage), ReplayPosition(wanted=RunFilter())))
    assert publish_all(context_of(storage, catalog, publish_options(Clock())))[0].written == 5
    assert sorted(catalog.find(file(name) for name in NAMES)) == sorted(file(name) for name in NAMES)
    assert (status(storage).published, status(storage).processes) == (10, 5)


class Cut(BaseException):
    """Killed here."""


class Mortal(MemoryCatalog):
    """Dies at its nth removal, before or after it took effect."""

    def __init__(self) -> None:
        super().__init__()
        self.lives = 1000
        self.after = False

    def remove(self, guids: Sequence[str]) -> None:
        self.lives -= 1
        if not self.lives and not self.after:
            raise Cut
        super().remove(guids)
        if not self.lives:
            raise Cut


@pytest.mark.parametrize("dies_after", [False, True])
@pytest.mark.parametrize("lives", [1, 2, 3, 4, 5, 6])
def test_a_purge_killed_at_any_removal_continues(lives: int, dies_after: bool) -> None:
    catalog, clock = Mortal(), Clock()
    storage = filled(catalog)
    catalog.lives, catalog.after = lives, dies_after
    with pytest.raises(Cut):
        list(purge(context_of(storage, catalog, by_twos(clock))))
    assert status(storage).reconciles
    clock.at += timedelta(hours=1)
    remaining_count = total(list(purge(context_of(storage, catalog, by_twos(clock)))))["left"]
    assert (remaining_count, catalog.processes, list(catalog.assets)) == (0, {}, [file("scanned")])
    assert publish(storage, catalog, publish_options(clock)).written == 0


def test_no_other_publisher_writes_a_process_during_a_purge_of_several_calls() -> None:
    class Watching(MemoryCatalog):
        until = datetime.max.replace(tzinfo=UTC)

        def remove(self, guids: Sequence[str]) -> None:
            self.until = min([self.until, *(entry.landing.until for entry in processes_to_purge(storage))])
            super().remove(guids)

    storage, catalog, clock = MemoryStorage(), Watching(), Clock()
    for number in range(101):
        post_and_deliver(storage, *write(f"r{number}", "app1", "10:00", "/a", sink=f"/o{number}"))
    options = replace(publish_options(clock), batch=200)
    assert publish(storage, catalog, options).written == 101
    assert total(list(purge(context_of(storage, catalog, options))))["processes"] == 101
    assert catalog.until == clock.at + LONGEST_WAIT, "others wait; the two calls take longer, with what comes before"


def test_processes_with_a_pending_write_are_left_and_reported() -> None:
    catalog, clock = Mortal(), Clock()
    storage = filled(catalog)
    catalog.lives = 1
    with pytest.raises(Cut):
        list(purge(context_of(storage, catalog, by_twos(clock))))
    assert total(list(purge(context_of(storage, catalog, by_twos(clock)))))["left"] == 2


def test_a_purged_process_does_not_return_when_its_revisit_is_due() -> None:
    """A younger application that has not ended makes the publisher come back to the process later."""
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), Clock()
    hourly = publish_options(clock, quiet=timedelta(hours=1))
    application_cache = f"{clock.at - timedelta(minutes=30):%Y-%m-%dT%H:%M}"
    post_and_deliver(storage, *write("a", "app1", "10:00", "/a"), event("app1", "COMPLETE", "10:05:00"))
    post_and_deliver(storage, *write("b", "app2", application_cache, "/b"))
    publish(storage, catalog, hourly)
    assert [entry.revisit for entry in read_queue(storage).entries if not entry.is_asset] == [True]
    list(purge(context_of(storage, catalog, hourly)))
    clock.at += timedelta(hours=2)
    assert publish(storage, catalog, hourly).written == 0
    assert catalog.processes == {}


def test_a_run_that_arrives_during_the_purge_is_published() -> None:
    catalog = MemoryCatalog()
    storage = filled(catalog)
    steps = purge(context_of(storage, catalog, by_twos()))
    next(steps)
    post_and_deliver(storage, *write("new", "app1", "12:00", "/scanned", sink="/o0"))
    list(steps)
    assert publish(storage, catalog, publish_options(Clock())).written == 1
    assert [name.rpartition("/")[2] for name in catalog.processes] == ["o0"]


def test_what_waits_to_be_published_is_put_on_record_by_a_purge() -> None:
    """The marks of a purged process go; what they are about is contributed when a later run brings the process back."""
    storage, catalog = MemoryStorage(), MemoryCatalog()
    post_and_deliver(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(Clock()))
    post_and_deliver(storage, *write("b", "app2", "11:00", "/b"))
    list(purge(context_of(storage, catalog, by_twos())))
    assert publish(storage, catalog, publish_options(Clock())).written == 0
    post_and_deliver(storage, *write("c", "app3", "12:00", "/c"))
    publish(storage, catalog, publish_options(Clock()))
    (process,) = catalog.processes.values()
    assert [key[1] for key in process.inputs] == ["file:///a", "file:///b", "file:///c"]


def test_an_asset_with_a_new_description_is_no_longer_ours(catalog: Catalog) -> None:
    storage = filled(catalog)
    described = (("name", "o3"), ("description", "The orders."), ("path", "/o3"))
    foreign_asset = replace(SCANNED, qualified_name="file:///o3", attributes=described)
    catalog.create_assets([foreign_asset])
    assert total(list(purge(context_of(storage, catalog, by_twos())))) == Counter(processes=5, placeholders=4)
    assert sorted(catalog.find(file(name) for name in NAMES)) == [file("o3"), file("scanned")]
