"""The columns of placeholders are written at creation and when a run reports others, never for a scanned asset."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.atlas.columns import column_entities
from shared.atlas.entities import AssetEntity
from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused
from shared.maintenance.removal import purge
from shared.publishing.context import PublishOptions
from shared.storage.memory import MemoryStorage
from tests.support.building import body, dataset, packed
from tests.support.catalog_server import search
from tests.support.memory_catalog import MemoryCatalog
from tests.support.placeholder_columns import (
    FOLDER,
    TABLE,
    X,
    Y,
    Z,
    active,
    by_name,
    catalog_at,
    copy_run,
    deliver_all,
    entity,
    get,
    publish_options,
    run,
    schema,
)
from tests.support.publish_world import context_of, publish
from throughline.local.catalog.server import CatalogServer


def test_placeholders_have_the_columns_that_runs_saw(fresh_catalog: CatalogServer) -> None:
    run(MemoryStorage(), catalog_at(fresh_catalog), copy_run("one", (X, Y), (X,)))
    assert active(by_name(fresh_catalog, TABLE), "columns") == ["x", "y"]
    column = by_name(fresh_catalog, ("azure_sql_column", f"{TABLE[1]}#y"))
    assert column["attributes"]["data_type"] == "string"
    folder = by_name(fresh_catalog, FOLDER)
    assert folder["relationshipAttributes"]["tabular_schema"]["typeName"] == "tabular_schema"
    tabular = by_name(fresh_catalog, ("tabular_schema", f"{FOLDER[1]}#__tabular_schema"))
    assert active(tabular, "columns") == ["x"]
    assert by_name(fresh_catalog, ("column", f"{FOLDER[1]}#__tabular_schema//x"))["attributes"]["type"] == "int"


def test_a_changed_schema_reaches_the_placeholder_without_new_lineage(fresh_catalog: CatalogServer) -> None:
    storage, catalog = MemoryStorage(), catalog_at(fresh_catalog)
    run(storage, catalog, copy_run("one", (X, Y), (X, Y)))
    name_before = by_name(fresh_catalog, FOLDER)
    run(storage, catalog, copy_run("two", (X, ("y", "bigint")), (X, Z), minute=5))
    assert active(by_name(fresh_catalog, TABLE), "columns") == ["x", "y"]
    assert by_name(fresh_catalog, ("azure_sql_column", f"{TABLE[1]}#y"))["attributes"]["data_type"] == "bigint"
    tabular = by_name(fresh_catalog, ("tabular_schema", f"{FOLDER[1]}#__tabular_schema"))
    assert active(tabular, "columns") == ["x", "z"], "what the run does not see any more goes"
    assert by_name(fresh_catalog, FOLDER)["guid"] == name_before["guid"]


def test_the_same_schema_again_costs_no_call(fresh_catalog: CatalogServer) -> None:
    storage, catalog = MemoryStorage(), catalog_at(fresh_catalog)
    run(storage, catalog, copy_run("one", (X, Y), (X, Y)))
    fresh_catalog.reset_calls()
    run(storage, catalog, copy_run("two", (X, Y), (X, Y), minute=5))
    assert fresh_catalog.calls()["by_verb"] == {}


def test_a_schema_that_a_scan_owns_is_never_touched(fresh_catalog: CatalogServer) -> None:
    storage, catalog = MemoryStorage(), catalog_at(fresh_catalog)
    scanned = AssetEntity(
        type=TABLE[0],
        qualified_name=TABLE[1],
        attributes=(("name", "orders"), ("description", "Found by a scan.")),
        columns=(("scanned", "varchar"),),
    )
    catalog.create_assets([scanned])
    run(storage, catalog, copy_run("one", (X, Y), (X,)))
    run(storage, catalog, copy_run("two", (X, Y, Z), (X,), minute=5))
    assert active(by_name(fresh_catalog, TABLE), "columns") == ["scanned"]
    assert catalog.describe_placeholder(replace(scanned, columns=(X,))) is False
    assert active(by_name(fresh_catalog, TABLE), "columns") == ["scanned"]


def test_columns_that_the_writer_reports_take_precedence_over_those_of_a_reader(fresh_catalog: CatalogServer) -> None:
    storage, catalog = MemoryStorage(), catalog_at(fresh_catalog)
    reads = packed(
        body(
            run="reader",
            application="reader",
            app_name="reader",
            minute=9,
            inputs=[dataset("orders", "abfss://raw@acct.dfs.core.windows.net", schema=schema(X))],
            outputs=[dataset("/elsewhere", schema=schema(X))],
        )
    )
    run(storage, catalog, copy_run("one", (X,), (X, Y)))
    run(storage, catalog, reads)
    tabular = ("tabular_schema", f"{FOLDER[1]}#__tabular_schema")
    assert active(by_name(fresh_catalog, tabular), "columns") == ["x", "y"]


def test_a_wide_table_is_written_in_several_calls(fresh_catalog: CatalogServer) -> None:
    wide = tuple((f"c{number:03}", "int") for number in range(120))
    run(MemoryStorage(), catalog_at(fresh_catalog), copy_run("one", (X, *wide), (X,)), batch=20)
    assert active(by_name(fresh_catalog, TABLE), "columns") == [*(name for name, _ in wide), "x"]
    assert fresh_catalog.calls()["by_verb"]["POST entity/bulk"] == 6


class KnowsNoColumns(MemoryCatalog):
    """A catalog whose columns are of other types."""

    def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
        if any(asset.columns for asset in assets):
            raise CatalogRefused(status=400, code="ATLAS-400-00-014", detail="type azure_sql_column does not exist")
        return super().create_assets(assets)

    def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:
        if asset.columns:
            raise CatalogRefused(status=400, code="ATLAS-400-00-014", detail="type azure_sql_column does not exist")
        return super().describe_placeholder(asset, bare=bare)


def test_refused_columns_do_not_prevent_lineage(caplog: pytest.LogCaptureFixture) -> None:
    storage, catalog = MemoryStorage(), KnowsNoColumns()
    run(storage, catalog, copy_run("one", (X, Y), (X,)))
    assert len(catalog.processes) == 1
    assert caplog.records[0].message.startswith("columns refused error=400")
    run(storage, catalog, copy_run("two", (X, Y, Z), (X,), minute=5))
    counts = publish(storage, catalog, PublishOptions(now=lambda: datetime.now(UTC) + timedelta(hours=9)))
    assert (counts.error, counts.refused) == ("", 2), "they are tried again later, and reported meanwhile"
    assert {asset.columns for asset in catalog.assets.values()} == {()}


def test_refused_columns_do_not_prevent_the_rest_of_a_description() -> None:
    storage, catalog = MemoryStorage(), KnowsNoColumns()
    run(storage, catalog, copy_run("one", (X,), (X,)))
    change = {"lifecycleStateChange": "DROP"}
    drop = dataset("orders", "abfss://raw@acct.dfs.core.windows.net", lifecycleStateChange=change)
    run(storage, catalog, packed(body(run="drop", outputs=[drop])))
    assert any("Dropped" in dict(asset.attributes)["description"] for asset in catalog.assets.values())


def test_a_new_look_up_keeps_the_columns_of_a_placeholder(fresh_catalog: CatalogServer) -> None:
    storage, catalog = MemoryStorage(), catalog_at(fresh_catalog)
    run(storage, catalog, copy_run("one", (X,), (X, Y)))
    reader = body(
        run="reader",
        application="reader",
        app_name="reader",
        inputs=[dataset("orders", "abfss://raw@acct.dfs.core.windows.net", schema=schema(X))],
        outputs=["/elsewhere"],
    )
    deliver_all(storage, [packed(reader)])
    later_options = PublishOptions(now=lambda: datetime.now(UTC) + timedelta(days=3))
    publish(storage, catalog, later_options)
    tabular = ("tabular_schema", f"{FOLDER[1]}#__tabular_schema")
    assert active(by_name(fresh_catalog, tabular), "columns") == ["x", "y"]


def test_the_name_of_a_hive_column_precedes_the_host() -> None:
    (column,) = column_entities("hive_table", "db.t@host", (("a", ""),))
    assert (column.type, column.qualified_name) == ("hive_column", "db.t.a@host")
    assert dict(column.attributes) == {"name": "a", "type": "unknown"}, "the attribute is mandatory"


def test_a_column_reported_twice_is_one() -> None:
    entities = column_entities("DataSet", "x", (("a", "int"), ("a", "long"), ("", "int")))
    assert [dict(column_entity.attributes) for column_entity in entities] == [{"name": "a", "type": "int"}]


def test_a_schema_alone_changes_no_fingerprint() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    run(storage, catalog, copy_run("one", (X,), (X,)))
    process_entity_before = entity(catalog)
    run(storage, catalog, copy_run("two", (X, Y), (X, Z), minute=5))
    assert entity(catalog) == process_entity_before
    assert catalog.assets[TABLE].columns == (X, Y)
    assert catalog.assets[FOLDER].columns == (X, Z)


def test_placeholders_of_every_type_have_their_columns(fresh_catalog: CatalogServer) -> None:
    """The table of columns fits the catalog's own types."""
    from shared.atlas.columns import COLUMN_RULES  # noqa: PLC0415 - the inner table, for this test alone

    catalog = catalog_at(fresh_catalog)
    kinds = [*COLUMN_RULES, "azure_datalake_gen2_path", "azure_blob_resource_set", "DataSet"]
    asset_entities = [
        AssetEntity(
            type=kind,
            qualified_name=f"db.t{number}@host" if kind == "hive_table" else f"x://{number}",
            attributes=(("name", kind), ("description", "")),
            columns=(X, Y),
        )
        for number, kind in enumerate(kinds)
    ]
    guids = catalog.create_assets(asset_entities)
    for asset_entity in asset_entities:
        held_entity = get(fresh_catalog, f"entity/guid/{guids[asset_entity.type, asset_entity.qualified_name]}")[
            "entity"
        ]
        if held_entity["relationshipAttributes"]["tabular_schema"]:
            held_entity = get(
                fresh_catalog, f"entity/guid/{held_entity['relationshipAttributes']['tabular_schema']['guid']}"
            )["entity"]
        assert active(held_entity, "columns") == ["x", "y"], asset_entity.type


@pytest.mark.parametrize("minute", [5, -5])
def test_the_schema_with_the_latest_event_time_counts_in_any_order_of_arrival(minute: float) -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    run(storage, catalog, copy_run("one", (X,), (X,)))
    run(storage, catalog, copy_run("two", (X, Y), (X,), minute=minute))
    assert catalog.assets[TABLE].columns == ((X, Y) if minute > 0 else (X,))


def test_a_purge_removes_schema_and_columns_and_a_new_run_creates_them_again(
    fresh_catalog: CatalogServer,
) -> None:
    storage, catalog = MemoryStorage(), catalog_at(fresh_catalog)
    wide = tuple((f"c{number:03}", "int") for number in range(60))
    run(storage, catalog, copy_run("one", (X, *wide), (X, Y)))
    list(purge(context_of(storage, catalog, publish_options())))
    search_answer = search(fresh_catalog, typeName="Referenceable", excludeDeletedEntities=True)
    assert search_answer.get("entities", []) == [], "nothing of ours is left"
    run(storage, catalog, copy_run("two", (X, *wide), (X, Y), minute=5))
    assert len(active(by_name(fresh_catalog, TABLE), "columns")) == 61
    tabular = by_name(fresh_catalog, ("tabular_schema", f"{FOLDER[1]}#__tabular_schema"))
    assert active(tabular, "columns") == ["x", "y"]
