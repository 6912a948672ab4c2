"""Scanned assets are used: 200 data sets in all forms, scanned before their events and after them."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from shared.atlas.entities import ProcessEntity
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import RetryPolicy, StaticToken, SteadyAtlasClient
from shared.catalog.port import Catalog, batches
from shared.maintenance.reconciliation import move, placed_assets, remove_left
from shared.model import Asset, Process
from shared.publishing.context import PublishOptions
from shared.publishing.resolution import resolve_names
from shared.records.asset_record import AssetRecord
from shared.storage.memory import MemoryStorage
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import context_of, publish
from tests.support.publishing import leased
from tests.support.scanned import FORMS, Scanned, scanned
from tests.support.scanned_jobs import deliver_all, jobs

_DATA_SETS = 200


@pytest.fixture(params=["memory", "atlas"])
def catalog(request: pytest.FixtureRequest) -> Catalog:
    if request.param == "memory":
        return MemoryCatalog()
    server = request.getfixturevalue("fresh_catalog")
    return AtlasCatalog(
        SteadyAtlasClient(server.endpoint, StaticToken(server.token), retry_policy=RetryPolicy(tries=1))
    )


def how(delay: timedelta = timedelta(0)) -> PublishOptions:
    return PublishOptions(now=lambda: datetime.now(UTC) + timedelta(hours=1) + delay)


def scan(catalog: Catalog, data: Sequence[Scanned]) -> None:
    for batch in batches([scanned_asset.entity for scanned_asset in data], 50):
        catalog.create_assets(batch)


def processes(catalog: Catalog) -> list[ProcessEntity]:
    names = [node.qualified_name for node in catalog.ours() if node.is_process]
    return [held_process.entity for held_process in catalog.read_processes(names).values()]


def assert_all_on_scanned_assets(catalog: Catalog, data: Sequence[Scanned]) -> None:
    """Each process and its columns are between scanned assets, and no placeholder exists."""
    expected_ends = {((input_asset.asset,), (output_asset.asset,)) for input_asset, output_asset, _ in jobs(data)}
    held_process_entities = processes(catalog)
    assert {
        (process_entity.inputs, process_entity.outputs) for process_entity in held_process_entities
    } == expected_ends
    assert len(held_process_entities) == len(data)
    for held_entity in held_process_entities:
        (mapping,) = json.loads(dict(held_entity.attributes)["columnMapping"])
        assert mapping["DatasetMapping"] == {"Source": held_entity.inputs[0][1], "Sink": held_entity.outputs[0][1]}
    assert [node.qualified_name for node in catalog.ours() if not node.is_process] == []


def test_all_lineage_is_between_assets_that_were_scanned_before(catalog: Catalog) -> None:
    storage, data = MemoryStorage(), list(scanned(_DATA_SETS))
    assert len({scanned_asset.form for scanned_asset in data}) == len(FORMS) + 2
    scan(catalog, data)
    deliver_all(storage, [event for _, _, event in jobs(data)])
    assert publish(storage, catalog, how()).written == _DATA_SETS
    assert_all_on_scanned_assets(catalog, data)


def test_reconciling_after_a_late_scan_leaves_no_placeholder(catalog: Catalog) -> None:
    storage, data = MemoryStorage(), list(scanned(_DATA_SETS))
    deliver_all(storage, [event for _, _, event in jobs(data)])
    assert publish(storage, catalog, how()).written == _DATA_SETS
    placed = placed_assets(context_of(storage, catalog))
    assert len(placed) == _DATA_SETS
    names = {process.qualified_name for process in processes(catalog)}
    scan(catalog, data)
    for batch in batches(placed_assets(context_of(storage, catalog)), 50):
        leased(move, context_of(storage, catalog, how()), batch)
    publish(storage, catalog, how())
    leased(remove_left, context_of(storage, catalog, how()))
    assert_all_on_scanned_assets(catalog, data)
    assert {process.qualified_name for process in processes(catalog)} == names, "no process has changed its name"
    assert placed_assets(context_of(storage, catalog)) == []


def test_a_process_of_whose_data_sets_none_was_scanned_is_not_copied() -> None:
    """Most processes of a large record are such."""
    source, sink = (Asset(type="fs_path", qualified_name=name, namespace="file", name=name) for name in ("/a", "/b"))
    process = Process(qualified_name="p", name="p", operations=(), inputs=(source,), outputs=(sink,), columns=())
    assert resolve_names(process, {source.key: AssetRecord(own=source.key)}) is process
