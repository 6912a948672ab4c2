"""The last write of a data set, with its rows and size, in the description of its placeholder: beside another change,
never by itself.
"""

from itertools import permutations

import pytest

from shared.atlas.entities import LAST_WRITE, AssetEntity
from shared.catalog.port import AssetKey
from shared.publishing.publisher import Publisher
from shared.records.assets import all_assets
from shared.storage.memory import MemoryStorage
from tests.support.building import Json, body, dataset, packed
from tests.support.memory_catalog import MemoryCatalog
from tests.support.placeholder_columns import X, Y, Z, publish_options, run, schema
from tests.support.publish_world import context_of, fold

IN: AssetKey = ("fs_path", "file:///in")
OUT: AssetKey = ("fs_path", "file:///out")


def _write(job: str, minute: int, rows: int | None, *columns: tuple[str, str], kind: str = "COMPLETE") -> bytes:
    """A run of a job that copies one folder to another."""
    output = dataset("/out", schema=schema(*(columns or (X,))))
    if rows is not None:
        output["outputFacets"] = {"outputStatistics": {"rowCount": rows, "size": 5_600_000}}
    fields: Json = {"run": f"{job} {minute}", "application": f"{job} {minute}", "app_name": job, "minute": minute}
    return packed(body(kind, inputs=["/in"], outputs=[output], **fields))


def _drop(minute: int) -> bytes:
    change = {"lifecycleStateChange": "DROP"}
    output = dataset("/out", lifecycleStateChange=change)
    return packed(body(run="drop", application="drop", app_name="drop", minute=minute, outputs=[output]))


def _last_write(catalog: MemoryCatalog, key: AssetKey = OUT) -> str:
    return dict(catalog.assets[key].attributes)["description"].partition(LAST_WRITE)[2]


def test_a_new_placeholder_says_when_it_was_written_by_which_job_and_how_much() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    run(storage, catalog, _write("load", 0, 1234))
    assert _last_write(catalog) == "2026-11-21 10:00 UTC by load; 1,234 rows, 5.6 MB."
    assert _last_write(catalog, IN) == "", "nothing that we know of wrote it"


def test_amounts_that_no_event_gives_are_left_out() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    run(storage, catalog, _write("load", 0, None))
    assert _last_write(catalog) == "2026-11-21 10:00 UTC by load."


def test_another_count_writes_nothing_and_goes_with_the_next_change() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    run(storage, catalog, _write("load", 0, 1))
    catalog.writes = 0
    records = {record.own: record.etag for record in all_assets(storage)}
    run(storage, catalog, _write("load", 5, 2))
    assert catalog.writes == 0
    assert {record.own: record.etag for record in all_assets(storage)} == records, "nor is a row written"
    run(storage, catalog, _write("load", 9, 3, X, Y))
    assert _last_write(catalog) == "2026-11-21 10:09 UTC by load; 3 rows, 5.6 MB."


def test_a_publisher_that_lives_notes_each_write_of_data_sets_that_it_has_read() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    publisher = Publisher(context=context_of(storage, catalog, publish_options()))
    for event in (_write("load", 0, 1), _write("load", 5, 2), _drop(7)):
        fold(storage, event)
        publisher.publish()
    assert "Dropped on 2026-11-21." in dict(catalog.assets[OUT].attributes)["description"]
    assert _last_write(catalog) == "2026-11-21 10:05 UTC by load; 2 rows, 5.6 MB."


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_the_latest_write_counts_by_whichever_process_and_in_whatever_order(order: tuple[int, ...]) -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    events = (_write("load", 0, 1), _write("mend", 6, 2, X, Y), _write("load", 3, 3, X, Y))
    for number in order:
        run(storage, catalog, events[number])
    run(storage, catalog, _write("early", 1, 4, X, Y, Z))
    assert _last_write(catalog) == "2026-11-21 10:06 UTC by mend; 2 rows, 5.6 MB."


def test_a_write_that_failed_after_all_is_none() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    run(storage, catalog, _write("load", 0, 1))
    run(storage, catalog, _write("mend", 5, 2, X, Y))
    assert _last_write(catalog).startswith("2026-11-21 10:05 UTC by mend")
    run(storage, catalog, _write("mend", 5, 2, X, Y, kind="FAIL"))
    assert len(catalog.processes) == 1
    assert _last_write(catalog) == "", "the other process tells with its next change"
    run(storage, catalog, _write("load", 9, 3, X, Y))
    assert _last_write(catalog) == "2026-11-21 10:09 UTC by load; 3 rows, 5.6 MB."


def test_a_scanned_asset_keeps_its_description() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    scanned = AssetEntity(
        type=OUT[0], qualified_name=OUT[1], attributes=(("name", "out"), ("description", "Mine."), ("path", "/"))
    )
    catalog.create_assets([scanned])
    run(storage, catalog, _write("load", 0, 1))
    run(storage, catalog, _write("load", 5, 2, X, Y))
    assert catalog.assets[OUT] == scanned
