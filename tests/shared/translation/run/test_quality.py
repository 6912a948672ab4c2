"""Tests and measures of data sets in an event."""

from typing import Any

import pytest

from shared.naming.names import BUILT_IN
from shared.naming.stores.families import NO_ENVIRONMENT
from shared.naming.user_rules import parse_names
from shared.openlineage.decoding import decode
from shared.translation.run.datasets import Place, QualityResult, quality_results
from tests.support.building import Json, body, dataset, packed

PLACE = Place(names=BUILT_IN, environment=NO_ENVIRONMENT)


def _results(**content: Any) -> tuple[QualityResult, ...]:
    event = decode(packed(body(**content)))
    assert event.omitted == ()
    assert event.body
    return quality_results(event.body, PLACE)


def _tested(*assertions: Json) -> Json:
    return {"dataQualityAssertions": {"assertions": list(assertions)}}


NOT_NULL: Json = {"assertion": "not_null", "success": False, "column": "id", "severity": "warn"}

CASES: dict[str, tuple[Json, set[tuple[Any, ...]]]] = {
    "a failed test of a column": (_tested(NOT_NULL), {("id", "test", "not_null", False, "warn", None)}),
    "a test of the whole data set": (
        _tested({"assertion": "row_count", "success": True}),
        {("", "test", "row_count", True, "", None)},
    ),
    "a test with a name": (
        _tested({"assertion": "custom_sql", "success": True, "name": "no orphans"}),
        {("", "test", "custom_sql/no orphans", True, "", None)},
    ),
    "counts of the data set": (
        {"dataQualityMetrics": {"rowCount": 9, "bytes": 100, "fileCount": 0, "columnMetrics": {}}},
        {
            ("", "measure", "rowCount", None, "", 9.0),
            ("", "measure", "bytes", None, "", 100.0),
            ("", "measure", "fileCount", None, "", 0.0),
        },
    ),
    "when it last changed": (
        {"dataQualityMetrics": {"lastUpdated": "1970-01-01T01:00:00+00:00", "columnMetrics": {}}},
        {("", "measure", "lastUpdated", None, "", 3600.0)},
    ),
    "when it last changed, which is no time": (
        {"dataQualityMetrics": {"lastUpdated": "yesterday", "columnMetrics": {}}},
        set(),
    ),
    "values of a column": (
        {"dataQualityMetrics": {"columnMetrics": {"id": {"nullCount": 1, "max": 2.5, "quantiles": {"0.5": 2}}}}},
        {
            ("id", "measure", "nullCount", None, "", 1.0),
            ("id", "measure", "max", None, "", 2.5),
            ("id", "measure", "quantile 0.5", None, "", 2.0),
        },
    ),
    "nothing": ({"dataQualityMetrics": {"columnMetrics": {"id": {}}}, **_tested()}, set()),
}


@pytest.mark.parametrize("facet_kind", ["facets", "inputFacets"])
@pytest.mark.parametrize(("facets", "expected"), CASES.values(), ids=CASES)
def test_an_input_gives_its_results(facets: Json, expected: set[tuple[Any, ...]], facet_kind: str) -> None:
    results = _results(inputs=[{**dataset("/a"), facet_kind: facets}])
    assert {(r.column, r.kind, r.name, r.success, r.severity, r.value) for r in results} == expected
    assert {r.qualified_name for r in results} <= {"file:///a"}


def test_the_same_result_of_an_input_and_an_output_counts_once() -> None:
    tested = dataset("/a", **_tested(NOT_NULL, NOT_NULL))
    assert len(_results(inputs=[tested], outputs=[tested])) == 1


def test_a_tested_data_set_has_the_same_name_as_in_lineage() -> None:
    lake = "abfss://raw@acct.dfs.core.windows.net"
    (quality_result,) = _results(inputs=[dataset("/orders", lake, **_tested(NOT_NULL))])
    assert quality_result.qualified_name == "https://acct.dfs.core.windows.net/raw/orders"
    assert (quality_result.namespace, quality_result.dataset) == (lake, "/orders")


def test_a_password_in_a_test_is_not_shown() -> None:
    (quality_result,) = _results(inputs=[dataset("/a", **_tested({**NOT_NULL, "actual": "password=hunter2"}))])
    assert "hunter2" not in quality_result.actual


def _expected_by_great_expectations(*assertions: Json) -> Json:
    return {**dataset("/a"), "inputFacets": {"greatExpectations_assertions": {"assertions": list(assertions)}}}


def test_an_expectation_of_great_expectations_is_a_test() -> None:
    failed = {"expectationType": "expect_column_values_to_not_be_null", "success": False, "column": "id"}
    (quality_result,) = _results(inputs=[_expected_by_great_expectations(failed)])
    assert (quality_result.kind, quality_result.name, quality_result.column, quality_result.success) == (
        "test",
        failed["expectationType"],
        "id",
        False,
    )


def test_a_result_that_openlineages_client_could_not_serialise_is_left_out() -> None:
    known_expectation = {"expectationType": "expect_column_to_exist", "success": True, "column": "id"}
    unknown = {"expectationType": "expect_column_max_to_be_between", "success": "<<non-serializable: bool>>"}
    (quality_result,) = _results(inputs=[_expected_by_great_expectations(unknown, known_expectation)])
    assert quality_result.name == known_expectation["expectationType"]


def test_a_naming_rule_gives_a_table_the_database_that_great_expectations_leaves_out() -> None:
    rule = """
        [[rules]]
        rule = "shop"
        type = "postgresql_table"
        namespace = "postgres://(?P<host>[^/]+)"
        name = "public[.](?P<table>[^.]+)"
        qualified_name = "postgresql://servers/{host}/dbs/shop/schemas/public/tables/{table}"
    """
    place = Place(names=parse_names(rule, "rules.toml"), environment=NO_ENVIRONMENT)
    event = decode(packed(body(inputs=[dataset("public.customers", "postgresql://db.example", **_tested(NOT_NULL))])))
    assert event.body
    (quality_result,) = quality_results(event.body, place)
    assert (
        quality_result.qualified_name == "postgresql://servers/db.example:5432/dbs/shop/schemas/public/tables/customers"
    )


def _executed(*tests: Json) -> Json:
    return {"test": {"tests": list(tests)}}


FRESHNESS: Json = {
    "name": "orders_are_fresh",
    "status": "fail",
    "type": "freshness",
    "severity": "error",
    "actual": "9 h",
}


def test_a_test_of_a_run_is_one_of_each_data_set_that_it_reads() -> None:
    """As dbt sends a test that is a SQL file, and as checks of freshness are sent."""
    results = _results(inputs=["/a", "/b"], run_facets=_executed(FRESHNESS))
    assert {(r.qualified_name, r.name, r.success, r.severity, r.actual) for r in results} == {
        ("file:///a", "freshness/orders_are_fresh", False, "error", "9 h"),
        ("file:///b", "freshness/orders_are_fresh", False, "error", "9 h"),
    }


def test_a_test_of_a_run_without_data_sets_is_kept() -> None:
    (result,) = _results(run_facets=_executed({"name": "smoke", "status": "pass"}))
    assert (result.qualified_name, result.name, result.success) == ("", "smoke", True)


def test_a_test_that_was_not_executed_has_no_result() -> None:
    assert _results(inputs=["/a"], run_facets=_executed({**FRESHNESS, "status": "skip"})) == ()


def test_a_test_that_a_run_and_its_data_sets_have_counts_once() -> None:
    (result,) = _results(inputs=[dataset("/a", **_tested(NOT_NULL))], run_facets=_executed(FRESHNESS))
    assert result.name == "not_null"
