"""sqlglot's lineage of a query; and the comparison detects each missing or wrong edge, or one of the other kind."""

import pytest

from shared.plans.reader import PlanLineage, read_plan
from tests.plan_truth.comparison import differences
from tests.plan_truth.expected import expected
from tests.plan_truth.runs import Ran
from tests.plan_truth.tpcds import report
from tests.support.plans import LITERAL, Json, PlanBuilder, alias, call, column, facet

TABLES = {"t": {"a": "int", "b": "int", "c": "int"}, "u": {"a": "int", "d": "int"}}
A, B, C = column(1, "a"), column(2, "b"), column(3, "c")


@pytest.mark.parametrize(
    ("query", "values", "conditions", "rows"),
    [
        ("SELECT a + b FROM t WHERE c > 1", "t.a t.b", "", "t.c"),
        ("SELECT CASE WHEN a > 1 THEN b ELSE c END FROM t", "t.b t.c", "t.a", ""),
        ("SELECT CASE a WHEN 1 THEN b END FROM t", "t.b", "t.a", ""),
        ("SELECT COALESCE(a, b, c) FROM t", "t.a t.b t.c", "t.a t.b", ""),
        ("SELECT NULLIF(a, b) FROM t", "t.a", "t.a t.b", ""),
        ("SELECT SUM(a) OVER (PARTITION BY b ORDER BY c) FROM t", "t.a", "t.b t.c", ""),
        ("SELECT RANK() OVER (ORDER BY SUM(a)) FROM t GROUP BY b", "", "t.a", "t.b"),
        ("SELECT d FROM t JOIN u USING (a)", "u.d", "", "t.a u.a"),
        ("SELECT x.n FROM (SELECT a AS n FROM t WHERE b = 1) AS x", "t.a", "", "t.b"),
        ("WITH w AS (SELECT a AS n FROM t ORDER BY c) SELECT n AS m FROM w", "t.a", "", "t.c"),
        ("SELECT a AS n FROM t ORDER BY n", "t.a", "", "t.a"),
        ("SELECT DISTINCT a FROM t", "t.a", "", "t.a"),
        ("SELECT a FROM t UNION ALL SELECT d FROM u", "t.a u.d", "", ""),
        ("SELECT a FROM t UNION SELECT d FROM u", "t.a u.d", "", "t.a u.d"),
        ("SELECT a FROM t EXCEPT SELECT d FROM u", "t.a", "", "t.a u.d"),
        ("SELECT a FROM t WHERE EXISTS (SELECT d FROM u WHERE u.a = t.b)", "t.a", "", "t.b u.a"),
        ("SELECT a FROM t WHERE b IN (SELECT d FROM u)", "t.a", "", "t.b u.d"),
        ("SELECT (SELECT MAX(d) FROM u WHERE u.a = t.b) AS m FROM t", "u.d", "t.b u.a", ""),
    ],
)
def test_a_query_gives_the_expected_lineage(query: str, values: str, conditions: str, rows: str) -> None:
    lineage = expected(query, TABLES)
    (first,) = lineage.columns
    assert [_names(first.values), _names(first.conditions), _names(lineage.rows)] == [values, conditions, rows]


def test_sqlglots_own_lineage_does_not_separate_values_from_conditions() -> None:
    lineage = expected("SELECT CASE WHEN a > 1 THEN b END FROM (SELECT a, b + c AS b FROM t) AS x", TABLES)
    assert [_names(leaf) for leaf in lineage.leaves] == ["t.a t.b t.c"]


QUERY = "SELECT CASE WHEN a > 1 THEN b END FROM t WHERE c > 1"


@pytest.mark.parametrize(
    ("value", "condition", "of_rows", "expected_differences"),
    [
        (B, A, C, []),
        (C, A, C, ["0 values", "0 sqlglot's lineage"]),
        (A, B, C, ["0 values", "0 conditions"]),
        (B, B, C, ["0 conditions", "0 sqlglot's lineage"]),
        (B, A, B, ["-1 rows"]),
    ],
)
def test_each_wrong_edge_is_detected(
    value: Json, condition: Json, of_rows: Json, expected_differences: list[str]
) -> None:
    lineage, truth = _lineage(value, condition, of_rows), expected(QUERY, TABLES)
    assert [
        f"{difference.column} {difference.what}" for difference in differences("q", lineage, truth)
    ] == expected_differences
    assert report(Ran(lineages={"q": lineage}, refused={}), {"q": truth}) == bool(expected_differences)


def test_a_plan_with_unknown_parts_a_missing_one_and_an_outdated_explanation_are_failures() -> None:
    lineage, truth = _lineage(B, A, C, is_known=False), expected(QUERY, TABLES)
    assert [difference.what for difference in differences("q", lineage, truth)] == ["not exact: (('Unheard', 1),)"]
    assert report(Ran(lineages={}, refused={"q": "refused"}), {"q": truth}) == 1
    assert report(Ran(lineages={"v14_q27": _lineage(B, A, C)}, refused={}), {"v14_q27": truth}) == 1


def _lineage(value: Json, condition: Json, of_rows: Json, *, is_known: bool = True) -> PlanLineage:
    plans = PlanBuilder()
    source = plans.table("file:/t", A, B, C)
    if not is_known:
        source = plans.add("Unheard", child=source)
    filtered = plans.add("Filter", condition=call("IsNotNull", of_rows), child=source)
    case: Json = {"k": "CaseWhen", "branches": [[condition, value]]}
    return read_plan(facet(plans.writing(plans.project(filtered, alias(50, "c0", case)))))


def _names(sources: frozenset[tuple[str, str]]) -> str:
    return " ".join(f"{table}.{column}" for table, column in sorted(sources))


@pytest.mark.parametrize(("value", "explained"), [(LITERAL, True), (C, False)])
def test_an_explanation_covers_only_its_own_difference(value: Json, explained: bool) -> None:
    truth = expected("SELECT a, a, CASE WHEN a > 1 THEN b END FROM t WHERE c > 1", TABLES)
    plans = PlanBuilder()
    source = plans.add("Filter", condition=call("IsNotNull", C), child=plans.table("file:/t", A, B, C))
    case: Json = {"k": "CaseWhen", "branches": [[A, value]]}
    columns = (alias(50, "c0", A), alias(51, "c1", A), alias(52, "c2", case))
    lineage = read_plan(facet(plans.writing(plans.project(source, *columns))))
    assert [bool(difference.reason) for difference in differences("v14_q27", lineage, truth)] == [explained, explained]
