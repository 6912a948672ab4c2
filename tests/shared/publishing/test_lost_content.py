"""A blob of a row that is lost never holds up other processes, and a lost record of a data set is made again."""

from datetime import timedelta

import pytest

from shared.records import cells
from shared.records.assets import all_assets, read_assets
from shared.storage.memory import MemoryStorage
from shared.storage_layout import ASSETS, CONTENTS, PROCESSES
from tests.support.building import body, dataset, packed
from tests.support.events import write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.placeholder_columns import schema
from tests.support.publish_world import Clock, entries, fold, publish, publish_options


@pytest.fixture(autouse=True)
def long_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value is kept in a blob, as long ones are."""
    monkeypatch.setattr(cells, "_INLINE", 0)


def lose(storage: MemoryStorage, table: str, cell: str) -> None:
    """Delete the blobs of a table's rows."""
    blobs = [str(row.values[cell]) for row in storage.scan(table) if cell in row.values]
    assert blobs
    for blob in blobs:
        storage.delete_blob(CONTENTS, blob)


@pytest.mark.parametrize(("table", "cell"), [(PROCESSES, "part_blob"), (ASSETS, "asset_blob")])
def test_other_processes_are_published(table: str, cell: str) -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), Clock()
    fold(storage, *write("a", "app-a", "10:00", "/in-a", sink="/out-a"))
    publish(storage, catalog, publish_options(clock))
    lose(storage, table, cell)
    for name in "abcd":
        fold(storage, *write(f"{name} again", f"app-{name}2", "11:00", f"/in-{name}2", sink=f"/out-{name}"))
    for _ in range(4):
        clock.at += timedelta(hours=7)
        publish(storage, catalog, publish_options(clock))
    written_names = {name.rpartition("/")[2] for name in catalog.processes}
    assert written_names == {"out-a", "out-b", "out-c", "out-d"}
    assert len(entries(storage)) == (table == PROCESSES), "the process whose part is lost waits for it"


def test_a_lost_part_stops_no_other_process_in_shadow_mode() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), Clock()
    fold(storage, *write("a", "app-a", "10:00", "/in-a", sink="/out-a"))
    publish(storage, catalog, publish_options(clock, shadow=True))
    lose(storage, PROCESSES, "part_blob")
    for name in "ab":
        fold(storage, *write(f"{name} again", f"app-{name}2", "11:00", f"/in-{name}2", sink=f"/out-{name}"))
    counts = publish(storage, catalog, publish_options(clock, shadow=True))
    assert (counts.held, counts.refused) == (1, 1)


def job(run: str, *columns: tuple[str, str]) -> bytes:
    """A run that reads these columns of one table."""
    input_dataset = dataset("/source", schema=schema(*columns)) if columns else "/source"
    return packed(body(run=run, application=run, app_name=run, inputs=[input_dataset], outputs=[f"/{run}"]))


def test_a_lost_record_of_a_data_set_is_made_again_with_the_columns_of_all_processes() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), Clock()
    fold(storage, job("one", ("x", "int")), job("two", ("y", "int")))
    publish(storage, catalog, publish_options(clock))
    source = ("fs_path", "file:///source")
    assert set(catalog.assets[source].columns) == {("x", "int"), ("y", "int")}
    lose(storage, ASSETS, "asset_blob")
    assert list(all_assets(storage)) == []
    fold(storage, job("three", ("z", "int")))
    publish(storage, catalog, publish_options(clock))
    assert set(catalog.assets[source].columns) == {("x", "int"), ("y", "int"), ("z", "int")}
    (record,) = read_assets(storage, [source]).values()
    assert record.is_placeholder
