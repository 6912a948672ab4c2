"""Lineage across the runs of one application: stream batches, lifecycle events, notebooks, table names."""

import json
from itertools import permutations
from typing import Any

import pytest

from shared.model import Process
from shared.openlineage.decoding import decode
from shared.translation.reference import NO_PROCESS, translate_history
from tests.support.events import event, run_id
from tests.support.golden import FOLDERS, _events

PATH = "spark.databricks.notebook.path"
Events = list[bytes]


def processes(events: Events) -> tuple[Process, ...]:
    return translate_history(map(decode, events)).processes


def shown(events: Events) -> dict[str, list[str]]:
    return {process.outputs[0].name: [asset.name for asset in process.inputs] for process in processes(events)}


def wrote(run: str, clock_time: str, sources: str, sink: str, **fields: Any) -> bytes:
    return event(
        run,
        "COMPLETE",
        f"10:{clock_time}",
        inputs=sources.split(),
        outputs=[sink],
        application=fields.pop("app", "app"),
        **fields,
    )


def column(run: str, clock_time: str, start: tuple[str, str], end: tuple[str, str]) -> bytes:
    return wrote(run, clock_time, start[0], end[0], columns={end[1]: [start]})


def lifecycle(state: str, clock_time: str, path: str, previous_path: str = "", app: str = "app") -> bytes:
    return event(
        f"{state}{path}{clock_time}",
        "COMPLETE",
        f"10:{clock_time}",
        outputs=[path],
        application=app,
        states={path: (state, previous_path)},
    )


def batch(run: str, began: str, end_time: str, source: str) -> Events:
    return [
        event(run, kind, f"10:{clock_time}", inputs=[source], application="app", streaming=True)
        for kind, clock_time in (("START", began), ("COMPLETE", end_time))
    ]


def alone(run: str, began: str, end_time: str, sink: str) -> Events:
    return [
        event(run, kind, f"10:{clock_time}", inputs=[sink], outputs=[sink], application="app")
        for kind, clock_time in (("START", began), ("COMPLETE", end_time))
    ]


CASES: dict[str, tuple[Events, dict[str, list[str]]]] = {
    "a write inside of a batch reads what the batch reads": (
        [*batch("b", "00:00", "00:09", "/in"), *alone("m", "00:01", "00:08", "/out")],
        {"/out": ["/in"]},
    ),
    "a write before the batch does not": (
        [*batch("b", "00:02", "00:09", "/in"), *alone("m", "00:01", "00:08", "/out")],
        {},
    ),
    "a write that outlives the batch does not": (
        [*batch("b", "00:00", "00:07", "/in"), *alone("m", "00:01", "00:08", "/out")],
        {},
    ),
    "a write that names a source has no need of it": (
        [*batch("b", "00:00", "00:09", "/in"), wrote("m", "00:08", "/own", "/out")],
        {"/out": ["/own"]},
    ),
    "of two batches the first to end is the one": (
        [
            *batch("b", "00:00", "00:09", "/one"),
            *batch("c", "00:00", "00:30", "/two"),
            *alone("m", "00:01", "00:08", "/out"),
        ],
        {"/out": ["/one"]},
    ),
    "of two that end at once, the one that another round confirms": (
        [
            *batch("b", "00:00", "00:09", "/one"),
            *batch("c", "00:00", "00:09", "/two"),
            *alone("m", "00:01", "00:08", "/out"),
            *batch("d", "01:00", "01:09", "/two"),
            *alone("n", "01:01", "01:08", "/out"),
        ],
        {"/out": ["/two"]},
    ),
    "a batch without a START encloses what ended just before it": (
        [batch("b", "00:00", "00:09", "/in")[1], alone("m", "00:01", "00:08.5", "/out")[1]],
        {"/out": ["/in"]},
    ),
    "and nothing that ended long before": (
        [batch("b", "00:00", "00:09", "/in")[1], alone("m", "00:01", "00:02", "/out")[1]],
        {},
    ),
    "a stream's single file is its folder's": (
        [wrote("m", "00:08", "/in/part-00000-a.snappy.parquet", "/out", streaming=True)],
        {"/out": ["/in/part-00000-a.snappy.parquet".rpartition("/")[0]]},
    ),
    "a staging table never shows": (
        [
            wrote("a", "01:00", "/a", "/stage"),
            wrote("b", "02:00", "/stage", "/out"),
            lifecycle("DROP", "03:00", "/stage"),
        ],
        {"/out": ["/a"]},
    ),
    "a chain of them neither": (
        [
            wrote("a", "01:00", "/a", "/s1"),
            wrote("b", "02:00", "/s1", "/s2"),
            wrote("c", "03:00", "/s2 /b", "/out"),
            lifecycle("DROP", "04:00", "/s1"),
            lifecycle("DROP", "05:00", "/s2"),
        ],
        {"/out": ["/a", "/b"]},
    ),
    "a circle of them is no endless story": (
        [
            wrote("a", "01:00", "/s2 /a", "/s1"),
            wrote("b", "02:00", "/s1", "/s2"),
            wrote("c", "03:00", "/s2", "/out"),
            lifecycle("DROP", "04:00", "/s1"),
            lifecycle("DROP", "05:00", "/s2"),
        ],
        {"/out": ["/a"]},
    ),
    "a table that is dropped before it is made stays": (
        [lifecycle("DROP", "01:00", "/t"), wrote("a", "02:00", "/a", "/t"), wrote("b", "03:00", "/t", "/out")],
        {"/out": ["/t"], "/t": ["/a"]},
    ),
    "what another application dropped is not temporary": (
        [
            wrote("a", "01:00", "/a", "/t"),
            wrote("b", "02:00", "/t", "/out"),
            lifecycle("DROP", "03:00", "/t", app="other"),
        ],
        {"/out": ["/t"], "/t": ["/a"]},
    ),
    "a table created again has its last sources only": (
        [wrote("a", "01:00", "/a", "/t"), lifecycle("DROP", "02:00", "/t"), wrote("b", "03:00", "/b", "/t")],
        {"/t": ["/b"]},
    ),
    "a table that is emptied in between hands on what was in it": (
        [
            wrote("a", "01:00", "/a", "/s"),
            wrote("b", "02:00", "/s", "/one"),
            lifecycle("TRUNCATE", "03:00", "/s"),
            wrote("c", "04:00", "/b", "/s"),
            wrote("d", "05:00", "/s", "/two"),
            lifecycle("DROP", "06:00", "/s"),
        ],
        {"/one": ["/a"], "/two": ["/b"]},
    ),
    "a renamed table is called by its new name": (
        [
            wrote("a", "01:00", "/a", "/new"),
            wrote("b", "02:00", "/new", "/report"),
            lifecycle("RENAME", "03:00", "/now", previous_path="/new"),
        ],
        {"/now": ["/a"], "/report": ["/now"]},
    ),
    "what is written under the old name later is another table": (
        [
            wrote("a", "01:00", "/a", "/new"),
            lifecycle("RENAME", "02:00", "/now", previous_path="/new"),
            wrote("b", "03:00", "/b", "/new"),
        ],
        {"/new": ["/b"], "/now": ["/a"]},
    ),
}


@pytest.mark.parametrize(("events", "expected"), CASES.values(), ids=CASES)
def test_staging_is_eliminated(events: Events, expected: dict[str, list[str]]) -> None:
    assert shown(events) == expected
    assert shown([*reversed(events), *events]) == expected


def test_columns_go_straight_through_a_staging_table() -> None:
    (process,) = processes(
        [
            column("a", "01:00", ("/a", "price"), ("/stage", "amount")),
            column("b", "02:00", ("/stage", "amount"), ("/out", "total")),
            lifecycle("DROP", "03:00", "/stage"),
        ]
    )
    (edge,) = process.columns
    assert (edge.input.qualified_name, edge.input.column) == ("file:///a", "price")
    assert (edge.output.qualified_name, edge.output.column) == ("file:///out", "total")


def test_a_column_of_a_staging_table_that_came_from_nowhere_is_sourceless() -> None:
    (process,) = processes(
        [
            wrote("a", "01:00", "/a", "/stage"),
            column("b", "02:00", ("/stage", "rate"), ("/out", "risk")),
            lifecycle("DROP", "03:00", "/stage"),
        ]
    )
    assert process.columns == ()
    assert [sourceless_column.column for sourceless_column in process.sourceless] == ["risk"]


def test_a_run_with_a_dropped_output_is_skipped_and_one_with_a_renamed_output_published() -> None:
    events = [
        wrote("gone", "01:00", "/a", "/stage"),
        lifecycle("DROP", "02:00", "/stage"),
        wrote("moved", "03:00", "/a", "/new"),
        lifecycle("RENAME", "04:00", "/now", previous_path="/new"),
    ]
    verdicts = {
        run_verdict.run_id: (run_verdict.state, run_verdict.reason)
        for run_verdict in translate_history(map(decode, events)).runs
    }
    assert verdicts[run_id("gone")] == ("skipped", NO_PROCESS)
    assert verdicts[run_id("moved")] == ("published", None)


def notebook(run: str, clock_time: str, path: str) -> bytes:
    return event(run, "RUNNING", f"10:{clock_time}", application="app", properties={PATH: path})


def test_a_run_inherits_the_one_notebook_of_its_application() -> None:
    other_events = [notebook("b", "02:00", "/Users/ada/load"), wrote("b", "02:30", "/b", "/two")]
    events = [wrote("a", "01:00", "/a", "/one"), *other_events]
    for order in permutations(events):
        assert {process.name for process in processes(list(order))} == {
            "notebook /Users/ada/load → one",
            "notebook /Users/ada/load → two",
        }


def test_of_several_notebooks_none_is_inherited() -> None:
    events = [
        wrote("a", "01:00", "/a", "/one"),
        *(notebook(run, "02:00", f"/Users/ada/{run}") for run in "bc"),
        wrote("b", "02:30", "/b", "/two"),
        event("c", "COMPLETE", "10:02:40", application="app"),
    ]
    assert {process.name for process in processes(events)} == {"app → one", "notebook /Users/ada/b → two"}


def test_a_mount_known_from_another_run_is_followed() -> None:
    mounts: Any = [{"mountPoint": "/mnt/raw", "source": "abfss://raw@contoso.dfs.core.windows.net/"}]
    events = [
        wrote("a", "01:00", "/mnt/raw/orders", "/out"),
        event("b", "RUNNING", "10:02:00", application="app", properties={"mountPoints": mounts}),
        wrote("b", "02:30", "/b", "/two"),
    ]
    inputs = {asset.qualified_name for process in processes(events) for asset in process.inputs}
    assert inputs == {"https://contoso.dfs.core.windows.net/raw/orders", "file:///b"}


TABLES = {f"/{name}": f"default.{name}" for name in ("a", "b", "rates", "out")}
SUBQUERY = "INSERT INTO out SELECT b.x, (SELECT max(r.y) FROM rates r) AS top FROM b"


def test_a_table_that_only_a_statement_names_is_found_by_events_of_another_run() -> None:
    events = [
        wrote("a", "01:00", "/a", "/rates", tables=TABLES),
        wrote("b", "02:00", "/b", "/out", tables=TABLES, sql=SUBQUERY),
    ]
    for order in permutations(events):
        processes_by_output = {process.outputs[0].name: process for process in processes(list(order))}
        assert [asset.name for asset in processes_by_output["/out"].inputs] == ["/b", "/rates"]
        assert processes_by_output["/out"].parsed == ("file:///rates",)


def test_an_unknown_table_is_left_out() -> None:
    assert shown([wrote("b", "02:00", "/b", "/out", tables=TABLES, sql=SUBQUERY)]) == {"/out": ["/b"]}


def test_sources_of_a_statement_with_another_target_are_ignored() -> None:
    events = [
        wrote("a", "01:00", "/a", "/rates", tables=TABLES),
        wrote("b", "02:00", "/b", "/out", tables=TABLES, sql=SUBQUERY.replace("INTO out", "INTO elsewhere")),
    ]
    assert shown(events)["/out"] == ["/b"]


SHELL = "adb-123.12.azuredatabricks.net.execute_insert_into_hadoop_fs_relation_command.out"


def test_the_identity_by_notebook_replaces_the_generic_name_of_the_job() -> None:
    """Yesterday no event named the notebook; today one does, and today's application run has ended."""
    nameless = [
        event("old", "COMPLETE", "09:00:00", inputs=["/a"], outputs=["/out"], application="monday", job=SHELL),
        event("monday", "COMPLETE", "09:30:00"),
    ]
    known_events = [
        event("new", "RUNNING", "10:00:00", application="tuesday", job=SHELL, properties={PATH: "/Users/ada/load"}),
        event("new", "COMPLETE", "10:01:00", inputs=["/b"], outputs=["/out"], application="tuesday", job=SHELL),
    ]
    rename = [
        content.replace(b'"name": "app"', b'"name": "databricks_shell"') for content in (*nameless, *known_events)
    ]
    end_event = event("tuesday", "COMPLETE", "10:30:00")
    assert [(process.name, process.generic_identity) for process in processes(rename[:2])] == [
        ("databricks_shell → out", True)
    ]
    assert {process.name for process in processes(rename)} == {
        "databricks_shell → out",
        "notebook /Users/ada/load → out",
    }
    assert {process.name for process in processes([*rename, end_event])} == {"notebook /Users/ada/load → out"}


def test_a_notebook_that_only_infers_a_schema_replaces_no_process() -> None:
    """An older listener reports a read and a write of the same data set; it wrote nothing, so earlier writes stay."""
    looks = event(
        "new",
        "COMPLETE",
        "10:01:00",
        inputs=["/out"],
        outputs=["/out"],
        application="tuesday",
        job="databricks_shell.map_partitions_parallel_collection",
        properties={PATH: "/Users/ada/look"},
    )
    events = [
        event("old", "COMPLETE", "09:00:00", inputs=["/a"], outputs=["/out"], application="monday", job=SHELL),
        looks,
        event("tuesday", "COMPLETE", "10:30:00"),
    ]
    events = [content.replace(b'"name": "app"', b'"name": "databricks_shell"') for content in events]
    assert {process.name for process in processes(events)} == {"databricks_shell → out"}


@pytest.mark.parametrize("reads", [1, 2], ids=["one after the other", "each made of two before it"])
def test_a_long_chain_of_staging_tables_is_eliminated(reads: int) -> None:
    length = 400
    names = ["/first", *(f"/s{number}" for number in range(length)), "/last"]
    events = [
        wrote(name, f"{number // 60:02}:{number % 60:02}", " ".join(names[max(0, number - reads) : number]), name)
        for number, name in enumerate(names)
        if number
    ]
    events += [lifecycle("DROP", f"59:{number % 60:02}", name) for number, name in enumerate(names[1:-1])]
    assert shown(events) == {"/last": ["/first"]}


DROPPING = [
    f"{spark}-ol1.53-plan/{name}" for spark in ("spark35", "spark41") for name in ("iceberg", "plan_stop", "staging")
]


@pytest.mark.parametrize("capture", DROPPING)
def test_what_was_dropped_and_emptied_is_known_by_the_plan_alone(capture: str) -> None:
    """Where an event of the listener is lost, the one with the plan tells the same."""
    events = _events(FOLDERS[capture])
    ends = [
        event
        for event in events
        if event.body and event.body.job.name.endswith((".drop_table", ".execute_truncate_table_command"))
    ]
    by_listener = [event for event in ends if event.body and event.body.run.facets and not event.body.run.facets.plan]
    assert by_listener
    rest = [event for event in events if event not in by_listener]
    assert translate_history(rest).processes == translate_history(events).processes


@pytest.mark.parametrize("spark", ["spark35", "spark41"])
def test_the_plan_that_made_a_table_names_it_where_the_listener_does_not(spark: str) -> None:
    """A late listener finds neither the table that its statement made nor its name, once it has been dropped."""
    lines = (FOLDERS[f"{spark}-ol1.53-plan/plan_stop"] / "events.jsonl").read_bytes().splitlines()
    bodies: list[dict[str, Any]] = [json.loads(line) for line in lines]
    for body in bodies:
        body["outputs"] = [output for output in body["outputs"] if not output["name"].endswith("/staged")]
        for table in body["inputs"]:
            table.get("facets", {}).pop("symlinks", None)
    late_events = [json.dumps(body).encode() for body in bodies]
    late, prompt = (translate_history(map(decode, events)) for events in (late_events, lines))
    assert [process.qualified_name for process in late.processes] == [
        process.qualified_name for process in prompt.processes
    ]
    assert {edge for process in late.processes for edge in process.columns} == {
        edge for process in prompt.processes for edge in process.columns
    }
