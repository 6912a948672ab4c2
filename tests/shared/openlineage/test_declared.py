"""Tags, owners, descriptions and data quality of events: decoded, merged, redacted."""

import itertools
import json
from typing import Any

import pytest

from shared.openlineage.decoding import decode
from shared.openlineage.merging import fold, merge
from shared.redaction import redacted
from tests.support.building import Json, body, dataset, decoded, merged, packed

TAGS = {"tags": [{"key": "pii", "value": "true", "source": "USER", "field": "mail"}, {"key": "tier", "value": "gold"}]}
OWNERS = {"owners": [{"name": "team:sales", "type": "MAINTAINER"}, {"name": "user:ann"}]}
ASSERTIONS = {
    "assertions": [
        {"assertion": "not_null", "success": False, "column": "id", "severity": "warn", "expected": "0", "actual": "7"},
        {"assertion": "row_count", "success": True},
    ]
}
METRICS = {
    "rowCount": 9,
    "bytes": 100,
    "columnMetrics": {"id": {"nullCount": 7, "distinctCount": 2, "min": 1.5, "max": 9, "quantiles": {"0.5": 3.0}}},
}


def test_declarations_for_a_data_set_are_merged() -> None:
    facets: Json = {"tags": TAGS, "ownership": OWNERS, "documentation": {"description": " Orders. ", "contentType": ""}}
    (output,) = merged(outputs=[dataset("/o", **facets)]).outputs
    assert output.tags == (("pii", "true", "mail"), ("tier", "gold", ""))
    assert output.owners == ("team:sales", "user:ann")
    assert output.description == "Orders."


def test_declarations_for_a_run_and_its_job_are_merged() -> None:
    run = merged(
        run_facets={"tags": {"tags": [{"key": "ticket", "value": "7"}]}},
        job_facets={"tags": TAGS, "ownership": OWNERS, "documentation": {"description": "Loads orders."}},
    )
    assert run.tags == (("ticket", "7", ""),)
    assert run.job_tags == (("pii", "true", "mail"), ("tier", "gold", ""))
    assert (run.owners, run.description) == (("team:sales", "user:ann"), "Loads orders.")


def test_order_and_repetition_of_events_do_not_change_the_declarations() -> None:
    events = [
        decoded("START", minute=0, outputs=[dataset("/o", documentation={"description": "Old."}, tags=TAGS)]),
        decoded("RUNNING", minute=1, outputs=[dataset("/o", ownership=OWNERS)]),
        decoded("COMPLETE", minute=2, outputs=[dataset("/o", documentation={"description": "New."})]),
    ]
    merged_run = merge(events)
    assert (merged_run.outputs[0].description, merged_run.outputs[0].owners) == ("New.", ("team:sales", "user:ann"))
    for order in itertools.permutations(events):
        assert merge([*order, *order]) == merge(fold(order)) == merged_run


ODD: dict[str, tuple[str, Any, str]] = {
    "a tag without a key": ("tags", {"tags": [{"value": "x"}]}, "inputs[0].facets.tags"),
    "a tag whose value is a number": ("tags", {"tags": [{"key": "a", "value": 7}]}, "inputs[0].facets.tags"),
    "an owner without a name": ("ownership", {"owners": [{}]}, "inputs[0].facets.ownership"),
    "a description that is a list": ("documentation", {"description": []}, "inputs[0].facets.documentation"),
    "a test without a result": (
        "dataQualityAssertions",
        {"assertions": [{"assertion": "unique"}]},
        "inputs[0].facets.dataQualityAssertions",
    ),
    "a count that is text": (
        "dataQualityMetrics",
        {"columnMetrics": {"id": {"nullCount": "many"}}},
        "inputs[0].facets.dataQualityMetrics",
    ),
    "explicit lineage of a wrong type": ("lineage", {"inputs": 7}, "inputs[0].facets.lineage"),
}


@pytest.mark.parametrize(("name", "value", "path"), ODD.values(), ids=ODD)
def test_only_the_facet_of_a_wrong_shape_is_left_out(name: str, value: Any, path: str) -> None:
    schema = {"fields": [{"name": "id"}]}
    event = decode(packed(body(inputs=[dataset("/a", schema=schema, **{name: value})])))
    assert event.omitted == (path,)
    assert event.body
    assert event.body.inputs
    assert event.body.inputs[0].facets
    assert event.body.inputs[0].facets.dataset_schema


def test_facets_that_declare_nothing_change_nothing() -> None:
    empty: Json = {"tags": {"tags": []}, "ownership": {}, "documentation": {"description": ""}}
    assert merged(inputs=[dataset("/a", **empty)], outputs=["/b"]) == merged(inputs=["/a"], outputs=["/b"])


def test_redaction_keeps_declarations_and_no_values_from_quality_tests() -> None:
    quality: Json = {"dataQualityAssertions": ASSERTIONS, "dataQualityMetrics": METRICS}
    input_dataset = {**dataset("/a", tags=TAGS, ownership=OWNERS, **quality), "inputFacets": quality}
    sent_event = packed(
        body(inputs=[input_dataset], outputs=[dataset("/b", documentation={"description": "token=abc123xyz789"})])
    )
    stored = json.loads(redacted(decode(sent_event)))
    (stored_input,) = stored["inputs"]
    assert stored_input["facets"]["tags"] == TAGS
    assert stored_input["facets"]["ownership"] == OWNERS
    for facets in (stored_input["facets"], stored_input["inputFacets"]):
        first, second = facets["dataQualityAssertions"]["assertions"]
        assert first == {"assertion": "not_null", "success": False, "column": "id", "severity": "warn"}
        assert second == {"assertion": "row_count", "success": True}
        assert facets["dataQualityMetrics"]["columnMetrics"] == {"id": {"nullCount": 7.0, "distinctCount": 2.0}}
    assert "abc123xyz789" not in json.dumps(stored)
    assert redacted(decode(redacted(decode(sent_event)))) == redacted(decode(sent_event))


def test_redaction_keeps_known_results_of_great_expectations_only() -> None:
    known_result = {"expectationType": "expect_column_to_exist", "success": False, "column": "id"}
    assertions = [
        known_result,
        {"expectationType": "expect_column_max_to_be_between", "success": "<<max of ann is 7>>"},
    ]
    input_dataset = {**dataset("/a"), "inputFacets": {"greatExpectations_assertions": {"assertions": assertions}}}
    stored = json.loads(redacted(decode(packed(body(inputs=[input_dataset])))))
    assert stored["inputs"][0]["inputFacets"] == {"greatExpectations_assertions": {"assertions": [known_result]}}
