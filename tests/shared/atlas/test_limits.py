"""Nothing beyond a documented limit is ever sent: held by a catalog that refuses it, and by counting bytes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.atlas.columns import column_entities
from shared.atlas.entities import asset_entity, process_entity
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import RetryPolicy, StaticToken, SteadyAtlasClient
from shared.errors import CatalogRefused
from shared.model import Asset, Column, ColumnEdge, EdgeKind, Process
from shared.naming.stores.families import bounded
from shared.storage.memory import MemoryStorage
from tests.support.building import IDENTITY, body, dataset, lineage, packed, source
from tests.support.placeholder_columns import publish_options
from tests.support.processing import deliver_blob
from tests.support.publishing import publish
from tests.support.receiving import receive
from throughline.local.catalog.server import CatalogServer

NAME, PROPERTY, ASSET = 4 * 1024, 32 * 1024, 2 * 1024 * 1024
WIDE = "数据" * 700
"""A folder's name of 1,400 letters and 4,200 bytes."""


def over(server: CatalogServer) -> AtlasCatalog:
    return AtlasCatalog(
        SteadyAtlasClient(server.endpoint, StaticToken(server.token), retry_policy=RetryPolicy(tries=1))
    )


def test_a_process_with_overlong_values_everywhere_is_written(fresh_catalog: CatalogServer) -> None:
    """Names in letters of three bytes, columns called by whole expressions, and more of them than a property holds."""
    columns = [f"{number} {'x' * 6_000}" for number in range(12)] + ["短" * 20_000, "plain"]
    fields = {column: [source(f"/{WIDE}/in", column, IDENTITY)] for column in columns}
    schema = {"fields": [{"name": column, "type": f"struct<{'a:int,' * 9_000}>"} for column in columns]}
    job = body(
        app_name="é" * 1_000,
        inputs=[dataset(f"/{WIDE}/in", schema=schema)],
        outputs=[dataset(f"/{WIDE}/out", schema=schema, columnLineage=lineage(fields))],
    )
    storage, catalog = MemoryStorage(), over(fresh_catalog)
    receive(storage, packed(job), most_bytes=10_000_000)
    for fact in storage.blobs("events"):
        deliver_blob(storage, fact.name)
    publish_result = publish(storage, catalog, publish_options())
    assert (publish_result.written, publish_result.refused, publish_result.error) == (1, 0, "")
    nodes = list(catalog.ours())
    assert len(nodes) == 3
    assert all(len(node.qualified_name.encode()) <= NAME and len(node.name.encode()) <= NAME for node in nodes)
    (held_process,) = catalog.read_processes([node.qualified_name for node in nodes if node.is_process]).values()
    attributes = dict(held_process.entity.attributes)
    assert len(attributes["columnMapping"].encode()) <= PROPERTY
    assert "1 of 14 pairs are shown" in attributes["description"]
    assert json.loads(attributes["columnMapping"])[0]["ColumnMapping"] == [{"Source": "plain", "Sink": "plain"}]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"qualifiedName": "é" * 2_100, "name": "x"}, "longer than 4096 bytes"),
        ({"qualifiedName": "x", "name": "é" * 2_100}, "longer than 4096 bytes"),
        ({"qualifiedName": "x", "name": "x", "description": "y" * (PROPERTY + 1)}, "longer than 32768 bytes"),
    ],
)
def test_the_local_catalog_refuses_attributes_beyond_the_limits(
    fresh_catalog: CatalogServer, attributes: dict[str, str], message: str
) -> None:
    client = SteadyAtlasClient(
        fresh_catalog.endpoint, StaticToken(fresh_catalog.token), retry_policy=RetryPolicy(tries=1)
    )
    entity = {"typeName": "DataSet", "guid": "-1", "attributes": attributes}
    with pytest.raises(CatalogRefused, match=message):
        client._post_http(f"{fresh_catalog.endpoint}/entity/bulk", json={"entities": [entity]})


def test_the_local_catalog_takes_no_entity_above_two_megabytes(fresh_catalog: CatalogServer) -> None:
    client = SteadyAtlasClient(
        fresh_catalog.endpoint, StaticToken(fresh_catalog.token), retry_policy=RetryPolicy(tries=1)
    )
    entity = {
        "typeName": "DataSet",
        "guid": "-1",
        "attributes": {"qualifiedName": "x", "name": "x", "rest": "y" * ASSET},
    }
    with pytest.raises(CatalogRefused, match="more than 2097152 bytes"):
        client._post_http(f"{fresh_catalog.endpoint}/entity/bulk", json={"entities": [entity]})


def asset(name: str) -> Asset:
    return Asset(type="azure_datalake_gen2_path", qualified_name=name, namespace="n", name=name)


def test_a_process_with_more_inputs_than_an_asset_holds_shows_some_and_counts_the_rest() -> None:
    inputs = tuple(sorted(asset(f"https://acct.dfs.core.windows.net/raw/{n:05}/{'x' * 150}") for n in range(10_000)))
    process = Process(
        qualified_name="p", name="p", operations=("insert",), inputs=inputs, outputs=(asset("out"),), columns=()
    )
    entity = process_entity(process)
    references = [
        {"typeName": kind, "guid": "0" * 36, "uniqueAttributes": {"qualifiedName": name}}
        for kind, name in (*entity.inputs, *entity.outputs)
    ]
    assert len(json.dumps([entity.attributes, references])) <= ASSET
    assert 4_000 < len(entity.inputs) < 10_000
    assert f"Inputs: {len(entity.inputs):,} of 10,000 are shown" in dict(entity.attributes)["description"]
    assert process_entity(process).fingerprint == entity.fingerprint


def test_a_pair_whose_columns_fill_a_property_is_left_out_and_counted() -> None:
    long = Column(qualified_name="in", column="c" * 40_000)
    edges = (ColumnEdge(input=long, output=Column(qualified_name="out", column="x"), kind=EdgeKind.DIRECT),)
    process = Process(
        qualified_name="p",
        name="p",
        operations=("insert",),
        inputs=(asset("in"),),
        outputs=(asset("out"),),
        columns=edges,
    )
    attributes = dict(process_entity(process).attributes)
    assert attributes["columnMapping"] == "[]"
    assert "0 of 1 pairs" in attributes["description"]


@settings(max_examples=50, deadline=None)
@given(st.text(min_size=1, max_size=6_000), st.text(max_size=6_000), st.text(max_size=50_000))
def test_every_name_and_property_keeps_within_its_limit(name: str, column: str, kind: str) -> None:
    qualified_name = bounded(name, 2_000, most_bytes=4_000)
    entity = asset_entity(asset(qualified_name), columns=((column, kind),))
    process = Process(
        qualified_name="p", name=name, operations=(kind,), inputs=(asset("a"),), outputs=(asset("b"),), columns=()
    )
    texts = [(dict(entity.attributes), entity.qualified_name), (dict(process_entity(process).attributes), "p")]
    texts += [
        (column_entity.attributes, column_entity.qualified_name)
        for column_entity in column_entities("DataSet", qualified_name, entity.columns)
    ]
    for attributes, text in texts:
        assert len(text.encode(errors="surrogatepass")) <= NAME
        assert len(attributes["name"].encode(errors="surrogatepass")) <= NAME
        assert all(len(value.encode(errors="surrogatepass")) <= PROPERTY for value in attributes.values())


def test_two_long_names_are_still_different_when_shortened() -> None:
    first_name, other = (bounded("é" * 3_000 + end, 2_000, most_bytes=4_000) for end in "ab")
    assert first_name != other
    assert max(len(first_name.encode()), len(other.encode())) <= 4_000
