"""The text of an expression: SQL as people write it, without literals."""

from pathlib import Path

import pytest

from shared.openlineage.decoding import decode
from shared.plans.nodes.texts import MAX_TEXT, text_of
from shared.plans.reader import read_plan
from tests.support.plans import LITERAL, Json, PlanBuilder, alias, call, column, facet

A, B, C = column(1, "a"), column(2, "b"), column(3, "c")


def pair(kind: str, left_side: Json, right: Json) -> Json:
    return {"k": kind, "left": left_side, "right": right}


SUM = pair("Add", A, B)
SPEC: Json = {
    "k": "WindowSpecDefinition",
    "partitionSpec": [B],
    "orderSpec": [{"k": "SortOrder", "child": C, "direction": {"k": "Descending"}}],
}
ITEM: Json = {"k": "NamedLambdaVariable", "x": [99, 0], "name": "i"}


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (A, "a"),
        (LITERAL, "?"),
        (SUM, "a + b"),
        (pair("Multiply", SUM, C), "(a + b) * c"),
        (pair("Add", pair("Multiply", A, B), C), "a * b + c"),
        (pair("Subtract", A, pair("Subtract", B, C)), "a - (b - c)"),
        (pair("Subtract", pair("Subtract", A, B), C), "a - b - c"),
        (pair("And", A, pair("And", B, C)), "a AND b AND c"),
        (pair("And", pair("Or", A, B), C), "(a OR b) AND c"),
        ({"k": "Not", "child": pair("EqualTo", A, B)}, "NOT a = b"),
        ({"k": "Not", "child": pair("And", A, B)}, "NOT (a AND b)"),
        ({"k": "IsNull", "child": SUM}, "a + b IS NULL"),
        ({"k": "UnaryMinus", "child": SUM}, "-(a + b)"),
        ({"k": "In", "value": A, "list": [LITERAL, LITERAL]}, "a IN (?, ?)"),
        ({"k": "Cast", "t": "decimal(4,1)", "child": A}, "CAST(a AS decimal)"),
        ({"k": "Cast", "t": "double", "child": LITERAL}, "?"),
        ({"k": "CaseWhen", "branches": [[A, B]], "elseValue": C}, "CASE WHEN a THEN b ELSE c END"),
        ({"k": "Nvl", "left": A, "right": B, "replacement": call("Coalesce", A, B)}, "nvl(a, b)"),
        ({"k": "PythonUDF", "name": "f", "children": [A, B], "evalType": 100}, "f(a, b)"),
        ({"k": "ScalaUDF", "udfName": "tax", "children": [A]}, "tax(a)"),
        (call("DateAdd", A, LITERAL), "date_add(a, ?)"),
        (call("Sha2", A, LITERAL), "sha2(a, ?)"),
        (call("ArrayTransform", A, {"k": "LambdaFunction", "function": pair("Add", ITEM, B), "arguments": [ITEM]}),
         "transform(a, i -> i + b)"),
        ({"k": "AggregateExpression", "aggregateFunction": call("Sum", A), "isDistinct": True, "filter": B},
         "sum(DISTINCT a) FILTER (WHERE b)"),
        ({"k": "WindowExpression", "windowFunction": call("Lag", A), "windowSpec": SPEC},
         "lag(a) OVER (PARTITION BY b ORDER BY c DESC)"),
        ({"k": "ScalarSubquery", "plan": {"ref": 3}}, "(subquery)"),
        (call("CreateNamedStruct", LITERAL, A, LITERAL, B), "struct(a, b)"),
        ({"k": "GetStructField", "child": A, "ordinal": 0, "name": "price"}, "a.price"),
        ({"k": "GetArrayItem", "child": A, "ordinal": LITERAL}, "a[?]"),
        ({"k": "Add", "left": A, "right": B, "evalContext": {"k": "NumericEvalContext"}}, "a + b"),
    ],
)  # fmt: skip
def test_an_expression_is_written_as_sql(expression: Json, text: str) -> None:
    assert text_of(expression, {}).text == text


def test_a_column_of_an_inner_query_is_replaced_by_its_expression() -> None:
    plans = PlanBuilder()
    inner = plans.project(plans.table("file:/in", A, B), alias(50, "o", SUM), alias(51, "p", A))
    outer = plans.project(
        inner, alias(60, "x", pair("Multiply", column(50, "o"), column(51, "p"))), alias(61, "y", column(51, "p"))
    )
    assert described(plans.writing(outer)) == {"x": {"(a + b) * a"}}, "a copy needs no text"


def test_the_text_of_a_union_column_joins_the_texts_of_its_branches() -> None:
    plans = PlanBuilder()
    left_plan = plans.project(plans.table("file:/left", A), alias(50, "o", call("Upper", A)))
    right = plans.project(plans.table("file:/right", B), alias(51, "o", B))
    assert described(plans.writing(plans.add("Union", children=[left_plan, right]))) == {"o": {"b; upper(a)"}}


def described(document: Json) -> dict[str, set[str]]:
    """The descriptions of each output column's sources."""
    (output,) = read_plan(facet(document)).outputs
    return {
        column: texts
        for column, fields in output.fields
        if (
            texts := {
                step.description
                for field in fields
                for source in field.input_fields or ()
                for step in source.transformations or ()
                if step.description
            }
        )
    }


def test_the_text_of_any_expression_is_within_the_length_limit() -> None:
    deep, wide = A, call("Concat", *[A] * 10_000)
    for _ in range(5_000):
        deep = pair("Add", deep, B)
    assert len(text_of(wide, {}).text) == MAX_TEXT
    assert text_of(wide, {}).text.endswith("…")
    assert text_of(deep, {}).text.endswith(" + b")
    assert len(text_of(deep, {}).text) <= MAX_TEXT


CAPTURES = Path("tests/golden/spark35-ol1.53-plan")
REAL = {
    "sum(amount) FILTER (WHERE status = ?)",
    "CASE WHEN status = ? THEN CAST(amount AS decimal) WHEN status = ? THEN ? END",
    "lag(amount, ?, ?) OVER (PARTITION BY customer_id ORDER BY day)",
    "concat_ws(?, first_name, last_name)",
    "md5(CAST(concat(name, region) AS binary))",
    "amount / CAST((subquery) AS decimal)",
}
"""Of the scenarios' own SQL, and what Spark added to it."""


def test_real_plans_give_the_expected_texts() -> None:
    found_texts: set[str] = set()
    for path in sorted(CAPTURES.glob("*/events.jsonl")):
        for line in path.read_bytes().splitlines():
            event = decode(line).body
            plan = event.run.facets.plan if event and event.run.facets else None
            for output in read_plan(plan).outputs if plan and plan.plan else ():
                found_texts |= {
                    step.description
                    for _, fields in output.fields
                    for field in fields
                    for source in field.input_fields or ()
                    for step in source.transformations or ()
                    if step.description
                }
    assert found_texts >= REAL
