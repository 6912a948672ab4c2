"""The lineage of a plan: one small plan for each rule; real ones are in tests/golden."""

import base64
import gzip
import json

import pytest

from shared.openlineage.run_facets import PlanFacet
from shared.plans.commands import NO_PLACE
from shared.plans.nodes.document import MAX_BYTES, UnreadablePlan
from shared.plans.reader import PlanLineage, read_plan
from shared.plans.rules import MADE_BY_CODE
from tests.support.plans import LITERAL, Json, PlanBuilder, alias, call, column, edges_of, facet, files

A, B, C = column(1, "a"), column(2, "b"), column(3, "c")
X, Y = column(11, "x"), column(12, "y")


def _read(document: object) -> PlanLineage:
    return read_plan(facet(document))


def _project(*expressions: Json) -> set[str]:
    plans = PlanBuilder()
    return edges_of(_read(plans.writing(plans.project(plans.table("file:/in", A, B, C), *expressions))).outputs[0])


SPEC: Json = {"k": "WindowSpecDefinition", "partitionSpec": [B], "orderSpec": [{"k": "SortOrder", "child": C}]}
COMMON: Json = {"k": "CommonExpressionRef", "id": {"k": "CommonExpressionId", "id": 0}}
LAMBDA: Json = {
    "k": "LambdaFunction",
    "function": call("Add", {"k": "NamedLambdaVariable", "x": [99, 0], "name": "i"}, B),
    "arguments": [{"k": "NamedLambdaVariable", "x": [99, 0], "name": "i"}],
}

TIME: Json = {"k": "PreciseTimestampConversion", "child": A}


@pytest.mark.parametrize(
    ("expression", "edges"),
    [
        (A, {"a>o"}),
        (LITERAL, set()),
        (call("Concat", A, B), {"a>o", "b>o"}),
        (call("Sha2", A, LITERAL), {"a>o*"}),
        (call("Upper", call("Md5", A)), {"a>o*"}),
        ({"k": "CaseWhen", "branches": [[A, B]], "elseValue": C}, {"a?o", "b>o", "c>o"}),
        ({"k": "If", "predicate": A, "trueValue": B, "falseValue": LITERAL}, {"a?o", "b>o"}),
        (call("Coalesce", A, B), {"a>o", "a?o", "b>o"}),
        ({"k": "Nvl", "left": A, "right": B, "replacement": call("Coalesce", A, B)}, {"a>o", "a?o", "b>o"}),
        ({"k": "WindowExpression", "windowFunction": call("Lag", A), "windowSpec": SPEC}, {"a>o", "b?o", "c?o"}),
        ({"k": "WindowExpression", "windowFunction": call("Rank", C), "windowSpec": SPEC}, {"b?o", "c?o"}),
        ({"k": "PythonUDF", "name": "f", "children": [A, B], "evalType": 100}, {"a>o", "b>o"}),
        (call("ArrayTransform", A, LAMBDA), {"a>o", "b>o"}),
        (
            {
                "k": "With",
                "child": {"k": "If", "predicate": call("EqualTo", COMMON, B), "trueValue": COMMON},
                "defs": [{"k": "CommonExpressionDef", "id": {"k": "CommonExpressionId", "id": 0}, "child": A}],
            },
            {"a>o", "a?o", "b?o"},
        ),
        (
            {
                "k": "PreciseTimestampConversion",
                "child": call("Subtract", TIME, {"k": "CaseWhen", "branches": [[TIME, TIME]], "elseValue": TIME}),
            },
            {"a>o"},
        ),
        ({"k": "ArrayFilter", "argument": A, "function": LAMBDA}, {"a>o", "a?o", "b?o"}),
        ({"k": "GetStructField", "child": A, "ordinal": 1}, {"a>o"}),
        ({"k": "SQLScalarFunction", "inputs": [A, C], "child": call("Upper", B)}, {"b>o"}),
        (
            {"k": "GetStructField", "child": call("CreateNamedStruct", LITERAL, A, LITERAL, B), "ordinal": 1},
            {"b>o"},
        ),
    ],
)
def test_an_expression_gives_its_column_edges(expression: Json, edges: set[str]) -> None:
    assert _project(alias(50, "o", expression) if expression is not A else {**A, "name": "o"}) == edges


def _aggregated(function: Json, **fields: object) -> Json:
    return alias(50, "o", {"k": "AggregateExpression", "aggregateFunction": function, **fields})


@pytest.mark.parametrize(
    ("expression", "edges"),
    [
        (_aggregated(call("Sum", A)), {"a>o", "b?"}),
        (_aggregated(call("Count", A)), {"a>o*", "b?"}),
        (_aggregated(call("Sum", A), filter=C), {"a>o", "c?o", "b?"}),
        (
            _aggregated({"k": "ListAgg", "child": A, "orderExpressions": [{"k": "SortOrder", "child": C}]}),
            {"a>o", "c?o", "b?"},
        ),
        (_aggregated({"k": "MaxBy", "valueExpr": A, "orderingExpr": C}), {"a>o", "c?o", "b?"}),
        (
            _aggregated({"k": "ComplexTypedAggregateExpression", "inputDeserializer": call("NewInstance", A, C)}),
            {"a~o", "c~o", "b?"},
        ),
    ],
)
def test_an_aggregate_gives_its_column_edges(expression: Json, edges: set[str]) -> None:
    plans = PlanBuilder()
    source = plans.table("file:/in", A, B, C)
    query = plans.add("Aggregate", groupingExpressions=[B], aggregateExpressions=[expression], child=source)
    assert edges_of(_read(plans.writing(query)).outputs[0]) == edges


def _two(kind: str, **fields: object) -> tuple[set[str], PlanLineage]:
    plans = PlanBuilder()
    left_table, right = plans.table("file:/left", A, B), plans.table("file:/right", X, Y)
    sides: Json = {"children": [left_table, right]} if kind == "Union" else {"left": left_table, "right": right}
    plan_lineage = _read(plans.writing(plans.add(kind, **sides, **fields)))
    return edges_of(plan_lineage.outputs[0]), plan_lineage


@pytest.mark.parametrize(
    ("kind", "fields", "edges"),
    [
        ("Union", {}, {"a>a", "b>b", "x>a", "y>b"}),
        ("Except", {}, {"a>a", "b>b", "a?", "b?", "x?", "y?"}),
        ("Intersect", {}, {"a>a", "b>b", "a?", "b?", "x?", "y?"}),
        (
            "Join",
            {"joinType": {"k": "Inner"}, "condition": call("EqualTo", A, X)},
            {"a>a", "b>b", "x>x", "y>y", "a?", "x?"},
        ),
        ("Join", {"joinType": {"k": "LeftSemi"}, "condition": call("EqualTo", A, X)}, {"a>a", "b>b", "a?", "x?"}),
        ("Join", {"joinType": {"k": "Cross"}}, {"a>a", "b>b", "x>x", "y>y"}),
        (
            "AsOfJoin",
            {
                "joinType": {"k": "LeftOuter"},
                "asOfCondition": call("GreaterThanOrEqual", A, X),
                "condition": call("EqualTo", B, Y),
                "orderExpression": call("Subtract", A, X),
            },
            {"a>a", "b>b", "x>x", "y>y", "a?", "b?", "x?", "y?"},
        ),
        (
            "FlatMapCoGroupsInPandas",
            {
                "functionExpr": call("PythonUDF", A, B, X),
                "output": [column(30, "z")],
                "leftGroupingLen": 1,
                "rightGroupingLen": 1,
            },
            {"a~z", "b~z", "x~z", "a?", "x?"},
        ),
        (
            "CoGroup",
            {"leftGroup": [A], "rightGroup": [X], "outputObjAttr": column(30, "z")},
            {"a~z", "b~z", "x~z", "y~z", "a?", "x?"},
        ),
        (
            "CoGroup",
            {"leftDeserializer": call("NewInstance", B), "rightDeserializer": X, "outputObjAttr": column(30, "z")},
            {"b~z", "x~z"},
        ),
    ],
)
def test_a_plan_of_two_sources_gives_its_column_edges(kind: str, fields: Json, edges: set[str]) -> None:
    found_edges, lineage = _two(kind, **fields)
    assert found_edges == edges
    assert lineage.exact
    assert {merged_dataset.name for merged_dataset in lineage.inputs} == {"/left", "/right"}


@pytest.mark.parametrize(
    ("kind", "fields", "edges"),
    [
        ("Filter", {"condition": call("GreaterThan", B, LITERAL)}, {"a>a", "b>b", "b?"}),
        ("Sort", {"order": [{"k": "SortOrder", "child": B}]}, {"a>a", "b>b", "b?"}),
        ("Distinct", {}, {"a>a", "b>b", "a?", "b?"}),
        ("Deduplicate", {"keys": [B]}, {"a>a", "b>b", "b?"}),
        ("GlobalLimit", {"limitExpr": LITERAL}, {"a>a", "b>b"}),
        ("Window", {"windowExpressions": [alias(50, "w", call("Sum", B))]}, {"a>a", "b>b", "b>w"}),
        ("Generate", {"generator": call("Explode", B), "generatorOutput": [X]}, {"a>a", "b>b", "b>x", "b?"}),
        (
            "Generate",
            {"generator": call("JsonTuple", B, LITERAL), "generatorOutput": [X]},
            {"a>a", "b>b", "b>x"},
        ),
        ("Expand", {"projections": [[A, LITERAL], [B, LITERAL]], "output": [X, Y]}, {"a>x", "b>x"}),
        ("ScriptTransformation", {"script": "cat", "output": [X]}, {"a~x", "b~x"}),
        ("AttachDistributedSequence", {"sequenceAttr": X}, {"a>a", "b>b"}),
        ("MapInPandas", {"functionExpr": call("PythonUDF", A, B), "output": [X]}, {"a~x", "b~x"}),
        ("PythonMapInArrow", {"func": call("PythonUDF", A, B), "output": [X]}, {"a~x", "b~x"}),
        (
            "FlatMapGroupsInPandas",
            {"groupingAttributes": [A], "functionExpr": call("PythonUDF", A, B), "output": [X]},
            {"a~x", "b~x", "a?"},
        ),
        ("FlatMapGroupsInPandasWithState", {"functionExpr": call("PythonUDF", A), "outputAttrs": [X]}, {"a~x"}),
        ("MapPartitions", {"outputObjAttr": X}, {"a~x", "b~x"}),
        ("SerializeFromObject", {"serializer": [{**X, "child": A}]}, {"a~x", "b~x"}),
        ("AppendColumns", {"deserializer": B, "newColumns": [X]}, {"a>a", "b>b", "b~x"}),
        ("TypedFilter", {"deserializer": {"k": "InitializeJavaBean", "setters": [B]}}, {"a>a", "b>b", "b?"}),
        ("TypedFilter", {"deserializer": {"k": "InitializeJavaBean"}}, {"a>a", "b>b", "a?", "b?"}),
    ],
)
def test_a_plan_of_one_source_gives_its_column_edges(kind: str, fields: Json, edges: set[str]) -> None:
    plans = PlanBuilder()
    plan_lineage = _read(plans.writing(plans.add(kind, child=plans.table("file:/in", A, B), **fields)))
    assert edges_of(plan_lineage.outputs[0]) == edges
    assert plan_lineage.exact


def test_a_scalar_subquery_gives_value_edges_and_condition_edges() -> None:
    plans = PlanBuilder()
    outer = {"k": "OuterReference", "e": A}
    inner = plans.add("Filter", condition=call("EqualTo", X, outer), child=plans.table("file:/right", X, Y))
    value = {"k": "ScalarSubquery", "plan": plans.project(inner, Y)}
    query = plans.project(plans.table("file:/left", A), A, alias(50, "o", value))
    plan_lineage = _read(plans.writing(query))
    assert edges_of(plan_lineage.outputs[0]) == {"a>a", "y>o", "x?o", "a?o"}
    assert {merged_dataset.name for merged_dataset in plan_lineage.inputs} == {"/left", "/right"}


def test_exists_gives_conditions_only() -> None:
    plans = PlanBuilder()
    inner = plans.add(
        "Filter", condition=call("EqualTo", X, {"k": "OuterReference", "e": B}), child=plans.table("file:/r", X, Y)
    )
    query = plans.add("Filter", condition={"k": "Exists", "plan": inner}, child=plans.table("file:/l", A, B))
    assert edges_of(_read(plans.writing(plans.project(query, A))).outputs[0]) == {"a>a", "x?", "b?"}


def test_a_lateral_join_has_conditions_over_both_sides() -> None:
    plans = PlanBuilder()
    outer = {"k": "OuterReference", "e": A}
    inner = plans.add("Filter", condition=call("EqualTo", X, outer), child=plans.table("file:/right", X, Y))
    joined = plans.add(
        "LateralJoin",
        left=plans.table("file:/left", A, B),
        right={"k": "LateralSubquery", "plan": inner},
        joinType={"k": "LeftOuter"},
        condition=call("GreaterThan", Y, B),
    )
    plan_lineage = _read(plans.writing(plans.project(joined, A, Y)))
    assert edges_of(plan_lineage.outputs[0]) == {"a>a", "y>y", "x?", "a?", "y?", "b?"}
    assert plan_lineage.exact


def test_a_query_of_a_with_clause_is_read_through_its_references() -> None:
    plans = PlanBuilder()
    inner = plans.add("Filter", condition=B, child=plans.table("file:/in", A, B))
    definition = plans.add("CTERelationDef", id=7, child=inner)
    reference = plans.add("CTERelationRef", cteId=7, output=[X, Y])
    query = plans.add("WithCTE", plan=plans.project(reference, X), cteDefs=[definition])
    assert edges_of(_read(plans.writing(query)).outputs[0]) == {"a>x", "b?"}


def test_the_lineage_of_a_recursive_query_reaches_a_fixed_point() -> None:
    plans = PlanBuilder()
    loop_reference = plans.add("UnionLoopRef", loopId=3, output=[X])
    step = plans.project(plans.add("Filter", condition=X, child=loop_reference), X)
    loop = plans.add("UnionLoop", id=3, anchor=plans.project(plans.table("file:/in", A), A), recursion=step)
    plan_lineage = _read(plans.writing(loop))
    assert edges_of(plan_lineage.outputs[0]) == {"a>a", "a?"}
    assert plan_lineage.exact


@pytest.mark.parametrize("wide", [7, 40])
def test_a_recursive_query_that_moves_values_between_columns_reaches_a_fixed_point(wide: int) -> None:
    plans = PlanBuilder()
    anchor_columns = [column(100 + number, f"c{number}") for number in range(wide)]
    loop_columns = [column(200 + number, f"c{number}") for number in range(wide)]
    loop_reference = plans.add("UnionLoopRef", loopId=3, output=loop_columns)
    moved = [
        alias(300 + number, f"c{number}", call("Upper", loop_column))
        for number, loop_column in enumerate(loop_columns[1:])
    ]
    step = plans.project(loop_reference, *moved, alias(399, "last", LITERAL))
    loop = plans.add("UnionLoop", id=3, anchor=plans.table("file:/in", *anchor_columns), recursion=step)
    plan_lineage = _read(plans.writing(plans.project(loop, alias(50, "o", anchor_columns[0]))))
    assert edges_of(plan_lineage.outputs[0]) == {f"c{number}>o" for number in range(wide)}
    assert plan_lineage.exact


def test_a_recursive_query_with_its_own_output_ids_is_read() -> None:
    plans = PlanBuilder()
    loop_reference = plans.add("UnionLoopRef", loopId=3, output=[X])
    first, step = plans.project(plans.table("file:/in", A), A), plans.project(loop_reference, X)
    loop = plans.add("UnionLoop", id=3, anchor=first, recursion=step, outputAttrIds=[[77, 0]])
    plan_lineage = _read(plans.writing(plans.project(loop, alias(50, "o", column(77, "a")))))
    assert edges_of(plan_lineage.outputs[0]) == {"a>o"}
    assert plan_lineage.exact


def test_a_frame_has_the_lineage_of_the_plan_that_made_it() -> None:
    plans = PlanBuilder()
    frame_plan = plans.add("Filter", condition=B, child=plans.table("file:/in", A, B))
    plans.frames.append({"output": [A, B], "plan": frame_plan})
    rows = plans.add("LogicalRDD", output=[A, B])
    assert edges_of(_read(plans.writing(plans.project(rows, A))).outputs[0]) == {"a>a", "b?"}


def test_two_frames_with_the_same_columns_are_not_exact() -> None:
    """One filtered by `b`, and one of it filtered by `a`: the rows may be of either."""
    plans = PlanBuilder()
    first_plan = plans.add("Filter", condition=B, child=plans.table("file:/in", A, B))
    other = plans.add("Filter", condition=A, child=plans.add("LogicalRDD", output=[A, B]))
    plans.frames += [{"output": [A, B], "plan": first_plan}, {"output": [A, B], "plan": other}]
    rows = plans.add("LogicalRDD", output=[A, B])
    assert not _read(plans.writing(plans.project(rows, A))).exact


def test_a_frame_that_is_made_of_itself_is_not_exact() -> None:
    plans = PlanBuilder()
    rows = plans.add("LogicalRDD", output=[A])
    plans.frames.append({"output": [A], "plan": plans.add("Filter", condition=A, child=rows)})
    assert not _read(plans.writing(rows)).exact


def test_unknown_nodes_are_counted_and_the_lineage_is_not_exact() -> None:
    plans = PlanBuilder()
    plan_lineage = _read(plans.writing(plans.add("ShuffleEdge", child=plans.table("file:/in", A))))
    assert (plan_lineage.exact, plan_lineage.unknown) == (False, (("ShuffleEdge", 1),))
    plans = PlanBuilder()
    plan_lineage = _read(plans.writing(plans.add("LogicalRDD", output=[A])))
    assert (plan_lineage.exact, plan_lineage.unknown) == (False, ((MADE_BY_CODE, 1),))


def test_rows_created_in_the_driver_give_no_input() -> None:
    plans = PlanBuilder()
    plan_lineage = _read(plans.writing(plans.add("LocalRelation", output=[A])))
    assert (plan_lineage.exact, plan_lineage.inputs, plan_lineage.outputs[0].fields) == (True, (), ())
    assert plan_lineage.rows_from == ("made on the driver (createDataFrame, VALUES, a list)",)


def test_a_merge_gives_value_edges_and_condition_edges() -> None:
    plans = PlanBuilder()
    target, source = plans.table("file:/target", A, B, C), plans.table("file:/source", X, Y)
    action = {"k": "DeltaMergeAction", "expr": call("Add", B, Y), "targetColNameParts": ["b"]}
    plans.plans[0] = {
        "k": "MergeIntoCommand",
        "source": source,
        "target": target,
        "condition": call("EqualTo", A, X),
        "matchedClauses": [{"k": "DeltaMergeIntoMatchedUpdateClause", "condition": Y, "actions": [action]}],
    }
    plan_lineage = _read(plans.document())
    assert edges_of(plan_lineage.outputs[0]) == {"y>b", "x?", "y?"}
    assert [merged_dataset.name for merged_dataset in plan_lineage.inputs] == ["/source"]


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ({"k": "SaveIntoDataSourceCommand", "options": {"path": "abfss://c@a.net/x/y"}}, ("abfss://c@a.net", "x/y")),
        ({"k": "SaveIntoDataSourceCommand", "options": {"path": "x/y"}}, NO_PLACE),
        ({"k": "CreateTableAsSelect", "made": {"k": "DeltaTableV2", "path": "file:/w/t"}}, ("file", "/w/t")),
        ({"k": "SaveAsV1TableCommand", "made": {"storage": {"locationUri": "file:/w/v"}}}, ("file", "/w/v")),
        ({"k": "InsertIntoHiveTable", "table": {"storage": {"locationUri": "file:/w/h"}}}, ("file", "/w/h")),
        ({"k": "AppendData", "table": {"ref": 2}}, ("s3a://b", "t")),
    ],
)
def test_the_output_of_a_command_is_the_place_that_it_writes(command: Json, place: tuple[str, str]) -> None:
    plans = PlanBuilder()
    source = plans.table("file:/in", A)
    plans.add("DataSourceV2Relation", table={"k": "SparkTable", "inner": {"location": "s3a://b/t"}}, output=[X])
    plans.plans[0] = {**command, "query": source}
    (output,) = _read(plans.document()).outputs
    assert output.key == place


@pytest.mark.parametrize(
    ("by_name", "edges"), [({"isByName": True}, {"a>A", "b>b"}), ({}, {"a>b", "b>A"})], ids=["by name", "by position"]
)
def test_columns_of_a_table_are_found_by_name_or_by_position(by_name: Json, edges: set[str]) -> None:
    """For a write by name, Spark keeps the query's own order of columns in the plan."""
    plans = PlanBuilder()
    source = plans.table("file:/in", A, B)
    table = plans.add("DataSourceV2Relation", table=files("file:/out"), output=[column(21, "b"), column(22, "A")])
    plans.plans[0] = {"k": "AppendData", "table": table, "query": source, **by_name}
    assert edges_of(_read(plans.document()).outputs[0]) == edges


def test_a_union_of_commands_has_all_their_outputs() -> None:
    plans = PlanBuilder()
    source = plans.table("file:/in", A)
    commands = [plans.add("InsertIntoHadoopFsRelationCommand", outputPath=f"file:/{n}", query=source) for n in "ab"]
    plans.plans[0] = {"k": "Union", "children": commands}
    assert [output.name for output in _read(plans.document()).outputs] == ["/a", "/b"]


def test_a_deep_plan_is_read() -> None:
    plans = PlanBuilder()
    query = plans.table("file:/in", A)
    for _ in range(5_000):
        query = plans.project(query, A)
    assert edges_of(_read(plans.writing(query)).outputs[0]) == {"a>a"}


def test_an_expression_as_deep_as_a_sum_of_450_columns_is_read() -> None:
    plans = PlanBuilder()
    columns = [column(number, f"c{number}") for number in range(450)]
    total = columns[0]
    for addend in columns[1:]:
        total = {"k": "Add", "left": total, "right": addend}
    (output,) = _read(plans.writing(plans.project(plans.table("file:/in", *columns), alias(999, "t", total)))).outputs
    assert edges_of(output) == {f"c{number}>t" for number in range(450)}


def _multiplied() -> Json:
    """Each recursive query is read several times, and each holds another one."""
    plans = PlanBuilder()
    query = plans.table("file:/in", A)
    for number in range(40):
        loop_reference = plans.add("UnionLoopRef", loopId=number, output=[A])
        query = plans.add("UnionLoop", id=number, children=[query, plans.project(loop_reference, A)])
    return plans.writing(query)


def _of_subqueries() -> Json:
    """Each plan holds the next one twice."""
    plans = PlanBuilder()
    query = plans.table("file:/in", A)
    for _ in range(40):
        twice = [alias(50 + index, "o", {"k": "ScalarSubquery", "plan": query}) for index in range(2)]
        query = plans.project(plans.table("file:/in", A), *twice)
    return plans.writing(query)


def _circle() -> Json:
    plans = PlanBuilder()
    plans.add("Project", projectList=[A], child={"ref": 1})
    return plans.writing({"ref": 1})


def _nested() -> str:
    """As text: Python's own JSON does not write anything so deep."""
    plans = PlanBuilder()
    text = json.dumps(plans.writing(plans.project(plans.table("file:/in", A), alias(50, "o", {"k": "DEEP"}))))
    return text.replace('{"k": "DEEP"}', '{"k": "Not", "child": ' * 3_000 + json.dumps(A) + "}" * 3_000)


BOMB = base64.b64encode(gzip.compress(b" " * (MAX_BYTES + 1), mtime=0)).decode()


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (PlanFacet(format=2, plan=""), "format 2"),
        (PlanFacet(format=1, plan="%%"), "damaged"),
        (PlanFacet(format=1, plan="H4sI\ufeff"), "damaged"),
        (PlanFacet(format=1, plan=base64.b64encode(b"no gzip").decode()), "damaged"),
        (PlanFacet(format=1, plan=BOMB), "larger"),
        (facet([]), "damaged"),
        (facet({"root": {}, "plans": []}), "no root"),
        (facet(_circle()), "refers to itself"),
        (facet(PlanBuilder().writing({"ref": 9})), "does not have"),
        (facet(_nested()), "too deeply"),
        (facet(_multiplied()), "too much work"),
        (facet(_of_subqueries()), "subqueries"),
    ],
)
def test_an_invalid_plan_raises_unreadable_plan_with_the_problem(broken: PlanFacet, problem: str) -> None:
    with pytest.raises(UnreadablePlan, match=problem):
        read_plan(broken)


def _executed(first_id: int, jvm: str) -> PlanLineage:
    """The lineage of one query, which adds two columns, with ids from this one on."""
    a, b = column(first_id, "a"), column(first_id + 1, "b")
    plans = PlanBuilder()
    query = plans.project(plans.table("file:/in", a, b), a, alias(first_id + 2, "total", call("Add", a, b)))
    return _read({**plans.writing(query), "jvm": [jvm]})


def test_a_query_that_is_executed_again_is_not_read_again() -> None:
    lineage = _executed(1, "66bff259-fd5a-469e-84e5-427d7ca17364")
    assert edges_of(lineage.outputs[0]) == {"a>a", "a>total", "b>total"}
    assert _executed(1_001, "0c2d6a44-31c9-4b0e-9f0d-0f3f8d2f5a10") is lineage


def test_ids_of_two_jvms_are_different_columns() -> None:
    ours, theirs = column(1, "a"), {**column(1, "b"), "x": [1, 1]}
    plans = PlanBuilder()
    lineage = _read(plans.writing(plans.project(plans.table("file:/in", ours, theirs), alias(2, "out", theirs))))
    assert edges_of(lineage.outputs[0]) == {"b>out"}


def test_a_text_that_looks_like_an_id_stays_as_it_is() -> None:
    name = '"x":[5,0]'
    plans = PlanBuilder()
    lineage = _read(plans.writing(plans.project(plans.table("file:/in", column(5, name)), column(5, name))))
    assert edges_of(lineage.outputs[0]) == {f"{name}>{name}"}


def test_a_large_lineage_of_a_short_plan_is_not_kept() -> None:
    plans = PlanBuilder()
    paths = [f"f:/{number}" for number in range(300)]
    index = {"k": "InMemoryFileIndex", "paths": paths}
    table = plans.add("LogicalRelation", relation={"k": "HadoopFsRelation", "location": index}, output=[A, B])
    document = plans.writing(plans.project(table, alias(4, "c", call("Add", A, B)), alias(5, "d", call("Add", A, B))))
    lineage = _read(document)
    assert len(lineage.inputs) == len(paths)
    assert _read(document) == lineage
    assert _read(document) is not lineage
