"""`throughline impact`: what a change breaks, by exit code, text, Markdown, JSON and SARIF."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft7Validator  # type: ignore[import-untyped]  # ships no types
from markdown_it import MarkdownIt

from tests.support.building import IDENTITY, Json, body, dataset, lineage, packed, source, step
from tests.support.cli import Parts
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from tests.support.sarif import SARIF

SUM = step("DIRECT", "AGGREGATION")
FILTER = step("INDIRECT", "FILTER")
RULES = """\
[[tag]]
classification = "PII"
datasets = "/raw/orders"
columns = "email"

[[policy]]
name = "training"
datasets = "/gold/mail"
no_tag = "PII"

[[policy]]
name = "totals"
datasets = "/gold/*"
columns = "total"
traced = 100
"""


def written(
    parts: Parts,
    source_name: str,
    target: str,
    columns: dict[str, list[Json]],
    rows: list[Json] | None = None,
    **facets: Json,
) -> None:
    """A job that reads one table and writes another, with these columns."""
    schema = {"fields": [{"name": name, "type": "string"} for name in columns]}
    if any(columns.values()) or rows:
        facets["columnLineage"] = lineage(columns, rows)
    output = dataset(target, "file", schema=schema, **facets)
    event = body(run=target, application=target, app_name=target.strip("/"), inputs=[source_name], outputs=[output])
    for place in post(parts.storage, packed(event)):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)


@pytest.fixture
def parts() -> Parts:
    """Raw orders in silver; from there a sum, a copy, a table that only filters, and one without known columns."""
    loaded_parts = Parts()
    names = ("id", "amount", "email")
    written(
        loaded_parts, "/raw/orders", "/silver/orders", {name: [source("/raw/orders", name, IDENTITY)] for name in names}
    )
    owner = {"owners": [{"name": "finance"}]}
    written(
        loaded_parts,
        "/silver/orders",
        "/gold/revenue",
        {"total": [source("/silver/orders", "amount", SUM)]},
        ownership=owner,
    )
    written(loaded_parts, "/silver/orders", "/gold/mail", {"email": [source("/silver/orders", "email", IDENTITY)]})
    filtered = [source("/silver/orders", "amount", FILTER)]
    written(loaded_parts, "/silver/orders", "/gold/large", {"id": [source("/silver/orders", "id", IDENTITY)]}, filtered)
    return loaded_parts


def test_a_dropped_column_breaks_values_and_filters_with_owner_and_way(parts: Parts) -> None:
    result = parts.run("impact", "/raw/orders.amount")
    assert result.exit_code == 3
    assert result.output.splitlines() == [
        "BROKEN  orders.amount: drop",
        "  break: orders.amount",
        "    orders.amount → orders.amount by silver/orders → orders (identity)",
        "  break: large (all rows)",
        "    orders.amount → orders.amount by silver/orders → orders (identity)",
        "    orders.amount → large (all rows) by gold/large → large (condition)",
        "  break: revenue.total (owner finance)",
        "    orders.amount → orders.amount by silver/orders → orders (identity)",
        "    orders.amount → revenue.total by gold/revenue → revenue (aggregation)",
        "1 broken",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "broken", "unknown"),
    [
        (("/silver/orders.id",), 3, {"large"}, set()),
        (("/silver/orders.amount", "--rename"), 3, {"revenue", "large"}, set()),
        (("/silver/orders.amount", "--retype"), 4, set(), {"revenue", "large"}),
        (("/silver/orders.email", "--retype"), 3, {"mail"}, set()),
        (("/silver/orders",), 3, {"revenue", "mail", "large"}, set()),
        (("/gold/mail.email", "/gold/large"), 0, set(), set()),
    ],
)
def test_what_breaks_by_the_change(
    parts: Parts, arguments: tuple[str, ...], code: int, broken: set[str], unknown: set[str]
) -> None:
    result = parts.run("impact", *arguments, "--json")
    affected = [entry for breakage in json.loads(result.stdout) for entry in breakage["affected"]]
    assert result.exit_code == code
    assert {entry["name"] for entry in affected if entry["verdict"] == "broken"} == broken
    assert {entry["name"] for entry in affected if entry["verdict"] == "not known"} == unknown


def test_a_process_with_unknown_columns_leaves_it_not_known_also_further_down(parts: Parts) -> None:
    written(parts, "/gold/mail", "/gold/blind", {"x": []})
    written(parts, "/gold/blind", "/gold/after", {"x": [source("/gold/blind", "x", IDENTITY)]})
    result = parts.run("impact", "/gold/mail.email", "--json")
    (breakage,) = json.loads(result.stdout)
    assert result.exit_code == 4
    assert [(entry["name"], entry["verdict"]) for entry in breakage["affected"]] == [
        ("blind", "not known"),
        ("after", "not known"),
    ]
    assert [step["target"] for step in breakage["affected"][1]["way"]] == ["blind", "after"]


def test_rules_name_the_policies_and_classifications_that_are_hit(parts: Parts, tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(RULES)
    rules = ("--rules", str(tmp_path / "rules.toml"))
    result = parts.run("impact", "/raw/orders.email", *rules)
    assert "  break: mail.email (classified PII; policy training)" in result.output.splitlines()
    result = parts.run("impact", "/raw/orders.amount", *rules)
    assert "  break: revenue.total (owner finance; policy totals)" in result.output.splitlines()


def test_markdown_is_one_comment_whose_names_are_no_markup(parts: Parts) -> None:
    hostile = "/gold/a|b`c <img src=x> @team https://evil.example"
    written(parts, "/gold/mail", hostile, {"email": [source("/gold/mail", "email", IDENTITY)]})
    text = parts.run("impact", "/gold/mail.email", "--markdown").stdout
    assert text.startswith("<!-- throughline impact -->\n")
    html = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    assert html.count("<tr>") == 2
    assert html.count("<td>") == 7
    assert "<img" not in html
    outside = re.sub(r"<code>.*?</code>", "", html)
    assert "@team" not in outside
    assert "evil" not in outside
    assert "a|b`c &lt;img src=x&gt; @team" in html


def test_sarif_is_valid_and_has_each_broken_data_set(parts: Parts) -> None:
    log = json.loads(parts.run("impact", "/silver/orders", "--sarif").stdout)
    Draft7Validator(SARIF).validate(log)
    assert len(log["runs"][0]["results"]) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("/silver/ordrs",), 1, "no data set like '/silver/ordrs'. The nearest are "),
        (("/silver/ordrs.id",), 1, "The nearest are "),
        (("/silver/orders.amuont",), 1, "has no column 'amuont'. Did you mean amount?"),
        (("orders",), 1, "2 data sets match 'orders'"),
        (("/silver/orders", "--retype"), 2, "only columns have a type"),
        (("/silver/orders", "--drop", "--rename"), 2, "exclude one another"),
        (("/silver/orders", "--json", "--sarif"), 2, "exclude one another"),
        ((), 2, "say what changes"),
    ],
)
def test_bad_input_gets_a_sentence(parts: Parts, arguments: tuple[str, ...], code: int, sentence: str) -> None:
    result = parts.run("impact", *arguments)
    assert result.exit_code == code
    assert sentence in result.stderr


def test_without_lineage_the_answer_is_not_known() -> None:
    result = Parts().run("impact", "orders")
    assert (result.exit_code, "there is no lineage yet" in result.stderr) == (4, True)
