"""`throughline rebuild`: the tables anew from the stored events."""

from itertools import takewhile
from typing import Annotated

import typer

from cli.commands.operate.deadletter import quiet, tell_published
from cli.context.target import HOME, Home, parts_of
from cli.ui.console import fail, note, out, progress_bar
from cli.ui.interrupt import INTERRUPTED, stopping
from shared.bootstrap import Worker
from shared.errors import StorageUnavailable, WriteConflict
from shared.events.stored_runs import Wanted, stored_runs
from shared.maintenance.rebuild import Rebuild, RebuildPlan, Stage, last_rebuild, plan_rebuild
from shared.maintenance.rebuild import rebuild as maintenance_rebuild
from shared.processing.sweeper import sweep

_AT_ONCE = 8
"""Calls to storage: a connection pool of the SDK holds ten."""

_AGAIN = "`throughline rebuild --resume` goes on; until then nothing is published"


def rebuild(
    context: typer.Context,
    *,
    plan: Annotated[bool, typer.Option("--plan", help="Only say how much there is to do")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the last rebuild was stopped")] = False,
    home: Home = HOME,
) -> None:
    """Rebuild the tables runs, contributions, dirty and assets from the stored events; then publish.

    For tables that were lost or damaged. What comes out the same is not written to the catalog, so doing it twice
    changes nothing. Nothing is published until all is rebuilt. Ctrl-C stops; --resume goes on. Where retention has
    deleted events, what these had said stays as it is, as long as its rows are there.

    \b
    throughline rebuild --plan
    throughline rebuild
    throughline rebuild --resume
    """  # noqa: D301 - \b keeps the lines of the examples apart
    quiet()
    parts = parts_of(context, home, writes=not plan)
    try:
        begin = last_rebuild(parts.storage)
        if resume and begin is None:
            fail("no rebuild was stopped: there is nothing to resume", code=2)
        todo = plan_rebuild(parts.storage)
        if plan:
            _tell(todo)
            return
        _rebuild(parts, begin if resume else None, todo)
        sweep(parts.storage, parts.sweeping)
        complete = tell_published(parts)
    except StorageUnavailable as error:
        fail(f"{error}. Once storage answers, {_AGAIN}")
    except WriteConflict as error:
        fail(f"{error}. {_AGAIN}")
    if not complete:
        raise typer.Exit(1)


def _tell(todo: RebuildPlan) -> None:
    out.print(f"{todo.rows:,} rows would be deleted and rebuilt")
    out.print(f"from {todo.files:,} files of the archive and {todo.events:,} events beside it")
    if todo.expired:
        out.print(f"{todo.expired:,} runs of which retention has deleted a part would stay as they are")


def _rebuild(parts: Worker, begin: Rebuild | None, todo: RebuildPlan) -> None:
    """Rebuild, and say what was done; ends the command when it was stopped."""
    totals = {Stage.WIPE: todo.rows, Stage.ARCHIVE: todo.files, Stage.EVENTS: todo.events}
    settled = 0
    with stopping() as stop, progress_bar(transient=True) as progress:
        task = progress.add_task("beginning", total=None)
        stage = None
        for each in maintenance_rebuild(parts.storage, begin, names=parts.names, at_once=_AT_ONCE, stopped=stop.is_set):
            if each.stage is not stage:
                stage = each.stage
                if stage is Stage.PROCESS:
                    listed = stored_runs(parts.storage, Wanted())
                    totals[stage] = sum(1 for _ in takewhile(lambda _: not stop.is_set(), listed))
                progress.reset(task, description=str(stage), total=totals[stage])
            progress.advance(task)
            settled += each.stage is Stage.PROCESS
    if last_rebuild(parts.storage):
        note("stopped", _AGAIN)
        raise typer.Exit(INTERRUPTED)
    out.print(
        f"{settled:,} runs rebuilt, from {todo.files:,} files of the archive and {todo.events:,} events beside it"
    )
