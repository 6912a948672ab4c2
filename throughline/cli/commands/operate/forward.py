"""`throughline forward`: what waits for the targets of forwarding, a round at once, and sending again."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer

from shared.bootstrap import Worker, forwarding
from shared.forwarding.outbox import TargetStatus, retry_dead_letters, statuses
from shared.forwarding.rounds import Forwarded, ForwardOptions, mark_again, planned
from shared.forwarding.rounds import forward as forward_round
from shared.forwarding.rules import ForwardRules, parse_forward_rules
from shared.reading.reader import all_runs
from shared.records.publish_queue import forward_marks
from shared.records.states import State
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.ui.console import counted, fail, out, plain, print_json, reading_bars
from throughline.cli.ui.options import AsJson, Plan, moment
from throughline.cli.ui.tables import print_table

_MAX_SHOWN = 20
_NO_TARGETS = "nothing is forwarded: set THROUGHLINE_FORWARD. docs/operate/forward.md has an example"


def forward(
    context: typer.Context,
    *,
    plan: Plan = False,
    once: Annotated[bool, typer.Option("--once", help="Send now what is due, as the sweeper does each minute")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Have dead letters sent again")] = False,
    since: Annotated[
        str,
        typer.Option(metavar="TIME", help="Have all runs on record since then sent that a target lacks"),
    ] = "",
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Show what waits for the catalogs and stores to which runs are forwarded, and have runs sent again.

    Without an option it lists the targets: the runs that wait, since when, dead letters with a reason, and until when a
    target that failed is left alone. The sweeper sends a run ten minutes after its last change.

    --plan names the runs that have changed and would leave. --retry and --since put runs into the queue; the sweeper
    sends them, or --once does. A target that has the same content of a run does not get it again.

    Exit code: 0, 1 a run was refused or a target failed, 2 nothing is forwarded or the settings are wrong.

        throughline forward
        throughline forward --plan
        throughline forward --since 2026-11-01 --once
        throughline forward --retry
    """
    writes = once or retry or bool(since)
    if plan and writes:
        fail("--plan writes nothing: leave out --once, --retry and --since", code=2)
    start = moment(since, "--since")
    parts = parts_of(context, home, writes=writes)
    rules = _rules(parts)
    options = forwarding(parts) or fail(_NO_TARGETS, code=2) if plan or once else None
    if plan and options:
        _show_plan(parts, options, as_json=as_json)
        return
    queued = _queue_again(parts, rules, start, retry=retry)
    forwarded = None
    if options:
        with reported("What is in the outbox stays there: start it again"):
            forwarded = forward_round(parts.storage, options)
        if forwarded is None:
            fail("another worker is forwarding, most likely the sweeper: try again in a minute")
    targets = statuses(parts.storage, rules)
    marked = len(forward_marks(parts.storage))
    if as_json:
        counts = {name: value for name, value in asdict(forwarded).items() if name != "targets"} if forwarded else {}
        print_json({**counts, "queued": queued, "marked": marked, "targets": [asdict(target) for target in targets]})
    else:
        _show(targets, marked, queued, forwarded)
    if forwarded and (forwarded.refused or forwarded.failed):
        raise typer.Exit(1)


def _rules(parts: Worker) -> ForwardRules:
    """The targets and rules of the functions."""
    rules = parts.forward_settings.rules
    if rules is None:
        fail(_NO_TARGETS, code=2)
    return parse_forward_rules(rules.text, rules.place)


def _queue_again(parts: Worker, rules: ForwardRules, start: datetime | None, *, retry: bool) -> int:
    """Have dead letters, or the runs on record since `start`, sent again. Returns how many."""
    now, number = datetime.now(UTC), 0
    if retry:
        number += sum(retry_dead_letters(parts.storage, target.name, now) for target in rules.targets)
    if start:
        with reported("Runs that were marked are sent: start it again for the others"), reading_bars() as progress:
            runs = (
                (run.application, run.run_id)
                for run in all_runs(parts.storage, progress)
                if run.state is State.CONTRIBUTED and run.last and run.last >= start
            )
            number += mark_again(parts.storage, runs, now)
    return number


def _show_plan(parts: Worker, options: ForwardOptions, *, as_json: bool) -> None:
    runs = planned(parts.storage, options)
    if as_json:
        values = [
            {"target": name, "run": run.run.run_id, "job": run.job[1], "type": run.run.type} for name, run in runs
        ]
        print_json({"runs": values})
        return
    for name, run in runs[:_MAX_SHOWN]:
        out.print(f"{plain(name)}: run {run.run.run_id} of {plain(run.job[1])}, {run.run.type}", soft_wrap=True)
    numbers = Counter(name for name, _ in runs)
    by_target = ", ".join(f"{number:,} to {plain(name)}" for name, number in sorted(numbers.items()))
    out.print(f"{counted(len(runs), 'run')} would leave{f': {by_target}' if by_target else ''}")


def _show(targets: Sequence[TargetStatus], marked: int, queued: int, forwarded: Forwarded | None) -> None:
    if queued:
        out.print(f"{counted(queued, 'run')} put into the queue")
    if forwarded:
        numbers = f"{forwarded.delivered:,} delivered, {forwarded.refused:,} refused, {forwarded.failed:,} failed"
        out.print(numbers)
    rows = [
        [
            target.target,
            f"{target.waiting:,}",
            f"{target.oldest:%Y-%m-%d %H:%M}" if target.oldest else "",
            f"{target.dead:,}",
            f"{target.paused.until:%H:%M:%S}" if target.paused else "",
        ]
        for target in targets
    ]
    notes = [
        [
            *([f"paused: {target.paused.reason}"] if target.paused else []),
            *([f"dead letter: {target.dead_because}"] if target.dead_because else []),
        ]
        for target in targets
    ]
    print_table(("target", "waiting", "since", "dead", "paused until"), rows, numbers=("waiting", "dead"), notes=notes)
    out.print(f"{counted(marked, 'changed run')} not quiet yet, or not looked at yet")
