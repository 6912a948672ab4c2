"""Translation of one run: its states, its sources, and noise."""

import time
from typing import Any

import pytest

from shared.model import Process
from shared.openlineage.merging import merge
from shared.translation.run.sql_recovery import table_changed
from shared.translation.run.translate import Skip, Wait, translate
from tests.support.building import IDENTITY, Json, asset, dataset, decoded, lineage, merged, source
from tests.support.events import run_id


def _processes(**fields: Any) -> tuple[Process, ...]:
    result = translate(merged(**fields))
    assert not isinstance(result, Skip | Wait), result
    return result.processes


def _inputs(process: Process) -> list[str]:
    return [input_asset.qualified_name.removeprefix("file://") for input_asset in process.inputs]


STATES: dict[str, tuple[list[str], bool, str]] = {
    "started": (["START"], False, "waiting"),
    "going on": (["START", "RUNNING"], False, "waiting"),
    "complete": (["START", "COMPLETE"], False, "counts"),
    "complete alone": (["COMPLETE"], False, "counts"),
    "failed": (["START", "FAIL"], False, "skipped"),
    "failed, yet complete": (["START", "FAIL", "COMPLETE"], False, "skipped"),
    "complete, yet failed": (["START", "COMPLETE", "FAIL"], False, "skipped"),
    "aborted": (["START", "ABORT"], False, "skipped"),
    "no end for too long": (["START"], True, "end not seen"),
    "complete, and a timeout": (["START", "COMPLETE"], True, "counts"),
    "failed, and a timeout": (["START", "FAIL"], True, "skipped"),
}


@pytest.mark.parametrize(("kinds", "timed_out", "state"), STATES.values(), ids=STATES)
def test_the_event_types_decide_whether_a_run_contributes(kinds: list[str], *, timed_out: bool, state: str) -> None:
    run = merge([decoded(kind, minute=n, inputs=["/in"], outputs=["/out"]) for n, kind in enumerate(kinds)])
    result = translate(run, timed_out=timed_out)
    match result:
        case Wait():
            assert state == "waiting"
            assert result.reason == "no end event yet"
        case Skip():
            assert state == "skipped"
            assert result.reason == "the run failed"
        case _:
            assert result.application_run == run_id("application")
            assert [process.end_not_seen for process in result.processes] == [state == "end not seen"]
            assert state in {"counts", "end not seen"}


NOTHING: dict[str, tuple[dict[str, Any], str]] = {
    "reads only": ({"inputs": ["/in"]}, "reads only"),
    "names nothing": ({}, "names no data set"),
    "an application": ({"application": None}, "an application's own event"),
    "writes a log": (
        {"inputs": ["/in"], "outputs": ["/t/_delta_log"]},
        "writes only logs, checkpoints or staging files",
    ),
    "infers a schema, as old listeners tell it": (
        {"job": "map_partitions_parallel_collection", "inputs": ["/in"], "outputs": ["/in"]},
        "reads only what it writes",
    ),
    "creates a table": ({"job": "create_table.d_t", "outputs": ["/t"]}, "changes a definition, moves no data"),
    "drops a table": ({"job": "drop_table", "outputs": ["/t"]}, "changes a definition, moves no data"),
    "alters a table that it also lists as an input": (
        {"job": "alter_table", "inputs": ["/t"], "outputs": ["/t"]},
        "changes a definition, moves no data",
    ),
}


@pytest.mark.parametrize(("fields", "reason"), NOTHING.values(), ids=NOTHING)
def test_a_skipped_run_has_the_reason(fields: dict[str, Any], reason: str) -> None:
    assert translate(merged(**fields)) == Skip(reason=reason)


@pytest.mark.parametrize("fields", [{"inputs": ["/in"]}, {"outputs": ["/out"]}, {}])
def test_a_run_without_an_end_that_did_not_read_and_write_is_skipped(fields: dict[str, Any]) -> None:
    result = translate(merged("START", **fields), timed_out=True)
    assert result == Skip(reason="no end event and no lineage")


def test_a_write_without_inputs_is_a_process() -> None:
    """The aggregated process decides whether it is noise."""
    (process,) = _processes(outputs=["/out"])
    assert process.inputs == ()
    assert process.outputs == (asset("/out"),)


OPERATIONS = {
    "insert": {"job": "append_data.t"},
    "merge": {"job": "execute_merge_into_command.t"},
    "write": {"job": "brand_new_command.t"},
    "create_table": {"job": "execute_create_table_like_command.t"},
}


@pytest.mark.parametrize(("operation", "fields"), OPERATIONS.items(), ids=OPERATIONS)
def test_the_operation_is_an_attribute(operation: str, fields: dict[str, Any]) -> None:
    (process,) = _processes(inputs=["/in"], outputs=["/out"], **fields)
    assert process.operations == (operation,)


COMMENTS = {
    "none": "",
    "of a line": "-- the nightly load\n",
    "in a block": '/* {"app": "dbt", "node": "delete"} */\n',
    "several": "\n-- one\n/* two\n three */  /**/\n",
}


@pytest.mark.parametrize("comment", COMMENTS.values(), ids=COMMENTS)
@pytest.mark.parametrize("verb", ["merge", "update", "delete"])
def test_the_verb_after_a_comment_decides(comment: str, verb: str) -> None:
    sql = {"sql": {"query": f"{comment}{verb.upper()} something"}}
    (process,) = _processes(job="replace_data.t", job_facets=sql, inputs=["/in"], outputs=["/out"])
    assert process.operations == (verb,)


@pytest.mark.parametrize(
    "statement", ["-- merge\nSELECT 1", "/* merge */ SELECT 1", "/* never ends MERGE x", "-- MERGE x"]
)
def test_a_verb_in_a_comment_does_not_count(statement: str) -> None:
    sql = {"sql": {"query": statement}}
    (process,) = _processes(job="replace_data.t", job_facets=sql, inputs=["/in"], outputs=["/out"])
    assert process.operations == ("insert",)


@pytest.mark.parametrize("comment", COMMENTS.values(), ids=COMMENTS)
def test_the_table_dropped_after_a_comment_is_found(comment: str) -> None:
    assert table_changed(f"{comment}DROP TABLE IF EXISTS db.`stage`") == ("DROP", "db.stage")
    assert table_changed(f"{comment}truncate table stage") == ("TRUNCATE", "stage")


@pytest.mark.parametrize("text", ["/*" * 50_000, "-" * 100_000, " \n" * 50_000, "/**/" * 25_000, "--\n" * 30_000])
def test_a_hostile_beginning_of_a_statement_is_read_in_no_time(text: str) -> None:
    began = time.process_time()
    assert table_changed(text) == ("", "")
    assert time.process_time() - began < 10, "hours if each character began a search to the end"


def test_columns_from_a_statement_belong_to_its_target_alone() -> None:
    def table(name: str, column: str) -> Json:
        link = {"namespace": "hive://h", "name": f"db.{name}", "type": "TABLE"}
        facets = {"schema": {"fields": [{"name": column}]}, "symlinks": {"identifiers": [link]}}
        return {"namespace": "s3://lake", "name": name, "facets": facets}

    sql = {"sql": {"query": "INSERT INTO db.a (p) SELECT y.k FROM db.x y"}}
    written_processes = _processes(
        job="x", job_facets=sql, inputs=[table("x", "k")], outputs=[table("a", "p"), table("b", "q")]
    )
    assert {
        process.name.rpartition(" ")[2]: [edge.output.column for edge in process.columns]
        for process in written_processes
    } == {
        "a": ["p"],
        "b": [],
    }


def test_an_rdd_job_can_only_insert() -> None:
    rdd = {"jobType": {"integration": "SPARK", "jobType": "RDD_JOB"}}
    (process,) = _processes(job="map_partitions_hadoop", job_facets=rdd, inputs=["/in"], outputs=["/out"])
    assert process.operations == ("insert",)


def test_an_application_called_like_a_node_does_not_name_the_operation() -> None:
    (process,) = _processes(app_name="drop_table", job="append_data.t", inputs=["/in"], outputs=["/out"])
    assert process.operations == ("insert",)


def _with_columns(*names: str, sink: str = "/out", **fields: Any) -> Process:
    facet = lineage({"x": [source(name, "x", IDENTITY) for name in names]})
    (process,) = _processes(outputs=[dataset(sink, columnLineage=facet)], **fields)
    return process


def test_sources_that_only_column_lineage_names_are_inputs() -> None:
    """MERGE: `inputs` holds the target alone."""
    process = _with_columns("/staging", "/other", sink="/t", inputs=["/t"])
    assert _inputs(process) == ["/other", "/staging", "/t"]
    assert {column.input.qualified_name for column in process.columns} == {"file:///other", "file:///staging"}


COMPACTED: dict[str, tuple[list[str], list[str], list[str]]] = {
    "single files of a glob": (["/in/daily"], ["/in/daily/sales-1.csv", "/in/daily/sales-2.csv"], ["/in/daily"]),
    "files far below": (["/in"], ["/in/a/b/c.csv"], ["/in"]),
    "the nearest of several folders": (["/in", "/in/a"], ["/in/a/1.csv", "/in/b/1.csv"], ["/in", "/in/a"]),
    "the very input": (["/in/a.csv", "/in"], ["/in/a.csv"], ["/in", "/in/a.csv"]),
    "the root": (["/"], ["/in/a.csv"], ["/"]),
    "a neighbour that only begins alike": (["/in"], ["/in2/a.csv"], ["/in", "/in2/a.csv"]),
    "part files and partitions, without an input": ([], ["/in/day=1/part-00000-a.parquet", "/in/day=2"], ["/in"]),
    "a source inside the sink's folder": ([], ["/out/staging"], ["/out/staging"]),
    "a log": (["/in"], ["/in/_delta_log/0.json"], ["/in"]),
}


@pytest.mark.parametrize(("inputs", "names", "expected"), COMPACTED.values(), ids=COMPACTED)
def test_names_in_column_lineage_are_folded_to_the_runs_inputs(
    inputs: list[str], names: list[str], expected: list[str]
) -> None:
    process = _with_columns(*names, inputs=inputs)
    assert _inputs(process) == expected
    assert {column.input.qualified_name for column in process.columns} <= {f"file://{name}" for name in expected}


def test_the_root_of_a_container_includes_all_files_in_it() -> None:
    facet = lineage({"x": [source("a.csv", "x", IDENTITY, namespace="s3://b")]})
    (process,) = _processes(inputs=[dataset("", namespace="s3://b")], outputs=[dataset("/out", columnLineage=facet)])
    assert [input_asset.qualified_name for input_asset in process.inputs] == ["s3://b/"]


def test_a_folder_of_another_store_does_not_include_the_file() -> None:
    process = _with_columns("/in/a.csv", inputs=[dataset("/in", namespace="dbfs")])
    assert [input_asset.qualified_name for input_asset in process.inputs] == ["dbfs/in", "file:///in/a.csv"]


def test_the_target_may_be_its_own_source_before_aggregation() -> None:
    process = _with_columns("/t", "/in", sink="/t", inputs=["/t"])
    assert _inputs(process) == ["/in", "/t"]
    assert process.outputs == (asset("/t"),)


def test_every_sink_is_a_process() -> None:
    processes = _processes(inputs=["/in"], outputs=["/a", "/b", "/t/_delta_log"])
    assert [process.outputs for process in processes] == [(asset("/a"),), (asset("/b"),)]
    assert all(_inputs(process) == ["/in"] for process in processes)


def test_a_source_in_the_column_lineage_of_one_sink_is_no_source_of_the_other() -> None:
    facet = lineage({"x": [source("/only", "x", IDENTITY)]})
    first, second = _processes(inputs=["/in"], outputs=[dataset("/a", columnLineage=facet), "/b"])
    assert _inputs(first) == ["/in", "/only"]
    assert _inputs(second) == ["/in"]


def test_two_spellings_of_one_sink_are_one_process() -> None:
    (process,) = _processes(inputs=["/in"], outputs=["/out", "/out/", "/out/day=1"])
    assert [output.qualified_name for output in process.outputs] == ["file:///out"]


def test_two_spellings_of_one_input_are_one_input() -> None:
    (process,) = _processes(inputs=["/in/day=2", "/in/day=1", "/in"], outputs=["/out"])
    assert process.inputs == (asset("/in"),)


def test_a_symlink_of_any_spelling_counts() -> None:
    link = {"identifiers": [{"namespace": "hive://h", "name": "d.t", "type": "TABLE"}]}
    spellings = [dataset("t", namespace="s3://b"), dataset("t/day=1", namespace="s3a://b", symlinks=link)]
    (process,) = _processes(inputs=spellings, outputs=["/out"])
    assert [input_asset.qualified_name for input_asset in process.inputs] == ["d.t@h"]


def test_delta_logs_and_checkpoints_are_no_inputs() -> None:
    (process,) = _processes(inputs=["/in", "/in/_delta_log", "/x/_checkpoint/0"], outputs=["/out"])
    assert _inputs(process) == ["/in"]


def test_many_files_in_many_folders_are_folded() -> None:
    """As many folders as files: looking each file up in each folder would take minutes."""
    count = 4000
    process = _with_columns(*(f"/in/{n}/{n}.csv" for n in range(count)), inputs=[f"/in/{n}" for n in range(count)])
    assert len(process.inputs) == count


TABLE = {"identifiers": [{"namespace": "hive://metastore:9083", "name": "crm.customer", "type": "TABLE"}]}


def test_columns_that_name_a_table_by_its_symlink_come_from_the_input_that_has_it() -> None:
    facet = lineage({"x": [source("crm.customer", "x", IDENTITY, namespace="hive://METASTORE:9083")]})
    run = merged(inputs=[dataset("/lake/customer", symlinks=TABLE)], outputs=[dataset("/out", columnLineage=facet)])
    result = translate(run)
    assert not isinstance(result, Skip | Wait)
    (process,) = result.processes
    assert [asset.name for asset in process.inputs] == ["/lake/customer"]
    assert [edge.input.qualified_name for edge in process.columns] == ["file:///lake/customer"]


def test_a_target_that_is_read_by_its_tables_name_is_recognised() -> None:
    target = dataset("/lake/customer", symlinks=TABLE)
    by_name = dataset("crm.customer", namespace="hive://metastore:9083")
    result = translate(merged(inputs=["/in", by_name], outputs=[target]))
    assert not isinstance(result, Skip | Wait)
    (process,) = result.processes
    assert sorted({asset.qualified_name for asset in process.inputs}) == ["file:///in", "file:///lake/customer"]
