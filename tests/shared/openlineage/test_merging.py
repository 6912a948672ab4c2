"""Merging: a run is the union of its events, in any order and any number of times."""

import itertools
import random
from datetime import timedelta
from typing import Any

import pytest

from shared.openlineage.decoding import Event
from shared.openlineage.merging import merge, stronger_end
from tests.support.building import IDENTITY, START, dataset, decoded, lineage, source
from tests.support.events import run_id


def _merge_run() -> list[Event]:
    """Delta's MERGE as the listener reports it: COMPLETE lacks the content of START."""
    columns = lineage({"x": [source("/staging", "x", IDENTITY)]})
    links = {"identifiers": [{"namespace": "hive://h", "name": "d.t", "type": "TABLE"}]}
    return [
        decoded("START", minute=0, inputs=["/staging"], outputs=[dataset("/t", columnLineage=columns)]),
        decoded("RUNNING", minute=1, outputs=["/t"]),
        decoded("COMPLETE", minute=2, outputs=[dataset("/t", symlinks=links)]),
    ]


def test_a_run_is_the_union_of_its_events() -> None:
    run = merge(_merge_run())
    assert run.ended == "COMPLETE"
    assert [merged_dataset.name for merged_dataset in run.inputs] == ["/staging"]
    (output,) = run.outputs
    assert output.symlinks == (("hive://h", "d.t"),)
    assert [column for column, _ in output.fields] == ["x"]
    assert (run.first, run.last) == (START, START + timedelta(minutes=2))


def test_order_and_repetition_of_events_do_not_change_the_run() -> None:
    events = _merge_run()
    merged_run = merge(events)
    for order in itertools.permutations(events):
        assert merge(order) == merged_run
        assert merge([*order, *order, order[0]]) == merged_run


def test_events_of_the_same_moment_have_one_order() -> None:
    """Real events have equal times, and their properties contradict each other."""
    contents: list[dict[str, Any]] = [
        {"job": f"append_data.{n}", "run_facets": {"environment-properties": {"environment-properties": {"a": n}}}}
        for n in range(6)
    ]
    events = [decoded("RUNNING", **content) for content in contents]
    merged_run = merge(events)
    for seed in range(50):
        random.Random(seed).shuffle(events)
        assert merge(events) == merged_run


@pytest.mark.parametrize(
    ("kinds", "expected_end"),
    [
        (["START"], None),
        (["START", "RUNNING", "OTHER"], None),
        (["START", "COMPLETE"], "COMPLETE"),
        (["COMPLETE", "FAIL"], "FAIL"),
        (["FAIL", "COMPLETE"], "FAIL"),
        (["ABORT", "COMPLETE"], "ABORT"),
        (["ABORT", "FAIL", "COMPLETE"], "FAIL"),
        (["COMPLETE", "RUNNING"], "COMPLETE"),
    ],
)
def test_failing_beats_completing_in_any_order(kinds: list[str], expected_end: str | None) -> None:
    events = [decoded(kind, minute=minute) for minute, kind in enumerate(kinds)]
    assert {merge(order).ended for order in itertools.permutations(events)} == {expected_end}


def test_the_stronger_end_does_not_depend_on_the_order() -> None:
    for first_end, other in itertools.product([None, "COMPLETE", "ABORT", "FAIL"], repeat=2):
        assert stronger_end(first_end, other) == stronger_end(other, first_end)


def test_the_application_is_taken_from_any_event_that_names_it() -> None:
    run = merge([decoded("START", application=None, app_name="app.append_data"), decoded("COMPLETE", minute=1)])
    assert run.application_run == run_id("application")
    assert run.application
    assert run.application.name == "app"
    assert not run.is_application


def test_a_run_without_a_parent_is_its_own_application() -> None:
    run = merge([decoded("START", run="run", application=None)])
    assert run.application_run == run.run_id == run_id("run")
    assert run.application is None
    assert run.is_application


def test_column_lineage_is_the_union_of_all_facets() -> None:
    first = lineage({"x": [source("/a", "x", IDENTITY)]})
    second = lineage({"x": [source("/b", "x", IDENTITY)], "y": [source("/a", "y", IDENTITY)]}, [source("/a", "z")])
    events = [
        decoded("START", outputs=[dataset("/t", columnLineage=first)]),
        decoded("RUNNING", minute=1, outputs=[dataset("/t", columnLineage=second)]),
        decoded("COMPLETE", minute=2, outputs=[dataset("/t", columnLineage=first)]),
    ]
    (output,) = merge(events).outputs
    assert {column: len(fields) for column, fields in output.fields} == {"x": 2, "y": 1}
    assert [row.field for row in output.rows] == ["z"]


def test_the_latest_value_of_a_property_counts() -> None:
    events = [
        decoded("START", run_facets={"environment-properties": {"environment-properties": {"a": 1, "b": 1}}}),
        decoded("RUNNING", minute=1, run_facets={"environment-properties": {"environment-properties": {"b": 2}}}),
        decoded("COMPLETE", minute=2, run_facets={"environment-properties": {}}),
    ]
    assert merge(events).properties == {"a": 1, "b": 2}


def test_the_omitted_parts_of_all_events_stay_on_record() -> None:
    events = [
        decoded("START", inputs=[{"namespace": "file"}]),
        decoded("COMPLETE", minute=1, outputs=[{"name": "x"}]),
    ]
    assert merge(events).omitted == ("inputs[0]", "outputs[0]")


def _plan_event(kind: str, minute: int, **plan: object) -> Event:
    facet = {"format": 1, "spark": "3.5.9", "application": "local-1", "execution": 3, "joined": True, **plan}
    return decoded(kind, minute=minute, job="append_data", run_facets={"throughline_plan": facet})


def test_an_event_with_a_plan_leaves_the_job_to_the_listener() -> None:
    early = _plan_event("START", minute=-1)
    run = merge([early, *_merge_run(), _plan_event("COMPLETE", minute=3, plan="H4sI")])
    listeners = merge(_merge_run())
    assert early.body
    assert run.job == listeners.job
    assert run.job.name != early.body.job.name
    assert (run.inputs, run.outputs) == (listeners.inputs, listeners.outputs)
    assert run.plan
    assert run.plan.plan == "H4sI"


def test_plan_events_alone_make_a_run_when_the_listener_sent_nothing() -> None:
    run = merge([_plan_event("START", minute=0), _plan_event("COMPLETE", minute=1, plan="H4sI")])
    assert (run.job.name, run.ended) == ("app.append_data", "COMPLETE")
    assert run.plan


@pytest.mark.parametrize(
    ("events", "has_plan", "execution"),
    [
        (_merge_run(), False, None),
        ([_plan_event("COMPLETE", minute=3, plan="H4sI")], True, None),
        ([_plan_event("COMPLETE", minute=3, plan="H4sI", joined=False)], True, 3),
        ([_plan_event("FAIL", minute=3, problem="too large", joined=False)], True, 3),
        ([*_merge_run(), _plan_event("COMPLETE", minute=3, plan="H4sI", joined=False)], True, None),
        ([_plan_event("OTHER", minute=3, joined=False, lost=2)], False, None),
    ],
)
def test_a_run_says_whether_it_has_a_plan_and_of_which_execution_one_came_alone(
    events: list[Event], execution: int | None, *, has_plan: bool
) -> None:
    run = merge(events)
    assert (run.has_plan, run.plan_execution) == (has_plan, execution)


def test_a_failed_plan_fails_a_run_that_the_listener_calls_complete() -> None:
    run = merge([*_merge_run(), _plan_event("FAIL", minute=3, failed="org.apache.spark.SparkException", plan="H4sI")])
    assert run.ended == "FAIL"
