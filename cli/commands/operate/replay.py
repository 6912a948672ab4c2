"""`throughline replay`: process stored runs again, with the present code and the functions' settings."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import takewhile

import typer

from cli.context.target import HOME, Home, parts_of, reported
from cli.records.dead_letters import replayed_line
from cli.records.published import publish_and_report
from cli.records.runs import Before, JobGlob, RunId, Since, known_run, refuse_unknown_job, wanted_runs
from cli.ui.console import bar, counted, fail, note, out, tracked
from cli.ui.interrupt import end_stopped, stopping
from cli.ui.options import Plan, Resume
from shared.bootstrap import Worker
from shared.events.stored_runs import stored_runs
from shared.maintenance.replay import (
    LetterOutcome,
    ReplayedLetter,
    ReplayOutcome,
    ReplayPosition,
    last_position,
    new_letters,
)
from shared.maintenance.replay import plan as maintenance_plan
from shared.maintenance.replay import replay as maintenance_replay

_OTHERS: Mapping[ReplayOutcome, str] = {
    ReplayOutcome.WAITING: "still waiting for the end of the run",
    ReplayOutcome.OTHER_JOB: "of another job",
    ReplayOutcome.BUSY: "busy: another worker processes them",
}


def replay(
    context: typer.Context,
    *,
    since: Since = "",
    before: Before = "",
    job: JobGlob = "",
    run: RunId = "",
    plan: Plan = False,
    resume: Resume = False,
    home: Home = HOME,
) -> None:
    """Process stored runs again from their events, with the present code and the functions' settings; then publish.

    Dead letters of these runs are replayed too. Only what has changed is published, so a second replay changes nothing.
    Ctrl-C stops after the current run; --resume continues. Times are those of the events, in UTC unless they name a
    zone. Exit code 1 if an event cannot be used, a run was busy, or the catalog does not answer.

        throughline replay --from 2026-11-01 --to 2026-12-01 --plan
        throughline replay --from 2026-11-01 --job 'nightly*'
        throughline replay --resume
    """
    if resume and (since or before or job or run):
        fail("--resume continues with the options of the stopped replay: leave out all others", code=2)
    wanted = wanted_runs(since=since, before=before, job=job, run=run)
    parts = parts_of(context, home, writes=not plan)
    with reported("Nothing is lost: once storage answers, `throughline replay --resume` continues"):
        begin = last_position(parts.storage) if resume else ReplayPosition(wanted=wanted)
        if begin is None:
            fail("no replay was stopped, so there is nothing to resume: leave out --resume", code=2)
        if run:
            known_run(parts.storage, run)
        if plan:
            _show_plan(parts, begin)
            return
        complete = _replay(parts, begin)
    if not complete:
        raise typer.Exit(1)


def _show_plan(parts: Worker, begin: ReplayPosition) -> None:
    changes: Counter[ReplayOutcome] = Counter()
    events = 0
    for each in tracked(maintenance_plan(parts.storage, begin), "looking"):
        changes[each.outcome] += 1
        events += (
            len(each.run.events) if each.outcome in {ReplayOutcome.PROCESSED, ReplayOutcome.PROCESSED_EARLIER} else 0
        )
    _refuse_other_jobs(parts, begin, changes)
    processed = counted(changes[ReplayOutcome.PROCESSED], "run")
    out.print(", ".join([f"{processed} would be processed again, with {counted(events, 'event')}", *_others(changes)]))


def _refuse_other_jobs(parts: Worker, begin: ReplayPosition, changes: Counter[ReplayOutcome]) -> None:
    """End the command where runs were found, and none of a job called so."""
    if begin.wanted.job and changes.total() and changes.total() == changes[ReplayOutcome.OTHER_JOB]:
        refuse_unknown_job(parts.storage, begin.wanted.job)


def _others(changes: Counter[ReplayOutcome]) -> list[str]:
    return [f"{changes[each]:,} {words}" for each, words in _OTHERS.items() if changes[each]]


def _replay(parts: Worker, begin: ReplayPosition) -> bool:
    """Replay, publish and report. Whether all went well; ends the command when it was stopped."""
    changes: Counter[ReplayOutcome] = Counter()
    letters: Counter[LetterOutcome] = Counter()
    began = datetime.now(UTC)
    with stopping() as stop, bar("looking") as update:
        listed = stored_runs(parts.storage, begin.wanted, after=begin.after)
        total = sum(1 for _ in takewhile(lambda _: not stop.is_set(), listed))  # listed twice: far cheaper than replay
        update(description="replaying", total=total)
        for each in maintenance_replay(parts.storage, begin, names=parts.names, stopped=stop.is_set):
            if isinstance(each, ReplayedLetter):
                letters[each.outcome] += 1
                out.print(replayed_line(each))
            else:
                changes[each.outcome] += 1
                update(advance=1)
    _refuse_other_jobs(parts, begin, changes)
    out.print(", ".join([f"{counted(changes[ReplayOutcome.PROCESSED], 'run')} processed again", *_others(changes)]))
    if letters:
        out.print("dead letters: " + ", ".join(f"{number:,} {outcome}" for outcome, number in letters.items()))
    dead = new_letters(parts.storage, begin.wanted, began)
    if dead:
        note("dead letters", f"{counted(dead, 'event')} cannot be used; `throughline deadletter list` says why")
    here = last_position(parts.storage) if stop.is_set() else None
    if here:
        end_stopped(f"{_place(here)}. Processed runs are published as usual; `throughline replay --resume` continues")
    if changes[ReplayOutcome.BUSY]:
        note("busy", "other workers were processing some runs: replay those again if their result is not enough")
    complete = not dead and not changes[ReplayOutcome.BUSY] and not set(letters) - {LetterOutcome.USED}
    return publish_and_report(parts) and complete


def _place(here: ReplayPosition) -> str:
    if not here.after:
        return "before the first run"
    hour, _, run_id = here.after.rpartition("/")
    year, month, day, clock = hour.split("/")
    return f"after run {run_id} in the hour {year}-{month}-{day} {clock}:00 UTC"
