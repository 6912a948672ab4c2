"""`throughline run`: the state of one run and why, its events, its processes, and the command that repairs it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

import typer
from msgspec import to_builtins

from shared.query.process_details import source_missing
from shared.reporting.run_report import FORGOTTEN, HELD, NOT_PROCESSED, REPLACED, RunReport, Waiting, run_report
from shared.texts import visible
from shared.translation.reference import NO_PROCESS
from shared.translation.run.facts import BY_AN_RDD, BY_PLAN, WITH_UPPER_BOUNDS
from shared.translation.run.translate import RUN_FAILED
from throughline.cli.commands.lineage.events import event_document
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.records.dead_letters import ID_LENGTH
from throughline.cli.records.runs import known_run, wanted_run
from throughline.cli.ui.console import counted, out, plain, print_json, reading_bars
from throughline.cli.ui.facts import print_fact
from throughline.cli.ui.options import AsJson, Wide
from throughline.cli.ui.tables import print_table


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
    wanted = wanted_run(run_id)
    parts = parts_of(context, home)
    with reported(), reading_bars() as seen_reading_bars:
        report = run_report(parts.storage, wanted, seen_reading_bars)
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
        print_json({**to_builtins(replace(report, events=())), "events": events, "next": steps})
    else:
        _show(report, steps, wide=wide)


def _show(found: RunReport, steps: Iterable[str], *, wide: bool) -> None:
    print_fact("run", found.run_id)
    if found.run_text:
        print_fact("sent as", visible(found.run_text))
    print_fact("job", *(visible(job) for job in found.jobs))
    print_fact("application", found.application)
    print_fact("state", f"{found.state}: {found.reason}" if found.reason else found.state)
    print_fact("end", found.end or ("none, timed out" if found.timed_out else "none seen yet"))
    if columns := _columns(found):
        print_fact("columns", columns)
    if found.rows_from:
        print_fact("rows", *found.rows_from)
    if found.stated:
        print_fact("stated", *(f"{title}: {text}" for title, text in found.stated))
    if found.closed:
        print_fact("closed", f"{found.closed:%Y-%m-%d %H:%M} UTC: later events are skipped")
    if found.omitted:
        print_fact("left out", *map(visible, found.omitted))
    if found.last_error:
        print_fact(
            "last error", f"{visible(found.last_error)} ({counted(found.failures, 'failed attempt')})", style="red"
        )
    events = [
        [
            f"{report.event.event.time:%Y-%m-%d %H:%M:%S}",
            report.event.event.type,
            report.state,
            visible(report.error or report.reason),
            f"{report.event.container}/{report.event.blob}",
        ]
        for report in found.events
    ]
    out.print(f"\n{counted(len(events), 'event')}")
    print_table(("time", "type", "state", "reason", "blob"), events, wide=wide, only_wide=1)
    processes = [
        [process.qualified_name or process.key, process.state, visible(process.reason)] for process in found.processes
    ]
    out.print(f"\n{counted(len(processes), 'process')}")
    if processes:
        print_table(("process", "state", "reason"), processes, wide=wide)
    for sentence in steps:
        out.print(f"\nNext: {plain(sentence)}")


def _columns(found: RunReport) -> str:
    """Who gave the run's columns, if Spark's plan gave some of them or nobody did."""
    if found.columns_by == BY_PLAN:
        return "exact, from Spark's own plan"
    if found.columns_by == WITH_UPPER_BOUNDS:
        return (
            "from Spark's own plan; some are an upper bound, because rows went through code that it does not show"
            " (`throughline details` marks them as opaque)"
        )
    if BY_AN_RDD in found.rows_from:
        return "not known"
    if gaps := ", ".join(gap for gap in found.plan_gaps if gap not in found.rows_from):
        return f"partly from Spark's plan, which does not show: {gaps}"
    return "partly known: no plan shows how some of the rows were made" if found.plan_gaps else ""


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


def next_steps(found: RunReport, end_timeout: timedelta) -> Iterator[str]:
    """What to do about this run, one sentence for each cause. `end_timeout`: how long a run's end is awaited."""
    for report in found.events:
        if report.state == "dead":
            letter = report.event.event.digest[:ID_LENGTH]
            yield f"`throughline deadletter show {letter}` shows what is wrong with the event"
    if found.last_error:
        yield f"nothing to do: it is retried automatically; `throughline replay --run {found.run_id}` retries it now"
    elif any(report.reason == Waiting.END for report in found.events):
        minutes = counted(end_timeout // timedelta(minutes=1), "minute")
        yield f"nothing to do: it waits {minutes} for an end event (THROUGHLINE_RUN_TIMEOUT_MINUTES)"
    elif found.reason == RUN_FAILED:
        yield "nothing to do here: the job's next run that completes gives its lineage"
    elif found.state in _BY_STATE:
        yield _BY_STATE[found.state]
    for cause in dict.fromkeys(cause for process in found.processes for cause in (process.state, process.reason)):
        if cause in _BY_PROCESS:
            yield _BY_PROCESS[cause]
