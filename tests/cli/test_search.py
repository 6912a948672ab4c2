"""`throughline search`: the best first, filters, and the nearest name where nothing matches."""

import json

import pytest

from tests.support.building import IDENTITY, body, dataset, lineage, packed, source
from tests.support.cli import Parts
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish

SCHEMA = {"fields": [{"name": "id", "type": "int"}, {"name": "score", "type": "double"}]}


@pytest.fixture
def parts() -> Parts:
    loaded_parts = Parts()
    columns = lineage({"id": [source("/raw/orders", "order_id", IDENTITY)]})
    event = body(inputs=["/raw/orders"], outputs=[dataset("/clean/orders", schema=SCHEMA, columnLineage=columns)])
    for place in post(loaded_parts.storage, packed(event)):
        deliver_event(loaded_parts.storage, place)
    publish(loaded_parts.storage, MemoryCatalog(), loaded_parts.worker.publishing)
    return loaded_parts


def found(parts: Parts, *arguments: str) -> list[tuple[str, str | None]]:
    result = parts.run("search", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return [(entry["dataset"].removeprefix("file://"), entry["column"]) for entry in json.loads(result.stdout)]


def test_results_are_sorted_by_relevance(parts: Parts) -> None:
    assert found(parts, "orders") == [("/clean/orders", None), ("/raw/orders", None)]
    assert found(parts, "id") == [("/clean/orders", "id"), ("/raw/orders", "order_id")]
    assert found(parts, "orders", "--most", "1") == [("/clean/orders", None)]


def test_filters_narrow_the_results(parts: Parts) -> None:
    assert found(parts, "score", "--untraced") == [("/clean/orders", "score")]
    assert found(parts, "orders", "--untraced") == [("/clean/orders", None)]
    assert found(parts, "orders", "--store", "file:") == found(parts, "orders")
    for filters in (("--store", "s3"), ("--tag", "PII"), ("--owner", "me"), ("--orphan",)):
        result = parts.run("search", "orders", *filters)
        assert result.exit_code == 1
        sentence = f"nothing matches 'orders' with {filters[0]}; without filters it matches 2 data sets"
        assert result.stderr == f"error: {sentence}\n"


def test_text_output_is_a_table_with_a_count_of_hidden_results(parts: Parts) -> None:
    result = parts.run("search", "score", "--wide")
    assert "(no known source)" in result.output
    assert "app" in result.output
    short_result = parts.run("search", "orders", "--most", "1")
    assert "1 result not shown" in short_result.stderr


def test_a_search_without_results_suggests_the_nearest_name(parts: Parts) -> None:
    result = parts.run("search", "ordersx")
    assert result.exit_code == 1
    assert "Did you mean orders or" in result.stderr.replace("\n", " ")
