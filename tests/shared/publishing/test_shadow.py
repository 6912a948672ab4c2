"""Shadow mode: everything except writes, no endless loop, a correct ledger, and its end publishes all."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import StaticToken, SteadyAtlasClient
from shared.catalog.port import AssetKey, Catalog, HeldAsset
from shared.errors import CatalogRefused
from shared.publishing.shadow import HeldBack, Shadow, ShadowAction, counted, held_back, leave_shadow_mode
from shared.reading.processes import recorded
from shared.records.ledger import ledger_entries
from shared.records.publish_queue import read_queue
from shared.records.states import LedgerState
from shared.storage.memory import MemoryStorage
from tests.support.events import event, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import (
    Clock,
    UnreliableCatalog,
    Watched,
    entries,
    fold,
    process_in,
    publish,
    publish_options,
)


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


def shadow_of(storage: MemoryStorage) -> Shadow:
    return counted([write for _, write in held_back(storage)])


NAME = "throughline:v1://tests/app/file/out"


def test_shadow_mode_does_everything_except_writes() -> None:
    storage, catalog, clock = MemoryStorage(), Untouched(), Clock()
    fold(storage, *write("a", "app1", "10:00", "/a"), *write("b", "app1", "10:01", "/a", sink="/b"))
    shadow = publish_options(clock, shadow=True)
    assert publish(storage, catalog, shadow).held == 2
    assert shadow_of(storage) == Shadow(writes=2, creates=3, removes=0, describes=0)
    assert entries(storage) == ()
    assert {entry.state for entry in ledger_entries(storage)} == {LedgerState.NOTHING}
    assert next(write for _, write in held_back(storage)).action is ShadowAction.WRITE
    assert len(list(recorded(storage, shadow))) == 2, "`details` shows what would be written"


def test_the_next_publish_in_shadow_mode_plans_nothing_again() -> None:
    storage, clock = Watched(MemoryStorage()), Clock()
    fold(storage.real, *write("a", "app1", "10:00", "/a"))
    shadow = publish_options(clock, shadow=True)
    publish(storage, UnreliableCatalog(), shadow)
    storage.calls.clear()
    publish(storage, UnreliableCatalog(), shadow)
    assert storage.calls == {"partition publishqueue": 1}


def test_assets_that_were_found_in_shadow_mode_are_known_to_the_next_process() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    for name in ("/a", "/out"):
        attributes = (("name", name), ("description", "Found by a scan."), ("path", name))
        catalog.create_assets([AssetEntity(type="fs_path", qualified_name=f"file://{name}", attributes=attributes)])
    shadow = publish_options(clock, shadow=True)
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, shadow)
    calls = catalog.calls
    fold(storage, *write("b", "app2", "10:01", "/out", sink="/a"))
    assert publish(storage, catalog, shadow).held == 1
    assert catalog.calls == calls


def test_the_end_of_shadow_mode_publishes_everything_held_back() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    fold(storage, *write("a", "app1", "10:00", "/a"), *write("b", "app1", "10:01", "/a", sink="/b"))
    publish(storage, Untouched(), publish_options(clock, shadow=True))
    assert leave_shadow_mode(storage, publish_options(clock, shadow=True)) == 0, "it is not over"
    assert leave_shadow_mode(storage, publish_options(clock)) == 2
    assert publish(storage, catalog, publish_options(clock)).written == 2
    assert (entries(storage), shadow_of(storage)) == ((), Shadow())
    assert leave_shadow_mode(storage, publish_options(clock)) == 0


def test_a_new_run_is_planned_again_and_unchanged_plans_are_dropped() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    shadow = publish_options(clock, shadow=True)
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    writes = catalog.writes
    fold(storage, *write("b", "app1", "10:01", "/b"))
    publish(storage, catalog, shadow)
    assert [write for _, write in held_back(storage)] == [
        HeldBack(action=ShadowAction.WRITE, qualified_name=NAME, creates=(("fs_path", "file:///b"),))
    ]
    fold(storage, write("b", "app1", "10:01", "/b", end="FAIL")[1])
    publish(storage, catalog, shadow)
    assert list(held_back(storage)) == []
    fold(storage, write("a", "app1", "10:00", "/a", end="FAIL")[1])
    publish(storage, catalog, shadow)
    assert [write for _, write in held_back(storage)] == [HeldBack(action=ShadowAction.REMOVE, qualified_name=NAME)]
    assert (catalog.writes, len(catalog.processes)) == (writes, 1)
    leave_shadow_mode(storage, publish_options(clock))
    assert publish(storage, catalog, publish_options(clock)).removed == 1


def test_a_new_description_of_a_placeholder_is_held_back_too() -> None:
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    writes = catalog.writes
    drop = event("d", "COMPLETE", "11:00:00", outputs=["/out"], states={"/out": ("DROP", "")}, application="app1")
    fold(storage, drop)
    assert publish(storage, catalog, publish_options(clock, shadow=True)).held == 2
    assert shadow_of(storage) == Shadow(removes=1, describes=1)
    assert catalog.writes == writes
    leave_shadow_mode(storage, publish_options(clock))
    publish(storage, catalog, publish_options(clock))
    assert "Dropped" in dict(catalog.assets["fs_path", "file:///out"].attributes)["description"]


def test_an_overtaken_publisher_in_shadow_mode_removes_no_newer_plan() -> None:
    """It found no change; before it deletes its plan, another publisher holds back a newer one."""
    storage, catalog, clock = MemoryStorage(), UnreliableCatalog(), Clock()
    shadow = publish_options(clock, shadow=True)
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock))
    fold(storage, *write("b", "app1", "10:01", "/b"))
    publish(storage, catalog, shadow)
    fold(storage, write("b", "app1", "10:01", "/b", end="FAIL")[1])
    watched = Watched(storage)

    def overtake(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "delete" and arguments[0] == "shadow":
            watched.step_in = nothing
            fold(storage, *write("c", "app1", "10:02", "/c"))
            storage._leases.clear()  # the lease of the first runs out
            publish(storage, catalog, shadow)

    watched.step_in = overtake
    publish(watched, catalog, shadow)
    assert [write.creates for _, write in held_back(storage)] == [(("fs_path", "file:///c"),)]


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

    def _accepted(self, keys: Iterable[AssetKey]) -> list[AssetKey]:
        asked_keys = list(keys)
        if any(name.endswith(self.end) for _, name in asked_keys):
            raise self.refusal
        return asked_keys


def jobs(*names: str) -> list[bytes]:
    """A job for each of these names that writes a file of this name."""
    return [body for name in names for body in write(name, name, "10:00", f"/from {name}", sink=f"/{name}")]


def test_a_data_set_whose_look_up_is_refused_holds_up_no_other_process() -> None:
    storage, catalog, clock = MemoryStorage(), RefusesToRead(), Clock()
    shadow = publish_options(clock, shadow=True)
    fold(storage, *jobs("1", "2", "bad", "3", "4"))
    catalog.end = "/bad"
    counts = publish(storage, catalog, shadow)
    assert (counts.held, counts.refused, counts.error) == (4, 1, "")
    (remaining_entry,), paused_until = entries(storage), read_queue(storage).paused
    assert (remaining_entry.isolated, remaining_entry.error, paused_until) == (True, str(BAD_NAME), None)
    assert shadow_of(storage).writes == 4
    clock.at += timedelta(hours=1)
    catalog.end = "no name has this end"
    assert publish(storage, catalog, shadow).held == 1
    assert shadow_of(storage).writes == 5


def test_without_access_to_the_catalog_shadow_mode_pauses_and_puts_no_process_off() -> None:
    storage, catalog, clock = MemoryStorage(), RefusesToRead(), Clock()
    fold(storage, *jobs("1", "2"))
    catalog.end, catalog.refusal = "", NO_ROLE
    counts = publish(storage, catalog, publish_options(clock, shadow=True))
    assert (counts.held, counts.refused, counts.error) == (0, 0, str(NO_ROLE))
    assert [entry.attempts for entry in entries(storage)] == [0, 0]


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
    fold(storage, *write("a", "app1", "10:00", "/a"))
    publish(storage, catalog, publish_options(clock, shadow=True))
    assets = [("fs_path", "file:///a"), ("fs_path", "file:///out")]
    assert catalog.find(assets) == {}
    leave_shadow_mode(storage, publish_options(clock))
    assert publish(storage, catalog, publish_options(clock)).written == 1
    assert sorted(catalog.find(assets)) == assets
    assert process_in(catalog, NAME)
