"""Entities: a process and its assets as Purview wants them, the same bytes for the same lineage."""

import json
from itertools import permutations

import pytest
from msgspec.structs import replace

from shared.atlas.entities import PROCESS_TYPE, asset_entity, column_mapping, process_entity
from shared.model import Asset, Column, ColumnEdge, EdgeKind, Process
from shared.translation.process.union import ALL_ROWS
from tests.support.building import asset, edge, process

LIMIT = 32 * 1024


def _edge(source: str, column: str, output: str, kind: EdgeKind = EdgeKind.DIRECT) -> ColumnEdge:
    return ColumnEdge(
        input=Column(qualified_name=source, column=column),
        output=Column(qualified_name="sink", column=output),
        kind=kind,
    )


def _attributes(lineage_process: Process, *, with_indirect: bool = False) -> dict[str, str]:
    return dict(process_entity(lineage_process, with_indirect=with_indirect).attributes)


def test_a_process_becomes_the_entity_that_purview_expects() -> None:
    entity = process_entity(process("/b", "/a", operations=("insert", "merge")))
    assert entity.type == PROCESS_TYPE == "azure_synapse_operation"
    assert entity.qualified_name == "throughline:v1://tests/app/file/out"
    assert entity.inputs == (("fs_path", "file:///a"), ("fs_path", "file:///b"))
    assert entity.outputs == (("fs_path", "file:///out"),)
    assert [name for name, _ in entity.attributes] == ["name", "description", "columnMapping"]
    assert dict(entity.attributes)["name"] == "app → out"
    assert dict(entity.attributes)["description"] == "Operations: insert, merge."


def test_a_missing_end_event_is_in_the_description() -> None:
    assert "end of its run was not seen" in _attributes(process("/a", end_not_seen=True))["description"]


def test_upper_bounds_are_in_the_mapping_and_counted_in_the_description() -> None:
    edges = (
        _edge("/a", "x", "x"),
        replace(_edge("/a", "y", "x"), how=("OPAQUE",)),
        _edge("/a", "z", "", EdgeKind.INDIRECT),
    )
    attributes = _attributes(replace(process("/a"), columns=edges))
    bounds = "Columns: 1 of 2 pairs are an upper bound: rows pass code that Spark's plan does not show."
    assert attributes["description"].endswith(bounds)
    assert [pair["Source"] for pair in json.loads(attributes["columnMapping"])[0]["ColumnMapping"]] == ["x", "y"]
    assert "bound" not in _attributes(replace(process("/a"), columns=edges[:1]))["description"]


def test_the_column_mapping_has_one_object_for_each_pair() -> None:
    edges = (
        _edge("b", "y", "z"),
        _edge("a", "first", "full"),
        _edge("a", "last", "full"),
        _edge("a", "id", "id"),
        _edge("a", "id", "id", EdgeKind.INDIRECT),
    )
    text, shown_count, total = column_mapping(edges)
    assert json.loads(text) == [
        {
            "DatasetMapping": {"Source": "a", "Sink": "sink"},
            "ColumnMapping": [
                {"Source": "first", "Sink": "full"},
                {"Source": "last", "Sink": "full"},
                {"Source": "id", "Sink": "id"},
            ],
        },
        {"DatasetMapping": {"Source": "b", "Sink": "sink"}, "ColumnMapping": [{"Source": "y", "Sink": "z"}]},
    ]
    assert (shown_count, total) == (4, 4)


def test_the_order_of_edges_does_not_change_the_column_mapping() -> None:
    edges = (_edge("b", "x", "x"), _edge("a", "y", "x"), _edge("a", "x", "x"), _edge("a", "x", "y"))
    assert len({column_mapping(order) for order in permutations(edges)}) == 1


def test_no_columns_are_an_empty_mapping() -> None:
    assert column_mapping(()) == ("[]", 0, 0)


def test_indirect_edges_are_in_the_mapping_only_with_the_setting() -> None:
    edges = (_edge("a", "x", "x"), _edge("a", "day", "position", EdgeKind.INDIRECT))
    assert "day" not in column_mapping(edges)[0]
    assert "day" in column_mapping(edges, with_indirect=True)[0]


def test_an_edge_to_all_rows_is_not_in_the_column_mapping() -> None:
    edges = (_edge("a", "id", ALL_ROWS, EdgeKind.INDIRECT),)
    assert column_mapping(edges, with_indirect=True) == ("[]", 0, 0)


@pytest.mark.parametrize("name", ["plain", "ümläut", '"quoted"\\', "日" * 40])
def test_pairs_beyond_the_limit_are_left_out_and_counted_in_the_description(name: str) -> None:
    edges = tuple(_edge("a", f"{name}{n:05}", f"{name}{n:05}") for n in range(3000))
    text, shown_count, total = column_mapping(edges)
    longer = json.dumps({"Source": f"{name}{shown_count:05}", "Sink": f"{name}{shown_count:05}"}, ensure_ascii=False)
    assert LIMIT - len(longer.encode()) - 20 < len(text.encode()) <= LIMIT
    assert total == 3000
    pairs = json.loads(text)[0]["ColumnMapping"]
    assert [pair["Sink"] for pair in pairs] == [f"{name}{n:05}" for n in range(shown_count)]
    description = _attributes(replace(process("/a"), columns=edges))["description"]
    assert (
        description
        == f"Operations: insert. Columns: {shown_count} of 3000 pairs are shown, the catalog's property holds no more."
    )


def test_a_column_name_longer_than_a_property_is_left_out() -> None:
    text, shown_count, total = column_mapping((_edge("a", "x" * LIMIT, "x"),))
    assert (text, shown_count, total) == ("[]", 0, 1)


def test_a_mapping_of_exactly_the_size_limit_is_complete() -> None:
    long_edges = [_edge("a", "y" * 4_000, f"x{n}") for n in range(8)]
    room = LIMIT - len(column_mapping((*long_edges, _edge("a", "", "x9")))[0])
    assert column_mapping((*long_edges, _edge("a", "y" * room, "x9")))[1:] == (9, 9)
    assert column_mapping((*long_edges, _edge("a", "y" * (room + 1), "x9")))[1:] == (8, 9)


def test_pairs_with_overlong_column_names_are_left_out_and_other_pairs_stay() -> None:
    edges = (_edge("a", "a" * 5_000, "x"), _edge("a", "b", "b" * 5_000), _edge("a", "c", "c"))
    text, shown_count, total = column_mapping(edges)
    assert (json.loads(text)[0]["ColumnMapping"], shown_count, total) == ([{"Source": "c", "Sink": "c"}], 1, 3)


def test_equal_lineage_has_equal_fingerprints() -> None:
    original_process = process("/a", "/b")
    other = replace(
        original_process,
        inputs=tuple(reversed(original_process.inputs)),
        columns=tuple(reversed(original_process.columns)),
    )
    assert process_entity(original_process).fingerprint == process_entity(other).fingerprint


def test_the_spelling_of_a_data_set_in_events_does_not_change_the_fingerprint() -> None:
    original_process = process("/a")
    spelled = replace(
        original_process, inputs=(replace(original_process.inputs[0], name="/a/day=1", namespace="file:"),)
    )
    assert process_entity(spelled).fingerprint == process_entity(original_process).fingerprint


CHANGES = {
    "operations": replace(process("/a"), operations=("merge",)),
    "inputs": process("/a", "/b"),
    "type of an input": replace(process("/a"), inputs=(replace(asset("/a"), type="DataSet"),)),
    "outputs": replace(process("/a"), outputs=(asset("/out2"),)),
    "columns": replace(process("/a"), columns=(edge("/a", "/out", "y"),)),
    "end": process("/a", end_not_seen=True),
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
def test_a_change_of_the_lineage_changes_the_fingerprint(changed: Process) -> None:
    assert process_entity(changed).fingerprint != process_entity(process("/a")).fingerprint


def test_a_fingerprint_stays_the_same_across_versions() -> None:
    """Should this change, every process of every catalog is written once more after the update: do it knowingly."""
    digest = "ce3da96d717b6cc607308238d3b27091d99b9af7e2dd48ff50157c3ec1e2a58f"
    assert process_entity(process("/a", "/b")).fingerprint == digest


ASSETS = {
    "local folder": ("fs_path", "file:///data/t", {"name": "t", "path": "file:///data/t"}),
    "slash at the end": ("fs_path", "file:///data/t/", {"name": "t", "path": "file:///data/t/"}),
    "lake": ("azure_datalake_gen2_path", "https://a.dfs.core.windows.net/c/raw/orders", {"name": "orders"}),
    "lakehouse": (
        "fabric_lakehouse_table",
        "https://app.fabric.microsoft.com/groups/w/lakehouses/l/tables/t",
        {"name": "t"},
    ),
    "Hive table": ("hive_table", "sales.orders@metastore", {"name": "orders"}),
    "nothing but a slash": ("DataSet", "/", {"name": "/"}),
    "unknown": ("DataSet", "kafka://h:9092/orders", {"name": "orders"}),
}


@pytest.mark.parametrize(("kind", "qualified_name", "attributes"), ASSETS.values(), ids=ASSETS)
def test_a_placeholder_names_throughline_as_its_creator(
    kind: str, qualified_name: str, attributes: dict[str, str]
) -> None:
    entity = asset_entity(Asset(type=kind, qualified_name=qualified_name, namespace="n", name="m"))
    assert entity.key == (kind, qualified_name)
    entity_attributes = dict(entity.attributes)
    assert "Throughline" in entity_attributes.pop("description")
    assert entity_attributes == attributes
