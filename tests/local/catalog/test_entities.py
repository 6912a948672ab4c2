"""Entities written and read by pyapacheatlas' own client: created, changed, kept, replaced and deleted ones."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyapacheatlas.auth import BasicAuthentication
from pyapacheatlas.core import AtlasClient, AtlasEntity, AtlasProcess
from pyapacheatlas.core.util import AtlasException

from throughline.local.catalog.server import CatalogServer

Json = dict[str, Any]
TABLE = "azure_sql_table"
PROCESS = "azure_synapse_operation"


def client_of(server: CatalogServer) -> AtlasClient:
    return AtlasClient(f"{server.url}/api/atlas/v2", BasicAuthentication("admin", server.token), requests_timeout=60)


@pytest.fixture
def client(fresh_catalog: CatalogServer) -> AtlasClient:
    return client_of(fresh_catalog)


@pytest.fixture(scope="module")
def hard_server() -> Iterator[CatalogServer]:
    with CatalogServer(deletes="hard") as server:
        yield server


@pytest.fixture
def hard(hard_server: CatalogServer) -> AtlasClient:
    hard_server.reset()
    return client_of(hard_server)


def table(name: str, guid: Any = -1, **attributes: Any) -> AtlasEntity:
    return AtlasEntity(name, TABLE, name, guid=guid, attributes=dict(attributes))


def ref(name: str, type_name: str = TABLE) -> Json:
    return {"typeName": type_name, "uniqueAttributes": {"qualifiedName": name}}


def process(inputs: Any = None, outputs: Any = None, guid: Any = -9, **attributes: Any) -> AtlasProcess:
    return AtlasProcess("job", PROCESS, "job", inputs, outputs, guid=guid, attributes=dict(attributes))


def kinds(answer: Json) -> Json:
    """Return the names that an answer lists as created, updated and so on."""
    mutated = answer.get("mutatedEntities", {})
    return {kind: [header["attributes"]["qualifiedName"] for header in headers] for kind, headers in mutated.items()}


def read(client: AtlasClient, name: str, type_name: str = TABLE) -> Json:
    entity: Json = client.get_entity(qualifiedName=name, typeName=type_name)["entities"][0]
    return entity


def names(references: list[Json]) -> list[str]:
    return [reference["uniqueAttributes"]["qualifiedName"] for reference in references]


def statuses(entity: Json, name: str) -> list[tuple[str, str]]:
    related = entity["relationshipAttributes"][name]
    return [(item["displayText"], item["relationshipStatus"]) for item in related]


# -- creating and updating


def test_an_upload_creates_changes_or_leaves_an_entity(client: AtlasClient) -> None:
    first = client.upload_entities([table("a", guid=-1, description="one")])
    guid = first["guidAssignments"]["-1"]
    assert kinds(first) == {"CREATE": ["a"]}
    assert client.upload_entities([table("a", guid=-7, description="one")]) == {"guidAssignments": {"-7": guid}}
    assert kinds(client.upload_entities([table("a", guid=-1, description="two")])) == {"UPDATE": ["a"]}
    assert read(client, "a")["attributes"]["description"] == "two"
    assert read(client, "a")["version"] == 2
    assert client.get_single_entity(guid)["entity"]["guid"] == guid


def test_a_known_guid_selects_the_entity_to_update(client: AtlasClient) -> None:
    guid = client.upload_entities([table("a")])["guidAssignments"]["-1"]
    answer = client.upload_entities([table("renamed", guid=guid)])
    assert kinds(answer) == {"UPDATE": ["renamed"]}
    assert read(client, "renamed")["guid"] == guid
    client.upload_entities([table("b")])
    with pytest.raises(AtlasException, match="ATLAS-409-00-003"):
        client.upload_entities([table("b", guid=guid)])


def test_without_a_guid_the_server_makes_the_key(client: AtlasClient) -> None:
    answer = client.upload_entities([table("a", guid=None), table("b", guid=None)])
    assert len(answer["guidAssignments"]) == 2
    assert all(key.startswith("-") for key in answer["guidAssignments"])


def test_an_update_keeps_omitted_attributes_clears_null_ones_and_drops_unknown_ones(client: AtlasClient) -> None:
    client.upload_entities([table("a", description="kept", owner="gone", colour="red")])
    client.upload_entities([table("a", owner=None)])
    attributes = read(client, "a")["attributes"]
    assert (attributes["description"], attributes["owner"]) == ("kept", None)
    assert "colour" not in attributes


def test_of_two_entities_with_one_guid_the_second_is_dropped(client: AtlasClient) -> None:
    assert kinds(client.upload_entities([table("a", guid=-1), table("b", guid=-1)])) == {"CREATE": ["a"]}
    assert "entities" in client.get_entity(qualifiedName="b", typeName=TABLE)
    assert client.get_entity(qualifiedName="b", typeName=TABLE)["entities"] == []


def test_one_name_under_two_guids_is_one_entity_and_the_last_wins(client: AtlasClient) -> None:
    twins = [table("a", guid=-1, description="first", owner="me"), table("a", guid=-2, description="last")]
    answer = client.upload_entities(twins)
    assert kinds(answer) == {"CREATE": ["a"]}
    assert answer["guidAssignments"]["-1"] == answer["guidAssignments"]["-2"]
    attributes = read(client, "a")["attributes"]
    assert (attributes["description"], attributes["owner"]) == ("last", "me")


def test_qualified_names_are_case_sensitive_and_unique_per_type(client: AtlasClient) -> None:
    answer = client.upload_entities(
        [table("a", -1), table("A", -2), AtlasEntity("a", "hive_table", "a", guid=-3)],
    )
    assert len(set(answer["guidAssignments"].values())) == 3
    assert read(client, "A")["guid"] == answer["guidAssignments"]["-2"]


def test_a_bulk_with_an_error_writes_nothing(client: AtlasClient, fresh_catalog: CatalogServer) -> None:
    bad = AtlasEntity("topic", "kafka_topic", "topic", guid=-2)
    with pytest.raises(AtlasException, match="ATLAS-404-00-007"):
        client.upload_entities([table("a", guid=-1), bad])
    client.upload_entities([table("b", guid=-1), table("c", guid=-2)])
    guid = read(client, "c")["guid"]
    # Detected only while writing: the name is taken.
    with pytest.raises(AtlasException, match="ATLAS-409-00-003"):
        client.upload_entities([table("new", guid=-1), table("b", guid=guid)])
    assert fresh_catalog.calls()["entities"] == 2


def test_labels_and_custom_attributes_are_kept(client: AtlasClient) -> None:
    client.upload_entities([{**table("a").to_json(), "labels": ["ours"], "customAttributes": {"by": "us"}}])
    client.upload_entities([table("a", description="more")])
    entity = read(client, "a")
    assert (entity["labels"], entity["customAttributes"]) == (["ours"], {"by": "us"})


# -- processes


def test_negative_guids_resolve_in_any_order(client: AtlasClient) -> None:
    source, sink = table("a", -1), table("b", -2)
    answer = client.upload_entities([process([source], [sink], columnMapping="[]"), sink, source])
    assert sorted(kinds(answer)["CREATE"]) == ["a", "b", "job"]
    attributes = read(client, "job", PROCESS)["attributes"]
    assert (names(attributes["inputs"]), names(attributes["outputs"]), attributes["columnMapping"]) == (
        ["a"],
        ["b"],
        "[]",
    )
    assert statuses(read(client, "a"), "inputToProcesses") == [("job", "ACTIVE")]


def test_a_bare_process_loses_its_column_mapping_without_an_error(client: AtlasClient) -> None:
    bare_process = AtlasProcess("p", "Process", "p", [], [], guid=-1, attributes={"columnMapping": "[]"})
    client.upload_entities([bare_process])
    assert "columnMapping" not in read(client, "p", "Process")["attributes"]


def test_newly_linked_data_sets_are_listed_as_updated(client: AtlasClient) -> None:
    client.upload_entities([table("a", -1), table("b", -2)])
    answer = client.upload_entities([process([ref("a", "DataSet")], [])])
    assert kinds(answer) == {"CREATE": ["job"], "UPDATE": ["a"]}
    answer = client.upload_entities([process([ref("a"), ref("b")], [])])
    assert kinds(answer) == {"UPDATE": ["job", "b"]}
    assert "mutatedEntities" not in client.upload_entities([process([ref("a"), ref("b")], [])])
    answer = client.upload_entities([process([ref("b"), ref("a")], [])])
    assert kinds(answer) == {"UPDATE": ["job", "b", "a"]}, "another order is a change"


def test_null_inputs_change_nothing_and_an_empty_list_removes_all(client: AtlasClient, hard: AtlasClient) -> None:
    for catalog_client, expected_statuses in ((client, [("a", "DELETED")]), (hard, [])):
        catalog_client.upload_entities([table("a", -1), process([table("a", -1)], [])])
        assert "mutatedEntities" not in catalog_client.upload_entities([process(None, None)])
        assert kinds(catalog_client.upload_entities([process([], None)])) == {"UPDATE": ["job"]}
        assert statuses(read(catalog_client, "job", PROCESS), "inputs") == expected_statuses


def test_soft_deletes_keep_replaced_inputs_visible(client: AtlasClient) -> None:
    client.upload_entities([table("a", -1), table("b", -2), table("c", -3)])
    client.upload_entities([process([ref("a"), ref("b")], [ref("c")])])
    client.upload_entities([process([ref("a")], [ref("c")])])
    entity = read(client, "job", PROCESS)
    assert names(entity["attributes"]["inputs"]) == ["a", "b"]
    assert statuses(entity, "inputs") == [("a", "ACTIVE"), ("b", "DELETED")]
    for mapping in ("1", "2"):
        client.upload_entities([process([ref("a"), ref("b")], [ref("c")], columnMapping=mapping)])
        assert statuses(read(client, "job", PROCESS), "inputs") == [("a", "ACTIVE"), ("b", "DELETED")], (
            "nothing returns"
        )
    client.upload_entities([process([ref("b")], [ref("c")])])
    assert statuses(read(client, "job", PROCESS), "inputs") == [("a", "DELETED"), ("b", "DELETED"), ("b", "ACTIVE")]


def test_hard_deletes_remove_replaced_inputs(hard: AtlasClient) -> None:
    hard.upload_entities([table("a", -1), table("b", -2), table("c", -3)])
    hard.upload_entities([process([ref("a"), ref("b")], [ref("c")])])
    hard.upload_entities([process([ref("a")], [ref("c")])])
    entity = read(hard, "job", PROCESS)
    assert names(entity["attributes"]["inputs"]) == ["a"]
    assert statuses(entity, "inputs") == [("a", "ACTIVE")]


# -- sending back what was read


def test_sending_back_a_read_entity_does_not_restore_removed_relationships(client: AtlasClient) -> None:
    client.upload_entities([table("a", -1), table("b", -2), process([table("a", -1), table("b", -2)], [])])
    client.upload_entities([process([ref("a")], [])])
    send_back(client, columnMapping="[]")
    job = read(client, "job", PROCESS)
    assert statuses(job, "inputs") == [("a", "ACTIVE"), ("b", "DELETED")]
    assert job["attributes"]["columnMapping"] == "[]"


def test_updating_a_process_with_a_deleted_input_does_not_restore_the_input(client: AtlasClient) -> None:
    guid = client.upload_entities([table("a", -1), process([table("a", -1)], [])])["guidAssignments"]["-1"]
    client.delete_entity(guid=guid)
    assert kinds(send_back(client, columnMapping="[]")) == {"UPDATE": ["job"]}
    assert statuses(read(client, "job", PROCESS), "inputs") == [("a", "DELETED")]


def send_back(client: AtlasClient, **attributes: str) -> Json:
    """Read the process, and write all of it with other attributes."""
    job = read(client, "job", PROCESS)
    answer: Json = client.upload_entities([job | {"attributes": job["attributes"] | attributes}])
    return answer


# -- columns


def test_a_column_belongs_to_one_table_and_is_deleted_with_it(client: AtlasClient, hard: AtlasClient) -> None:
    column = AtlasEntity("id", "azure_sql_column", "a#id", guid=-2, attributes={"data_type": "int"})
    column.addRelationship(table=table("a", -1))
    for catalog_client, status in ((client, ["DELETED"]), (hard, None)):
        guids = catalog_client.upload_entities([column, table("a", -1)])["guidAssignments"]
        answer = catalog_client.get_single_entity(guids["-1"])
        assert [item["displayText"] for item in answer["entity"]["relationshipAttributes"]["columns"]] == ["id"]
        assert answer["referredEntities"][guids["-2"]]["attributes"]["data_type"] == "int"
        assert catalog_client.get_single_entity(guids["-1"], minExtInfo=True)["referredEntities"] == {}
        assert (
            "relationshipAttributes"
            not in catalog_client.get_single_entity(guids["-1"], ignoreRelationships=True)["entity"]
        )
        catalog_client.upload_entities([table("b", -1)])
        column_elsewhere = AtlasEntity("id", "azure_sql_column", "a#id", guid=-2, attributes={"data_type": "int"})
        column_elsewhere.addRelationship(table=ref("b"))
        catalog_client.upload_entities([column_elsewhere])
        assert read(catalog_client, "a#id", "azure_sql_column")["relationshipAttributes"]["table"]["displayText"] == "b"
        assert sorted(kinds(catalog_client.delete_entity(qualifiedName="b", typeName=TABLE))["DELETE"]) == ["a#id", "b"]
        if status is None:
            with pytest.raises(AtlasException, match="ATLAS-404-00-005"):
                catalog_client.get_single_entity(guids["-2"])
        else:
            assert [catalog_client.get_single_entity(guids["-2"])["entity"]["status"]] == status


def test_a_tabular_schema_describes_a_file(client: AtlasClient) -> None:
    schema = AtlasEntity("schema", "tabular_schema", "f#schema", guid=-1)
    column = AtlasEntity("id", "column", "f#schema//id", guid=-2, attributes={"type": "int"})
    column.addRelationship(composeSchema=schema)
    file = AtlasEntity("f", "azure_datalake_gen2_resource_set", "f", guid=-3)
    file.addRelationship(tabular_schema=schema)
    client.upload_entities([file, schema, column])
    tabular_schema = read(client, "f", "azure_datalake_gen2_resource_set")["relationshipAttributes"]["tabular_schema"]
    assert (tabular_schema["displayText"], tabular_schema["relationshipType"]) == ("schema", "tabular_schema_datasets")
    columns = read(client, "f#schema", "tabular_schema")["relationshipAttributes"]["columns"]
    assert [item["displayText"] for item in columns] == ["id"]


# -- deleting


def test_soft_deletes_keep_the_entity_by_guid_only(client: AtlasClient) -> None:
    guid = client.upload_entities([table("a")])["guidAssignments"]["-1"]
    assert kinds(client.delete_entity(guid=guid)) == {"DELETE": ["a"]}
    assert client.get_single_entity(guid)["entity"]["status"] == "DELETED"
    assert client.get_entity(qualifiedName="a", typeName=TABLE)["entities"] == []
    assert client.delete_entity(guid=guid) == {}
    second_answer = client.upload_entities([table("a")])
    assert kinds(second_answer) == {"CREATE": ["a"]}
    assert second_answer["guidAssignments"]["-1"] != guid
    with pytest.raises(AtlasException, match="ATLAS-404-00-00A"):
        client.upload_entities([process([{"guid": guid, "typeName": TABLE}], [])])


def test_hard_deletes_remove_the_entity(hard: AtlasClient) -> None:
    guid = hard.upload_entities([table("a"), process([table("a")], [])])["guidAssignments"]["-1"]
    assert kinds(hard.delete_entity(guid=[guid])) == {"DELETE": ["a"]}
    with pytest.raises(AtlasException, match="ATLAS-404-00-005"):
        hard.get_single_entity(guid)
    assert read(hard, "job", PROCESS)["attributes"]["inputs"] == []


def test_deleting_an_unknown_entity_is_no_error(client: AtlasClient) -> None:
    assert client.delete_entity(guid="7f3e6e0a-1d10-4c0c-9f0c-1f2ad6a0f5d3") == {}
