"""`throughline rebuild`: make the tables again from the stored events."""

from itertools import takewhile

import typer

from cli.context.target import HOME, Home, parts_of, reported
from cli.records.published import publish_and_report
from cli.ui.console import counted, fail, out, progress_bar
from cli.ui.interrupt import end_stopped, stopping
from cli.ui.options import Plan, Resume
from shared.bootstrap import Worker
from shared.events.stored_runs import RunFilter, stored_runs
from shared.maintenance.rebuild import Rebuild, RebuildPlan, RebuildStage, last_rebuild, plan_rebuild
from shared.maintenance.rebuild import rebuild as maintenance_rebuild
from shared.processing.sweeper import sweep

_AT_ONCE = 8
"""Concurrent calls to storage: a connection pool of the SDK holds ten."""

_AGAIN = "`throughline rebuild --resume` continues; until then nothing is published"


def rebuild(context: typer.Context, *, plan: Plan = False, resume: Resume = False, home: Home = HOME) -> None:
    """Rebuild the tables of runs, contributions, the publish queue and assets from the stored events; then publish.

    For tables that were lost or damaged. Nothing is published until all is rebuilt, and then only what has changed: a
    second rebuild changes nothing. Rows whose events retention has deleted stay as they are. Ctrl-C stops; --resume
    continues.

        throughline rebuild --plan
        throughline rebuild
        throughline rebuild --resume
    """
    parts = parts_of(context, home, writes=not plan)
    with reported(f"Once storage answers, {_AGAIN}"):
        begin = last_rebuild(parts.storage)
        if resume and begin is None:
            fail("no rebuild was stopped, so there is nothing to resume: leave out --resume", code=2)
        todo = plan_rebuild(parts.storage)
        if plan:
            out.print(f"{counted(todo.rows, 'row')} would be deleted and rebuilt, from {_sources(todo)}")
            if todo.expired:
                out.print(
                    f"{counted(todo.expired, 'run')} stay as they are: retention has deleted a part of their events"
                )
            return
        _rebuild(parts, begin if resume else None, todo)
        sweep(parts.storage, parts.sweeping)
        complete = publish_and_report(parts)
    if not complete:
        raise typer.Exit(1)


def _sources(todo: RebuildPlan) -> str:
    return f"{counted(todo.files, 'file')} of the archive and {counted(todo.events, 'unarchived event')}"


def _rebuild(parts: Worker, begin: Rebuild | None, todo: RebuildPlan) -> None:
    """Rebuild and report; ends the command when it was stopped."""
    totals = {RebuildStage.WIPE: todo.rows, RebuildStage.ARCHIVE: todo.files, RebuildStage.EVENTS: todo.events}
    runs = 0
    with stopping() as stop, progress_bar() as progress:
        task = progress.add_task("beginning", total=None)
        stage = None
        for each in maintenance_rebuild(parts.storage, begin, names=parts.names, at_once=_AT_ONCE, stopped=stop.is_set):
            if each.stage is not stage:
                stage = each.stage
                if stage is RebuildStage.PROCESS:
                    listed = stored_runs(parts.storage, RunFilter())
                    totals[stage] = sum(1 for _ in takewhile(lambda _: not stop.is_set(), listed))
                progress.reset(task, description=str(stage), total=totals[stage])
            progress.advance(task)
            runs += each.stage is RebuildStage.PROCESS
    if last_rebuild(parts.storage):
        end_stopped(_AGAIN)
    out.print(f"{counted(runs, 'run')} rebuilt, from {_sources(todo)}")
