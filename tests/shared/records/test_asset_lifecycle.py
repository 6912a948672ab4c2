"""The lifecycle state of data sets: the same for any order of events, and written for our own placeholders."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest

from shared.atlas.entities import PLACED
from shared.catalog.memory import MemoryCatalog
from shared.publishing.planning.options import PublishOptions
from shared.records.asset_lifecycle import states
from shared.storage.memory import MemoryStorage
from shared.translation.aggregate import SupersessionPolicy
from tests.support.events import DAY, event, write
from tests.support.processing import post, settle
from tests.support.publishing import publish

NEVER_QUIET = SupersessionPolicy(quiet=timedelta(days=100_000))
PUBLISHING = PublishOptions(now=lambda: datetime.now(UTC) + timedelta(days=1), patience=NEVER_QUIET)


def change(state: str, at: str, path: str = "/out", before: str = "") -> bytes:
    return event(f"{state}{at}", "COMPLETE", at, outputs=[path], application="app2", states={path: (state, before)})


def lived(*bodies: bytes) -> tuple[MemoryStorage, MemoryCatalog]:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    for place in post(storage, *bodies):
        settle(storage, place)
        publish(storage, catalog, PUBLISHING)
    return storage, catalog


def described(catalog: MemoryCatalog, path: str) -> str:
    text = dict(catalog.assets["fs_path", f"file://{path}"].attributes)["description"]
    assert text.startswith(PLACED)
    return text.removeprefix(PLACED).strip()


CASES = {
    "dropped": ([change("DROP", "11:00:00")], f"Dropped on {DAY}."),
    "dropped and made again": ([change("DROP", "11:00:00"), change("CREATE", "12:00:00")], ""),
    "dropped and written over": ([change("DROP", "11:00:00"), change("OVERWRITE", "12:00:00")], ""),
    "made, then dropped": ([change("CREATE", "10:30:00"), change("DROP", "11:00:00")], f"Dropped on {DAY}."),
    "renamed": ([change("RENAME", "11:00:00", "/new", before="/out")], f"Renamed to file:///new on {DAY}."),
    "emptied": ([change("TRUNCATE", "11:00:00")], ""),
    "altered": ([change("ALTER", "11:00:00")], ""),
}


@pytest.mark.parametrize(("changes", "expected"), CASES.values(), ids=CASES)
def test_a_placeholder_shows_its_lifecycle_state_for_any_order_of_events(changes: list[bytes], expected: str) -> None:
    for order in permutations((*changes, write("a", "app1", "10:00", "/a")[1])):
        _, catalog = lived(*order)
        assert described(catalog, "/out") == expected, order


def test_every_change_is_on_record() -> None:
    events = [change(state, f"1{hour}:00:00") for hour, state in enumerate(("ALTER", "TRUNCATE", "DROP"), start=1)]
    storage, _ = lived(*events)
    (state,) = states(storage)
    assert state.asset.qualified_name == "file:///out"
    assert {each: at.hour for each, at in state.times.items()} == {"ALTER": 11, "TRUNCATE": 12, "DROP": 13}


def test_a_dropped_data_set_is_not_created_in_the_catalog() -> None:
    _, catalog = lived(change("DROP", "11:00:00"))
    assert (catalog.assets, catalog.writes) == ({}, 0)


def test_the_same_change_again_writes_nothing() -> None:
    storage, catalog = lived(*write("a", "app1", "10:00", "/a"), change("DROP", "11:00:00"))
    writes = catalog.writes
    for place in post(storage, change("DROP", "11:00:00")):
        settle(storage, place)
        publish(storage, catalog, PUBLISHING)
    assert catalog.writes == writes


def test_a_drop_whose_run_fails_later_is_retracted() -> None:
    dropping = change("DROP", "11:00:00")
    failed = event("DROP11:00:00", "FAIL", "11:00:01", outputs=["/out"], application="app2")
    for order in permutations((dropping, failed, write("a", "app1", "10:00", "/a")[1])):
        storage, catalog = lived(*order)
        assert described(catalog, "/out") == "", order
        assert states(storage) == ()


def test_a_late_failure_of_the_last_of_many_drops_leaves_the_one_before() -> None:
    drops = [change("DROP", f"11:{minute:02}:00") for minute in range(20)]
    failed = event("DROP11:19:00", "FAIL", "11:30:00", outputs=["/out"], application="app2")
    storage, catalog = lived(*write("a", "app1", "10:00", "/a"), *drops, failed)
    (state,) = states(storage)
    assert state.times["DROP"].minute == 18
    assert described(catalog, "/out") == f"Dropped on {DAY}."
