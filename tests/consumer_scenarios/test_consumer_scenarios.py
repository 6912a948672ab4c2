"""The six forms of OpenLineage's consumer scenarios, with our own events.

`python -m tests.consumer_scenarios FOLDER` reads the scenarios themselves.
"""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.consumer_scenarios.__main__ import ENTRY, main
from tests.consumer_scenarios.running import consume, scenarios_in
from tests.support.building import IDENTITY, Json, body, dataset, lineage, packed, source, step
from tests.support.events import run_id

AGGREGATION = step("DIRECT", "AGGREGATION")
HDFS = "hdfs://cluster"
WAREHOUSE = "/user/hive/warehouse"


def _table(name: str, columns: Sequence[str] = (), **facets: Any) -> Json:
    """Return a Hive table as Spark names it: by its folder, with its name in the catalog."""
    links = {"identifiers": [{"namespace": "hive://metastore:9083", "name": f"default.{name}", "type": "TABLE"}]}
    schema = {"fields": [{"name": column, "type": "int"} for column in columns]}
    table_facets: Json = {"symlinks": links, **({"schema": schema} if columns else {}), **facets}
    return dataset(f"{WAREHOUSE}/{name}", HDFS, **table_facets)


def _copied(name: str, columns: Sequence[str]) -> Json:
    fields = {column: [source(f"{WAREHOUSE}/{name}", column, IDENTITY, namespace=HDFS)] for column in columns}
    return lineage(fields)


def _simple_run_event() -> list[Json]:
    """Return one COMPLETE event without facets, whose run id is no UUID."""
    event = body(application=None, job_facets={}, inputs=[dataset("d.t.in", "bigquery")])
    event["outputs"] = [dataset("d.t.out", "bigquery")]
    event["run"] = {"runId": "some run", "facets": {}}
    event["job"] = {"namespace": "word", "name": "job", "facets": {}}
    return [event]


def _join() -> list[Json]:
    """Return events of two tables that are created, then joined, aggregated and written to a location."""
    columns = lineage(
        {
            "ident": [source("/t/one", "a", IDENTITY)],
            "total": [source("/t/two", "c", AGGREGATION)],
        }
    )
    out = dataset("/t/out", columnLineage=columns)
    created = {"lifecycleStateChange": "CREATE"}
    return [
        body("START", application=None, run="app", app_name="cll"),
        *(
            body(
                run=name,
                application="app",
                app_name="cll",
                job=f"execute_create_table_command.{name}",
                minute=1,
                outputs=[dataset(f"/t/{name}", lifecycleStateChange=created)],
            )
            for name in ("one", "two")
        ),
        *(
            body(
                kind,
                run="join",
                application="app",
                app_name="cll",
                job="execute_create_hive_table_as_select_command.out",
                minute=minute,
                inputs=["/t/one", "/t/two"],
                outputs=[out],
            )
            for minute, kind in enumerate(("START", "RUNNING", "COMPLETE"), start=2)
        ),
        body(application=None, run="app", app_name="cll", minute=6),
    ]


def _airflow() -> list[Json]:
    """Return events of a DAG's tasks: one copies, one deletes, one only reads, one does nothing."""
    kinds = {"jobType": {"integration": "AIRFLOW", "jobType": "TASK", "processingType": "BATCH"}}
    tasks: dict[str, tuple[list[Json], list[Json]]] = {
        "copy": ([dataset("a.txt", "gs://bucket")], [dataset("b.txt", "gs://bucket")]),
        "delete": ([dataset("a.txt", "gs://bucket")], []),
        "make": ([], [dataset("c.txt", "gs://bucket")]),
        "wait": ([], []),
    }
    return [
        body("START", application=None, run="dag", app_name="dag", job_facets=kinds),
        *(
            body(
                kind,
                run=task,
                application="dag",
                app_name="dag",
                job=task,
                minute=minute,
                job_facets=kinds,
                inputs=inputs if kind == "COMPLETE" else (),
                outputs=outputs if kind == "COMPLETE" else (),
            )
            for task, (inputs, outputs) in tasks.items()
            for minute, kind in ((1, "START"), (2, "COMPLETE"))
        ),
        body(application=None, run="dag", app_name="dag", minute=3, job_facets=kinds),
    ]


def _bigquery() -> list[Json]:
    """Return events of a public table that is shown, then counted into files; RUNNING events name less than others."""
    table = dataset("public.samples.words", "bigquery")
    fields = {"sum(n)": [source("public.samples.words", "n", AGGREGATION, namespace="bigquery")]}
    out = dataset("/tmp/outputs/words", columnLineage=lineage(fields))  # noqa: S108 - a name in an event
    common: dict[str, Any] = {
        "application": "app",
        "app_name": "words",
        "run": "save",
        "job": "adaptive_spark_plan.outputs_words",
    }
    return [
        body("START", application=None, run="app", app_name="words"),
        body("START", application="app", app_name="words", run="show", job="adaptive_spark_plan", inputs=[table]),
        body(application="app", app_name="words", run="show", job="adaptive_spark_plan", minute=1, inputs=[table]),
        body("START", minute=2, inputs=[table], outputs=[out], **common),
        body("RUNNING", minute=3, outputs=[out], **common),
        body("COMPLETE", minute=4, inputs=[table], outputs=[out], **common),
        body(application=None, run="app", app_name="words", minute=5),
    ]


def _insert(*, application: bool) -> list[Json]:
    """Return events of a Hive table that is copied, with or without the application's own events."""
    fields: dict[str, Any] = {"application": "app", "app_name": "copy", "run": "copy"}
    copied = [
        body(
            kind,
            minute=minute,
            job="execute_insert_into_hive_table.warehouse_t2",
            inputs=[_table("t1", ("a", "b"))],
            outputs=[_table("t2", ("a", "b"), columnLineage=_copied("t1", ("a", "b")))],
            **fields,
        )
        for minute, kind in ((5, "START"), (6, "RUNNING"), (7, "COMPLETE"))
    ]
    if not application:
        return copied
    dropped = {"lifecycleStateChange": "DROP"}
    common_fields: dict[str, Any] = {"application": "app", "app_name": "copy"}
    return [
        body("START", application=None, run="app", app_name="copy"),
        body(
            minute=1,
            run="drop",
            job="drop_table.warehouse_t1",
            outputs=[_table("t1", lifecycleStateChange=dropped)],
            **common_fields,
        ),
        body(
            minute=2,
            run="fill",
            job="execute_insert_into_hive_table.t1",
            outputs=[_table("t1", ("a", "b"))],
            **common_fields,
        ),
        *copied,
        body(
            minute=8,
            run="ctas",
            job="execute_create_hive_table_as_select_command.default_t2",
            outputs=[_table("t2", ("a", "b"), lifecycleStateChange={"lifecycleStateChange": "CREATE"})],
            **common_fields,
        ),
        body(application=None, run="app", app_name="copy", minute=9),
    ]


T1, T2 = "default.t1@metastore", "default.t2@metastore"
SHAPES: dict[str, tuple[list[Json], dict[tuple[tuple[str, ...], str], tuple[str, ...]]]] = {
    "simple_run_event": (_simple_run_event(), {(("bigquery://d/t/in",), "bigquery://d/t/out"): ()}),
    "CLL": (
        _join(),
        {
            (("file:///t/one", "file:///t/two"), "file:///t/out"): (
                "file:///t/one#a -> file:///t/out#ident",
                "file:///t/two#c -> file:///t/out#total",
            )
        },
    ),
    "airflow": (_airflow(), {(("gs://bucket/a.txt",), "gs://bucket/b.txt"): ()}),
    "spark_dataproc_bigquery_shakespare": (
        _bigquery(),
        {
            (("bigquery://public/samples/words",), "file:///tmp/outputs/words"): (
                "bigquery://public/samples/words#n -> file:///tmp/outputs/words#sum(n)",
            )
        },
    ),
    "spark_dataproc_simple_producer_test": (
        _insert(application=False),
        {((T1,), T2): (f"{T1}#a -> {T2}#a", f"{T1}#b -> {T2}#b")},
    ),
    "spark_dataproc_simple_producer_test_complete": (
        _insert(application=True),
        {((T1,), T2): (f"{T1}#a -> {T2}#a", f"{T1}#b -> {T2}#b")},
    ),
}


@pytest.mark.parametrize(("events", "expected"), SHAPES.values(), ids=SHAPES)
def test_a_scenario_gives_the_expected_processes(
    events: list[Json], expected: dict[tuple[tuple[str, ...], str], tuple[str, ...]]
) -> None:
    state = consume(map(packed, events))
    assert state.omitted == ()
    assert {
        (tuple(process["inputs"]), *process["outputs"]): tuple(process["columns"]) for process in state.document
    } == expected
    assert set(state.runs.values()) <= {"contributed", "skipped"}


def test_the_entry_has_a_scenario_for_each_shape() -> None:
    assert {path.name for path in (ENTRY / "scenarios").iterdir()} == SHAPES.keys()
    for name in SHAPES:
        config = json.loads((ENTRY / f"scenarios/{name}/config.json").read_text())
        for test in config["tests"]:
            assert json.loads((ENTRY / f"scenarios/{name}" / test["path"]).read_text())


def _copy(folder: Path, events: dict[str, Json]) -> None:
    for name, event in events.items():
        path = folder / f"consumer/scenarios/{name}/events/1.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(event))


def test_a_work_tree_and_a_git_directory_give_the_same_scenarios(tmp_path: Path) -> None:
    _copy(tmp_path / "tree", {"simple_run_event": _simple_run_event()[0]})
    git = ["git", "-C", str(tmp_path / "tree"), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *words], check=True, timeout=60)
    subprocess.run(
        ["git", "clone", "-q", "--bare", str(tmp_path / "tree"), str(tmp_path / "bare")],
        check=True,
        timeout=60,
    )
    expected = {"simple_run_event": (json.dumps(_simple_run_event()[0]).encode(),)}
    assert scenarios_in(tmp_path / "tree") == scenarios_in(tmp_path / "bare") == expected


def test_a_scenario_with_another_result_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = {**_simple_run_event()[0], "run": {"runId": ""}}
    _copy(tmp_path, {"simple_run_event": _simple_run_event()[0], "airflow": refused})
    assert main([str(tmp_path)]) == 1
    output = capsys.readouterr().out
    assert "simple_run_event: 1 events, 1 runs, 1 processes: differs" in output
    assert "airflow: an event was refused: A run's id must not be empty" in output
    assert run_id("run") not in output
