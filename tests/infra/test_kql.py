"""Kusto's own language service analyses every query against the tables' columns; planted mistakes are found."""

import json
import re
from pathlib import Path

import pytest

from tests.infra.kusto.analyser import TABLES, Analysis, analyse

ROOT = Path(__file__).parents[2]
INFRA = ROOT / "infra"
FILES = {path.stem: path.read_text() for path in sorted((INFRA / "queries").glob("*.kql"))}
IN_PAGES = {
    f"{page.name} {number}": block
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for number, block in enumerate(re.findall(r"^```kusto\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL), 1)
}
QUERIES = FILES | IN_PAGES
LOADED = (INFRA / "queries.bicep").read_text()
ALERTS = [row["name"] for row in json.loads((INFRA / "alerts.json").read_text())["log"]]
TILES = {row["query"]: row["view"] for row in json.loads((INFRA / "workbook.json").read_text())}
"""The queries of the alerts, and those of the workbook with what shows their rows."""

PLANTED = {
    "a column that is not there": (
        "AppTraces | where Mesage has 'sweep'",
        "'Mesage' does not refer to any known column",
    ),
    "a column of another table": ("AppRequests | project Message", "'Message' does not refer to any known column"),
    "a column that an operator left out": (
        "AppTraces | project TimeGenerated | where Message has 'sweep'",
        "'Message' does not refer to any known column",
    ),
    "a table that is not there": ("AppTrace | take 1", "'AppTrace' does not refer to any known table"),
    "a function that is not there": ("AppTraces | summarize counts()", "'counts' does not refer to any known function"),
    "an aggregate outside of summarize": ("AppTraces | where count() > 1", "'count'"),
    "an argument too few": ("AppTraces | extend Step = bin(TimeGenerated)", "bin"),
    "an unknown operator": ("AppTraces | wher true", "wher"),
    "an expression that is missing": ("AppTraces | where", "Missing expression"),
    "types that cannot be compared": ("AppTraces | where Message > 5", "not defined for the operand types"),
}
UNSUPPORTED_IN_ALERTS = ("bag_unpack", "pivot", "narrow")
"""Operators that alert rules do not support: https://learn.microsoft.com/azure/azure-monitor/alerts/alerts-create-log-alert-rule."""


@pytest.fixture(scope="module")
def analyses() -> dict[str, Analysis]:
    """All queries and all planted mistakes, in one node process."""
    planted = {name: query for name, (query, _) in PLANTED.items()}
    return analyse(QUERIES | planted | {f"{name}, misspelt": _misspelt(query) for name, query in FILES.items()})


def _misspelt(query: str) -> str:
    """Yield the query with a wrong letter in each of the most used columns."""
    return query.replace("TimeGenerated", "TimeGnerated").replace("Message", "Mesage").replace("Name", "Nmae")


@pytest.mark.parametrize("name", QUERIES)
def test_kusto_finds_no_problem_in_the_queries(name: str, analyses: dict[str, Analysis]) -> None:
    assert analyses[name].problems == ()
    assert analyses[name].columns


@pytest.mark.parametrize(("name", "message"), [(name, message) for name, (_, message) in PLANTED.items()], ids=PLANTED)
def test_a_planted_mistake_is_found(name: str, message: str, analyses: dict[str, Analysis]) -> None:
    assert message in " ".join(analyses[name].problems)


@pytest.mark.parametrize("name", FILES)
def test_a_mistake_in_a_real_query_is_found(name: str, analyses: dict[str, Analysis]) -> None:
    """So no query passes unanalysed."""
    assert analyses[f"{name}, misspelt"].problems


def test_templates_hold_no_query_of_their_own() -> None:
    """So each deployed query is in infra/queries, and is analysed."""
    loaded = re.findall(r"^  '?([\w-]+)'?: loadTextContent\('queries/([\w-]+)\.kql'\)$", LOADED, re.MULTILINE)
    assert loaded == [(name, name) for name in FILES]
    for module in ("alerts", "workbook"):
        text = (INFRA / f"modules/{module}.bicep").read_text()
        assert set(re.findall(r"\bquery: (.+)", text)) <= {"queries[rule.name]", "queries[part.query]"}


def test_the_queries_read_every_listed_table() -> None:
    words = set(re.findall(r"\w+", "\n".join(QUERIES.values())))
    assert {table for table in TABLES if table not in words} == set()


def test_alert_queries_use_only_the_language_of_log_alert_rules() -> None:
    assert ALERTS
    for name in ALERTS:
        words = re.findall(r"\w+", FILES[name])
        assert not set(words) & {*UNSUPPORTED_IN_ALERTS, "AggregatedValue"}
        assert all(re.fullmatch(r"\d+[dhms]", ago) for ago in re.findall(r"\bago\((.*?)\)", FILES[name]))
        assert len(FILES[name].encode()) < 1 << 16


def test_charts_over_time_have_a_datetime_column(analyses: dict[str, Analysis]) -> None:
    charts = [name for name, view in TILES.items() if view == "timechart"]
    assert charts
    for name in charts:
        assert "datetime" in analyses[name].columns.values()
