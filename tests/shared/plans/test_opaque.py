"""Values that go through code that the plan does not show: what is before and after it, and what is beside it."""

from itertools import product

import pytest

from shared.model import OPAQUE
from shared.plans.nodes.document import (
    CHANGE,
    COPY,
    COUNTED,
    FILTER,
    IN_CODE,
    IN_WINDOW,
    MASK,
    SUMMARY,
    FlowStep,
    after,
    decides,
)
from shared.plans.reader import read_plan
from tests.support.plans import LITERAL, Json, PlanBuilder, alias, call, column, edges_of, facet

A, B, C, X = column(1, "a"), column(2, "b"), column(3, "c"), column(11, "x")
MASKED_CODE = FlowStep(direct=True, subtype=OPAQUE, masked=True)


@pytest.mark.parametrize(
    ("step_before", "step", "expected_step"),
    [
        (COPY, IN_CODE, IN_CODE),
        (CHANGE, IN_CODE, IN_CODE),
        (SUMMARY, IN_CODE, IN_CODE),
        (IN_CODE, IN_CODE, IN_CODE),
        (MASK, IN_CODE, IN_CODE),  # code may decrypt
        (COUNTED, IN_CODE, IN_CODE),
        (IN_CODE, COPY, IN_CODE),
        (IN_CODE, CHANGE, IN_CODE),
        (IN_CODE, SUMMARY, IN_CODE),
        (IN_CODE, MASK, MASKED_CODE),
        (IN_CODE, COUNTED, MASKED_CODE),
        (MASKED_CODE, IN_CODE, IN_CODE),
        (MASKED_CODE, CHANGE, MASKED_CODE),
        (IN_CODE, decides(FILTER), decides(FILTER)),
        (IN_CODE, IN_WINDOW, IN_WINDOW),
        (IN_WINDOW, IN_CODE, IN_WINDOW),
    ],
)
def test_a_way_through_code_is_opaque_and_no_longer_masked(
    step_before: FlowStep, step: FlowStep, expected_step: FlowStep
) -> None:
    assert after(step, step_before) == expected_step


def test_steps_of_values_are_one_however_they_are_taken_together() -> None:
    steps = [COPY, CHANGE, SUMMARY, MASK, COUNTED, IN_CODE, MASKED_CODE]
    for flow_step, two, three in product(steps, repeat=3):
        assert after(three, after(two, flow_step)) == after(after(three, two), flow_step)


def _through_code(*columns_before: Json, after_it: tuple[Json, ...] = ()) -> set[str]:
    """The edges of `SELECT before`, then `mapInPandas` with the output x, then `SELECT after_it`."""
    plans = PlanBuilder()
    projection = plans.project(plans.table("file:/in", A, B, C), *columns_before)
    code = plans.add("MapInPandas", functionExpr=call("PythonUDF", *_ids(columns_before)), output=[X], child=projection)
    lineage = read_plan(facet(plans.writing(plans.project(code, *after_it) if after_it else code)))
    assert lineage.exact
    return edges_of(lineage.outputs[0])


def _ids(named: tuple[Json, ...]) -> list[Json]:
    return [column(expression["x"][0], expression["name"]) for expression in named]


@pytest.mark.parametrize(
    ("columns_before", "after_it", "edges"),
    [
        ((A, B), (), {"a~x", "b~x"}),
        ((alias(50, "s", call("Add", A, B)),), (), {"a~x", "b~x"}),
        ((alias(50, "h", call("Sha2", A, LITERAL)), B), (), {"a~x", "b~x"}),
        ((A,), (alias(60, "o", call("Upper", X)),), {"a~o"}),
        ((A,), (alias(60, "o", call("Sha2", X, LITERAL)),), {"a~o*"}),
        ((A,), (alias(60, "o", {"k": "If", "predicate": X, "trueValue": LITERAL, "falseValue": LITERAL}),), {"a?o"}),
    ],
)
def test_what_stands_before_and_after_code_counts(
    columns_before: tuple[Json, ...], after_it: tuple[Json, ...], edges: set[str]
) -> None:
    assert _through_code(*columns_before, after_it=after_it) == edges


def test_a_column_that_code_does_not_read_is_no_source() -> None:
    plans = PlanBuilder()
    code = plans.add("MapInPandas", functionExpr=call("PythonUDF", A), output=[X], child=plans.table("file:/in", A, B))
    assert edges_of(read_plan(facet(plans.writing(code))).outputs[0]) == {"a~x"}


def test_a_function_of_named_columns_is_no_such_code() -> None:
    plans = PlanBuilder()
    query = plans.project(plans.table("file:/in", A, B), alias(50, "o", call("PythonUDF", A)))
    assert edges_of(read_plan(facet(plans.writing(query))).outputs[0]) == {"a>o"}
