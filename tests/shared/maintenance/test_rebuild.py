"""Rebuilding the tables from the blobs: the same catalog and counts after any loss and any interruption."""

import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from local.azurite import Azurite
from shared.atlas.entities import ProcessEntity
from shared.catalog.memory import MemoryCatalog
from shared.catalog.port import AssetKey
from shared.events.archiver import archive
from shared.maintenance.rebuild import Rebuild, RebuildStage, last_rebuild, plan_rebuild, rebuild
from shared.processing.sweeper import SweepOptions, sweep
from shared.records.asset_lifecycle import states
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage.port import Storage
from tests.support.archive_failures import SMALL, Failing
from tests.support.archiving import AT_ONCE, PUBLISHING, archived_lines, archiving, counts, post_and_settle
from tests.support.azurite import on_azurite
from tests.support.events import event, run_id, write
from tests.support.histories import history
from tests.support.processing import Killed, post, settle, state_of, supported_inputs
from tests.support.publishing import publish
from tests.support.receiving import receive

GOLDEN = Path(__file__).parents[2] / "golden" / "spark35-ol1.53"
CAPTURES = sorted(path.parent.name for path in GOLDEN.glob("*/events.jsonl"))
NO_ARCHIVE = SweepOptions(end_timeout=timedelta(0), grace=timedelta(0), archiving=archiving(after=None))
REBUILT = ("runs", "contributions", "publishqueue", "assetlifecycle")


class Counting(MemoryCatalog):
    """Counts the calls that write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        self.writes += 1
        return super().write_processes(processes, guids)


def wipe(storage: MemoryStorage, *tables: str) -> None:
    for table in tables:
        for row in list(storage.scan(table)):
            storage.delete(table, row.partition, row.key)


def a_world(bodies: Iterable[bytes]) -> tuple[MemoryStorage, Counting]:
    """All of it received, settled, published; nothing archived yet."""
    storage, catalog = MemoryStorage(), Counting()
    for body in bodies:
        receive(storage, body, most_bytes=10_000_000)
    sweep(storage, NO_ARCHIVE)
    publish(storage, catalog, PUBLISHING)
    return storage, catalog


def rebuilt(storage: Any, catalog: MemoryCatalog, begin: Rebuild | None = None) -> None:
    for _ in rebuild(storage, begin):
        pass
    sweep(storage, NO_ARCHIVE)
    publish(storage, catalog, PUBLISHING)


def contribution_rows(storage: MemoryStorage) -> list[tuple[str, str]]:
    """The keys of the contributions, without their generations, which differ."""
    return sorted((row.partition, row.key) for row in storage.scan("contributions"))


def asset_rows(storage: MemoryStorage) -> list[Any]:
    """The lifecycle of each data set. The order in which its names were seen does not matter."""
    return [(each.asset.qualified_name, each.times, each.became) for each in states(storage)]


@pytest.mark.parametrize("capture", CAPTURES)
def test_the_tables_of_a_real_capture_are_rebuilt(capture: str) -> None:
    bodies = (GOLDEN / capture / "events.jsonl").read_bytes().splitlines()
    storage, catalog = a_world(bodies)
    before, processes, assets = counts(storage), dict(catalog.processes), asset_rows(storage)
    draw = random.Random(capture)
    steps = iter(range(draw.randint(0, 4)))
    archive(storage, SMALL, may_continue=lambda: next(steps, None) is not None)
    wipe(storage, *REBUILT)
    catalog.writes = 0
    rebuilt(storage, catalog)
    assert counts(storage) == before
    assert catalog.processes == processes
    assert asset_rows(storage) == assets
    assert catalog.writes == 0, "the ledger knows that all is there"
    archive(storage, AT_ONCE)
    wipe(storage, *REBUILT, "ledger")
    other = MemoryCatalog()
    rebuilt(storage, other)
    assert other.processes == processes, "without the ledger all is written once more"
    assert counts(storage) == before


@pytest.mark.parametrize("seed", range(200, 225))
def test_the_tables_of_random_histories_are_rebuilt(seed: int) -> None:
    draw = random.Random(seed)
    bodies = history(seed)
    storage, catalog = a_world(bodies)
    steps = iter(range(draw.randint(0, 5)))
    archive(storage, archiving(most=draw.randint(1, 4)), may_continue=lambda: next(steps, None) is not None)
    for body in draw.sample(bodies, 2):  # late: some for closed runs, and some that are there already
        post_and_settle(storage, body.replace(b"T1", b"T2", 1), body)
    archive(storage, SMALL, may_continue=lambda: next(steps, None) is not None)
    sweep(storage, NO_ARCHIVE)
    publish(storage, catalog, PUBLISHING)
    before, processes = counts(storage), dict(catalog.processes)
    wipe(storage, *draw.choice((REBUILT, (*REBUILT, "ledger"), ())))
    rebuilt(storage, catalog)
    assert counts(storage) == before
    assert catalog.processes == processes


def small_world() -> tuple[MemoryStorage, Counting]:
    """Archived and not, closed and open, and an event that came too late."""
    storage, catalog = a_world([*write("a", "app", "10:00", "/a"), *write("b", "app", "11:00", "/b", sink="/two")])
    archive(storage, archiving(most=3), may_continue=iter([True, False]).__next__)
    post_and_settle(
        storage, *write("c", "app", "11:00", "/c", sink="/three"), write("a", "app", "12:00", "/a", end="FAIL")[1]
    )
    publish(storage, catalog, PUBLISHING)
    return storage, catalog


def test_a_rebuild_skips_the_late_event_of_a_closed_run_again() -> None:
    storage, catalog = small_world()
    assert state_of(storage, "a").closed
    before = counts(storage)
    assert before["skipped"] == {"closed": 1}
    for _ in range(2):
        wipe(storage, *REBUILT)
        rebuilt(storage, catalog)
        assert counts(storage) == before
        assert sorted(supported_inputs(storage)) == ["/a", "/b", "/c"]
        archive(storage, AT_ONCE)


def test_rebuilding_complete_tables_twice_writes_nothing() -> None:
    storage, catalog = small_world()
    catalog.writes = 0
    before, rows = counts(storage), contribution_rows(storage)
    for _ in range(2):
        rebuilt(storage, catalog)
        assert catalog.writes == 0
        assert (counts(storage), contribution_rows(storage), last_rebuild(storage)) == (before, rows, None)


def test_a_rebuild_killed_at_any_call_publishes_nothing_and_the_next_one_continues() -> None:
    for calls in count(1):
        storage, catalog = small_world()
        before, rows, processes = counts(storage), contribution_rows(storage), dict(catalog.processes)
        try:
            for _ in rebuild(Failing(storage, calls, after=bool(calls % 2))):
                pass
        except Killed:
            pass
        else:
            break
        stop = last_rebuild(storage)
        publish(storage, catalog, PUBLISHING)
        assert catalog.processes == processes
        if stop or calls > 3:
            storage.clock = lambda: 1e9  # the lease of the killed rebuild has run out
            rebuilt(storage, catalog, stop)
            assert counts(storage) == before, f"cut off at call {calls}"
            assert (contribution_rows(storage), catalog.processes) == (rows, processes)
    assert calls > 100


def test_a_rebuild_stopped_after_any_step_continues_there() -> None:
    storage, catalog = small_world()
    before, rows = counts(storage), contribution_rows(storage)
    steps = 0
    begin = None
    while True:
        for _ in rebuild(storage, begin, stopped=lambda: True):
            pytest.fail("it was stopped before it could tell")
        begin = last_rebuild(storage)
        if begin is None:
            break
        steps += 1
        if begin.stage is RebuildStage.WIPE and steps < 5:
            assert "are being rebuilt" in " ".join(status(storage).last_errors)
    sweep(storage, NO_ARCHIVE)
    publish(storage, catalog, PUBLISHING)
    assert (counts(storage), contribution_rows(storage)) == (before, rows)
    assert steps > 15


def test_events_that_arrive_during_a_rebuild_are_settled() -> None:
    for step in range(0, sum(1 for _ in rebuild(small_world()[0])), 3):
        storage, catalog = small_world()
        for number, _ in enumerate(rebuild(storage)):
            if number == step:
                for place in post(storage, *write("new", "app", "12:00", "/new", sink="/four")):
                    settle(storage, place)
        sweep(storage, NO_ARCHIVE)
        publish(storage, catalog, PUBLISHING)
        assert "/new" in supported_inputs(storage), f"at step {step}"
        assert counts(storage)["waiting"] == {}


def test_contributions_of_deleted_events_stay() -> None:
    storage, catalog = a_world([*write("a", "one", "10:00", "/a"), *write("b", "two", "11:00", "/b", sink="/two")])
    archive(storage, AT_ONCE)
    post_and_settle(storage, *write("c", "one", "12:00", "/c", sink="/three"))
    publish(storage, catalog, PUBLISHING)
    archive(storage, archiving(after=None, keep=timedelta(0), now=lambda: datetime.now(UTC) + timedelta(days=1)))
    wipe(storage, "control")
    assert plan_rebuild(storage).expired == 2
    before, rows, processes = counts(storage), contribution_rows(storage), dict(catalog.processes)
    for _ in range(2):
        rebuilt(storage, catalog)
        assert (counts(storage), contribution_rows(storage), catalog.processes) == (before, rows, processes)
        assert state_of(storage, "a").expired


def test_a_rebuild_keeps_processes_in_the_catalog_whose_events_retention_deleted() -> None:
    storage, catalog = a_world(write("a", "app", "10:00", "/a"))
    archive(storage, AT_ONCE)
    archive(storage, archiving(after=None, keep=timedelta(0), now=lambda: datetime.now(UTC) + timedelta(days=1)))
    post_and_settle(storage, write("a", "app", "12:00", "/a", end="FAIL")[1])
    wipe(storage, "control")
    archive(storage, AT_ONCE)
    processes = dict(catalog.processes)
    wipe(storage, *REBUILT)
    rebuilt(storage, catalog)
    assert catalog.processes == processes
    assert counts(storage)["skipped"] == {"closed": 1}
    assert state_of(storage, "a").expired


def test_the_plan_counts_and_writes_nothing() -> None:
    storage, _ = small_world()
    before = [list(storage.scan(table)) for table in (*REBUILT, "control")]
    found = plan_rebuild(storage)
    assert (found.files, found.events, found.expired) == (1, 5, 0)
    assert found.rows > 10
    assert [list(storage.scan(table)) for table in (*REBUILT, "control")] == before


def test_a_rebuild_restores_the_names_of_jobs() -> None:
    storage, _ = a_world([event("a", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/b"], application="app")])
    (row,) = (row for row in storage.scan("runs") if row.key.startswith("event|"))
    rebuilt(storage, MemoryCatalog())
    found = storage.read("runs", run_id("a"), row.key)
    assert found
    assert found.values["job"] == row.values["job"] != ""
    assert row.values.keys() - found.values.keys() == {"received"}, "of use only until the run is published"


class Apart:
    """Storage whose containers and tables have names of this test's own."""

    def __init__(self, real: Storage, prefix: str) -> None:
        self.real = real
        self.prefix = prefix

    def __getattr__(self, name: str) -> Any:
        return lambda first, *arguments, **named: getattr(self.real, name)(f"{self.prefix}{first}", *arguments, **named)


@pytest.mark.azurite
def test_archiving_and_rebuilding_work_on_azurite(azurite: Azurite, unique: str) -> None:
    storage: Any = Apart(on_azurite(azurite.connection_string), unique)
    catalog = Counting()
    ignored = event("i", "RUNNING", "10:00:00", application="app")
    bodies = [*write("a", "app", "10:00", "/a"), *write("b", "app", "11:00", "/b", sink="/two"), ignored]
    for body in bodies:
        receive(storage, body, most_bytes=1_000_000)
    sweep(storage, NO_ARCHIVE)
    publish(storage, catalog, PUBLISHING)
    before, processes = counts(storage), dict(catalog.processes)
    assert archive(storage, AT_ONCE, may_continue=iter([True, True, False]).__next__)["archived"] == 4
    assert counts(storage) == before
    catalog.writes = 0
    rebuilt(storage, catalog)
    assert (counts(storage), catalog.processes, catalog.writes) == (before, processes, 0)
    assert archive(storage, AT_ONCE)["archived"] == 1
    assert sorted(line.raw() for line in archived_lines(storage)) == sorted(bodies)
    later = archiving(after=None, keep=timedelta(0), now=lambda: datetime.now(UTC) + timedelta(days=1))
    assert archive(storage, later)["deleted"] == 5
    assert counts(storage)["received"] == 0
