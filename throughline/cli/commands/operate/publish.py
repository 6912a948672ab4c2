"""`throughline publish`: publish what is due, and with --missing all lineage on record that the catalog lacks."""

from dataclasses import asdict, replace
from typing import Annotated

import typer

from shared.bootstrap import Worker
from shared.maintenance.publish_missing import (
    MISSING,
    MissingPlan,
    MissingPublished,
    missing_entries,
    plan_missing,
    publish_missing,
)
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.records.published import publish_and_report
from throughline.cli.ui.console import bar, counted, fail, note, out, print_json
from throughline.cli.ui.interrupt import end_stopped, stopping
from throughline.cli.ui.options import AsJson, Plan, Resume

_AGAIN = "What was written is on record: `throughline publish --missing --resume` continues"


def publish(
    context: typer.Context,
    *,
    missing: Annotated[bool, typer.Option("--missing", help="Also write processes that the catalog lacks")] = False,
    plan: Plan = False,
    resume: Resume = False,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Publish what is due; with --missing also lineage on record that the catalog lacks.

    The functions publish by themselves: this is for a catalog that is new or lost its content, and for the time after
    shadow mode. --missing first publishes the queue; then it writes processes that were written before and are missing
    now. It makes at most THROUGHLINE_MAX_CATALOG_RATE calls a second. The functions may keep running. Ctrl-C stops
    after the current call; --resume continues. Repeating it writes nothing.

        throughline publish
        throughline publish --missing --plan
        throughline publish --missing
        THROUGHLINE_MAX_CATALOG_RATE=5 throughline publish --missing --resume
    """
    if (plan or resume or as_json) and not missing:
        fail("--plan, --resume and --json are for --missing", code=2)
    parts = parts_of(context, home, writes=not plan)
    with reported(_AGAIN if missing else ""):
        if plan:
            _show_plan(parts, as_json=as_json)
            return
        last_process_after = MISSING.load(parts.storage) if resume else ""
        if last_process_after is None:
            fail("none was stopped, so there is nothing to resume: leave out --resume", code=2)
        if not missing:
            if not publish_and_report(parts):
                raise typer.Exit(1)
            return
        if parts.publishing.shadow:
            note("shadow mode", "the catalog stays as it is: run this again when shadow mode is off")
            return
        published = _publish(parts, last_process_after)
    _report(parts, published, as_json=as_json)


def _show_plan(parts: Worker, *, as_json: bool) -> None:
    todo = plan_missing(parts.storage, parts.publishing)
    missing = 0
    with bar("looking", todo.written) as update:
        for looked, entries in missing_entries(parts):
            missing += len(entries)
            update(advance=looked)
    if as_json:
        print_json({**asdict(todo), "missing": missing})
        return
    out.print(f"{counted(todo.waiting, 'process')} in the publish queue")
    out.print(f"{counted(todo.written, 'process')} written before, of which the catalog lacks {missing:,}")


def _publish(parts: Worker, last_key: str) -> MissingPublished:
    todo = plan_missing(parts.storage, parts.publishing)
    with stopping() as stop, bar("publishing the queue", todo.waiting) as update:

        def advance(now: MissingPublished) -> None:
            stage_name, completed, total = _stage(now, todo)
            update(description=now.waited[:60] or stage_name, completed=completed, total=total)

        publishing = replace(parts.publishing, stopped=stop.is_set)
        return publish_missing(replace(parts, publishing=publishing), last_written=last_key, progress=advance)


def _stage(now: MissingPublished, todo: MissingPlan) -> tuple[str, int, int]:
    """The present stage, how much of it is done, and of how much."""
    if now.looked:
        return "looking for missing processes", now.looked, max(todo.written, now.looked)
    return "publishing the queue", now.published.progress, max(todo.waiting, now.published.progress)


def _report(parts: Worker, outcome: MissingPublished, *, as_json: bool) -> None:
    is_stopped = MISSING.load(parts.storage) is not None
    published = outcome.published
    if as_json:
        print_json({**asdict(outcome), "stopped": is_stopped})
    else:
        out.print(
            f"catalog: {published.written:,} written, {published.removed:,} removed, {published.unchanged:,} unchanged"
        )
        out.print(f"{counted(outcome.looked, 'process')} looked up, {outcome.missing:,} missing")
    if published.refused:
        note("refused", f"the catalog refused {counted(published.refused, 'process')}: `throughline status` shows why")
    if is_stopped:
        end_stopped(_AGAIN)
    if published.refused:
        raise typer.Exit(1)
