"""Search and type definitions, through pyapacheatlas' client where it has the verb."""

from typing import Any

import pytest
import requests
from pyapacheatlas.auth import BasicAuthentication
from pyapacheatlas.core import AtlasClient, AtlasEntity
from pyapacheatlas.core.typedef import (
    AtlasAttributeDef,
    ChildEndDef,
    ClassificationTypeDef,
    EntityTypeDef,
    ParentEndDef,
    RelationshipTypeDef,
)
from pyapacheatlas.core.util import AtlasException

from tests.support.catalog_server import search
from throughline.local.catalog.server import CatalogServer

Json = dict[str, Any]
TABLE = "azure_sql_table"


@pytest.fixture
def client(fresh_catalog: CatalogServer) -> AtlasClient:
    return AtlasClient(
        f"{fresh_catalog.url}/api/atlas/v2", BasicAuthentication("admin", fresh_catalog.token), requests_timeout=10
    )


@pytest.fixture
def http(fresh_catalog: CatalogServer) -> requests.Session:
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {fresh_catalog.token}"
    return session


def table(name: str, guid: int, type_name: str = TABLE, **attributes: Any) -> AtlasEntity:
    return AtlasEntity(name, type_name, f"store/{name}", guid=guid, attributes=dict(attributes))


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


SEARCHES: dict[str, tuple[Json, list[str]]] = {
    "type": ({"typeName": TABLE}, ["Orders", "orders_2024", "people"]),
    "type with sub types": (
        {"typeName": "DataSet"},
        ["Orders", "orders_2024", "people", "orders", "file"],
    ),
    "deleted ones too": ({"typeName": TABLE, "query": "gone", "excludeDeletedEntities": False}, ["gone_orders"]),
    "words in any case": ({"typeName": "DataSet", "query": "ORDERS"}, ["Orders", "orders_2024", "orders"]),
    "all words": ({"typeName": TABLE, "query": "orders 2024"}, ["orders_2024"]),
    "a wildcard": ({"typeName": TABLE, "query": "store*2024"}, ["orders_2024"]),
    "no wildcards of SQL": ({"typeName": TABLE, "query": "orders_%"}, []),
    "limit": ({"typeName": TABLE, "limit": 1}, ["Orders"]),
    "offset": ({"typeName": TABLE, "limit": 2, "offset": 1}, ["orders_2024", "people"]),
    "eq": (where("qualifiedName", "eq", "store/Orders"), ["Orders"]),
    "eq heeds case": (where("name", "eq", "ORDERS"), []),
    "neq": (where("description", "neq", "all orders"), ["orders_2024", "people"]),
    "startsWith": (where("name", "startsWith", "orders"), ["orders_2024"]),
    "a system attribute": (where("__typeName", "eq", TABLE), ["Orders", "orders_2024", "people"]),
}


@pytest.mark.usefixtures("assets")
@pytest.mark.parametrize(("parameters", "expected"), SEARCHES.values(), ids=SEARCHES.keys())
def test_a_search_returns_the_matching_entities(
    fresh_catalog: CatalogServer, http: requests.Session, parameters: Json, expected: list[str]
) -> None:
    if "attributeName" in parameters:
        parameters = {"typeName": TABLE, "entityFilters": {"condition": "AND", "criterion": [parameters]}}
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


def test_types_are_created_used_and_changed(
    client: AtlasClient, http: requests.Session, fresh_catalog: CatalogServer
) -> None:
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
    definitions = {"entityDefs": [parent.to_json()]}
    answer = http.put(f"{fresh_catalog.endpoint}/types/typedefs", json=definitions, timeout=60)
    (changed,) = answer.json()["entityDefs"]
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


def test_all_built_in_types_are_listed(client: AtlasClient, fresh_catalog: CatalogServer) -> None:
    all_typedefs = client.get_all_typedefs()
    assert {typedef["name"] for typedefs in all_typedefs.values() for typedef in typedefs} >= BUILT_IN.keys()
    assert fresh_catalog.calls()["writes"] == 0
