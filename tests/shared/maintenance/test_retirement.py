"""Retiring: a process unseen for long is removed, stays removed after a replay, and comes back with a new run."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.applications.processor import ApplicationProcessor
from shared.applications.recompute import recompute
from shared.atlas.entities import PROCESS_TYPE, AssetEntity, ProcessEntity
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import StaticToken, SteadyAtlasClient
from shared.catalog.port import AssetKey, batches
from shared.errors import WriteConflict
from shared.maintenance.removal import is_unseen, retire, unseen_processes, unused_placeholders
from shared.publishing.context import PublishOptions, remove_unlinked, turn
from shared.publishing.shadow import held_back
from shared.reading.processes import recorded
from shared.records.ledger import LedgerEntry
from shared.records.states import LedgerState
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage_layout import APPLICATIONS, CATALOG, PROCESSES, PUBLISH_QUEUE
from tests.support.events import event, run_id, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publishing import (
    Clock,
    UnreliableCatalog,
    context_of,
    leased,
    post_and_deliver,
    publish,
    publish_options,
)

OLD, NEW = "2026-01-10T10:00", "2026-11-20T10:00"
BEFORE = datetime(2026, 8, 1, tzinfo=UTC)
SCANNED = AssetEntity(
    type="fs_path", qualified_name="file:///scanned", attributes=(("name", "S"), ("path", "/scanned"))
)


def file(name: str) -> AssetKey:
    return ("fs_path", f"file:///{name}")


@pytest.fixture
def storage() -> MemoryStorage:
    """An old process of a scanned table and of one that another process uses too, and a recent process."""
    storage = MemoryStorage()
    post_and_deliver(
        storage, *write("old", "app1", OLD, "/scanned", sink="/gone"), *write("old2", "app1", OLD, "/a", sink="/gone")
    )
    post_and_deliver(storage, *write("new", "app2", NEW, "/a", sink="/b"))
    return storage


def catalog_of(storage: MemoryStorage) -> UnreliableCatalog:
    catalog = UnreliableCatalog()
    catalog.create_assets([SCANNED])
    publish(storage, catalog, publish_options(Clock()))
    return catalog


def retire_all(storage: MemoryStorage, catalog: MemoryCatalog | AtlasCatalog) -> tuple[int, int, int]:
    """How many were retired, and how many processes and placeholders were removed."""
    clock = Clock()
    leaving = list(unseen_processes(storage, BEFORE))
    unused_keys = list(unused_placeholders(context_of(storage, catalog, publish_options(clock)), leaving))
    retired = sum(retire(storage, unseen_process) for unseen_process in leaving)
    removed = publish(storage, catalog, publish_options(clock)).removed
    unused = sum(
        len(leased(remove_unlinked, context_of(storage, catalog), keys).removed) for keys in batches(unused_keys, 50)
    )
    return retired, removed, unused


@pytest.mark.parametrize(
    ("state", "last", "unseen"),
    [
        ("written", BEFORE - timedelta(days=1), True),
        ("written", BEFORE, False),
        ("written", None, False),
        ("writing", BEFORE - timedelta(days=1), False),
        ("nothing", BEFORE - timedelta(days=1), False),
    ],
)
def test_only_written_processes_last_seen_before_the_limit_are_unseen(
    state: str, last: datetime | None, unseen: bool
) -> None:
    assert is_unseen(LedgerEntry(process="p", state=LedgerState(state)), last, BEFORE) is unseen


def test_the_plan_lists_and_writes_nothing(storage: MemoryStorage) -> None:
    catalog = catalog_of(storage)
    writes, tables = (
        catalog.writes,
        {table: list(storage.scan(table)) for table in (PROCESSES, PUBLISH_QUEUE, APPLICATIONS)},
    )
    looked: list[int] = []
    (unseen_process,) = unseen_processes(storage, BEFORE, progress=lambda: looked.append(1))
    assert unseen_process.qualified_name.endswith("/gone")
    assert unseen_process.retired == datetime(2026, 1, 10, 10, 0, 30, tzinfo=UTC)
    assert list(unused_placeholders(context_of(storage, catalog, publish_options(Clock())), [unseen_process])) == [
        file("gone")
    ]
    assert len(looked) == 2
    assert catalog.writes == writes
    assert {table: list(storage.scan(table)) for table in tables} == tables


def test_a_retired_process_is_removed_with_the_placeholders_that_only_it_used(storage: MemoryStorage) -> None:
    catalog = catalog_of(storage)
    assert retire_all(storage, catalog) == (1, 1, 1)
    assert [name.rpartition("/")[2] for name in catalog.processes] == ["b"]
    assert sorted(catalog.assets) == [file("a"), file("b"), file("scanned")]
    assert catalog.assets["fs_path", "file:///scanned"] == SCANNED
    current_status = status(storage)
    assert (current_status.published, current_status.skipped_because, current_status.reconciles) == (
        2,
        {"its process was retired": 4},
        True,
    )
    assert retire_all(storage, catalog) == (0, 0, 0)


def test_retirement_also_works_on_the_local_catalog(storage: MemoryStorage, fresh_catalog: object) -> None:
    server = fresh_catalog
    catalog = AtlasCatalog(SteadyAtlasClient(server.endpoint, StaticToken(server.token)))  # type: ignore[attr-defined]  # the fixture is typed where it is made
    catalog.create_assets([replace(SCANNED, attributes=(*SCANNED.attributes, ("path", "/scanned")))])
    publish(storage, catalog, publish_options(Clock()))
    assert retire_all(storage, catalog) == (1, 1, 1)
    keys = [file(name) for name in ("a", "b", "gone", "scanned")]
    assert sorted(catalog.find(keys)) == [file("a"), file("b"), file("scanned")]


def test_replaying_old_runs_brings_nothing_back(storage: MemoryStorage) -> None:
    catalog = catalog_of(storage)
    retire_all(storage, catalog)
    recompute(ApplicationProcessor(storage=storage), run_id("app1"))
    publish_result = publish(storage, catalog, publish_options(Clock()))
    assert (publish_result.written, len(catalog.processes)) == (0, 1)
    assert len([process for process, _ in recorded(storage, publish_options(Clock()))]) == 1


def test_a_new_run_restores_the_process_without_its_retired_inputs(storage: MemoryStorage) -> None:
    catalog = catalog_of(storage)
    retire_all(storage, catalog)
    post_and_deliver(storage, *write("again", "app3", "2026-11-21T11:00", "/c", sink="/gone"))
    publish(storage, catalog, publish_options(Clock()))
    back = next(process for name, process in catalog.processes.items() if name.endswith("/gone"))
    assert back.inputs == (file("c"),)
    assert status(storage).reconciles
    assert list(unseen_processes(storage, BEFORE)) == []


def test_a_run_that_arrives_between_plan_and_retirement_keeps_the_process(storage: MemoryStorage) -> None:
    catalog = catalog_of(storage)
    leaving = list(unseen_processes(storage, BEFORE))
    post_and_deliver(storage, *write("again", "app3", "2026-11-21T11:00", "/c", sink="/gone"))
    assert retire(storage, leaving[0])
    publish_result = publish(storage, catalog, publish_options(Clock()))
    assert (publish_result.removed, publish_result.written, len(catalog.processes)) == (0, 1, 2)


def test_a_process_that_is_being_written_is_not_retired(storage: MemoryStorage) -> None:
    catalog = catalog_of(storage)
    (leaving,) = unseen_processes(storage, BEFORE)
    row = storage.read(PROCESSES, leaving.process, CATALOG)
    assert row
    storage.upsert(PROCESSES, replace(row, values={**row.values, "state": "writing"}))
    assert retire(storage, leaving) is False
    assert len(catalog.processes) == 2


def test_a_retirement_that_did_not_reach_the_publish_queue_is_repeated(storage: MemoryStorage) -> None:
    catalog = catalog_of(storage)
    (leaving,) = unseen_processes(storage, BEFORE)
    retire(storage, leaving)
    storage.delete("publishqueue", "process", leaving.process)
    assert retire_all(storage, catalog) == (1, 1, 1)


def test_a_placeholder_that_a_process_of_others_uses_stays(storage: MemoryStorage) -> None:
    catalog = catalog_of(storage)
    copy = ProcessEntity(
        type=PROCESS_TYPE,
        qualified_name="theirs",
        attributes=(("name", "copy"), ("description", ""), ("columnMapping", "")),
        inputs=(file("gone"),),
        outputs=(file("b"),),
    )
    catalog.write_processes([copy], catalog.find([file("gone"), file("b")]))
    assert retire_all(storage, catalog) == (1, 1, 0)
    assert file("gone") in catalog.assets


def test_a_placeholder_in_use_at_its_removal_is_kept(storage: MemoryStorage) -> None:
    catalog = catalog_of(storage)
    removal = leased(remove_unlinked, context_of(storage, catalog), [file("gone"), file("scanned"), file("nowhere")])
    assert (set(removal.removed), set(removal.kept)) == (set(), {file("gone")})


def test_in_shadow_mode_a_retirement_is_only_held_back(storage: MemoryStorage) -> None:
    catalog = catalog_of(storage)
    (leaving,) = unseen_processes(storage, BEFORE)
    retire(storage, leaving)
    publish(storage, catalog, replace(publish_options(Clock()), shadow=True))
    assert [held_process.qualified_name for _, held_process in held_back(storage)] == [leaving.qualified_name]
    assert len(catalog.processes) == 2


def test_a_renamed_sink_is_known_as_one_of_ours() -> None:
    storage = MemoryStorage()
    post_and_deliver(
        storage,
        *write("w", "app1", OLD, "/a", sink="/draft"),
        event("r", "COMPLETE", f"{OLD[:-1]}1:00", outputs=["/final"], states={"/final": ("RENAME", "/draft")},
              application="app1", job="app.execute_alter_table_rename_command.x"),
    )  # fmt: skip
    catalog = UnreliableCatalog()
    publish(storage, catalog, publish_options(Clock()))
    assert [process.outputs for process in catalog.processes.values()] == [(file("final"),)]
    assert retire_all(storage, catalog) == (1, 1, 2)
    assert catalog.assets == {}


def test_waiting_for_a_publisher_that_keeps_its_lease_ends_with_a_write_conflict() -> None:
    storage = MemoryStorage(clock=lambda: 0.0)
    assert storage.lease("publisher", 60)
    waited: list[float] = []
    with pytest.raises(WriteConflict), turn(context_of(storage, MemoryCatalog(), PublishOptions(rest=waited.append))):
        pass
    assert 170 <= sum(waited) <= 300
