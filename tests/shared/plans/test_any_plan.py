"""Any plan: the same lineage for any order of its parts, and one kind of error for any other document."""

import copy
import random
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.plans.nodes.document import UnreadablePlan
from shared.plans.reader import PlanLineage, read_plan
from tests.support.plans import LITERAL, Json, PlanBuilder, alias, call, column, facet

_ONE_CHILD = ("Filter", "Distinct", "Sort", "Project", "Aggregate", "SubqueryAlias", "GlobalLimit", "Window")
_TWO_CHILDREN = ("Join", "Union", "Except", "Intersect")


class _Grown:
    """A random plan of two tables: `columns` are those of the plan that was made last."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.plans = PlanBuilder()
        self.numbers = iter(range(1, 10_000))

    def table(self) -> tuple[Json, list[Json]]:
        columns = [column(next(self.numbers), f"c{place}") for place in range(3)]
        return self.plans.table(f"file:/in{self.chance.randint(0, 1)}", *columns), columns

    def expression(self, columns: list[Json]) -> Json:
        function = self.chance.choice(["Add", "Concat", "Coalesce", "Sha2", "CaseWhen", ""])
        operand, other = self.chance.choice(columns), self.chance.choice([*columns, LITERAL])
        if function == "CaseWhen":
            return {"k": function, "branches": [[operand, other]], "elseValue": LITERAL}
        return call(function, operand, other) if function else operand

    def grow(self, depth: int) -> tuple[Json, list[Json]]:
        if depth == 0:
            return self.table()
        left_plan, columns = self.grow(depth - 1)
        if self.chance.random() < 0.4:
            right, other_columns = self.grow(depth - 1)
            kind = self.chance.choice(_TWO_CHILDREN)
            if kind == "Join":
                condition = call("EqualTo", columns[0], other_columns[0])
                sides: Json = {"left": left_plan, "right": right, "joinType": {"k": "Inner"}, "condition": condition}
                return self.plans.add(kind, **sides), [*columns, *other_columns]
            sides = {"children": [left_plan, right]} if kind == "Union" else {"left": left_plan, "right": right}
            return self.plans.add(kind, **sides), columns
        kind, value = self.chance.choice(_ONE_CHILD), self.expression(columns)
        if kind in {"Project", "Aggregate", "Window"}:
            made_column = alias(next(self.numbers), "made", value)
            field = {"Project": "projectList", "Aggregate": "aggregateExpressions", "Window": "windowExpressions"}[kind]
            grown = self.plans.add(
                kind, child=left_plan, groupingExpressions=columns[:1], **{field: [made_column, *columns[:1]]}
            )
            own_attribute = {"k": "AttributeReference", "x": made_column["x"], "name": "made"}
            return grown, [*columns, own_attribute] if kind == "Window" else [own_attribute, columns[0]]
        order = [{"k": "SortOrder", "child": value}]
        return self.plans.add(kind, child=left_plan, condition=value, order=order), columns


def _document(seed: int) -> Json:
    grown = _Grown(seed)
    query, _ = grown.grow(grown.chance.randint(1, 5))
    return grown.plans.writing(query)


def _shuffled(document: Json, seed: int) -> Json:
    """The same plans in another order, with the keys of all objects reversed."""
    chance = random.Random(seed)
    places = list(range(len(document["plans"])))
    chance.shuffle(places)

    def moved(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: places[element] if key == "ref" else moved(element) for key, element in reversed(value.items())
            }
        return [moved(element) for element in value] if isinstance(value, list) else value

    plans = [moved(plan) for _, plan in sorted(zip(places, document["plans"], strict=True), key=lambda pair: pair[0])]
    return {**moved({**document, "plans": []}), "plans": plans}


def _seen(plan_lineage: PlanLineage) -> object:
    return (
        plan_lineage.outputs,
        sorted(merged_dataset.key for merged_dataset in plan_lineage.inputs),
        plan_lineage.exact,
        plan_lineage.unknown,
    )


@given(st.integers(0, 10**9), st.integers(0, 10**9))
@settings(deadline=None)
def test_the_order_of_plans_and_fields_does_not_matter(seed: int, order: int) -> None:
    document = _document(seed)
    plan = read_plan(facet(document))
    assert plan.exact
    assert _seen(read_plan(facet(_shuffled(document, order)))) == _seen(plan)


@given(st.integers(0, 10**9))
@settings(deadline=None)
def test_a_plan_referenced_twice_has_the_same_lineage_as_two_copies(seed: int) -> None:
    """Once shared by reference, once copied to each of its places."""
    document = _document(seed)
    copied = copy.deepcopy(document)
    for plan in list(copied["plans"]):
        for name in ("child", "left", "right"):
            if name in plan:
                copied["plans"].append(copy.deepcopy(copied["plans"][plan[name]["ref"]]))
                plan[name] = {"ref": len(copied["plans"]) - 1}
    assert _seen(read_plan(facet(copied))) == _seen(read_plan(facet(document)))


@given(st.integers(0, 10**9))
@settings(deadline=None)
def test_every_source_is_a_column_of_an_input_table(seed: int) -> None:
    plan_lineage = read_plan(facet(_document(seed)))
    known_columns = {
        (merged_dataset.key, name) for merged_dataset in plan_lineage.inputs for name in merged_dataset.columns
    }
    (output,) = plan_lineage.outputs
    sources = [input_field for _, fields in output.fields for input_field in fields[0].input_fields or ()]
    assert {((source.namespace, source.name), source.field) for source in (*sources, *output.rows)} <= known_columns


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.sampled_from(["", "k", "Project", "file:/x"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["k", "ref", "x", "child", "children", "query", "plan", "output", "projectList", "condition", "table"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)
_CLASSES = (
    *("Project", "Filter", "Join", "Union", "UnionLoop", "WithCTE", "CTERelationDef", "CTERelationRef", "Generate"),
    *("Expand", "Aggregate", "LogicalRDD", "LateralJoin", "MergeRows", "MergeIntoTable", "AppendData", "UpdateCommand"),
    "InsertIntoHadoopFsRelationCommand",
)
_KINDS = st.sampled_from(_CLASSES)


@given(st.lists(st.tuples(_KINDS, st.dictionaries(st.text(max_size=3), _JSON), _JSON, _JSON), max_size=6), _JSON)
@settings(deadline=None)
def test_any_document_is_read_or_refused(
    plans: list[tuple[str, dict[str, object], object, object]], frame: object
) -> None:
    listed = [
        {
            **fields,
            "k": kind,
            "child": child_plan,
            "query": {"ref": 1},
            "children": [child_plan, other],
            "projectList": [other],
        }
        for kind, fields, child_plan, other in plans
    ]
    frames = [frame] if isinstance(frame, dict) else []
    document = {"root": {"ref": 0}, "plans": listed, "frames": frames, "jvm": []}
    with suppress(UnreadablePlan):
        assert isinstance(read_plan(facet(document)), PlanLineage)
