"""`throughline replay`: settle stored runs anew, with what the code and the functions' settings are now."""

import re
from collections import Counter
from datetime import UTC, datetime
from itertools import takewhile
from typing import Annotated

import typer

from cli.commands.operate.deadletter import quiet, tell_letter, tell_published
from cli.context.target import HOME, Home, parts_of
from cli.ui.console import fail, note, out, progress_bar
from cli.ui.interrupt import INTERRUPTED, stopping
from shared.bootstrap import Worker
from shared.errors import StorageUnavailable
from shared.events.stored_runs import Wanted, stored_runs
from shared.maintenance.replay import LetterOutcome, ReplayedLetter, ReplayOutcome, ReplayPosition, last_position
from shared.maintenance.replay import plan as maintenance_plan
from shared.maintenance.replay import replay as maintenance_replay

_RUN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def replay(
    context: typer.Context,
    *,
    since: Annotated[str, typer.Option("--from", metavar="T", help="From this time of events on, as 2026-11-21")] = "",
    before: Annotated[str, typer.Option("--to", metavar="T", help="Before this time, as 2026-11-21T13:00Z")] = "",
    job: Annotated[str, typer.Option(metavar="GLOB", help="Only runs of jobs called so, as 'nightly*'")] = "",
    run: Annotated[str, typer.Option(metavar="ID", help="Only this run")] = "",
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be replayed")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the last replay was stopped")] = False,
    home: Home = HOME,
) -> None:
    """Settle stored runs anew from their blobs, with what the code and the functions' settings are now; then publish.

    Dead letters among them are replayed too. What comes out the same is not written to the catalog, so doing it twice
    changes nothing. Ctrl-C stops after the run at hand. Times are those of the events, in UTC where they name no zone.

    \b
    throughline replay --from 2026-11-01 --to 2026-12-01 --plan
    throughline replay --from 2026-11-01 --job 'nightly*'
    throughline replay --resume
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if resume and (since or before or job or run):
        fail("--resume goes on with what was asked for then: leave the other options out", code=2)
    wanted = Wanted(since=_moment(since, "--from"), before=_moment(before, "--to"), job=job, run_id=_run_id(run))
    quiet()
    parts = parts_of(context, home, writes=not plan)
    try:
        begin = last_position(parts.storage) if resume else ReplayPosition(wanted=wanted)
        if begin is None:
            fail("no replay was stopped: there is nothing to resume", code=2)
        if plan:
            _tell_plan(parts, begin)
            return
        complete = _replay(parts, begin)
    except StorageUnavailable as error:
        fail(f"{error}. Nothing is lost: once storage answers, `throughline replay --resume` goes on")
    if not complete:
        raise typer.Exit(1)


def _moment(text: str, option: str) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        fail(f"{option} must be a time as 2026-11-21 or 2026-11-21T13:00Z, not {text!r}", code=2)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _run_id(text: str) -> str:
    if text and not _RUN.fullmatch(text.lower()):
        fail(f"--run must be the UUID of a run, not {text!r}", code=2)
    return text.lower()


def _tell_plan(parts: Worker, begin: ReplayPosition) -> None:
    outcomes: Counter[ReplayOutcome] = Counter()
    events = 0
    with progress_bar(transient=True) as progress:
        task = progress.add_task("looking", total=None)
        for each in maintenance_plan(parts.storage, begin):
            progress.advance(task)
            outcomes[each.outcome] += 1
            events += len(each.run.events) if each.outcome in {ReplayOutcome.PROCESSED, ReplayOutcome.EARLIER} else 0
    out.print(f"{_runs(outcomes[ReplayOutcome.PROCESSED])} would be settled anew, with {events:,} events")
    for outcome in (ReplayOutcome.WAITING, ReplayOutcome.OTHER_JOB):
        if outcomes[outcome]:
            out.print(f"{outcomes[outcome]:,} are {outcome}")


def _runs(number: int) -> str:
    return f"{number:,} {'run' if number == 1 else 'runs'}"


def _replay(parts: Worker, begin: ReplayPosition) -> bool:
    """Replay and publish, and say what was done. Whether all went well; ends the command when it was stopped."""
    outcomes: Counter[ReplayOutcome] = Counter()
    letters: Counter[LetterOutcome] = Counter()
    with stopping() as stop, progress_bar(transient=True) as progress:
        task = progress.add_task("looking", total=None)
        listed = stored_runs(parts.storage, begin.wanted, after=begin.after)
        total = sum(
            1 for _ in takewhile(lambda _: not stop.is_set(), listed)
        )  # listed twice: far cheaper than settling
        progress.update(task, description="replaying", total=total)
        for each in maintenance_replay(parts.storage, begin, names=parts.names, stopped=stop.is_set):
            if isinstance(each, ReplayedLetter):
                letters[each.outcome] += 1
                tell_letter(each)
            else:
                outcomes[each.outcome] += 1
                progress.advance(task)
    settled = f"{_runs(outcomes[ReplayOutcome.PROCESSED])} settled anew"
    others = [
        f"{outcomes[outcome]:,} {outcome}"
        for outcome in (ReplayOutcome.WAITING, ReplayOutcome.OTHER_JOB, ReplayOutcome.BUSY)
        if outcomes[outcome]
    ]
    out.print(", ".join([settled, *others]))
    if letters:
        out.print("dead letters: " + ", ".join(f"{number:,} {outcome}" for outcome, number in letters.items()))
    here = last_position(parts.storage) if stop.is_set() else None
    if here:
        note(
            "stopped", f"{_place(here)}. What was settled is published as usual; `throughline replay --resume` goes on"
        )
        raise typer.Exit(INTERRUPTED)
    if outcomes[ReplayOutcome.BUSY]:
        note("busy", "runs that kept changing are being settled by others: replay them again if that is not enough")
    return tell_published(parts) and not outcomes[ReplayOutcome.BUSY] and not set(letters) - {LetterOutcome.USED}


def _place(here: ReplayPosition) -> str:
    if not here.after:
        return "before the first run"
    hour, _, run_id = here.after.rpartition("/")
    year, month, day, clock = hour.split("/")
    return f"after run {run_id} in the hour {year}-{month}-{day} {clock}:00 UTC"
