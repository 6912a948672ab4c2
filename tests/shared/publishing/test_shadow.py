"""Shadow mode: everything except writes, no endless loop, a correct ledger, and its end publishes all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import StaticToken, SteadyAtlasClient
from shared.catalog.memory import MemoryCatalog
from shared.catalog.port import AssetKey, Catalog, HeldAsset, Placeholder
from shared.errors import CatalogRefused
from shared.publishing.planning.planner import recorded
from shared.publishing.shadow import HeldBack, Shadow, ShadowAction, held_back, leave_shadow_mode
from shared.records.asset_matches import match_key
from shared.records.publish_queue import queue_entries
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from tests.support.events import event, write
from tests.support.processing import Watched
from tests.support.publishing import Clock, UnreliableCatalog, post_and_settle, process_in, publish, publish_options


class Untouched(MemoryCatalog):
    """A catalog that refuses all writes."""

    def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
        raise AssertionError(assets)

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        raise AssertionError(processes, guids)

    def delete_process(self, qualified_name: str) -> None:
        raise AssertionError(qualified_name)

    def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:
        raise AssertionError(asset, bare)


NAME = "throughline:v1://tests/app/file/out"


def test_shadow_mode_does_everything_except_writes() -> None:
    storage, catalog, clock = MemoryStorage(), Untouched(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"), *write("b", "app1", "10:01", "/a", sink="/b"))
    shadow = replace(publish_options(clock), shadow=True)
    assert publish(storage, catalog, shadow).held == 2
    found = status(storage)
    assert found.shadow == Shadow(writes=2, creates=3, removes=0, describes=0)
    assert (found.waiting_for, found.processes, found.publish_queue) == ({"the end of shadow mode": 4}, 0, 0)
    assert (found.reconciles, found.in_progress) == (True, 0)
    assert list(storage.scan("ledger")) == []
    assert next(each for _, each in held_back(storage)).action is ShadowAction.WRITE
    assert len(list(recorded(storage, shadow))) == 2, "`details` shows what would be written"


def test_the_next_publish_in_shadow_mode_plans_nothing_again() -> None:
    storage, clock = Watched(MemoryStorage()), Clock()
    post_and_settle(storage.real, *write("a", "app1", "10:00", "/a"))
    shadow = replace(publish_options(clock), shadow=True)
    publish(storage, UnreliableCatalog(), shadow)
    storage.calls.clear()
    publish(storage, UnreliableCatalog(), shadow)
    assert storage.calls == {"lease": 1, "partition": 2}


def test_the_end_of_shadow_mode_publishes_everything_held_back() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"), *write("b", "app1", "10:01", "/a", sink="/b"))
    publish(storage, Untouched(), replace(publish_options(clock), shadow=True))
    assert leave_shadow_mode(storage, replace(publish_options(clock), shadow=True)) == 0, "it is not over"
    assert leave_shadow_mode(storage, publish_options(clock)) == 2
    assert publish(storage, catalog, publish_options(clock)).written == 2
    found = status(storage)
    assert (found.published, found.waiting, found.shadow) == (4, 0, Shadow())
    assert leave_shadow_mode(storage, publish_options(clock)) == 0


def test_a_new_run_is_planned_again_and_unchanged_plans_are_dropped() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    shadow = replace(publish_options(clock), shadow=True)
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    writes = catalog.writes
    post_and_settle(storage, *write("b", "app1", "10:01", "/b"))
    publish(storage, catalog, shadow)
    assert [each for _, each in held_back(storage)] == [
        HeldBack(action=ShadowAction.WRITE, qualified_name=NAME, creates=(("fs_path", "file:///b"),))
    ]
    post_and_settle(storage, write("b", "app1", "10:01", "/b", end="FAIL")[1])
    publish(storage, catalog, shadow)
    assert list(held_back(storage)) == []
    post_and_settle(storage, write("a", "app1", "10:00", "/a", end="FAIL")[1])
    publish(storage, catalog, shadow)
    assert [each for _, each in held_back(storage)] == [HeldBack(action=ShadowAction.REMOVE, qualified_name=NAME)]
    assert (catalog.writes, len(catalog.processes)) == (writes, 1)
    leave_shadow_mode(storage, publish_options(clock))
    assert publish(storage, catalog, publish_options(clock)).removed == 1


def test_a_new_description_of_a_placeholder_is_held_back_too() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    writes = catalog.writes
    drop = event("d", "COMPLETE", "11:00:00", outputs=["/out"], states={"/out": ("DROP", "")}, application="app1")
    post_and_settle(storage, drop)
    publish(storage, catalog, replace(publish_options(clock), shadow=True))
    assert status(storage).shadow.describes == 1
    assert catalog.writes == writes
    leave_shadow_mode(storage, publish_options(clock))
    publish(storage, catalog, publish_options(clock))
    assert "Dropped" in dict(catalog.assets["fs_path", "file:///out"].attributes)["description"]


def test_an_overtaken_publisher_in_shadow_mode_removes_no_newer_plan() -> None:
    """It found no change; before it deletes its plan, another publisher holds back a newer one."""
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    shadow = replace(publish_options(clock), shadow=True)
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    post_and_settle(storage, *write("b", "app1", "10:01", "/b"))
    publish(storage, catalog, shadow)
    post_and_settle(storage, write("b", "app1", "10:01", "/b", end="FAIL")[1])
    watched = Watched(storage)

    def overtake(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "delete" and arguments[0] == "shadow":
            watched.step_in = nothing
            post_and_settle(storage, *write("c", "app1", "10:02", "/c"))
            storage._leases.clear()  # the lease of the first runs out
            publish(storage, catalog, shadow)

    watched.step_in = overtake
    publish(watched, catalog, shadow)
    assert [each.creates for _, each in held_back(storage)] == [(("fs_path", "file:///c"),)]


BAD_NAME = CatalogRefused(status=400, code="ATLAS-400-00-01A", detail="this name is not taken")
NO_ROLE = CatalogRefused(status=403, code="", detail="no role")


class RefusesToRead(MemoryCatalog):
    """A catalog that refuses to read names with an end."""

    def __init__(self) -> None:
        super().__init__()
        self.end = "no name has this end"
        self.refusal = BAD_NAME

    def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:
        return super().look_up(self._accepted(keys))

    def placeholders(self, keys: Iterable[AssetKey]) -> dict[AssetKey, Placeholder]:
        return super().placeholders(self._accepted(keys))

    def _accepted(self, keys: Iterable[AssetKey]) -> list[AssetKey]:
        asked = list(keys)
        if any(name.endswith(self.end) for _, name in asked):
            raise self.refusal
        return asked


def jobs(*names: str) -> list[bytes]:
    """A job for each of these names that writes a file of this name."""
    return [body for name in names for body in write(name, name, "10:00", f"/from {name}", sink=f"/{name}")]


def test_a_data_set_whose_look_up_is_refused_holds_up_no_other_process() -> None:
    storage, catalog, clock = MemoryStorage(), RefusesToRead(), Clock()
    shadow = replace(publish_options(clock), shadow=True)
    post_and_settle(storage, *jobs("1", "2", "bad", "3", "4"))
    catalog.end = "/bad"
    done = publish(storage, catalog, shadow)
    assert (done.held, done.refused, done.error) == (4, 1, "")
    (left,), paused_until, _ = queue_entries(storage)
    assert (left.isolated, left.error, paused_until) == (True, str(BAD_NAME), None)
    assert status(storage).shadow.writes == 4
    clock.at += timedelta(hours=1)
    catalog.end = "no name has this end"
    assert publish(storage, catalog, shadow).held == 1
    assert status(storage).shadow.writes == 5


def test_a_placeholder_that_may_not_be_read_holds_up_no_other_data_set() -> None:
    storage, catalog, clock = MemoryStorage(), RefusesToRead(), Clock()
    names = [str(number) for number in range(5)]
    post_and_settle(storage, *jobs(*names))
    publish(storage, catalog, publish_options(clock))
    for name in names:
        sink = f"/{name}"
        post_and_settle(storage, event(f"d{name}", "COMPLETE", "11:00:00", outputs=[sink], states={sink: ("DROP", "")}))
    first = min(names, key=lambda name: match_key(("fs_path", f"file:///{name}")))
    catalog.end = f"file:///{first}"
    done = publish(storage, catalog, replace(publish_options(clock), shadow=True))
    assert (done.refused, done.error, status(storage).shadow.describes) == (1, "", 4)
    (left,), _, _ = queue_entries(storage)
    assert (left.isolated, left.error) == (True, str(BAD_NAME))


def test_without_access_to_the_catalog_shadow_mode_pauses_and_puts_no_process_off() -> None:
    storage, catalog, clock = MemoryStorage(), RefusesToRead(), Clock()
    post_and_settle(storage, *jobs("1", "2"))
    catalog.end, catalog.refusal = "", NO_ROLE
    done = publish(storage, catalog, replace(publish_options(clock), shadow=True))
    assert (done.held, done.refused, done.error) == (0, 0, str(NO_ROLE))
    assert [each.attempts for each in queue_entries(storage)[0]] == [0, 0]


def nothing(_name: str, _arguments: tuple[Any, ...]) -> None:
    return None


@pytest.fixture(params=["memory", "atlas"])
def catalog(request: pytest.FixtureRequest) -> Catalog:
    if request.param == "memory":
        return MemoryCatalog()
    server = request.getfixturevalue("fresh_catalog")
    return AtlasCatalog(SteadyAtlasClient(server.endpoint, StaticToken(server.token)))


def test_a_real_catalog_is_unchanged_until_shadow_mode_ends(catalog: Catalog) -> None:
    storage, clock = MemoryStorage(), Clock()
    post_and_settle(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, replace(publish_options(clock), shadow=True))
    assets = [("fs_path", "file:///a"), ("fs_path", "file:///out")]
    assert catalog.find(assets) == {}
    leave_shadow_mode(storage, publish_options(clock))
    assert publish(storage, catalog, publish_options(clock)).written == 1
    assert sorted(catalog.find(assets)) == assets
    assert process_in(catalog, NAME)
