"""`throughline show`: where a column comes from, and the kinds of column pairs."""

import json

import pytest
from msgspec import to_builtins

from tests.support.building import IDENTITY, Json, body, dataset, lineage, packed, source, step
from tests.support.cli import Parts
from tests.support.plans import PlanBuilder, column, facet
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish

SUM = {**step("DIRECT", "AGGREGATION"), "description": "sum(price)"}
HASH = step("DIRECT", "TRANSFORMATION", masking=True)
JOBS = {
    "clean": lineage(
        {"price": [source("/raw/orders", "amount", IDENTITY)], "mail": [source("/raw/orders", "mail", HASH)]}
    ),
    "mart": lineage(
        {
            "total": [source("/lake/clean", "price", SUM)],
            "mail": [source("/lake/clean", "mail", IDENTITY)],
            "address.city": [source("/lake/clean", "price", IDENTITY)],
        }
    ),
}
SOURCES = {"clean": "/raw/orders", "mart": "/lake/clean"}


@pytest.fixture
def parts() -> Parts:
    loaded_parts = Parts()
    for name, columns in JOBS.items():
        facets: Json = {"columnLineage": columns, "schema": {"fields": [{"name": "late", "type": "int"}]}}
        event = body(
            run=name,
            application=f"a{name}",
            app_name=name,
            inputs=[SOURCES[name]],
            outputs=[dataset(f"/lake/{name}", **facets)],
        )
        for place in post(loaded_parts.storage, packed(event)):
            deliver_event(loaded_parts.storage, place)
    publish(loaded_parts.storage, loaded_parts.catalog, loaded_parts.worker.publishing)
    return loaded_parts


@pytest.mark.parametrize("arguments", [("mart.total",), ("lake/mart.total",), ("mart", "--column", "TOTAL")])
def test_a_column_is_shown_with_all_steps_up(parts: Parts, arguments: tuple[str, ...]) -> None:
    result = parts.run("show", *arguments)
    assert result.exit_code == 0, result.output
    lines = [line.lstrip(" │├└─") for line in result.output.splitlines()]
    assert lines[0] == "mart.total file:///lake/mart"
    assert lines[1].startswith("clean.price aggregation: sum(price) by mart")
    assert lines[2].startswith("orders.amount identity by clean")


def test_code_on_the_way_is_opaque() -> None:
    parts, plans = Parts(), PlanBuilder()
    map_node = plans.add("MapInPandas", output=[column(2, "x")], child=plans.table("file:/raw", column(1, "mail")))
    plan = to_builtins(facet(plans.writing(map_node, "file:/made")))
    event = body(inputs=["/raw"], outputs=[dataset("/made")], run_facets={"throughline_plan": plan})
    for place in post(parts.storage, packed(event)):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    assert "raw.mail opaque by" in parts.run("show", "made.x").output
    tree = parts.run("show", "made", "--columns").output
    assert "mail → x (opaque)" in tree
    assert json.loads(parts.run("show", "made.x", "--json").stdout)["origins"][0]["kind"] == "opaque"


def test_a_mask_on_the_way_is_named(parts: Parts) -> None:
    assert "orders.mail mask by clean" in parts.run("show", "mart.mail").output


def test_a_column_may_have_dots(parts: Parts) -> None:
    assert "mart.address.city" in parts.run("show", "mart.address.city").output.splitlines()[0]


def test_the_depth_ends_the_way_and_says_so(parts: Parts) -> None:
    output = parts.run("show", "mart.total", "--depth", "1").output
    assert "orders.amount" not in output
    assert "a higher depth shows them" in output


def test_a_column_without_a_source_says_why(parts: Parts) -> None:
    assert "(its source is not known)" in parts.run("show", "mart.late").output
    assert "no process on record writes it" in parts.run("show", "orders.amount").output


def test_the_column_as_json(parts: Parts) -> None:
    report = json.loads(parts.run("show", "mart.total", "--json").stdout)
    assert (report["dataset"], report["column"], report["kind"]) == ("file:///lake/mart", "total", None)
    (price,) = report["origins"]
    assert (price["column"], price["kind"], price["expression"]) == ("price", "aggregation", "sum(price)")
    assert price["origins"][0]["dataset"] == "file:///raw/orders"


@pytest.mark.parametrize("arguments", [("mart.totl",), ("mart", "--column", "totl")])
def test_an_unknown_column_suggests_the_nearest(parts: Parts, arguments: tuple[str, ...]) -> None:
    result = parts.run("show", *arguments)
    assert result.exit_code == 1
    assert "Did you mean" in result.output
    assert "total" in result.output


def test_the_data_set_comes_before_the_column(parts: Parts) -> None:
    event = body(inputs=["/raw/x"], outputs=["/lake/mart.total"], run="x", application="x")
    for place in post(parts.storage, packed(event)):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    assert "made of" in parts.run("show", "mart.total").output


def test_column_pairs_have_their_kinds(parts: Parts) -> None:
    output = parts.run("show", "mart", "--columns").output
    assert "price → total (aggregation)" in output
    assert "mail → mail (mask)" in output
    assert output.count("mail → mail") == 2
    document = json.loads(parts.run("show", "mart", "--json").stdout)
    step = next(step for step in document["steps"] if step["direction"] == "upstream")
    assert {sink: kind for (_, sink), kind in zip(step["columns"], step["kinds"], strict=True)} == {
        "address.city": "identity",
        "mail": "identity",
        "total": "aggregation",
    }
