"""Random queries over cells that carry their origin: the grammar, and that the comparison sees each wrong edge."""

import pytest
from sqlglot import parse_one

from shared.plans.reader import PlanLineage, read_plan
from tests.plan_truth.expected import expected
from tests.plan_truth.grammar import ROWS, TABLES, query, rows
from tests.plan_truth.tracer import compare
from tests.support.plans import PlanBuilder, alias, call, column, facet

SCHEMA = {table: dict.fromkeys(columns, "string") for table, columns in TABLES.items()}
FORMS = (
    "JOIN", "WHERE", "GROUP BY", "ROLLUP", "CUBE", "FILTER (", "OVER (", "UNION ALL", "UNION (",
    "EXCEPT", "LATERAL VIEW", "UNPIVOT", "NOT EXISTS", "IN (SELECT", "WITH ", "(SELECT max", "DISTINCT",
    "CASE", "coalesce(n", "nvl2(", "nullif(", "named_struct", "transform(", "map(",
)  # fmt: skip


def test_a_seed_gives_the_same_query_and_rows_each_time() -> None:
    assert [query(seed) for seed in range(20)] == [query(seed) for seed in range(20)]
    assert rows("s1", 3) == rows("s1", 3)
    assert len(rows("s1", 3)) == ROWS


def test_the_first_seeds_have_every_form() -> None:
    texts = "\n".join(query(seed) for seed in range(200)).replace("UNION SELECT", "UNION (SELECT")
    assert [form for form in FORMS if form not in texts] == []


def test_queries_are_sql_with_sources() -> None:
    texts = [query(seed) for seed in range(30)]
    assert all(parse_one(text, dialect="spark") for text in texts)
    joined = next(text for text in texts if "FROM (SELECT * FROM s1) AS n1" in text and "UNPIVOT" not in text)
    assert any(each.values for each in expected(joined, SCHEMA).columns)


@pytest.mark.parametrize(
    ("origins", "problems"),
    [
        (["s0.a", "s0.b"], []),
        (["s0.a"], ["q c0: met by no cell: s0.b"]),
        (["s0.a", "s0.b", "s1.c"], ["q c0: not in the plan: s1.c"]),
    ],
)
def test_each_wrong_edge_is_seen(origins: list[str], problems: list[str]) -> None:
    assert compare("q", {"q": _concatenated("Project")}, [origins]) == problems


def test_a_plan_that_is_not_known_whole_is_a_problem() -> None:
    unknown = [("Unheard", 1)]
    assert compare("q", {}, [[]]) == ["q: no plan that is known whole: no plan"]
    assert compare("q", {"q": _concatenated("Unheard")}, [[]]) == [f"q: no plan that is known whole: {tuple(unknown)}"]


def _concatenated(below: str) -> PlanLineage:
    plans, a, b = PlanBuilder(), column(1, "a"), column(2, "b")
    source = plans.table("file:/s0", a, b)
    source = plans.add(below, child=source, projectList=[a, b])
    return read_plan(facet(plans.writing(plans.project(source, alias(50, "c0", call("Concat", a, b))))))
