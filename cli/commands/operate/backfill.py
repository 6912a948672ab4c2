"""`throughline backfill`: write to the catalog all lineage on record that it lacks."""

from dataclasses import asdict, replace
from typing import Annotated

import typer

from cli.commands.operate.deadletter import quiet
from cli.context.target import HOME, Home, parts_of
from cli.ui.console import fail, note, out, print_json, progress_bar
from cli.ui.interrupt import INTERRUPTED, stopping
from cli.ui.removal import counted
from shared.bootstrap import Worker
from shared.errors import CatalogRefused, CatalogUnavailable, StorageUnavailable, WriteConflict
from shared.maintenance.backfill import Filled, ToFill, fill, last_fill, to_fill
from shared.maintenance.backfill import missing as maintenance_missing

_AGAIN = "What was written is on record: `throughline backfill --resume` goes on"


def backfill(
    context: typer.Context,
    *,
    plan: Annotated[bool, typer.Option("--plan", help="Only say how much there is to do")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the last one was stopped")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON")] = False,
    home: Home = HOME,
) -> None:
    """Write to the catalog all lineage on record that it lacks: for a catalog that is new, or that was lost.

    First what waits to be published, as after shadow mode or a rebuild; then what was written once and is not there any
    more. It keeps to THROUGHLINE_MAX_CATALOG_RATE calls a second, and waits where the catalog asks for that. The
    functions may go on. Ctrl-C stops after the call at hand; --resume goes on. Done again it writes nothing.

    \b
    throughline backfill --plan
    throughline backfill
    THROUGHLINE_MAX_CATALOG_RATE=5 throughline backfill --resume
    """  # noqa: D301 - \b keeps the lines of the examples apart
    quiet()
    parts = parts_of(context, home, writes=not plan)
    try:
        if plan:
            _plan(parts, as_json=as_json)
            return
        after = last_fill(parts.storage) if resume else ""
        if after is None:
            fail("no backfill was stopped: there is nothing to resume", code=2)
        if parts.publishing.shadow:
            note("shadow mode", "the catalog stays as it is: begin again when it is off")
            return
        done = _fill(parts, after)
    except StorageUnavailable as error:
        fail(f"{error}. Once storage answers: {_AGAIN[0].lower()}{_AGAIN[1:]}")
    except (CatalogUnavailable, CatalogRefused, WriteConflict) as error:
        fail(f"{error}. {_AGAIN}")
    _tell(parts, done, as_json=as_json)


def _plan(parts: Worker, *, as_json: bool) -> None:
    todo = to_fill(parts.storage, parts.publishing)
    missing = 0
    with progress_bar(transient=True) as progress:
        task = progress.add_task("looking", total=todo.written)
        for looked, gone in maintenance_missing(parts.storage, parts.catalog, parts.publishing):
            missing += len(gone)
            progress.advance(task, looked)
    if as_json:
        print_json({**asdict(todo), "missing": missing})
        return
    out.print(f"{counted(todo.waiting, 'process')} wait to be published")
    out.print(f"{counted(todo.written, 'process')} were written before, {missing:,} of these the catalog lacks")


def _fill(parts: Worker, after: str) -> Filled:
    todo = to_fill(parts.storage, parts.publishing)
    with stopping() as stop, progress_bar(transient=True) as progress:
        task = progress.add_task("publishing what waits", total=todo.waiting)
        how = replace(parts.publishing, stopped=stop.is_set)

        def tell(now: Filled) -> None:
            what, completed, total = _stage(now, todo)
            progress.update(task, description=now.waited[:60] or what, completed=completed, total=total)

        return fill(parts.storage, parts.catalog, how, after=after, tell=tell)


def _stage(now: Filled, todo: ToFill) -> tuple[str, int, int]:
    """What is being done, how much of it is, and of how much."""
    if now.looked:
        return "looking for the others", now.looked, max(todo.written, now.looked)
    return "publishing what waits", now.done.progress, max(todo.waiting, now.done.progress)


def _tell(parts: Worker, filled: Filled, *, as_json: bool) -> None:
    stopped = last_fill(parts.storage) is not None
    done = filled.done
    if as_json:
        print_json({**asdict(filled), "stopped": stopped})
    else:
        out.print(f"catalog: {done.written:,} written, {done.removed:,} removed, {done.unchanged:,} as they were")
        out.print(f"{counted(filled.looked, 'process')} looked for, {filled.missing:,} were missing")
    if done.refused:
        note("refused", f"the catalog refused {done.refused:,}: `throughline status` tells why")
    if stopped:
        note("stopped", _AGAIN)
        raise typer.Exit(INTERRUPTED)
    if done.refused:
        raise typer.Exit(1)
