"""`throughline run`: the state of one run and why, its events, its processes, and the command that repairs it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

import typer
from msgspec import to_builtins

from shared.query.process_details import source_missing
from shared.records.states import EventState, State
from shared.reporting.run_report import FORGOTTEN, HELD, NOT_PROCESSED, REPLACED, RunReport, Waiting, run_report
from shared.translation.reference import NO_PROCESS
from shared.translation.run.facts import BY_AN_RDD, BY_PLAN, WITH_UPPER_BOUNDS
from shared.translation.run.translate import RUN_FAILED
from throughline.cli.commands.lineage.events import event_document
from throughline.cli.context.target import HOME, Home, parts_of
from throughline.cli.records.dead_letters import ID_LENGTH
from throughline.cli.records.runs import known_run, wanted_run
from throughline.cli.ui.console import counted, out, plain, print_json, reading_bars
from throughline.cli.ui.options import AsJson, Wide
from throughline.cli.ui.tables import print_fact, print_table


def run(
    context: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, as in its events")],
    *,
    wide: Wide = False,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Show what became of a run and why: its events, its processes, and the command that repairs it.

    throughline run 0192a3b4-5c6d-7e8f-9012-3456789abcde
    throughline run 0192a3b4-5c6d-7e8f-9012-3456789abcde --json | jq .processes
    """
    run_id_found = wanted_run(run_id)
    parts = parts_of(context, home)
    with reading_bars() as seen_reading_bars:
        report = run_report(parts.storage, run_id_found, seen_reading_bars)
        if report is None:
            known_run(parts.storage, run_id)
            raise typer.Exit(1)  # its events have been deleted meanwhile
        keys = [process.key for process in report.processes if process.reason == NO_PROCESS]
        causes = dict.fromkeys(source_missing(parts.storage, parts.publishing, key) for key in keys)
    steps = list(next_steps(report, parts.sweeping.end_timeout))
    steps += [f"nothing is published, because {cause}; a later run with a source changes that" for cause in causes]
    if as_json:
        events = [
            {**event_document(event.event), "state": event.state, "reason": event.reason, "error": event.error}
            for event in report.events
        ]
        in_catalog = report.outcome[0] == EventState.PUBLISHED
        document = to_builtins(replace(report, events=()))
        print_json({**document, "in_catalog": in_catalog, "events": events, "next": steps})
    else:
        _show(report, steps, wide=wide)


def _show(report: RunReport, steps: Iterable[str], *, wide: bool) -> None:
    error = f"{report.last_error} ({counted(report.failures, 'failed attempt')})" if report.last_error else ""
    print_fact("run", report.run_id)
    print_fact("sent as", report.run_text)
    print_fact("job", *report.jobs)
    print_fact("application", report.application)
    print_fact("state", _state(report))
    print_fact("end", report.end or ("none, timed out" if report.timed_out else "none seen yet"))
    print_fact("columns", _columns(report))
    print_fact("rows", *report.rows_from)
    print_fact("stated", *(f"{title}: {text}" for title, text in report.stated))
    print_fact("closed", f"{report.closed:%Y-%m-%d %H:%M} UTC: later events are skipped" if report.closed else "")
    print_fact("left out", *report.omitted)
    print_fact("last error", error, style="red")
    events = [
        [
            f"{event.event.time:%Y-%m-%d %H:%M:%S}",
            event.event.type,
            event_report.state,
            event_report.error or event_report.reason,
            f"{event.container}/{event.blob}",
        ]
        for event_report in report.events
        for event in [event_report.event]
    ]
    out.print(f"\n{counted(len(events), 'event')}")
    print_table(("time", "type", "state", "reason", "blob"), events, wide=wide, only_wide=1)
    processes = [[process.qualified_name or process.key, process.state, process.reason] for process in report.processes]
    out.print(f"\n{counted(len(processes), 'process')}")
    if processes:
        print_table(("process", "state", "reason"), processes, wide=wide)
    for sentence in steps:
        out.print(f"\nNext: {plain(sentence)}")


def _state(report: RunReport) -> str:
    """The run's state, with what the catalog has of a run that contributes."""
    state, reason = report.outcome
    if report.state != State.CONTRIBUTED:
        return f"{state}: {reason}" if reason else state
    if state == EventState.PUBLISHED:
        return f"{report.state}: the catalog has its lineage"
    if state == EventState.WAITING:
        return f"{report.state}: not in the catalog yet, it waits for {reason}"
    return f"{report.state}, but not in the catalog: {reason}"


def _columns(report: RunReport) -> str:
    """Who gave the run's columns, if Spark's plan gave some of them or nobody did."""
    if report.columns_by == BY_PLAN:
        return "exact by plan"
    if report.columns_by == WITH_UPPER_BOUNDS:
        return (
            "by plan; some are an upper bound, because rows went through code that it does not show"
            " (`throughline details` marks them as opaque)"
        )
    if BY_AN_RDD in report.rows_from:
        return "not known"
    if gaps := ", ".join(gap for gap in report.plan_gaps if gap not in report.rows_from):
        return f"partly by plan, which does not show: {gaps}"
    return "partly by plan, which does not show how some of the rows were made" if report.plan_gaps else ""


_BY_PROCESS = {
    REPLACED: "nothing to do: `throughline details` shows the processes that stand in its place",
    "refused": "`throughline types plan` shows whether the catalog lacks a type; refused processes are retried",
    HELD: "`throughline shadow` lists what is held back; THROUGHLINE_SHADOW=false publishes it",
    "pending": "nothing to do: the publisher writes it within a minute",
    "publishing": "nothing to do: the publisher is writing it",
    "retrying": "nothing to do: the write is retried automatically; `throughline doctor --catalog` checks the catalog",
}


_BY_STATE = {
    FORGOTTEN: (
        "nothing to do: the record of a run is kept for a time after its closing (THROUGHLINE_RUN_RETENTION_DAYS); what"
        " its job contributes stays, and `throughline events --run` shows its events"
    ),
    NOT_PROCESSED: (
        "nothing to do, unless its events are older than ten minutes: then `throughline doctor` names the cause"
    ),
    "skipped": "nothing to do: such a run has no lineage to publish",
}


def next_steps(run_result: RunReport, end_timeout: timedelta) -> Iterator[str]:
    """What to do about this run, one sentence for each cause. `end_timeout`: how long a run's end is awaited."""
    for report in run_result.events:
        if report.state == "dead":
            letter = report.event.event.digest[:ID_LENGTH]
            yield f"`throughline deadletter show {letter}` shows what is wrong with the event"
    if run_result.last_error:
        yield (
            f"nothing to do: it is retried automatically; `throughline replay --run {run_result.run_id}` retries it now"
        )
    elif any(report.reason == Waiting.END for report in run_result.events):
        minutes = counted(end_timeout // timedelta(minutes=1), "minute")
        yield f"nothing to do: it waits {minutes} for an end event (THROUGHLINE_RUN_TIMEOUT_MINUTES)"
    elif run_result.reason == RUN_FAILED:
        yield "nothing to do here: the job's next run that completes gives its lineage"
    elif run_result.state in _BY_STATE:
        yield _BY_STATE[run_result.state]
    for cause in dict.fromkeys(cause for process in run_result.processes for cause in (process.state, process.reason)):
        if cause in _BY_PROCESS:
            yield _BY_PROCESS[cause]
