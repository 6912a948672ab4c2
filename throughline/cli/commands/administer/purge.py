"""`throughline purge`: take all that Throughline created out of the catalog."""

from dataclasses import astuple

import typer

from shared.bootstrap import Worker
from shared.maintenance.removal import Purged, placeholders_to_purge, processes_to_purge
from shared.maintenance.removal import purge as maintenance_purge
from shared.texts import visible
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.records.processes import key_document
from throughline.cli.ui.console import bar, counted, fail, listed, note, out, plain, print_json, tracked
from throughline.cli.ui.interrupt import end_stopped, stopping
from throughline.cli.ui.options import (
    NOTHING_HALF_DONE,
    AsJson,
    ListLimit,
    Plan,
    Yes,
    confirm,
    refuse_json_without_plan,
)


def purge(
    context: typer.Context,
    *,
    plan: Plan = False,
    yes: Yes = False,
    most: ListLimit = 50,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Remove from the catalog everything that Throughline created, its processes and placeholders, and nothing else.

    Assets that a scan found stay, and so do placeholders that other lineage uses or that people have described. Events
    stay too: `throughline replay` creates everything again. Running functions keep publishing: to keep the catalog
    empty, stop the worker (not the receiver: events would be lost), purge, and set THROUGHLINE_SHADOW=true before it
    starts.

        throughline purge --plan
        throughline purge --yes
    """
    refuse_json_without_plan(as_json=as_json, plan=plan)
    parts = parts_of(context, home, writes=not plan)
    if parts.publishing.shadow and not plan:
        fail(
            "shadow mode is on, so nothing can be removed from the catalog: set THROUGHLINE_SHADOW=false in this shell "
            "and for the functions first",
            code=2,
        )
    with reported(NOTHING_HALF_DONE):
        processes = sorted(
            ledger_entry.qualified_name
            for ledger_entry in tracked(processes_to_purge(parts.storage), "reading processes")
        )
        unused_placeholders = placeholders_to_purge(parts)
        placeholders = list(tracked(unused_placeholders, "looking up placeholders"))
        if as_json:
            print_json({"processes": processes, "placeholders": list(map(key_document, placeholders))})
            return
        numbers = f"{counted(len(processes), 'process')} and {counted(len(placeholders), 'placeholder')}"
        out.print(f"{numbers} created by Throughline")
        for names in (processes, [name for _, name in placeholders]):
            listed([plain(visible(name)) for name in names], most)
        if plan or not (processes or placeholders):
            return
        confirm("Remove all of them from the catalog?", yes=yes)
        _purge(parts, len(processes) + len(placeholders))


def _purge(parts: Worker, total: int) -> None:
    purged = Purged()
    with stopping() as stop, bar("purging", total) as update:
        for step in maintenance_purge(parts):
            update(advance=sum(astuple(step)))
            purged += step
            if stop.is_set():
                break
    kept_text = f", {purged.kept:,} kept because others use them" if purged.kept else ""
    removed = f"{counted(purged.processes, 'process')} and {counted(purged.placeholders, 'placeholder')} removed"
    out.print(f"{removed}{kept_text}")
    if stop.is_set():
        end_stopped("the next `throughline purge` removes what is left")
    if purged.left:
        note("left", f"{counted(purged.left, 'process')} are being written now: purge again in a few minutes")
        raise typer.Exit(1)
