"""Commands that write: rows changed in place, files loaded, several commands in one plan, streams into Kafka."""

import pytest

from shared.plans.commands import NO_PLACE
from shared.plans.reader import read_plan
from tests.support.plans import LITERAL, Json, PlanBuilder, alias, call, column, edges_of, facet

A, B, C = column(1, "a"), column(2, "b"), column(3, "c")
X, Y = column(11, "x"), column(12, "y")


def _assignment(key: Json, value: Json) -> Json:
    return {"k": "Assignment", "key": key, "value": value}


TARGET: Json = {"k": "SparkTable", "inner": {"k": "BaseTable", "location": "file:/target"}}


@pytest.mark.parametrize(
    ("facts", "place"),
    [
        ({"made": {"k": "CatalogTable", "storage": {"locationUri": "file:/made"}}}, ("file", "/made")),
        ({"location": "file:/dropped"}, ("file", "/dropped")),
        ({}, NO_PLACE),
    ],
    ids=["a table that is there", "a table that was dropped since", "unknown"],
)
@pytest.mark.parametrize("command", ["CreateTableAsSelect", "ReplaceTableAsSelect"])
def test_a_created_table_is_at_its_location(command: str, facts: Json, place: tuple[str, str]) -> None:
    plans = PlanBuilder()
    query = plans.project(plans.table("file:/in", A), A)
    plans.plans[0] = {"k": command, "query": query, **facts}
    (output,) = read_plan(facet(plans.document())).outputs
    assert output.key == place


def test_columns_that_a_table_computes_have_the_sources_of_what_is_written() -> None:
    plans = PlanBuilder()
    query = plans.project(plans.table("file:/in", A, B), alias(20, "at", A), B)
    computed = plans.project(query, alias(21, "day", call("Cast", column(20, "at"))), alias(22, "one", LITERAL))
    plans.plans[0] = {"k": "AppendData", "table": TARGET, "query": query, "generated": computed}
    plan_lineage = read_plan(facet(plans.document()))
    assert plan_lineage.exact
    assert edges_of(plan_lineage.outputs[0]) == {"a>at", "b>b", "a>day"}


def test_columns_that_a_table_computes_in_an_unknown_way_are_not_exact() -> None:
    plans = PlanBuilder()
    plans.plans[0] = {"k": "AppendData", "table": TARGET, "query": plans.table("file:/in", A), "generated": True}
    plan = read_plan(facet(plans.document()))
    assert plan.unknown == (("generated columns", 1),)
    assert edges_of(plan.outputs[0]) == {"a>a"}


@pytest.mark.parametrize("rewritten", [{}, {"rewritePlan": {"ref": 1}}])
@pytest.mark.parametrize(
    ("command", "edges"),
    [
        (
            {
                "k": "MergeIntoTable",
                "targetTable": "target",
                "sourceTable": "source",
                "mergeCondition": call("EqualTo", A, X),
                "matchedActions": [
                    {"k": "DeleteAction", "condition": call("LessThan", Y, LITERAL)},
                    {"k": "UpdateAction", "assignments": [_assignment(B, call("Add", B, Y))]},
                ],
                "notMatchedActions": [
                    {"k": "InsertAction", "assignments": [_assignment(A, X), _assignment(C, LITERAL)]}
                ],
            },
            {"y>b", "x>a", "x?", "y?"},
        ),
        (
            {
                "k": "UpdateTable",
                "table": "target",
                "assignments": [
                    _assignment(
                        {"k": "GetStructField", "child": B, "ordinal": 0}, {"k": "ScalarSubquery", "plan": "source"}
                    )
                ],
                "condition": call("EqualTo", A, LITERAL),
            },
            {"x>b", "y>b"},
        ),
        (
            {
                "k": "DeleteFromTable",
                "table": "target",
                "condition": {"k": "InSubquery", "query": {"k": "ListQuery", "plan": "source"}},
            },
            {"x?", "y?"},
        ),
    ],
)
def test_changing_rows_of_a_v2_table_in_place_gives_edges(command: Json, edges: set[str], rewritten: Json) -> None:
    plans = PlanBuilder()
    target = plans.add("DataSourceV2Relation", table=TARGET, output=[A, B, C])
    sides = {"target": target, "source": plans.table("file:/source", X, Y)}

    def filled(value: object) -> object:
        if isinstance(value, dict):
            return {key: filled(element) for key, element in value.items()}
        if isinstance(value, list):
            return [filled(element) for element in value]
        return sides.get(value, value) if isinstance(value, str) else value

    plans.plans[0] = {**{key: filled(value) for key, value in command.items()}, **rewritten}
    plan_lineage = read_plan(facet(plans.document()))
    assert [output.key for output in plan_lineage.outputs] == [("file", "/target")]
    assert edges_of(plan_lineage.outputs[0]) == edges
    assert [merged_dataset.name for merged_dataset in plan_lineage.inputs] == ["/source"]
    assert plan_lineage.exact


def test_commands_below_a_with_clause_read_its_queries() -> None:
    plans = PlanBuilder()
    definition = plans.add("CTERelationDef", id=4, child=plans.table("file:/in", A, B))
    writes = [
        plans.add(
            "InsertIntoHiveTable",
            table={"storage": {"locationUri": f"file:/{name}"}},
            query=plans.project(plans.add("CTERelationRef", cteId=4, output=[X, Y]), selected_column),
        )
        for name, selected_column in (("one", X), ("two", Y))
    ]
    plans.plans[0] = {"k": "WithCTE", "plan": plans.add("Union", children=writes), "cteDefs": [definition]}
    plan_lineage = read_plan(facet(plans.document()))
    assert {output.name: edges_of(output) for output in plan_lineage.outputs} == {"/one": {"a>x"}, "/two": {"b>y"}}
    assert plan_lineage.exact


def test_loaded_files_are_an_input_whose_columns_are_not_known() -> None:
    plans = PlanBuilder()
    plans.plans[0] = {"k": "LoadDataCommand", "path": "file:/files", "table": {"k": "TableIdentifier", "table": "t"}}
    plan_lineage = read_plan(facet(plans.document()))
    assert [merged_dataset.key for merged_dataset in plan_lineage.inputs] == [("file", "/files")]
    assert [output.key for output in plan_lineage.outputs] == [NO_PLACE]
    assert not plan_lineage.exact


@pytest.mark.parametrize(
    ("options", "topics"),
    [
        ({"topic": "out"}, [("kafka://one:9092", "out")]),
        ({"subscribe": "a, b"}, [("kafka://one:9092", "a")]),
        ({}, [NO_PLACE]),
    ],
)
def test_a_topic_of_kafka_is_named_by_the_first_server(options: Json, topics: list[tuple[str, str]]) -> None:
    plans = PlanBuilder()
    source = plans.table("file:/in", A)
    reader_options = {"kafka.bootstrap.servers": "one:9092,two:9092", **options}
    plans.plans[0] = {
        "k": "SaveIntoDataSourceCommand",
        "options": reader_options,
        "query": plans.project(source, alias(9, "value", A)),
    }
    plan_lineage = read_plan(facet(plans.document()))
    assert [output.key for output in plan_lineage.outputs] == topics
    assert edges_of(plan_lineage.outputs[0]) == {"a>value"}


def test_commands_that_move_no_data_write_nothing() -> None:
    plans = PlanBuilder()
    plans.plans[0] = {"k": "DropTable", "ifExists": True}
    plan_lineage = read_plan(facet(plans.document()))
    assert (plan_lineage.outputs, plan_lineage.exact, plan_lineage.unknown) == ((), False, ())


TABLE: Json = {"k": "TableIdentifier", "table": "t", "database": "shop", "catalog": "spark_catalog"}


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ({"k": "DropTable", "child": {"ref": 1}}, ("DROP", "shop.sales.t")),
        ({"k": "DropTable"}, ("DROP", "")),
        ({"k": "DropTableCommand", "tableName": TABLE}, ("DROP", "shop.t")),
        ({"k": "DropTableCommand", "tableName": TABLE, "isView": True}, ("", "")),
        ({"k": "TruncateTable", "child": {"ref": 1}}, ("TRUNCATE", "shop.sales.t")),
        ({"k": "TruncateTableCommand", "tableName": TABLE}, ("TRUNCATE", "shop.t")),
        ({"k": "DropNamespace", "child": {"ref": 1}}, ("", "")),
    ],
)
def test_a_plan_tells_which_table_it_drops_or_empties(command: Json, change: tuple[str, str]) -> None:
    plans = PlanBuilder()
    plans.plans[0] = command
    identifier = {"k": "IdentifierImpl", "name": "t", "namespace": ["shop", "sales"]}
    plans.add("ResolvedIdentifier", catalog={"k": "SparkCatalog", "name": "lake"}, identifier=identifier)
    assert read_plan(facet(plans.document())).table_change == change


def test_a_clone_copies_every_column_of_its_source() -> None:
    """Delta keeps the source outside of the tree: the jar writes its place and the names of its columns."""
    plans = PlanBuilder()
    source = {"k": "CloneDeltaSource", "path": "file:/source", "columnNames": ["x", "y"]}
    clone = plans.add("CloneTableCommand", sourceTable=source, targetIdent={"k": "TableIdentifier", "table": "t"})
    target_table = {"k": "CatalogTable", "storage": {"k": "CatalogStorageFormat", "locationUri": "file:/target"}}
    plans.plans[0] = {"k": "CreateDeltaTableCommand", "table": target_table, "query": clone}
    plan_lineage = read_plan(facet(plans.document()))
    assert plan_lineage.exact
    assert [merged_dataset.key for merged_dataset in plan_lineage.inputs] == [("file", "/source")]
    assert edges_of(plan_lineage.outputs[0]) == {"x>x", "y>y"}


@pytest.mark.parametrize("field", ["relation", "scan"])
def test_a_topic_is_read_by_the_options_of_its_relation_or_scan(field: str) -> None:
    plans = PlanBuilder()
    options = {"kafka.bootstrap.servers": "one:9092", "subscribe": "a,b"}
    source = plans.add("LogicalRelation", **{field: {"k": "KafkaRelation", "options": options}}, output=[A])
    plan_lineage = read_plan(facet(plans.writing(plans.project(source, A))))
    assert plan_lineage.exact
    assert {merged_dataset.key for merged_dataset in plan_lineage.inputs} == {
        ("kafka://one:9092", "a"),
        ("kafka://one:9092", "b"),
    }
