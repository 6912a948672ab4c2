"""`throughline retire` and `throughline purge`: take what Throughline created out of the catalog."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Annotated

import typer

from shared.bootstrap import Worker
from shared.catalog.port import AssetKey, batches
from shared.maintenance.removal import (
    placeholders_to_purge,
    processes_to_purge,
    unseen_processes,
    unused_placeholders,
)
from shared.maintenance.removal import purge as maintenance_purge
from shared.maintenance.removal import retire as maintenance_retire
from shared.publishing.context import remove_unlinked, turn
from shared.records.ledger import LedgerEntry
from shared.records.waits import NEVER
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.records.processes import key_document
from throughline.cli.records.published import publish_and_report
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


def retire(
    context: typer.Context,
    *,
    days: Annotated[
        int,
        typer.Option("--unseen-days", min=1, max=36500, metavar="N", help="Not written by a run for N days"),
    ] = 90,
    plan: Plan = False,
    yes: Yes = False,
    most: ListLimit = 50,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Remove processes that no run has written for a long time from the catalog; a new run creates them again.

    It also removes placeholders that nothing uses any more, but no asset that a scan found. A replay of old runs does
    not create a process again.

        throughline retire --plan
        throughline retire --unseen-days 365 --yes
    """
    refuse_json_without_plan(as_json=as_json, plan=plan)
    parts = parts_of(context, home, writes=not plan)
    with reported(NOTHING_HALF_DONE):
        leaving, unused = _look(parts, timedelta(days=days))
        if as_json:
            processes = [{"qualified_name": process.qualified_name, "last": process.retired} for process in leaving]
            print_json({"processes": processes, "placeholders": list(map(key_document, unused))})
            return
        placeholders = counted(len(unused), "placeholder")
        out.print(f"{counted(len(leaving), 'process')} unseen for {days:,} days, {placeholders} that nothing will use")
        _list([f"{process.retired:%Y-%m-%d}  {process.qualified_name}" for process in leaving], unused, most)
        if not plan and (leaving or unused):
            confirm("Remove them from the catalog?", yes=yes)
            _retire(parts, leaving, unused)


def _look(parts: Worker, span: timedelta) -> tuple[list[LedgerEntry], list[AssetKey]]:
    with bar("reading processes") as update:
        unseen = unseen_processes(parts.storage, parts.publishing.now() - span, progress=partial(update, advance=1))
        leaving = sorted(unseen, key=lambda process: (process.retired or NEVER, process.qualified_name))
    unused = unused_placeholders(parts, leaving)
    return leaving, list(tracked(unused, "looking up placeholders"))


def _retire(parts: Worker, leaving: list[LedgerEntry], unused: list[AssetKey]) -> None:
    retired = removed = 0
    with stopping() as stop:
        for process in tracked(leaving, "retiring", len(leaving)):
            if stop.is_set():
                break
            retired += maintenance_retire(parts.storage, process)
    out.print(f"{counted(retired, 'process')} retired")
    published = publish_and_report(parts)
    if parts.publishing.shadow:
        note("shadow mode", "placeholders stay: run this again when shadow mode is off")
    else:
        with stopping() as also, bar("removing placeholders", len(unused)) as update:
            for keys in batches(unused, parts.publishing.batch):
                if stop.is_set() or also.is_set():
                    stop.set()
                    break
                with turn(parts):
                    removed += len(remove_unlinked(parts, keys).removed)
                update(advance=len(keys))
        out.print(f"{counted(removed, 'placeholder')} removed")
    if stop.is_set():
        end_stopped("the next `throughline retire` goes on with what is left")
    if not published or retired < len(leaving):
        raise typer.Exit(1)


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
        entries = tracked(processes_to_purge(parts.storage), "reading processes")
        processes = sorted(entry.qualified_name for entry in entries)
        placeholders = list(tracked(placeholders_to_purge(parts), "looking up placeholders"))
        if as_json:
            print_json({"processes": processes, "placeholders": list(map(key_document, placeholders))})
            return
        numbers = f"{counted(len(processes), 'process')} and {counted(len(placeholders), 'placeholder')}"
        out.print(f"{numbers} created by Throughline")
        _list(processes, placeholders, most)
        if not plan and (processes or placeholders):
            confirm("Remove all of them from the catalog?", yes=yes)
            _purge(parts, len(processes) + len(placeholders))


def _purge(parts: Worker, total: int) -> None:
    purged = Counter[str]()
    with stopping() as stop, bar("purging", total) as update:
        for step in maintenance_purge(parts):
            update(advance=step.total())
            purged += step
            if stop.is_set():
                break
    kept_text = f", {purged['kept']:,} kept because others use them" if purged["kept"] else ""
    removed = f"{counted(purged['processes'], 'process')} and {counted(purged['placeholders'], 'placeholder')} removed"
    out.print(f"{removed}{kept_text}")
    if stop.is_set():
        end_stopped("the next `throughline purge` removes what is left")
    if purged["left"]:
        note("left", f"{counted(purged['left'], 'process')} are being written now: purge again in a few minutes")
        raise typer.Exit(1)


def _list(processes: Sequence[str], placeholders: Sequence[AssetKey], most: int) -> None:
    """Print what would go, at most so many of each kind."""
    for names in (processes, [name for _, name in placeholders]):
        listed(map(plain, names), most)
