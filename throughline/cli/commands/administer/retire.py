"""`throughline retire`: take processes that no run has written for a long time out of the catalog."""

from datetime import timedelta
from functools import partial
from typing import Annotated

import typer

from shared.bootstrap import Worker
from shared.catalog.port import AssetKey, batches
from shared.maintenance.removal import UnseenProcess, unseen_processes, unused_placeholders
from shared.maintenance.removal import retire as maintenance_retire
from shared.publishing.context import remove_placeholders
from shared.texts import visible
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.records.processes import key_document
from throughline.cli.records.published import publish_and_report
from throughline.cli.ui.console import bar, counted, listed, note, out, plain, print_json, tracked
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
            processes = [
                {"qualified_name": unseen_process.qualified_name, "last": unseen_process.last}
                for unseen_process in leaving
            ]
            print_json({"processes": processes, "placeholders": list(map(key_document, unused))})
            return
        placeholders = counted(len(unused), "placeholder")
        out.print(f"{counted(len(leaving), 'process')} unseen for {days:,} days, {placeholders} that nothing will use")
        listed(
            [
                f"{unseen_process.last:%Y-%m-%d}  {plain(visible(unseen_process.qualified_name))}"
                for unseen_process in leaving
            ],
            most,
        )
        listed([plain(visible(name)) for _, name in unused], most)
        if plan or not (leaving or unused):
            return
        confirm("Remove them from the catalog?", yes=yes)
        _retire(parts, leaving, unused)


def _look(parts: Worker, span: timedelta) -> tuple[list[UnseenProcess], list[AssetKey]]:
    with bar("reading processes") as update:
        unseen = unseen_processes(parts.storage, parts.publishing.now() - span, progress=partial(update, advance=1))
        leaving = sorted(unseen, key=lambda unseen_process: (unseen_process.last, unseen_process.qualified_name))
    unused = unused_placeholders(parts, leaving)
    return leaving, list(tracked(unused, "looking up placeholders"))


def _retire(parts: Worker, leaving: list[UnseenProcess], unused: list[AssetKey]) -> None:
    retired = removed = 0
    with stopping() as stop:
        for unseen_process in tracked(leaving, "retiring", len(leaving)):
            if stop.is_set():
                break
            retired += maintenance_retire(parts.storage, unseen_process)
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
                removed += len(remove_placeholders(parts, keys).removed)
                update(advance=len(keys))
        out.print(f"{counted(removed, 'placeholder')} removed")
    if stop.is_set():
        end_stopped("the next `throughline retire` goes on with what is left")
    if not published or retired < len(leaving):
        raise typer.Exit(1)
