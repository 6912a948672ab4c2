"""Random queries over cells with their origin: the grammar; and the comparison detects each wrong edge."""

import re

import pytest
from sqlglot import parse_one

from shared.plans.reader import PlanLineage, read_plan
from tests.plan_truth.cells import COLUMNS, ROWS, TABLES, rows, world
from tests.plan_truth.expected import expected
from tests.plan_truth.grammar import query
from tests.plan_truth.tracer import Changed, Given, Seen, compare, given_of, idle_conditions
from tests.support.plans import PlanBuilder, alias, call, column, facet

SCHEMA = {table: dict.fromkeys(columns, "string") for table, columns in TABLES.items()}
FORMS = (
    "JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "LATERAL (SELECT", "WHERE", "GROUP BY", "ROLLUP", "CUBE",
    "GROUPING SETS", "PIVOT", "UNPIVOT", "FILTER (", "OVER (", "ROWS BETWEEN", "RANGE BETWEEN", "rank()", "ntile(4)",
    "UNION ALL", "UNION (", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL", "LATERAL VIEW", "NOT EXISTS",
    "IN (SELECT", "NOT IN (SELECT", "WITH ", "(SELECT max", "(SELECT array_join", "DISTINCT", "CASE", "coalesce(n",
    "nvl2(", "nullif(", "named_struct", "transform(", "map(", "glued(", "MERGE INTO", "WHEN NOT MATCHED AND",
    "THEN DELETE", "NOT MATCHED BY SOURCE",
)  # fmt: skip


def test_a_seed_gives_the_same_query_and_rows_each_time() -> None:
    assert [query(seed) for seed in range(20)] == [query(seed) for seed in range(20)]
    assert rows("s1", 3) == rows("s1", 3)
    assert len(rows("s1", 3)) == ROWS


@pytest.mark.parametrize("number", [0, 1])
def test_other_numbers_keep_nulls_and_equality(number: int) -> None:
    world_tables = world(number)
    for name in COLUMNS:
        drawn, numbered = world_tables["drawn"][name], world_tables["numbers"][name]
        pairs = set(zip(drawn, numbered, strict=True))
        assert len(pairs) == len(set(drawn)) == len(set(numbered))
        assert [cell is None for cell in drawn] == [cell is None for cell in numbered]
        assert drawn != numbered != world_tables["cells"][name]
        assert {re.sub(r"#\d+", "", cell) for cell in (*drawn, *numbered) if cell} == {f"[{name}]"}


def test_the_first_seeds_have_every_form() -> None:
    texts = "\n".join(query(seed) for seed in range(500)).replace("UNION SELECT", "UNION (SELECT")
    assert [form for form in FORMS if form not in texts] == []
    assert "RECURSIVE" not in texts
    assert any("WITH RECURSIVE" in query(seed, recursion=True) for seed in range(20))


def test_queries_are_sql_with_sources() -> None:
    texts = [query(seed) for seed in range(30)]
    assert all(parse_one(text, dialect="spark") for text in texts)
    simple_query = next(
        text for text in map(query, range(1_000)) if re.match(r"SELECT \w+\.\w+ AS", text) and "OVER" in text
    )
    assert any(sources.values for sources in expected(simple_query, SCHEMA).columns)


NOTHING = Changed(any=[], numbers=[], cells=[])


@pytest.mark.parametrize(
    ("origins", "changed", "problems"),
    [
        (["s0.a"], {"s0.b": Changed(any=[0], numbers=[0], cells=[])}, []),
        (["s0.a"], {"s0.b": Changed(any=[0], numbers=[], cells=[0])}, []),
        ([], {"s0.b": Changed(any=[0], numbers=[0], cells=[])}, ["q c0: met by no cell: s0.a"]),
        (["s0.a", "s1.c"], {"s0.b": Changed(any=[0], numbers=[0], cells=[])}, ["q c0: not in the plan: s1.c"]),
        (["s0.a"], {"s0.b": NOTHING}, []),
        (
            ["s0.a"],
            {"s0.b": Changed(any=[0], numbers=[0], cells=[]), "s2.c": Changed(any=[0], numbers=[], cells=[])},
            ["q c0: changes it without being in the plan: s2.c"],
        ),
        (
            ["s0.a"],
            {"s0.b": Changed(any=[0], numbers=[0], cells=[]), "s0.a": Changed(any=[0], numbers=[0], cells=[])},
            ["q c0: decides without being in the plan: s0.a"],
        ),
    ],
)
def test_each_wrong_edge_is_detected(origins: list[str], changed: dict[str, Changed], problems: list[str]) -> None:
    given_columns = [Given(frozenset({"s0.a"}), frozenset({"s0.b"}))]
    assert compare("q", given_columns, Seen(origins=[origins], changed=changed, runs=2)) == problems


@pytest.mark.parametrize(
    ("changed", "idle"),
    [
        (NOTHING, ["c0: s0.b"]),
        (Changed(any=[0], numbers=[0], cells=[]), []),
        (Changed(any=[0], numbers=[], cells=[0]), []),
    ],
)
def test_a_condition_that_changes_nothing_is_idle(changed: Changed, idle: list[str]) -> None:
    given_columns = [Given(frozenset({"s0.a"}), frozenset({"s0.b"}))]
    assert idle_conditions(given_columns, Seen(origins=[["s0.a"]], changed={"s0.b": changed}, runs=2)) == idle


def test_a_plan_gives_values_and_conditions_of_a_column_and_of_the_rows() -> None:
    given_columns = given_of(_filtered("Filter"), "SELECT")
    assert given_columns == [Given(frozenset({"s0.a"}), frozenset({"s0.b", "s0.c"}))]


def test_a_missing_or_partly_unknown_plan_is_a_problem() -> None:
    assert given_of(None, "SELECT") == "no plan that is known whole: no plan"
    assert given_of(_filtered("Unheard"), "SELECT") == "no plan that is known whole: (('Unheard', 1),)"


def _filtered(operator: str) -> PlanLineage:
    plans, a, b, c = PlanBuilder(), column(1, "a"), column(2, "b"), column(3, "c")
    source = plans.table("file:/s0", a, b, c)
    source = plans.add(operator, child=source, condition=call("IsNotNull", c))
    case = {"k": "CaseWhen", "branches": [[b, a]]}
    return read_plan(facet(plans.writing(plans.project(source, alias(50, "c0", case)))))
