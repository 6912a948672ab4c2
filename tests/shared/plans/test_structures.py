"""Fields of structures and of arrays of them that a plan makes, and generators: each field has its own sources."""

import pytest

from shared.plans.reader import read_plan
from tests.support.plans import LITERAL, Json, PlanBuilder, alias, call, column, edges_of, facet

A, B, C = column(1, "a"), column(2, "b"), column(3, "c")
S, E, F = column(20, "s"), column(21, "e"), column(22, "f")


def structure(*values: Json) -> Json:
    """A structure made on the spot: names and values by turns."""
    return call("CreateNamedStruct", *(operand for value in values for operand in (LITERAL, value)))


def field(child: Json, ordinal: int) -> Json:
    """A field of a structure."""
    return {"k": "GetStructField", "child": child, "ordinal": ordinal}


def array(*elements: Json) -> Json:
    """An array made on the spot."""
    return call("CreateArray", *elements)


def _edges(plans: PlanBuilder, query: Json) -> set[str]:
    plan_lineage = read_plan(facet(plans.writing(query)))
    assert plan_lineage.exact
    return edges_of(plan_lineage.outputs[0])


@pytest.mark.parametrize(
    ("structured", "part", "edges"),
    [
        (structure(A, B), field(S, 0), {"a>o"}),
        (structure(A, structure(B, C)), field(field(S, 1), 1), {"c>o"}),
        (structure(A, LITERAL), field(S, 1), set()),
        (structure(A, B), S, {"a>o", "b>o"}),
        (structure(A, B), field(S, 7), {"a>o", "b>o"}),
        (call("Concat", A, B), field(S, 0), {"a>o", "b>o"}),
    ],
)
def test_a_field_of_a_structure_made_below_has_its_own_sources(structured: Json, part: Json, edges: set[str]) -> None:
    plans = PlanBuilder()
    inner_plan = plans.project(plans.table("file:/in", A, B, C), alias(20, "s", structured))
    renamed = plans.project(plans.add("SubqueryAlias", child=inner_plan), alias(20, "s", S))
    assert _edges(plans, plans.project(renamed, alias(30, "o", part))) == edges


def test_the_source_of_a_field_of_a_table_column_is_the_column() -> None:
    plans = PlanBuilder()
    assert _edges(plans, plans.project(plans.table("file:/in", S), alias(30, "o", field(S, 1)))) == {"s>o"}


@pytest.mark.parametrize(
    ("generator", "generated_columns", "edges"),
    [
        (call("Stack", LITERAL, A, B, B, C), [E, F], {"a>e", "b>e", "b>f", "c>f"}),
        ({"k": "Explode", "child": array(A, B)}, [E], {"a>e", "b>e"}),
        ({"k": "PosExplode", "child": array(A, B)}, [E, F], {"a>f", "b>f"}),
        ({"k": "Inline", "child": array(structure(A, B), structure(C, LITERAL))}, [E, F], {"a>e", "c>e", "b>f"}),
        ({"k": "Inline", "child": array(structure(A, B), C)}, [E, F], {"a>e", "c>e", "b>f", "c>f"}),
        ({"k": "Explode", "child": C}, [E], {"c>e"}),
    ],
)
def test_generated_columns_have_the_sources_of_the_rows(
    generator: Json, generated_columns: list[Json], edges: set[str]
) -> None:
    plans = PlanBuilder()
    source = plans.table("file:/in", A, B, C)
    inner_plan = plans.add("Generate", generator=generator, generatorOutput=generated_columns, child=source)
    found_edges = _edges(plans, plans.project(inner_plan, *generated_columns))
    assert {edge for edge in found_edges if not edge.endswith("?")} == edges


def collected(value: Json, function: str = "CollectList", **fields: Json) -> Json:
    """An aggregate function of all rows."""
    return {"k": "AggregateExpression", "aggregateFunction": {"k": function, "child": value}, **fields}


def variable(number: int) -> Json:
    """A parameter of a lambda function."""
    return {"k": "NamedLambdaVariable", "x": [number, 0], "name": f"v{number}"}


def function(body: Json, *variables: Json) -> Json:
    """A lambda function."""
    return {"k": "LambdaFunction", "function": body, "arguments": [*variables]}


def fields_of(child: Json, ordinal: int) -> Json:
    """A field of each element of an array."""
    return {"k": "GetArrayStructFields", "child": child, "ordinal": ordinal, "field": {"k": "StructField", "name": "f"}}


V, W = variable(40), variable(41)
PAIRS = array(structure(A, B), structure(C, LITERAL))
ROWS = collected(structure(A, B))
ZIPPED = call("ArraysZip", A, B)


@pytest.mark.parametrize(
    ("structured", "part", "edges"),
    [
        pytest.param(PAIRS, fields_of(S, 0), {"a>o", "c>o"}, id="elements made on the spot"),
        pytest.param(ROWS, fields_of(S, 1), {"b>o"}, id="rows in a list"),
        pytest.param(ROWS, S, {"a>o", "b>o"}, id="a list as a whole"),
        pytest.param(collected(structure(A, B), filter=C), fields_of(S, 1), {"b>o", "c?o"}, id="some rows in a list"),
        pytest.param(ROWS, field({"k": "GetArrayItem", "child": S, "ordinal": LITERAL}, 0), {"a>o"}, id="an element"),
        pytest.param(ROWS, field({"k": "ElementAt", "left": S, "right": C}, 0), {"a>o", "c>o"}, id="by a place"),
        pytest.param(ROWS, field({"k": "Get", "left": S, "right": LITERAL}, 1), {"b>o"}, id="get"),
        pytest.param(
            ROWS,
            {"k": "ArrayTransform", "argument": S, "function": function(field(V, 1), V)},
            {"b>o"},
            id="a field of each element",
        ),
        pytest.param(
            ZIPPED,
            {"k": "ArrayTransform", "argument": S, "function": function(field(V, 0), V, W)},
            {"a>o"},
            id="arrays side by side",
        ),
        pytest.param(
            ROWS,
            fields_of(
                {"k": "ArrayTransform", "argument": S, "function": function(structure(C, field(V, 1)), V)},
                1,
            ),
            {"b>o"},
            id="structures made of elements",
        ),
        pytest.param(
            ROWS,
            fields_of({"k": "ArrayFilter", "argument": S, "function": function(field(V, 0), V)}, 1),
            {"b>o", "a?o"},
            id="elements that pass a test",
        ),
        pytest.param(
            ROWS, {"k": "ArrayExists", "argument": S, "function": function(field(V, 0), V)}, {"a>o"}, id="a test"
        ),
        pytest.param(
            ROWS,
            {
                "k": "ArrayAggregate",
                "argument": S,
                "zero": C,
                "merge": function(call("Add", V, field(W, 1)), V, W),
                "finish": function(V, V),
            },
            {"b>o", "c>o"},
            id="a sum of elements",
        ),
        pytest.param(
            ZIPPED,
            fields_of({"k": "ZipWith", "left": A, "right": C, "function": function(structure(V, W), V, W)}, 1),
            {"c>o"},
            id="pairs of elements",
        ),
        pytest.param(
            collected(structure(A, B), "Max"), field(S, 1), {"b>o", "a?o"}, id="the other fields decide about a maximum"
        ),
        pytest.param(
            ROWS,
            fields_of({"k": "SortArray", "base": S, "ascendingOrder": LITERAL}, 0),
            {"a>o", "b?o"},
            id="the other fields decide about an order",
        ),
        pytest.param(
            ROWS,
            fields_of({"k": "ArraySort", "argument": S, "function": function(field(V, 0), V, W)}, 1),
            {"b>o", "a?o"},
            id="a function decides about an order",
        ),
        pytest.param(
            {
                "k": "WindowExpression",
                "windowFunction": collected(structure(A, B)),
                "windowSpec": {"k": "WindowSpecDefinition", "partitionSpec": [C], "orderSpec": []},
            },
            fields_of(S, 0),
            {"a>o", "c?o"},
            id="rows of a window",
        ),
        pytest.param(
            {"k": "If", "predicate": C, "trueValue": structure(A, B), "falseValue": structure(B, LITERAL)},
            field(S, 1),
            {"b>o", "c?o"},
            id="one of two structures",
        ),
        pytest.param(call("Concat", PAIRS, ROWS), fields_of(S, 1), {"b>o"}, id="arrays one after the other"),
        pytest.param({"k": "Slice", "x": ROWS, "start": LITERAL}, fields_of(S, 1), {"b>o"}, id="a part of an array"),
        pytest.param(collected(ROWS), fields_of({"k": "Flatten", "child": S}, 1), {"b>o"}, id="arrays in an array"),
        pytest.param(call("Concat", A, B), fields_of(S, 0), {"a>o", "b>o"}, id="parts that are not known"),
    ],
)
def test_a_field_of_an_arrays_elements_has_its_own_sources(structured: Json, part: Json, edges: set[str]) -> None:
    plans = PlanBuilder()
    inner_plan = plans.project(plans.table("file:/in", A, B, C), alias(20, "s", structured), A, B, C)
    assert _edges(plans, plans.project(inner_plan, alias(30, "o", part))) == edges


def test_the_branches_of_a_union_keep_the_fields_of_elements_apart() -> None:
    plans = PlanBuilder()
    branches = [
        plans.project(plans.table("file:/in", A, B, C), alias(number, "s", array(structure(first, second))))
        for number, first, second in ((20, A, B), (21, C, LITERAL))
    ]
    union = plans.add("Union", children=branches)
    assert _edges(plans, plans.project(union, alias(30, "o", fields_of(S, 0)))) == {"a>o", "c>o"}


def test_a_deep_nest_of_expressions_counts_as_a_whole() -> None:
    """Looking for parts ends at a depth, where Python's stack would end, too."""
    nest = structure(A, B)
    for _ in range(100):
        nest = {"k": "If", "predicate": LITERAL, "trueValue": nest, "falseValue": LITERAL}
    plans = PlanBuilder()
    inner_plan = plans.project(plans.table("file:/in", A, B), alias(20, "s", nest))
    assert _edges(plans, plans.project(inner_plan, alias(30, "o", field(S, 0)))) == {"a>o", "b>o"}


def test_exploding_an_array_of_structures_gives_exact_field_sources() -> None:
    plans = PlanBuilder()
    source = plans.table("file:/in", A, B, C)
    pairs = {"k": "Explode", "child": array(structure(A, B), structure(LITERAL, C))}
    inner_plan = plans.add("Generate", generator=pairs, generatorOutput=[E], child=source)
    assert _edges(plans, plans.project(inner_plan, alias(30, "o", field(E, 1)))) == {"b>o", "c>o"}
