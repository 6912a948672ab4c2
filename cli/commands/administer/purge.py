"""`throughline purge`: take all that Throughline created out of the catalog."""

from dataclasses import astuple
from typing import Annotated

import typer

from cli.commands.operate.deadletter import quiet
from cli.context.target import HOME, Home, parts_of
from cli.ui.console import fail, note, out, print_json, progress_bar
from cli.ui.interrupt import INTERRUPTED, stopping
from cli.ui.removal import AsJson, Most, Plan, Yes, confirm, counted, listed, one_sentence
from shared.bootstrap import Worker
from shared.maintenance.purge import Purged, placeholders_to_purge, processes_to_purge
from shared.maintenance.purge import purge as maintenance_purge


def purge(
    context: typer.Context,
    *,
    ours: Annotated[bool, typer.Option("--ours", help="What Throughline created: nothing else can be purged")] = False,
    plan: Plan = False,
    yes: Yes = False,
    most: Most = 50,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Take all that Throughline created out of the catalog: its processes, and its placeholders.

    What a scan found stays, and so does a placeholder that somebody else's lineage uses or that was described anew. All
    events stay: `throughline replay` creates everything again. Running functions publish what is new meanwhile. To keep
    the catalog empty: stop them, purge, set THROUGHLINE_SHADOW=true for them, start them.

    \b
    throughline purge --ours --plan
    throughline purge --ours --yes
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if not ours:
        fail("say --ours: all that Throughline created, and nothing else, is purged", code=2)
    if as_json and not plan:
        fail("--json is for --plan", code=2)
    quiet()
    parts = parts_of(context, home, writes=not plan)
    if parts.publishing.shadow and not plan:
        fail(
            "in shadow mode, here or of the functions, nothing leaves the catalog: set THROUGHLINE_SHADOW=false"
            " on both sides first",
            code=2,
        )
    with one_sentence():
        processes, placeholders = _look(parts)
        if as_json:
            assets = [{"type": kind, "qualified_name": name} for kind, name in placeholders]
            print_json({"processes": processes, "placeholders": assets})
            return
        out.print(f"{counted(len(processes), 'process')} and {counted(len(placeholders), 'placeholder')} of ours")
        listed(processes, most)
        listed([name for _, name in placeholders], most)
        if plan or not (processes or placeholders):
            return
        confirm("Remove all of them from the catalog?", yes=yes)
        _purge(parts, len(processes) + len(placeholders))


def _look(parts: Worker) -> tuple[list[str], list[tuple[str, str]]]:
    with progress_bar(transient=True) as progress:
        task = progress.add_task("looking", total=None)
        processes = sorted(each.qualified_name for each in processes_to_purge(parts.storage))
        placeholders = []
        for key in placeholders_to_purge(parts.storage, parts.catalog, parts.publishing):
            placeholders.append(key)
            progress.advance(task)
    return processes, placeholders


def _purge(parts: Worker, total: int) -> None:
    done = Purged()
    with stopping() as stop, progress_bar(transient=True) as progress:
        task = progress.add_task("purging", total=total)
        for step in maintenance_purge(parts.storage, parts.catalog, parts.publishing):
            progress.advance(task, sum(astuple(step)))
            done += step
            if stop.is_set():
                break
    kept = f", {done.kept:,} kept that others use" if done.kept else ""
    removed = f"{counted(done.processes, 'process')} and {counted(done.placeholders, 'placeholder')} removed"
    out.print(f"{removed}{kept}")
    if stop.is_set():
        note("stopped", "what is left is removed by the next `throughline purge --ours`")
        raise typer.Exit(INTERRUPTED)
    if done.left:
        note("left", f"{done.left:,} processes are being written at this moment: purge again in a few minutes")
        raise typer.Exit(1)
