"""`throughline replay`: compute lineage again from stored events, with the present code and the functions' settings."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Annotated

import typer

from shared.applications.partition import read_whole
from shared.bootstrap import Worker
from shared.events.dead_letters import dead_letters
from shared.maintenance.replay import (
    REPLAY,
    LetterOutcome,
    ReplayedLetter,
    ReplayOutcome,
    ReplayPosition,
    wanted_applications,
)
from shared.maintenance.replay import replay as replay_selection
from shared.maintenance.replay_all import (
    REPLAY_ALL,
    AllPosition,
    Inventory,
    convert,
    inventory,
    of_before,
    replay_all,
    seconds_for_all,
)
from shared.reading.reader import process_names, runs_of
from shared.storage.port import Storage
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.records.dead_letters import replayed_line
from throughline.cli.records.published import publish_and_report
from throughline.cli.records.runs import Before, JobGlob, RunId, Since, known_run, refuse_unknown_job, wanted_runs
from throughline.cli.ui.console import bar, counted, fail, note, out, reading_bars, tracked
from throughline.cli.ui.interrupt import end_stopped, stopping
from throughline.cli.ui.options import Plan, Resume
from throughline.cli.ui.tables import print_table

_WORDS: Mapping[ReplayOutcome, str] = {
    ReplayOutcome.CHANGED: "changed",
    ReplayOutcome.SAME: "unchanged",
    ReplayOutcome.FORGOTTEN: "forgotten: `throughline replay --all` computes them too",
    ReplayOutcome.BUSY: "busy: another worker processes them",
}


_NAMED = 20
"""Applications that a plan names, and processes of each."""


def replay(
    context: typer.Context,
    *,
    since: Since = "",
    before: Before = "",
    job: JobGlob = "",
    run: RunId = "",
    everything: Annotated[
        bool, typer.Option("--all", help="All that is stored: also what was forgotten, and tables that were lost")
    ] = False,
    plan: Plan = False,
    resume: Resume = False,
    home: Home = HOME,
) -> None:
    """Compute lineage again from stored events, with the present code and the functions' settings; then publish.

    A selection computes the applications of the chosen runs, with their dead letters. --all computes everything: for
    tables that were lost or damaged, after an upgrade of the storage format, and where nothing of an older version
    shall be left; --plan says how long it takes. Only what has changed is published, so a second replay changes
    nothing. Ctrl-C stops after the current application; --resume continues. Times are those of the events, in UTC
    unless they name a zone. Exit code 1 if an event cannot be used, an application was busy, or the catalog does not
    answer.

        throughline replay --from 2026-11-01 --to 2026-12-01 --plan
        throughline replay --from 2026-11-01 --job 'nightly*'
        throughline replay --all --plan
        throughline replay --all
        throughline replay --all --resume
    """
    if resume and (since or before or job or run):
        fail("--resume continues with the options of the stopped replay: leave out all others but --all", code=2)
    if everything and (since or before or job or run):
        fail("--all computes everything: leave out --from, --to, --job and --run", code=2)
    wanted_run_filter = wanted_runs(since=since, before_text=before, job=job, run=run)
    parts = parts_of(context, home, writes=not plan)
    resume_command = f"throughline replay{' --all' if everything else ''} --resume"
    with reported(f"Nothing is lost: once storage answers, `{resume_command}` continues"):
        if everything:
            is_whole = _everything(parts, plan=plan, resume=resume)
        else:
            begin = REPLAY.load(parts.storage) if resume else ReplayPosition(wanted=wanted_run_filter)
            if begin is None:
                fail("no replay was stopped, so there is nothing to resume: leave out --resume", code=2)
            if run:
                known_run(parts.storage, run)
            is_whole = _plan(parts, begin) if plan else _replay(parts, begin)
    if not is_whole:
        raise typer.Exit(1)


# --- a selection


def _plan(parts: Worker, begin: ReplayPosition) -> bool:
    selected = wanted_applications(parts.storage, begin)
    applications = [application for _, application, _ in tracked(selected, "looking")]
    _refuse_other_jobs(parts, begin, len(applications))
    named = [_in_words(parts.storage, application) for application in applications[:_NAMED]]
    if named:
        print_table(
            ("application", "runs"), [row for row, _ in named], numbers=("runs",), notes=[names for _, names in named]
        )
    first = f"; the first {_NAMED} are named" if len(applications) > _NAMED else ""
    out.print(f"{counted(len(applications), 'application')} would be computed again{first}")
    return True


def _in_words(storage: Storage, application: str) -> tuple[tuple[str, str], list[str]]:
    """An application with the number of its runs, and the processes to which they contribute; else their jobs."""
    snapshot = read_whole(storage, application, lenient=True)
    runs = [*runs_of(snapshot)]
    names = sorted(process_names(snapshot.state).values()) or sorted({run.job for run in runs if run.job})
    more = [f"and {len(names) - _NAMED:,} more"] if len(names) > _NAMED else []
    return (application, f"{len(runs):,}"), [*names[:_NAMED], *more]


def _refuse_other_jobs(parts: Worker, begin: ReplayPosition, number: int) -> None:
    """End the command where nothing was found for the name of a job alone."""
    if begin.wanted.job and not number and not (begin.after or begin.wanted.since or begin.wanted.before):
        refuse_unknown_job(parts.storage, begin.wanted.job)


def _replay(parts: Worker, begin: ReplayPosition) -> bool:
    """Replay, publish and report. Whether all went well; ends the command when it was stopped."""
    outcomes: Counter[ReplayOutcome] = Counter()
    letters: Counter[LetterOutcome] = Counter()
    number_kept, began = 0, datetime.now(UTC)
    with stopping() as stop, bar("looking") as update:
        selected = wanted_applications(parts.storage, begin)
        total = sum(1 for _ in takewhile(lambda _: not stop.is_set(), selected))  # far cheaper than the replay
        update(description="computing", total=total)
        for replayed in replay_selection(parts.processor, begin, stopped=stop.is_set):
            if isinstance(replayed, ReplayedLetter):
                if replayed.is_news:
                    letters[replayed.outcome] += 1
                    out.print(replayed_line(replayed))
            else:
                outcomes[replayed.outcome] += 1
                number_kept += replayed.kept
                update(advance=1)
    _refuse_other_jobs(parts, begin, outcomes.total())
    is_whole = _report(parts.storage, outcomes, number_kept, began)
    if letters:
        out.print("dead letters: " + ", ".join(f"{number:,} {outcome}" for outcome, number in letters.items()))
    if stop.is_set() and (here := REPLAY.load(parts.storage)):
        end_stopped(f"{_place(here)}. What was computed is published; `throughline replay --resume` continues")
    return publish_and_report(parts) and is_whole and not set(letters) - {LetterOutcome.USED}


def _report(storage: Storage, outcomes: Counter[ReplayOutcome], number_kept: int, began: datetime) -> bool:
    """Print what became of the applications. Whether all went well."""
    words = ", ".join(f"{outcomes[outcome]:,} {text}" for outcome, text in _WORDS.items() if outcomes[outcome])
    out.print(f"{counted(outcomes.total(), 'application')} computed again{': ' if words else ''}{words}")
    if number_kept:
        note("kept", f"{counted(number_kept, 'run')} stay as they are: events of them have been deleted by retention")
    dead = sum(letter.first >= began for letter in dead_letters(storage))
    if dead:
        note("dead letters", f"{counted(dead, 'event')} cannot be used; `throughline deadletter list` says why")
    return not dead and not outcomes[ReplayOutcome.BUSY]


def _place(position: ReplayPosition) -> str:
    if not position.after:
        return "before the first application"
    year, month, day, clock, *_ = position.after.split("/")
    return f"in the hour {year}-{month}-{day} {clock}:00 UTC"


# --- everything


def _everything(parts: Worker, *, plan: bool, resume: bool) -> bool:
    storage = parts.storage
    begin = REPLAY_ALL.load(storage) if resume else None
    if resume and begin is None:
        fail("no replay of everything was stopped: leave out --resume", code=2)
    if plan:
        number = sum(1 for _ in of_before(storage))
        if number:
            out.print(f"{counted(number, 'blob')} have the storage format before: they are converted first, one by one")
    else:
        with stopping() as stop:
            names = takewhile(lambda _: not stop.is_set(), convert(storage))
            number = sum(1 for _ in tracked(names, "converting what has the format before"))
            if number:
                out.print(f"{counted(number, 'blob')} converted from the storage format before")
            if stop.is_set():
                end_stopped("`throughline replay --all` continues")
    with reading_bars() as seen_reading_bars:
        stored = inventory(storage, seen_reading_bars)
    if plan:
        seconds = seconds_for_all(parts.processor, stored)
        took = timedelta(seconds=round(seconds))
        rate = stored.events / seconds if seconds else 0
        work_text = f"{counted(stored.events, 'event')} of {counted(len(stored.applications), 'application')}"
        out.print(f"{work_text} would be computed again, in about {took} (measured here: {rate:,.0f} events a second)")
        return True
    return _compute(parts, stored, begin)


def _compute(parts: Worker, stored: Inventory, begin: AllPosition | None) -> bool:
    outcomes: Counter[ReplayOutcome] = Counter()
    number_kept, began = 0, datetime.now(UTC)
    total = len(stored.in_order(begin.after if begin else ""))
    with stopping() as stop, bar("computing", total) as update:
        for replayed in replay_all(parts, parts.processor, stored, begin, stopped=stop.is_set):
            outcomes[replayed.outcome] += 1
            number_kept += replayed.kept
            update(advance=1)
    is_whole = _report(parts.storage, outcomes, number_kept, began)
    if REPLAY_ALL.load(parts.storage):
        end_stopped("`throughline replay --all --resume` continues; until then only finished processes are published")
    return publish_and_report(parts) and is_whole
