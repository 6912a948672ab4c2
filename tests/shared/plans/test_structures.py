"""Fields of structures that a plan makes, and generators whose rows are written out: each field has its own sources."""

import pytest

from shared.plans.reader import read_plan
from tests.support.plans import LITERAL, Json, PlanBuilder, alias, call, column, edges_of, facet

A, B, C = column(1, "a"), column(2, "b"), column(3, "c")
S, E, F = column(20, "s"), column(21, "e"), column(22, "f")


def structure(*values: Json) -> Json:
    """A structure made on the spot: names and values by turns."""
    return call("CreateNamedStruct", *(each for value in values for each in (LITERAL, value)))


def field(of: Json, ordinal: int) -> Json:
    """A field of a structure."""
    return {"k": "GetStructField", "child": of, "ordinal": ordinal}


def array(*elements: Json) -> Json:
    """An array made on the spot."""
    return call("CreateArray", *elements)


def _edges(plans: PlanBuilder, query: Json) -> set[str]:
    found = read_plan(facet(plans.writing(query)))
    assert found.exact
    return edges_of(found.outputs[0])


@pytest.mark.parametrize(
    ("made", "chosen", "edges"),
    [
        (structure(A, B), field(S, 0), {"a>o"}),
        (structure(A, structure(B, C)), field(field(S, 1), 1), {"c>o"}),
        (structure(A, LITERAL), field(S, 1), set()),
        (structure(A, B), S, {"a>o", "b>o"}),
        (structure(A, B), field(S, 7), {"a>o", "b>o"}),
        (call("Concat", A, B), field(S, 0), {"a>o", "b>o"}),
    ],
)
def test_a_field_of_a_structure_made_below_has_its_own_sources(made: Json, chosen: Json, edges: set[str]) -> None:
    plans = PlanBuilder()
    below = plans.project(plans.table("file:/in", A, B, C), alias(20, "s", made))
    renamed = plans.project(plans.add("SubqueryAlias", child=below), alias(20, "s", S))
    assert _edges(plans, plans.project(renamed, alias(30, "o", chosen))) == edges


def test_the_source_of_a_field_of_a_table_column_is_the_column() -> None:
    plans = PlanBuilder()
    assert _edges(plans, plans.project(plans.table("file:/in", S), alias(30, "o", field(S, 1)))) == {"s>o"}


@pytest.mark.parametrize(
    ("generator", "made", "edges"),
    [
        (call("Stack", LITERAL, A, B, B, C), [E, F], {"a>e", "b>e", "b>f", "c>f"}),
        ({"k": "Explode", "child": array(A, B)}, [E], {"a>e", "b>e"}),
        ({"k": "PosExplode", "child": array(A, B)}, [E, F], {"a>f", "b>f"}),
        ({"k": "Inline", "child": array(structure(A, B), structure(C, LITERAL))}, [E, F], {"a>e", "c>e", "b>f"}),
        ({"k": "Inline", "child": array(structure(A, B), C)}, [E, F], {"a>e", "b>e", "c>e", "a>f", "b>f", "c>f"}),
        ({"k": "Explode", "child": C}, [E], {"c>e"}),
    ],
)
def test_generated_columns_have_the_sources_of_the_rows(generator: Json, made: list[Json], edges: set[str]) -> None:
    plans = PlanBuilder()
    source = plans.table("file:/in", A, B, C)
    below = plans.add("Generate", generator=generator, generatorOutput=made, child=source)
    found = _edges(plans, plans.project(below, *made))
    assert {each for each in found if not each.endswith("?")} == edges


def test_exploding_an_array_of_structures_gives_exact_field_sources() -> None:
    plans = PlanBuilder()
    source = plans.table("file:/in", A, B, C)
    pairs = {"k": "Explode", "child": array(structure(A, B), structure(LITERAL, C))}
    below = plans.add("Generate", generator=pairs, generatorOutput=[E], child=source)
    assert _edges(plans, plans.project(below, alias(30, "o", field(E, 1)))) == {"b>o", "c>o"}
