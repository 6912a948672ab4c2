"""`throughline run` and `throughline events`: the outcome of a run, and its events in a file."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from shared.events.archive import is_index
from shared.openlineage.decoding import run_id_of
from shared.openlineage.selection import EventFilter, GlobFilter
from shared.storage_layout import ARCHIVE
from tests.support.archiving import archive, archiving
from tests.support.building import IDENTITY, body, dataset, lineage, packed, source
from tests.support.cli import Parts
from tests.support.events import event, run_id
from tests.support.plans import PlanBuilder, column, facet
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from tests.support.receiving import receive

NIGHTLY: dict[str, Any] = {"application": "app", "job": "app.nightly"}
SECRET: dict[str, Any] = {"application": "app", "job": "app.secret"}
HOURLY: dict[str, Any] = {"application": "app", "job": "app.hourly"}


@pytest.fixture
def parts() -> Parts:
    """A run that was published, one that failed, and one without an end."""
    loaded_parts = Parts()
    bodies = [
        event("good", "START", "2026-11-21T09:59:00", outputs=["/o"], inputs=["/a"], **NIGHTLY),
        event("good", "COMPLETE", "2026-11-21T10:00:00", outputs=["/o"], inputs=["/a"], **NIGHTLY),
        event("bad", "FAIL", "2026-11-21T11:00:00", outputs=["/p"], inputs=["/a"], **HOURLY),
        event("open", "START", "2026-11-21T12:00:00", outputs=["/q"], inputs=["/a"], **HOURLY),
    ]
    for place in post(loaded_parts.storage, *bodies):
        deliver_event(loaded_parts.storage, place)
    publish(loaded_parts.storage, loaded_parts.catalog, loaded_parts.worker.publishing)
    return loaded_parts


def test_a_published_run_shows_its_events_and_processes(parts: Parts) -> None:
    output = parts.run("run", run_id("good").upper()).output
    for fact in ("app.nightly", "COMPLETE", "2 events", "1 process", "published", run_id("good")):
        assert fact in output, output
    report = json.loads(parts.run("run", run_id("good"), "--json").stdout)
    assert [entry["type"] for entry in report["events"]] == ["START", "COMPLETE"]
    assert [process["state"] for process in report["processes"]] == ["published"]
    assert report["next"] == []


def test_a_run_with_an_id_that_is_no_uuid_is_found_by_its_text() -> None:
    loaded_parts = Parts()
    text = "manual__2026-11-21T10:00:00+00:00"
    event_body = body(application=None, job_facets={}, inputs=["/a"], outputs=["/b"])
    event_body["run"] = {"runId": text}
    for place in post(loaded_parts.storage, packed(event_body)):
        deliver_event(loaded_parts.storage, place)
    publish(loaded_parts.storage, loaded_parts.catalog, loaded_parts.worker.publishing)
    output = loaded_parts.run("run", text).output
    assert "sent as" in output
    assert text in output
    report = json.loads(loaded_parts.run("run", text, "--json").stdout)
    assert (report["run_id"], report["run_text"], report["state"]) == (run_id_of(text), text, "contributed")
    assert loaded_parts.run("events", "--run", text).output.count("COMPLETE") == 1
    assert "no event of a run another is stored" in loaded_parts.run("run", "another").output


def test_a_failed_run_shows_why_it_is_skipped(parts: Parts) -> None:
    output = parts.run("run", run_id("bad")).output
    assert "skipped: the run failed" in output
    assert "Next: nothing to do here: the job's next run that completes gives its lineage" in output


def test_a_run_that_only_writes_shows_why_the_catalog_has_no_process() -> None:
    loaded_parts = Parts()
    for place in post(loaded_parts.storage, event("w", "COMPLETE", "2026-11-21T10:00:00", outputs=["/o"], **NIGHTLY)):
        deliver_event(loaded_parts.storage, place)
    publish(loaded_parts.storage, loaded_parts.catalog, loaded_parts.worker.publishing)
    output = loaded_parts.run("run", run_id("w")).output
    assert "Next: nothing is published, because no event names a source of it" in output


def test_a_run_without_an_end_shows_its_timeout(parts: Parts) -> None:
    result = parts.run("run", run_id("open"))
    assert (result.exit_code, "none seen yet" in result.output, "RUN_TIMEOUT" in result.output) == (0, True, True)


def test_an_empty_range_of_one_day_is_an_error_that_suggests_the_next_day(parts: Parts) -> None:
    for command in ("events", "replay"):
        wrong = parts.run(command, "--from", "2026-11-21", "--to", "2026-11-21")
        assert (wrong.exit_code, "write --to 2026-11-22" in wrong.output) == (2, True), wrong.output


def test_times_at_the_ends_of_the_calendar_are_read_or_refused(parts: Parts) -> None:
    for time in ("0001-01-01T00:00+05:00", "9999-12-31T23:59-05:00"):
        wrong = parts.run("events", "--from", time)
        assert (wrong.exit_code, "--from must be a time" in wrong.output) == (2, True), wrong.output
    empty = parts.run("events", "--from", "9999-12-31", "--to", "9999-12-31")
    assert (empty.exit_code, "no time lies between" in empty.output) == (2, True), empty.output
    assert parts.run("events", "--from", "0001-01-01", "--to", "9999-12-31T23:59").exit_code == 0


def test_a_run_that_does_not_exist_is_an_error_that_suggests_the_nearest(parts: Parts) -> None:
    wrong = run_id("good")[:-1] + ("0" if run_id("good")[-1] != "0" else "1")
    for command in (["run", wrong], ["events", "--run", wrong], ["replay", "--run", wrong]):
        result = parts.run(*command)
        assert (result.exit_code, f"Did you mean {run_id('good')}?" in result.output) == (1, True), result.output
    assert parts.run("run", "mine").exit_code == 1


def test_the_id_of_a_run_is_not_truncated_at_80_columns(parts: Parts) -> None:
    """`throughline run` and `--run` take it."""
    lines = [line.strip() for line in parts.run("events", "--job", "app.nightly").output.splitlines()]
    assert [line.split()[-1] for line in lines if "START" in line or "COMPLETE" in line] == [run_id("good")] * 2
    assert lines.count("app.nightly") == 2
    assert max(map(len, lines)) <= 80


def test_events_by_job_and_time(parts: Parts) -> None:
    result = parts.run("events", "--job", "app.h*")
    assert (result.exit_code, "2 events of 2 runs" in result.output) == (0, True), result.output
    later_report = json.loads(parts.run("events", "--job", "app.h*", "--from", "2026-11-21T11:30", "--json").stdout)
    assert [(entry["type"], entry["job"]) for entry in later_report["events"]] == [("START", "app.hourly")]
    shortened_output = parts.run("events", "--most", "1").output
    assert "4 events of 3 runs; 3 not shown (--most)" in shortened_output


def test_events_of_several_runs_are_listed_in_the_order_of_their_times() -> None:
    """Storage lists them by hour and run."""
    loaded_parts = Parts()
    first, second = sorted(("one", "two"), key=run_id)
    times = {"10:00": first, "10:01": second, "10:02": first, "10:03": second}
    for time, name in times.items():
        post(
            loaded_parts.storage,
            event(name, "RUNNING", f"2026-11-21T{time}:00", outputs=["/o"], inputs=["/a"], **NIGHTLY),
        )
    listed = json.loads(loaded_parts.run("events", "--json").stdout)["events"]
    assert [entry["run_id"] for entry in listed] == [run_id(name) for name in times.values()]
    cut = json.loads(loaded_parts.run("events", "--json", "--most", "2").stdout)["events"]
    assert cut == listed[:2]


def test_a_job_that_does_not_exist_is_an_error_that_suggests_the_nearest(parts: Parts) -> None:
    for command in ("events", "replay"):
        result = parts.run(command, "--job", "app.nihgtly")
        assert (result.exit_code, "Did you mean app.nightly" in result.output) == (1, True), result.output


@pytest.mark.parametrize("name", ["saved.jsonl", "saved.jsonl.gz"])
def test_saved_events_can_be_translated(parts: Parts, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    result = parts.run("events", "--job", "app.nightly", "--save", str(path))
    assert (result.exit_code, "2 events saved" in result.output) == (0, True), result.output
    lines = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).splitlines()
    assert [json.loads(line)["eventType"] for line in lines] == ["START", "COMPLETE"]
    report = json.loads(parts.run("translate", str(path), "--json").stdout)
    assert len(report["processes"]) == 1


def test_the_folder_of_a_saved_file_is_made(parts: Parts, tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "x.jsonl"
    assert parts.run("events", "--save", str(path)).exit_code == 0
    assert path.read_text()


def test_a_file_that_cannot_be_written_is_refused_with_a_message(parts: Parts, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = parts.run("events", "--save", str(tmp_path / "file" / "x.jsonl"))
    assert (result.exit_code, "can't be written" in result.output) == (2, True)


def test_status_by_job_prints_the_reasons_below_each_job(parts: Parts) -> None:
    lines = parts.run("status", "--by", "job").output.splitlines()
    place = next(index for index, line in enumerate(lines) if line.startswith("app.hourly"))
    assert sorted(line.strip() for line in lines[place + 1 : place + 3]) == [
        "1 the run failed",
        "1 waiting for the end of the run",
    ]


def test_a_missing_file_of_the_archive_is_an_error_without_a_traceback(parts: Parts, tmp_path: Path) -> None:
    archive(parts.storage, archiving())
    for fact in list(parts.storage.blobs(ARCHIVE)):
        if not is_index(fact.name):
            parts.storage.delete_blob(ARCHIVE, fact.name)
    result = parts.run("events", "--run", run_id("good"), "--save", str(tmp_path / "events.jsonl"))
    assert result.exit_code == 1
    assert "archive" in result.output
    assert "Traceback" not in result.output


@pytest.fixture
def record_with_ignored_events() -> Parts:
    """A receiver that ignored an event of an excluded job, now and in the archive, and one that it stored."""
    loaded_parts = Parts()
    excluding = EventFilter(jobs=GlobFilter(exclude=("*.secret",)))
    for run, minute in (("now", "10"), ("old", "20")):
        body = event(run, "COMPLETE", f"2026-11-21T10:{minute}:00", outputs=["/s"], inputs=["/a"], **SECRET)
        receive(loaded_parts.storage, body, most_bytes=1_000_000, selection=excluding)
        if run == "now":
            archive(loaded_parts.storage, archiving())
    post(
        loaded_parts.storage, event("kept", "COMPLETE", "2026-11-21T10:30:00", outputs=["/o"], inputs=["/a"], **NIGHTLY)
    )
    return loaded_parts


def test_ignored_events_are_listed_with_their_reason_and_saved(
    record_with_ignored_events: Parts, tmp_path: Path
) -> None:
    report = json.loads(record_with_ignored_events.run("events", "--ignored", "--job", "*.secret", "--json").stdout)
    assert [(entry["run_id"], entry["reason"], entry["container"]) for entry in report["events"]] == [
        (run_id("now"), "excluded by job", "archive"),
        (run_id("old"), "excluded by job", "ignored"),
    ]
    assert (
        json.loads(record_with_ignored_events.run("events", "--ignored", "--job", "app.nightly", "--json").stdout)[
            "count"
        ]
        == 0
    )
    arguments = ("events", "--ignored", "--run", run_id("old"))
    assert "excluded by job" in record_with_ignored_events.run(*arguments).output
    later_report = json.loads(record_with_ignored_events.run(*arguments, "--from", "2026-11-22", "--json").stdout)
    assert later_report["count"] == 0
    file = tmp_path / "ignored.jsonl"
    assert "2 events saved" in record_with_ignored_events.run("events", "--ignored", "--save", str(file)).output
    assert len(json.loads(record_with_ignored_events.run("translate", str(file), "--json").stdout)["processes"]) == 1


def test_an_ignored_run_or_job_is_distinguished_from_an_unknown_one(record_with_ignored_events: Parts) -> None:
    for arguments in (("run", run_id("old")), ("events", "--run", run_id("old")), ("events", "--job", "app.secret")):
        result = record_with_ignored_events.run(*arguments)
        assert result.exit_code == 1
        assert "throughline events --ignored" in " ".join(result.output.split())


def test_a_run_without_an_end_is_reported_as_waiting(parts: Parts) -> None:
    report = json.loads(parts.run("run", run_id("open"), "--json").stdout)
    assert (report["state"], report["reason"]) == ("waiting", "the end of the run")


@pytest.mark.parametrize(
    ("selection", "reason"),
    [
        (EventFilter(jobs=GlobFilter(exclude=("*.secret",))), "excluded by job"),
        (EventFilter(jobs=GlobFilter(include=("*.open",))), "job not included"),
        (EventFilter(namespaces=GlobFilter(exclude=("*",))), "excluded by namespace"),
        (EventFilter(namespaces=GlobFilter(include=("nowhere",))), "namespace not included"),
        (EventFilter(ignore=("secret",)), "operation ignored by the settings"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_status_names_each_setting_that_ignores_events(selection: EventFilter, reason: str) -> None:
    """They are no events that have no lineage anyway, which are folded into one line."""
    parts = Parts()
    body = event("now", "COMPLETE", "2026-11-21T10:10:00", outputs=["/s"], inputs=["/a"], **SECRET)
    receive(parts.storage, body, most_bytes=1_000_000, selection=selection)
    output = parts.run("status").output
    assert f"1 {reason}" in output
    assert "--wide" not in output


MERGE = Path(__file__).parents[1] / "golden/spark35-ol1.53-plan/customer_merge/events.jsonl"


def test_a_run_with_sparks_own_plan_shows_that_its_columns_are_exact() -> None:
    lines = MERGE.read_bytes().splitlines()
    parts = Parts()
    for place in post(parts.storage, *lines):
        deliver_event(parts.storage, place)
    (merge,) = {
        event["run"]["runId"]
        for event in map(json.loads, lines)
        if event["eventType"] == "COMPLETE" and event["job"]["name"].endswith("merge_into_command")
    }
    assert "exact by plan" in parts.run("run", merge).output


def _planned(run: str, *, listener: str = "x", step: str = "Project", plan: bool = True) -> list[bytes]:
    """A run that writes column x of /a to /o by a step, by the listener from column `listener`, with its plan."""
    plans = PlanBuilder()
    table = plans.table("file:/a", column(1, "x"))
    child = plans.add(step, projectList=[column(1, "x")], output=[column(2, "x")], child=table)
    facet_of = to_builtins(facet(plans.writing(child, f"file:/{run}")))
    columns = lineage({"x": [source("/a", listener, IDENTITY)]})
    options: dict[str, Any] = {"run": run, "job": f"adaptive_spark_plan.{run}"}
    bodies = [packed(body(inputs=["/a"], outputs=[dataset(f"/{run}", columnLineage=columns)], **options))]
    return [*bodies, packed(body(run_facets={"throughline_plan": facet_of}, **options))] if plan else bodies


def _by_rdd(run: str) -> bytes:
    """A run that an RDD's own method wrote: a job of Spark without a plan."""
    kind = {"jobType": {"integration": "SPARK", "jobType": "RDD_JOB", "processingType": "BATCH"}}
    return packed(body(run=run, job="map_partitions", inputs=["/a"], outputs=[f"/{run}"], job_facets=kind))


def test_status_and_details_name_the_source_of_the_columns() -> None:
    parts = Parts()
    bodies = [
        *_planned("same"),
        *_planned("differs", listener="y"),
        *_planned("code", step="MapInPandas"),
        *_planned("gaps", step="ShuffleEdge"),
        *_planned("alone", plan=False),
        *_planned("another", plan=False),
        _by_rdd("rdd"),
    ]
    for place in post(parts.storage, *bodies):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    output = " ".join(parts.run("status").output.split())
    assert (
        "columns of 7 Spark runs: 2 exact by plan (1 unlike the listener's events), 1 by plan with upper bounds, "
        "1 partly by plan, 2 by listener only, 1 not known (made by an RDD)" in output
    )
    report = json.loads(parts.run("status", "--json").stdout)
    assert report["columns"] == {"exact": 2, "differ": 1, "opaque": 1, "partly": 1, "listener": 2, "rdd": 1}
    shown_processes = json.loads(parts.run("details", "--json").stdout)["processes"]
    sources_by_output = {
        process["outputs"][0]["name"]: [(edge["input"]["column"], edge["by"]) for edge in process["columns"]]
        for process in shown_processes
    }
    assert sources_by_output == {
        "/same": [("x", ["plan"])],
        "/differs": [("x", ["plan"])],
        "/code": [("x", ["plan"])],
        "/gaps": [("x", ["listener or plan"])],
        "/alone": [("x", ["listener"])],
        "/another": [("x", ["listener"])],
        "/rdd": [],
    }
    assert "by plan" in parts.run("details", "same").output
    assert "(opaque, by plan)" in parts.run("details", "code").output
    (code,) = (process for process in shown_processes if process["outputs"][0]["name"] == "/code")
    assert [edge["how"] for edge in code["columns"]] == [["OPAQUE"]]
    assert "some are an upper bound" in " ".join(parts.run("run", run_id("code")).output.split())
    assert json.loads(parts.run("run", run_id("code"), "--json").stdout)["columns_by"] == "opaque"
    assert "exact by plan" in parts.run("run", run_id("same")).output
    assert "by listener" in parts.run("details", "alone").output
    by_rdd = "made by an RDD, whose columns Spark does not know"
    assert f"no columns: its rows are {by_rdd}" in " ".join(parts.run("details", "rdd").output.split())
    assert "no columns: `throughline details` says why" in parts.run("show", "rdd", "--columns").output
    shown_run = " ".join(parts.run("run", run_id("rdd")).output.split())
    assert f"columns not known rows {by_rdd}" in shown_run


def test_without_spark_runs_the_status_has_no_line_about_plans() -> None:
    assert "by listener only" not in Parts().run("status").output


def test_a_run_names_the_unknown_nodes_of_its_plan() -> None:
    plans = PlanBuilder()
    plan = facet(plans.writing(plans.add("ShuffleEdge", child=plans.table("file:/a", column(1, "x"))), "file:/o"))
    parts = Parts()
    run_facets = {"throughline_plan": to_builtins(plan)}
    for place in post(parts.storage, packed(body(inputs=["/a"], outputs=["/o"])), packed(body(run_facets=run_facets))):
        deliver_event(parts.storage, place)
    output = " ".join(parts.run("run", run_id("run")).output.split())
    assert "partly by plan, which does not show: ShuffleEdge" in output


# --- why is it missing


def written_by_plan(leaf: str, *, inputs: tuple[str, ...] = (), parts: Parts | None = None) -> Parts:
    """A run that writes `/o` by a plan with this leaf, and whose listener reports these inputs."""
    plans = PlanBuilder()
    plan = facet(plans.writing(plans.add(leaf, output=[column(1, "x")]), "file:/o"))
    parts = parts or Parts()
    run_facets = {"throughline_plan": to_builtins(plan)}
    events = packed(body(inputs=inputs, outputs=["/o"])), packed(body(run_facets=run_facets))
    for place in post(parts.storage, *events):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    return parts


MISSING = {
    "rows of the driver": ("LocalRelation", "its rows are made on the driver (createDataFrame, VALUES, a list)"),
    "an RDD": ("LogicalRDD", "its rows are made outside of Spark's plan, in an RDD or by Python (createDataFrame)"),
    "numbers": ("Range", "its rows are numbers that Spark made (range)"),
}


@pytest.mark.parametrize(("leaf", "reason"), MISSING.values(), ids=MISSING)
def test_the_plan_says_why_a_table_has_no_source(leaf: str, reason: str) -> None:
    parts = written_by_plan(leaf)
    output_text = " ".join(parts.run("run", run_id("run")).output.split())
    assert "state contributed, but not in the catalog: it wrote nothing whose source is known" in output_text
    assert f"Next: nothing is published, because {reason}" in output_text
    result = parts.run("details", "/o")
    assert result.exit_code == 0, result.output
    assert f"no process, because {reason}. `throughline run {run_id('run')}`" in result.output
    (write,) = json.loads(parts.run("details", "/o", "--json").stdout)["without_source"]
    assert (write["qualified_name"], write["run"], write["reason"]) == ("file:///o", run_id("run"), reason)


def test_a_process_through_an_rdd_says_why_it_has_no_columns() -> None:
    """The listener names the input, and nobody the columns."""
    parts = written_by_plan("LogicalRDD", inputs=("/a",))
    assert "no columns: its rows are made outside of Spark's plan, in an RDD" in parts.run("details", "/o").output
    run = " ".join(parts.run("run", run_id("run")).output.split())
    assert "columns partly by plan, which does not show how some of the rows were made rows made outside" in run


def test_an_excluded_source_is_the_reason_why_nothing_is_published() -> None:
    parts = Parts()
    excluded = replace(parts.worker.publishing, paths=GlobFilter(exclude=("/a",)))
    parts.worker = replace(parts.worker, publishing=excluded)
    for place in post(parts.storage, packed(body(inputs=["/a"], outputs=["/o"]))):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, excluded)
    assert "because a filter leaves out every source of it" in " ".join(parts.run("run", run_id("run")).output.split())
    assert "excluded by a filter" in parts.run("details", "/o").output


def test_a_file_that_no_run_writes_says_that_spark_saw_no_write() -> None:
    parts = written_by_plan("Range")
    for arguments in (
        ("details", "/by_pandas"),
        ("events", "--output", "by_pandas"),
        ("status", "--table", "by_pandas"),
    ):
        result = parts.run(*arguments)
        assert result.exit_code == 1
        assert "pandas, open() or a shell writes is in no event" in " ".join(result.output.split())


def test_the_runs_of_a_table_are_found_by_the_table(parts: Parts) -> None:
    """By the end of its path, a pattern, or its name in a catalog of tables; failed runs too."""
    table = {"symlinks": {"identifiers": [{"namespace": "hive://h", "name": "sales.orders", "type": "TABLE"}]}}
    outputs = [{"namespace": "file", "name": "/lake/orders_v2", "facets": table}]
    events = [packed(body(kind, run="of table", inputs=["/a"], outputs=outputs)) for kind in ("START", "FAIL")]
    for place in post(parts.storage, *events):
        deliver_event(parts.storage, place)
    for name in ("orders_v2", "lake/orders_v2", "/lake/orders_v2", "file/lake/orders_v2", "*orders_v?", "sales.orders"):
        report = json.loads(parts.run("events", "--output", name, "--json").stdout)
        assert {entry["run_id"] for entry in report["events"]} == {run_id("of table")}, name
        assert report["count"] == 2
    assert parts.run("events", "--output", "orders").exit_code == 1
    saved = parts.run("events", "--output", "orders_v2", "--save", "/dev/null")
    assert "2 events saved" in saved.output


def test_the_runs_of_a_table_are_found_by_its_name() -> None:
    """Each with its state and the reason, the newest first."""
    parts = Parts()
    bodies = [
        body(run="good", minute=1, inputs=["/a"], outputs=["/lake/orders"]),
        body("FAIL", run="failed", minute=2, inputs=["/a"], outputs=["/lake/orders"]),
        body("START", run="running", minute=3, inputs=["/a"], outputs=["/lake/orders"]),
        body(run="other", minute=4, inputs=["/a"], outputs=["/lake/orders_v2"]),
    ]
    for place in post(parts.storage, *map(packed, bodies)):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    report = json.loads(parts.run("status", "--table", "orders", "--json").stdout)
    assert [(run["run_id"], run["state"], run["reason"]) for run in report["runs"]] == [
        (run_id("running"), "waiting", "the end of the run"),
        (run_id("failed"), "skipped", "the run failed"),
        (run_id("good"), "contributed", None),
    ]
    lines = parts.run("status", "--table", "orders", "--most", "2").output.splitlines()
    assert any(line.split()[-2:] == [run_id("failed"), "skipped"] for line in lines)
    assert f"{run_id('good')}  published" in parts.run("status", "--table", "orders").output
    assert [run["in_catalog"] for run in report["runs"]] == [False, False, True]
    assert "3 runs; 1 not shown (--most)" in lines
    assert parts.run("status", "--table", "orders", "--by", "day").exit_code == 2
