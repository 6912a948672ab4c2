"""Many events to the final lineage: verdicts, ignored events, jobs over several runs, the column pairs it must have."""

from collections.abc import Callable
from typing import Any

import pytest

from shared.openlineage.decoding import Event, decode
from shared.translation.reference import (
    NO_PROCESS,
    ColumnPair,
    History,
    Ignored,
    RunVerdict,
    missing_pairs,
    named_pairs,
    translate_history,
)
from tests.support.building import (
    IDENTITY,
    application_event,
    dataset,
    decoded,
    decoded_run,
    lineage,
    packed,
    source,
    step,
)
from tests.support.events import run_id

DAY = 24 * 60


def _shown(events: list[Event]) -> dict[str, list[str]]:
    history = translate_history(events)
    return {process.outputs[0].name: [asset.name for asset in process.inputs] for process in history.processes}


def _job(application: str, *sources: str, day: float = 0, end: str | None = "COMPLETE") -> list[Event]:
    """An application that appends to one sink from each of the sources in turn."""
    start = day * DAY
    events = [application_event(application, "START", start)]
    for number, source_name in enumerate(sources, start=1):
        events += decoded_run(application, [source_name], minute=start + number)
    return [*events, application_event(application, end, start + 20)] if end else events


def test_no_events_give_an_empty_history() -> None:
    assert translate_history([]) == History(runs=(), processes=(), ignored=(), jobs={})


def test_verdicts_are_published_skipped_or_waiting() -> None:
    events = [
        application_event("application", "START", 0),
        *decoded_run("application", ["/a"]),
        application_event("application", "COMPLETE", 5),
        decoded("COMPLETE", run="constants", outputs=["/b"]),
        decoded("COMPLETE", run="reads", inputs=["/a"]),
        decoded("START", run="unfinished", inputs=["/a"], outputs=["/c"]),
        decoded("FAIL", run="failed", inputs=["/a"], outputs=["/d"]),
    ]
    verdicts = {run_verdict.run_id: run_verdict for run_verdict in translate_history(events).runs}
    run = events[1].run_id
    assert verdicts == {
        run_verdict.run_id: run_verdict
        for run_verdict in (
            RunVerdict(run_id=run_id("application"), state="skipped", reason="an application's own event"),
            RunVerdict(run_id=run, state="published"),
            RunVerdict(run_id=run_id("constants"), state="skipped", reason=NO_PROCESS),
            RunVerdict(run_id=run_id("reads"), state="skipped", reason="reads only"),
            RunVerdict(run_id=run_id("unfinished"), state="waiting", reason="no end event yet"),
            RunVerdict(run_id=run_id("failed"), state="skipped", reason="the run failed"),
        )
    }


def test_ignored_events_are_counted_with_their_reason() -> None:
    job = decode(packed({"eventTime": "2026-11-21T10:00:00Z", "job": {"namespace": "n", "name": "j"}}))
    history = translate_history([job, decoded("RUNNING", run="quiet")])
    assert history.runs == ()
    assert history.ignored == (
        Ignored(run_id="", reason="job or data set event without a run"),
        Ignored(run_id=run_id("quiet"), reason="names no data set and ends no run"),
    )


def test_a_job_that_runs_again_unchanged_changes_nothing() -> None:
    once = translate_history(_job("one", "/a", "/b")).processes
    second_processes = translate_history([*_job("one", "/a", "/b"), *_job("two", "/a", "/b", day=1)]).processes
    assert once == second_processes


@pytest.mark.parametrize("gap", [1, 30])
def test_a_second_run_of_an_unchanged_job_removes_no_source_at_any_step(gap: float) -> None:
    first, second = _job("one", "/a", "/b"), _job("two", "/a", "/b", day=gap)
    for length in range(len(second) + 1):
        assert _shown([*first, *second[:length]]) == {"/out": ["/a", "/b"]}


def test_a_changed_job_loses_its_old_source_when_it_is_complete() -> None:
    first, second = _job("one", "/a", "/b"), _job("two", "/a", "/c", day=1)
    assert _shown([*first, *second[:-1]]) == {"/out": ["/a", "/b", "/c"]}
    assert _shown([*first, *second]) == {"/out": ["/a", "/c"]}


def test_a_failed_run_of_a_changed_job_removes_no_source() -> None:
    assert _shown([*_job("one", "/a"), *_job("two", "/b", day=1, end="FAIL")]) == {"/out": ["/a", "/b"]}


def test_an_old_run_that_arrives_late_changes_nothing() -> None:
    newer, old = _job("two", "/b", day=1), _job("one", "/a")
    assert _shown([*newer, *old]) == _shown(newer) == {"/out": ["/b"]}


def test_a_failure_that_arrives_late_retracts_the_contribution() -> None:
    written_events = decoded_run("application", ["/a"])
    failure = decoded("FAIL", minute=9, inputs=["/a"], outputs=["/out"], run=f"application {['/a']} /out 0")
    assert failure.run_id == written_events[0].run_id
    assert _shown(written_events) == {"/out": ["/a"]}
    assert _shown([failure, *written_events]) == {}


def test_one_write_that_spark_reports_as_two_runs_is_one_process() -> None:
    ctas = decoded(
        run="ctas", job="execute_create_data_source_table_as_select_command.d_t", inputs=["/a"], outputs=["/t"]
    )
    insert = decoded(run="insert", job="adaptive_spark_plan.warehouse_t", inputs=["/a"], outputs=["/t"])
    (process,) = translate_history([ctas, insert]).processes
    assert process.operations == ("ctas", "insert")


def test_a_merge_into_a_table_and_its_first_write_by_the_same_job_are_one_process() -> None:
    seed = decoded(run="seed", job="append_data.t", outputs=["/t"])
    merge = decoded(run="merge", job="execute_merge_into_command.t", inputs=["/t", "/staging"], outputs=["/t"])
    (process,) = translate_history([seed, merge]).processes
    assert process.operations == ("insert", "merge")
    assert [asset.name for asset in process.inputs] == ["/staging"]


def test_a_schema_that_is_inferred_from_the_target_is_no_operation_on_it() -> None:
    """Listeners before 1.25 report it as a job that reads and writes the same folder."""
    inference = decoded(run="schema", job="map_partitions_parallel_collection", inputs=["/out"], outputs=["/out"])
    (process,) = translate_history([*decoded_run("application", ["/a"]), inference]).processes
    assert process.operations == ("insert",)


def test_jobs_of_different_applications_are_different_processes() -> None:
    events = [decoded(run=name, app_name=name, inputs=["/a"], outputs=["/out"]) for name in ("one", "two")]
    assert len(translate_history(events).processes) == 2


def test_a_run_whose_every_event_comes_twice_is_one() -> None:
    events = _job("one", "/a", "/b")
    assert translate_history(events * 2) == translate_history(events)


FILTER = step("INDIRECT", "FILTER")
Fields = dict[str, list[dict[str, Any]]]


def run(fields: Fields, *, rows: list[dict[str, Any]] | None = None, sink: str = "/out") -> Event:
    """A run that reads `/in` and writes with this column lineage."""
    return decoded(inputs=["/in"], outputs=[dataset(sink, columnLineage=lineage(fields, rows))])


NAMED: dict[str, tuple[Event, set[str]]] = {
    "values": (
        run({"x": [source("/in", "a", IDENTITY), source("/in", "b", IDENTITY)]}),
        {"file:///in.a → file:///out.x", "file:///in.b → file:///out.x"},
    ),
    "conditions, copied into each column": (
        run({"x": [source("/in", "f", FILTER)], "y": [source("/in", "f", FILTER)]}),
        {"file:///in.f → file:///out.x", "file:///in.f → file:///out.y"},
    ),
    "conditions of all rows": (run({}, rows=[source("/in", "f", FILTER)]), {"file:///in.f → file:///out.*"}),
    "of the table itself": (run({"x": [source("/out", "x", IDENTITY)]}), set()),
    "of a log": (run({"x": [source("/t/_delta_log", "x", IDENTITY)]}), set()),
    "a file of a folder": (run({"x": [source("/in/a.csv", "x", IDENTITY)]}), {"file:///in.x → file:///out.x"}),
}


@pytest.mark.parametrize(("event", "pairs"), NAMED.values(), ids=NAMED)
def test_events_name_pairs_and_the_lineage_has_them(event: Event, pairs: set[str]) -> None:
    named = named_pairs([event])
    assert set(map(str, named)) == pairs
    assert missing_pairs(named, translate_history([event]).processes) == ()


CHANGES: dict[str, Callable[[ColumnPair], ColumnPair]] = {
    "another source": lambda pair: ColumnPair(
        source="file:///other", input=pair.input, target=pair.target, output=pair.output
    ),
    "another column": lambda pair: ColumnPair(source=pair.source, input="b", target=pair.target, output=pair.output),
    "another target": lambda pair: ColumnPair(source=pair.source, input=pair.input, target="file:///b", output="x"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_pair_that_no_process_has_is_missing(change: Callable[[ColumnPair], ColumnPair]) -> None:
    event = run({"x": [source("/in", "a", IDENTITY)]})
    (pair,) = named_pairs([event])
    other_pair = change(pair)
    assert missing_pairs([pair, other_pair], translate_history([event]).processes) == (other_pair,)


def test_case_makes_no_difference() -> None:
    event = run({"X": [source("/in", "A", IDENTITY)]})
    pair = ColumnPair(source="file:///in", input="a", target="file:///out", output="x")
    assert missing_pairs([pair], translate_history([event]).processes) == ()
