"""A blob of a row that is lost never holds up other processes, and a lost match of a data set is asked for again."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from shared.catalog.memory import MemoryCatalog
from shared.records import cells
from shared.records.asset_matches import all_matches, read_matches
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage_layout import ASSET_LIFECYCLE, ASSET_MATCHES, CONTENTS, RUNS, STATE
from tests.support.building import body, dataset, packed
from tests.support.events import event, run_id, write
from tests.support.placeholder_columns import schema
from tests.support.publishing import Clock, post_and_settle, publish, publish_options


@pytest.fixture(autouse=True)
def long_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value is kept in a blob, as long ones are."""
    monkeypatch.setattr(cells, "_INLINE", 0)


def lose(storage: MemoryStorage, table: str, cell: str) -> None:
    """Delete the blobs of a table's rows."""
    lost = [str(row.values[cell]) for row in storage.scan(table) if cell in row.values]
    assert lost
    for blob in lost:
        storage.delete_blob(CONTENTS, blob)


def lose_state(storage: MemoryStorage) -> None:
    row = storage.read(RUNS, run_id("a"), STATE)
    assert row
    storage.delete_blob(CONTENTS, str(row.values["lists_blob"]))


def lose_matches(storage: MemoryStorage) -> None:
    lose(storage, ASSET_MATCHES, "match_blob")


def lose_lifecycles(storage: MemoryStorage) -> None:
    lose(storage, ASSET_LIFECYCLE, "lifecycle_blob")


@pytest.mark.parametrize("lost", [lose_state, lose_matches, lose_lifecycles])
def test_other_processes_are_published(lost: Callable[[MemoryStorage], None]) -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), Clock()
    dropped = event("drop", "COMPLETE", "09:00:00", outputs=["/in-b"], application="z", states={"/in-b": ("DROP", "")})
    post_and_settle(storage, *write("a", "app-a", "10:00", "/in-a", sink="/out-a"), dropped)
    publish(storage, catalog, publish_options(clock))
    for name in "bcd":
        post_and_settle(storage, *write(name, f"app-{name}", "11:00", f"/in-{name}", sink=f"/out-{name}"))
    lost(storage)
    for _ in range(4):
        clock.at += timedelta(hours=7)
        publish(storage, catalog, publish_options(clock))
    written = {name.rpartition("/")[2] for name in catalog.processes}
    assert {"out-a", "out-c", "out-d"} <= written
    assert ("out-b" in written) == (lost is not lose_lifecycles)
    assert status(storage).publish_queue == (lost is lose_lifecycles)


def job(run: str, *columns: tuple[str, str]) -> bytes:
    """A run that reads these columns of one table."""
    read = dataset("/source", schema=schema(*columns)) if columns else "/source"
    return packed(body(run=run, application=run, app_name=run, inputs=[read], outputs=[f"/{run}"]))


def test_a_lost_match_is_asked_for_again_with_the_columns_of_all_processes() -> None:
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), Clock()
    post_and_settle(storage, job("one", ("x", "int")), job("two", ("y", "int")))
    publish(storage, catalog, publish_options(clock))
    source = ("fs_path", "file:///source")
    assert set(catalog.assets[source].columns) == {("x", "int"), ("y", "int")}
    lose_matches(storage)
    assert list(all_matches(storage)) == []
    post_and_settle(storage, job("three", ("z", "int")))
    publish(storage, catalog, publish_options(clock))
    assert set(catalog.assets[source].columns) == {("x", "int"), ("y", "int"), ("z", "int")}
    (match,) = read_matches(storage, [source]).values()
    assert match.is_placeholder
