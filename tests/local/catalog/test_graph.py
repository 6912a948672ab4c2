"""Lineage, search and type definitions, through pyapacheatlas' client where it has the verb."""

from typing import Any

import pytest
import requests
from pyapacheatlas.auth import BasicAuthentication
from pyapacheatlas.core import AtlasClient, AtlasEntity, AtlasProcess
from pyapacheatlas.core.typedef import (
    AtlasAttributeDef,
    ChildEndDef,
    ClassificationTypeDef,
    EntityTypeDef,
    ParentEndDef,
    RelationshipTypeDef,
    TypeCategory,
)
from pyapacheatlas.core.util import AtlasException

from tests.support.catalog_server import search
from throughline.local.catalog.server import CatalogServer

Json = dict[str, Any]
TABLE = "azure_sql_table"


@pytest.fixture
def client(fresh_catalog: CatalogServer) -> AtlasClient:
    return AtlasClient(
        fresh_catalog.atlas_endpoint, BasicAuthentication("admin", fresh_catalog.token), requests_timeout=10
    )


@pytest.fixture
def http(fresh_catalog: CatalogServer) -> requests.Session:
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {fresh_catalog.token}"
    return session


def table(name: str, guid: int, type_name: str = TABLE, **attributes: Any) -> AtlasEntity:
    return AtlasEntity(name, type_name, f"store/{name}", guid=guid, attributes=dict(attributes))


# -- lineage: a -> p1 -> b -> p2 -> c, and c -> p3 -> a closes a circle


@pytest.fixture
def chain(client: AtlasClient) -> dict[str, str]:
    """Guids by name."""
    a, b, c = table("a", -1), table("b", -2), table("c", -3)
    jobs = [("p1", a, b), ("p2", b, c), ("p3", c, a)]
    processes = [
        AtlasProcess(name, "azure_synapse_operation", name, [source], [sink], guid=-10 - number)
        for number, (name, source, sink) in enumerate(jobs)
    ]
    guids = client.upload_entities([a, b, c, *processes])["guidAssignments"]
    keys = {"a": "-1", "b": "-2", "c": "-3", "p1": "-10", "p2": "-11", "p3": "-12"}
    return {name: guids[key] for name, key in keys.items()}


@pytest.mark.parametrize(
    ("start", "direction", "depth", "expected"),
    [
        ("a", "OUTPUT", 1, {"a-p1", "p1-b"}),
        ("a", "OUTPUT", 2, {"a-p1", "p1-b", "b-p2", "p2-c"}),
        ("a", "INPUT", 1, {"c-p3", "p3-a"}),
        ("b", "BOTH", 1, {"a-p1", "p1-b", "b-p2", "p2-c"}),
        ("a", "BOTH", 0, {"a-p1", "p1-b", "b-p2", "p2-c", "c-p3", "p3-a"}),
        ("p1", "BOTH", 1, {"a-p1", "p1-b"}),
        ("p1", "INPUT", 2, {"a-p1", "c-p3", "p3-a"}),
        ("p1", "OUTPUT", 2, {"p1-b", "b-p2", "p2-c"}),
    ],
)
def test_lineage_follows_direction_and_depth(
    *, client: AtlasClient, chain: dict[str, str], start: str, direction: str, depth: int, expected: set[str]
) -> None:
    entity_lineage = client.get_entity_lineage(chain[start], depth=depth, direction=direction)
    names = {guid: name for name, guid in chain.items()}
    edges = {f"{names[edge['fromEntityId']]}-{names[edge['toEntityId']]}" for edge in entity_lineage["relations"]}
    assert edges == expected
    assert {names[guid] for guid in entity_lineage["guidEntityMap"]} == {
        end for edge in expected for end in edge.split("-")
    }
    assert (entity_lineage["baseEntityGuid"], entity_lineage["lineageDirection"], entity_lineage["lineageDepth"]) == (
        chain[start],
        direction,
        depth,
    )
    assert len({edge["relationshipId"] for edge in entity_lineage["relations"]}) == len(expected)


def test_lineage_by_qualified_name_equals_lineage_by_guid(
    client: AtlasClient, chain: dict[str, str], http: requests.Session, fresh_catalog: CatalogServer
) -> None:
    answer = http.get(
        f"{fresh_catalog.endpoint}/lineage/uniqueAttribute/type/{TABLE}",
        params={"attr:qualifiedName": "store/b", "direction": "BOTH", "depth": "1"},
        timeout=60,
    )
    assert answer.json() == client.get_entity_lineage(chain["b"], depth=1)


def test_without_edges_the_lineage_is_empty(client: AtlasClient) -> None:
    guid = client.upload_entities([table("alone", -1)])["guidAssignments"]["-1"]
    lineage_answer = client.get_entity_lineage(guid)
    assert (lineage_answer["guidEntityMap"], lineage_answer["relations"]) == ({}, [])


# -- search


@pytest.fixture
def assets(client: AtlasClient) -> None:
    client.upload_entities(
        [
            table("Orders", -1, description="all orders"),
            table("orders_2024", -2),
            table("people", -3, description="50% [sic]"),
            table("orders", -4, "hive_table"),
            table("file", -5, "fs_path", path="/file", isFile=True),
        ]
    )
    deleted_guid = client.upload_entities([table("gone_orders", -6)])["guidAssignments"]["-6"]
    client.delete_entity(guid=deleted_guid)


def where(attribute: str, operator: str, value: Any = None) -> Json:
    return {"attributeName": attribute, "operator": operator, "attributeValue": value}


def both(condition: str, *criteria: Json) -> Json:
    return {"condition": condition, "criterion": list(criteria)}


SEARCHES = {
    "type": ({"typeName": TABLE}, ["Orders", "orders_2024", "people"]),
    "type with sub types": (
        {"typeName": "DataSet"},
        ["Orders", "orders_2024", "people", "orders", "file"],
    ),
    "type without sub types": ({"typeName": "DataSet", "includeSubTypes": False}, []),
    "two types": ({"typeName": "hive_table,fs_path"}, ["orders", "file"]),
    "everything": ({}, ["Orders", "orders_2024", "people", "orders", "file"]),
    "deleted ones too": ({"typeName": TABLE, "query": "gone", "excludeDeletedEntities": False}, ["gone_orders"]),
    "words in any case": ({"query": "ORDERS"}, ["Orders", "orders_2024", "orders"]),
    "all words": ({"query": "orders 2024"}, ["orders_2024"]),
    "a wildcard": ({"query": "store*2024"}, ["orders_2024"]),
    "no wildcards of SQL": ({"query": "orders_%"}, []),
    "limit": ({"typeName": TABLE, "limit": 1}, ["Orders"]),
    "offset": ({"typeName": TABLE, "limit": 2, "offset": 1}, ["orders_2024", "people"]),
    "eq": (where("qualifiedName", "eq", "store/Orders"), ["Orders"]),
    "eq heeds case": (where("name", "=", "ORDERS"), []),
    "neq": (where("description", "neq", "all orders"), ["orders_2024", "people"]),
    "startsWith": (where("name", "startsWith", "orders"), ["orders_2024"]),
    "STARTS_WITH": (where("name", "STARTS_WITH", "orders"), ["orders_2024"]),
    "endsWith": (where("name", "endsWith", "2024"), ["orders_2024"]),
    "contains": (where("description", "contains", "% [s"), ["people"]),
    "AND": (both("AND", where("name", "contains", "rders"), where("name", "neq", "Orders")), ["orders_2024"]),
    "OR": (both("OR", where("name", "eq", "people"), where("name", "eq", "Orders")), ["Orders", "people"]),
    "AND in OR": (
        both(
            "OR",
            where("name", "eq", "people"),
            both("AND", where("name", "contains", "rders"), where("name", "endsWith", "2024")),
        ),
        ["orders_2024", "people"],
    ),
    "a system attribute": (where("__typeName", "eq", TABLE), ["Orders", "orders_2024", "people"]),
}


@pytest.mark.usefixtures("assets")
@pytest.mark.parametrize(("parameters", "expected"), SEARCHES.values(), ids=SEARCHES.keys())
def test_a_search_returns_the_matching_entities(
    fresh_catalog: CatalogServer, http: requests.Session, parameters: Json, expected: list[str]
) -> None:
    if "attributeName" in parameters or "criterion" in parameters:
        parameters = {"typeName": TABLE, "entityFilters": parameters}
    body = {"excludeDeletedEntities": True} | parameters
    answer = http.post(f"{fresh_catalog.endpoint}/search/basic", json=body, timeout=60).json()
    assert [entity["attributes"]["name"] for entity in answer.get("entities", [])] == expected
    assert ("entities" in answer) == bool(expected)
    assert answer["queryType"] == "BASIC"


@pytest.mark.usefixtures("assets")
def test_a_search_counts_all(fresh_catalog: CatalogServer) -> None:
    answer = search(fresh_catalog, typeName=TABLE, query="orders", limit=1, excludeDeletedEntities=True)
    assert (len(answer["entities"]), answer["approximateCount"]) == (1, 2)


# -- type definitions


def test_types_are_created_used_and_changed(client: AtlasClient) -> None:
    parent = EntityTypeDef("my_store", attributeDefs=[AtlasAttributeDef("size", typeName="int")])
    child = EntityTypeDef("my_part", attributeDefs=[AtlasAttributeDef("kind", isOptional=False)])
    relation = RelationshipTypeDef(
        "my_store_parts",
        ParentEndDef("parts", "my_store"),
        ChildEndDef("store", "my_part"),
        "COMPOSITION",
    )
    label = ClassificationTypeDef("PII", entityTypes=[], superTypes=[])
    created = client.upload_typedefs(
        entityDefs=[parent, child], relationshipDefs=[relation], classificationDefs=[label]
    )
    assert [typedef["name"] for typedef in created["entityDefs"]] == ["my_store", "my_part"]
    with pytest.raises(AtlasException, match="ATLAS-409-00-001"):
        client.upload_typedefs(entityDefs=[parent, EntityTypeDef("my_other")])
    with pytest.raises(AtlasException, match="ATLAS-404-00-001"):
        client.get_typedef(name="my_other")

    store = AtlasEntity("s", "my_store", "s", guid=-1, classifications=[{"typeName": "PII"}])
    part = AtlasEntity("p", "my_part", "p", guid=-2, attributes={"kind": "wheel"})
    part.addRelationship(store=store)
    guid = client.upload_entities([store, part])["guidAssignments"]["-1"]
    entity = client.get_single_entity(guid)["entity"]
    assert [item["displayText"] for item in entity["relationshipAttributes"]["parts"]] == ["p"]
    assert [
        (classification["typeName"], classification["entityGuid"]) for classification in entity["classifications"]
    ] == [("PII", guid)]

    parent.addAttributeDef(AtlasAttributeDef("colour"))
    client.upload_typedefs(entityDefs=[parent, EntityTypeDef("my_other")], force_update=True)
    changed = client.get_typedef(type_category=TypeCategory.ENTITY, name="my_store")
    assert [attribute["name"] for attribute in changed["attributeDefs"]] == ["size", "colour"]
    assert changed["version"] == 2


# Purview's built-in types for each store, with their mandatory attributes besides name and qualifiedName.
BUILT_IN: dict[str, Json] = {
    "azure_datalake_gen2_filesystem": {},
    "azure_datalake_gen2_path": {},
    "azure_datalake_gen2_resource_set": {},
    "azure_datalake_gen1_path": {},
    "azure_blob_container": {},
    "azure_blob_path": {},
    "azure_blob_resource_set": {},
    "azure_sql_table": {},
    "azure_sql_view": {},
    "azure_sql_column": {"data_type": "int"},
    "azure_sql_mi_table": {},
    "mssql_table": {},
    "azure_synapse_dedicated_sql_table": {},
    "azure_synapse_serverless_sql_table": {},
    "hive_db": {},
    "hive_table": {},
    "hive_column": {"type": "int"},
    "databricks_table": {},
    "fabric_lakehouse": {},
    "fabric_lakehouse_table": {},
    "fabric_warehouse_table": {},
    "azure_cosmosdb_sqlapi_collection": {"resourceLink": "link"},
    "azure_data_explorer_table": {},
    "azure_postgresql_table": {},
    "postgresql_table": {},
    "azure_mysql_table": {},
    "snowflake_table": {},
    "oracle_table": {},
    "bigquery_table": {},
    "kafka_topic": {"topic": "t", "uri": "kafka://h:9092"},
    "aws_s3_v2_directory": {},
    "aws_s3_v2_resource_set": {},
    "fs_path": {"path": "/f"},
    "hdfs_path": {"path": "/f"},
    "tabular_schema": {},
    "column": {"type": "int"},
    "azure_synapse_operation": {},
}


def test_the_built_in_types_accept_entities(client: AtlasClient) -> None:
    batch = [
        AtlasEntity("n", name, f"qn/{name}", guid=-number, attributes=dict(attributes))
        for number, (name, attributes) in enumerate(BUILT_IN.items(), start=1)
    ]
    answer = client.upload_entities(batch)
    assert [header["typeName"] for header in answer["mutatedEntities"]["CREATE"]] == list(BUILT_IN)


def test_an_entity_without_a_mandatory_attribute_is_refused(client: AtlasClient) -> None:
    for name, attributes in BUILT_IN.items():
        for attribute in attributes:
            remaining_attributes = {key: value for key, value in attributes.items() if key != attribute}
            with pytest.raises(AtlasException, match=rf"ATLAS-404-00-007.*{attribute}"):
                client.upload_entities([AtlasEntity("n", name, "qn", guid=-1, attributes=remaining_attributes)])


def test_all_typedefs_and_their_headers_agree(client: AtlasClient, fresh_catalog: CatalogServer) -> None:
    all_typedefs = client.get_all_typedefs()
    names = {typedef["name"] for typedefs in all_typedefs.values() for typedef in typedefs}
    headers = client._get_typedefs_header()  # the calls of its force_update
    assert names == {name for listed in headers.values() for name in listed}
    assert names >= BUILT_IN.keys()
    assert fresh_catalog.calls()["writes"] == 0
