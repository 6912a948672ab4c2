"""Selection: events dropped with a reason, and no event dropped that a run's lineage could need."""

from typing import Any

import pytest

from shared.openlineage.decoding import decode
from shared.openlineage.selection import EventFilter, Ignore, Keep, select
from tests.support.building import body, dataset, decoded, packed

WITHOUT_LINEAGE_OR_END = "names no data set and ends no run"
PROPERTIES = {"environment-properties": {"environment-properties": {"spark.databricks.job.id": "42"}}}
NO_PROPERTIES: dict[str, Any] = {"environment-properties": {"environment-properties": {}}}
AIRFLOW = {"jobType": {"integration": "AIRFLOW", "jobType": "TASK"}}

DROPPED: dict[str, tuple[str | None, dict[str, Any], str]] = {
    "a run that goes on": ("RUNNING", {"job": "execute_insert_into_hive_table.d_t"}, WITHOUT_LINEAGE_OR_END),
    "a run that goes on, with empty properties": ("RUNNING", {"run_facets": NO_PROPERTIES}, WITHOUT_LINEAGE_OR_END),
    "something else": ("OTHER", {}, WITHOUT_LINEAGE_OR_END),
    "no type": (None, {}, WITHOUT_LINEAGE_OR_END),
    "SHOW TABLES starts": ("START", {"job": "execute_show_tables_command"}, "lists the catalog"),
    "SHOW TABLES ends": ("COMPLETE", {"job": "execute_show_tables_command"}, "lists the catalog"),
    "SHOW TABLES fails": ("FAIL", {"job": "show_tables"}, "lists the catalog"),
    "DESCRIBE": ("COMPLETE", {"job": "execute_describe_table_command"}, "describes the catalog"),
    "EXPLAIN": ("COMPLETE", {"job": "execute_explain_command"}, "explains a plan"),
    "SET": ("COMPLETE", {"job": "execute_set_command"}, "sets an option"),
    "command": ("COMPLETE", {"job": "command_result"}, "shows what a command gave, which ran before"),
    "USE": ("COMPLETE", {"job": "set_catalog_and_namespace"}, "sets an option"),
}


@pytest.mark.parametrize(("kind", "content", "reason"), DROPPED.values(), ids=DROPPED)
def test_unneeded_events_are_dropped_with_a_reason(kind: str | None, content: dict[str, Any], reason: str) -> None:
    assert select(decoded(kind, **content)) == Ignore(reason=reason)


KEPT: dict[str, tuple[str | None, dict[str, Any]]] = {
    "an application starts": ("START", {"application": None}),
    "an application ends": ("COMPLETE", {"application": None}),
    "an application that is called like an idle operation": ("COMPLETE", {"application": None, "app_name": "show_x"}),
    "an application goes on": ("RUNNING", {"application": None}),
    "a run starts with nothing": ("START", {}),
    "a run ends with nothing: MERGE's COMPLETE": ("COMPLETE", {"job": "execute_merge_into_command.t"}),
    "a run fails with nothing": ("FAIL", {}),
    "a run is aborted with nothing": ("ABORT", {}),
    "a run goes on with an input": ("RUNNING", {"inputs": ["/in"]}),
    "a run goes on with an output": ("RUNNING", {"outputs": ["/out"]}),
    "something else with an input": ("OTHER", {"inputs": ["/in"]}),
    "an idle operation that names a data set": ("COMPLETE", {"job": "execute_show_columns_command", "inputs": ["/in"]}),
    "properties that other runs inherit": ("RUNNING", {"run_facets": PROPERTIES}),
    "properties on an idle operation": ("START", {"job": "execute_set_command", "run_facets": PROPERTIES}),
    "a plan that may be a write": ("START", {"job": "adaptive_spark_plan"}),
    "a node that nobody knows": ("COMPLETE", {"job": "brand_new_command.t"}),
    "only a definition": ("COMPLETE", {"job": "execute_create_table_command.t"}),
    "the end of a write by an application called like an idle operation": (
        "FAIL",
        {"app_name": "show_sales", "job": "execute_insert_into_hive_table.d_t"},
    ),
    "the end of a write whose application's name has an idle part": (
        "COMPLETE",
        {"app_name": "crm.describe_orders.v2", "job": "execute_insert_into_hive_table.d_t"},
    ),
    "a write to a table called like an idle operation": ("COMPLETE", {"job": "append_data.show_tables"}),
    "a task of Airflow called like an idle operation": (
        "FAIL",
        {"app_name": "dag", "job": "show_report", "job_facets": AIRFLOW},
    ),
    "a job that does not say what it is": ("FAIL", {"job": "show_report", "job_facets": {}}),
}


@pytest.mark.parametrize(("kind", "content"), KEPT.values(), ids=KEPT)
def test_events_that_a_runs_lineage_could_need_are_kept(kind: str | None, content: dict[str, Any]) -> None:
    assert select(decoded(kind, **content)) == Keep()


@pytest.mark.parametrize("part", ["inputs", "outputs"])
def test_an_event_with_unreadable_parts_is_kept(part: str) -> None:
    """A later version may be able to read them."""
    broken = decode(packed({**body("RUNNING"), part: [{"name": "/no namespace"}]}))
    assert broken.omitted == (f"{part}[0]",)
    assert select(broken) == Keep()


def test_the_logical_plan_decides_nothing() -> None:
    plan = {"spark.logicalPlan": {"plan": [{"class": "org.apache.spark.sql.catalyst.plans.logical.ShowTables"}]}}
    assert select(decoded("COMPLETE", run_facets=plan)) == Keep()


@pytest.mark.parametrize("parts", [{"job": {"namespace": "n", "name": "j"}}, {"dataset": dataset("/d")}])
def test_events_without_a_run_are_dropped_with_a_reason(parts: dict[str, Any]) -> None:
    decision = select(decode(packed({"eventTime": "2026-11-21T10:00:00Z", **parts})))
    assert decision == Ignore(reason="job or data set event without a run")


def test_a_job_event_with_inputs_is_kept() -> None:
    content = {"job": {"namespace": "n", "name": "j"}, "inputs": [dataset("/in")]}
    assert select(decode(packed({"eventTime": "2026-11-21T10:00:00Z", **content}))) == Keep()


NOT_WANTED = Ignore(reason="operation ignored by the settings")
DELETE: dict[str, Any] = {"job": "execute_delete_command.d_t", "outputs": ["/t"], "run_facets": PROPERTIES}
CHOSEN: dict[str, tuple[EventFilter, dict[str, Any], Keep | Ignore]] = {
    "no settings": (EventFilter(), DELETE, Keep()),
    "an operation that is not wanted": (EventFilter(ignore=("execute_delete_command",)), DELETE, NOT_WANTED),
    "a pattern": (EventFilter(ignore=("append_data", "execute_*_command")), DELETE, NOT_WANTED),
    "a pattern for one character": (EventFilter(ignore=("execute_?elete_command",)), DELETE, NOT_WANTED),
    "a part of a node is not the node": (EventFilter(ignore=("execute_delete",)), DELETE, Keep()),
    "the target is not the node": (EventFilter(ignore=("d_t",)), DELETE, Keep()),
    "a table called like the node": (
        EventFilter(ignore=("append_data",)),
        {**DELETE, "job": "execute_delete_command.append_data"},
        Keep(),
    ),
    "a pattern to keep beats a pattern to ignore": (
        EventFilter(ignore=("execute_*",), keep=("execute_delete_command",)),
        DELETE,
        Keep(),
    ),
    "a node that nobody knows": (
        EventFilter(ignore=("brand_new_*",)),
        {**DELETE, "job": "brand_new_command.t"},
        NOT_WANTED,
    ),
    "an idle operation that is wanted": (EventFilter(keep=("show_*",)), {"job": "show_tables"}, Keep()),
    "another idle operation": (
        EventFilter(keep=("show_*",)),
        {"job": "execute_set_command"},
        Ignore(reason="sets an option"),
    ),
    "an application": (EventFilter(ignore=("*",)), {"application": None, "app_name": "execute_delete_command"}, Keep()),
    "an application called like the node": (
        EventFilter(ignore=("append_data",)),
        {**DELETE, "app_name": "append_data"},
        Keep(),
    ),
}


@pytest.mark.parametrize(("selection", "content", "decision"), CHOSEN.values(), ids=CHOSEN)
@pytest.mark.parametrize("kind", ["START", "COMPLETE", "FAIL"])
def test_settings_drop_or_keep_further_operations(
    kind: str, selection: EventFilter, content: dict[str, Any], decision: Keep | Ignore
) -> None:
    assert select(decoded(kind, **content), selection) == decision
