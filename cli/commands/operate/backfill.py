"""`throughline backfill`: write to the catalog all lineage on record that it lacks."""

from dataclasses import asdict, replace

import typer

from cli.context.target import HOME, Home, parts_of, reported
from cli.ui.console import bar, counted, fail, note, out, print_json
from cli.ui.interrupt import end_stopped, stopping
from cli.ui.options import AsJson, Plan, Resume
from shared.bootstrap import Worker
from shared.maintenance.backfill import Backfilled, BackfillPlan, last_backfill, plan_backfill
from shared.maintenance.backfill import backfill as backfill_catalog
from shared.maintenance.backfill import missing as maintenance_missing

_AGAIN = "What was written is on record: `throughline backfill --resume` continues"


def backfill(
    context: typer.Context, *, plan: Plan = False, resume: Resume = False, as_json: AsJson = False, home: Home = HOME
) -> None:
    """Write to the catalog all lineage on record that it lacks: for a new catalog, or one that lost its content.

    It first publishes the publish queue, which shadow mode or a rebuild leaves full. Then it writes processes that were
    written before and are missing now. It makes at most THROUGHLINE_MAX_CATALOG_RATE calls a second. The functions may
    keep running. Ctrl-C stops after the current call; --resume continues. A second backfill writes nothing.

        throughline backfill --plan
        throughline backfill
        THROUGHLINE_MAX_CATALOG_RATE=5 throughline backfill --resume
    """
    parts = parts_of(context, home, writes=not plan)
    with reported(_AGAIN):
        if plan:
            _show_plan(parts, as_json=as_json)
            return
        after = last_backfill(parts.storage) if resume else ""
        if after is None:
            fail("no backfill was stopped, so there is nothing to resume: leave out --resume", code=2)
        if parts.publishing.shadow:
            note("shadow mode", "the catalog stays as it is: run this again when shadow mode is off")
            return
        done = _fill(parts, after)
    _report(parts, done, as_json=as_json)


def _show_plan(parts: Worker, *, as_json: bool) -> None:
    todo = plan_backfill(parts.storage, parts.publishing)
    missing = 0
    with bar("looking", todo.written) as update:
        for looked, gone in maintenance_missing(parts):
            missing += len(gone)
            update(advance=looked)
    if as_json:
        print_json({**asdict(todo), "missing": missing})
        return
    out.print(f"{counted(todo.waiting, 'process')} in the publish queue")
    out.print(f"{counted(todo.written, 'process')} written before, of which the catalog lacks {missing:,}")


def _fill(parts: Worker, after: str) -> Backfilled:
    todo = plan_backfill(parts.storage, parts.publishing)
    with stopping() as stop, bar("publishing the queue", todo.waiting) as update:

        def advance(now: Backfilled) -> None:
            what, completed, total = _stage(now, todo)
            update(description=now.waited[:60] or what, completed=completed, total=total)

        how = replace(parts.publishing, stopped=stop.is_set)
        return backfill_catalog(replace(parts, publishing=how), after=after, progress=advance)


def _stage(now: Backfilled, todo: BackfillPlan) -> tuple[str, int, int]:
    """The present stage, how much of it is done, and of how much."""
    if now.looked:
        return "looking for missing processes", now.looked, max(todo.written, now.looked)
    return "publishing the queue", now.done.progress, max(todo.waiting, now.done.progress)


def _report(parts: Worker, filled: Backfilled, *, as_json: bool) -> None:
    stopped = last_backfill(parts.storage) is not None
    done = filled.done
    if as_json:
        print_json({**asdict(filled), "stopped": stopped})
    else:
        out.print(f"catalog: {done.written:,} written, {done.removed:,} removed, {done.unchanged:,} unchanged")
        out.print(f"{counted(filled.looked, 'process')} looked up, {filled.missing:,} missing")
    if done.refused:
        note("refused", f"the catalog refused {counted(done.refused, 'process')}: `throughline status` shows why")
    if stopped:
        end_stopped(_AGAIN)
    if done.refused:
        raise typer.Exit(1)
