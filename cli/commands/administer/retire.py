"""`throughline retire`: take processes out of the catalog of which no run has spoken for long."""

from datetime import timedelta
from typing import Annotated

import typer

from cli.commands.operate.deadletter import quiet, tell_published
from cli.context.target import HOME, Home, parts_of
from cli.ui.console import fail, note, out, print_json, progress_bar
from cli.ui.interrupt import INTERRUPTED, stopping
from cli.ui.removal import AsJson, Most, Plan, Yes, confirm, counted, listed, one_sentence
from shared.bootstrap import Worker
from shared.catalog.port import AssetKey
from shared.maintenance.retirement import UnseenProcess, unseen_processes
from shared.maintenance.retirement import retire as maintenance_retire
from shared.maintenance.retirement import unused_placeholders as maintenance_lonely
from shared.publishing.publisher_lease import batches, remove_placeholders


def retire(
    context: typer.Context,
    *,
    days: Annotated[int, typer.Option("--unseen-days", min=1, max=36500, help="Unseen for how many days")] = 90,
    plan: Plan = False,
    yes: Yes = False,
    most: Most = 50,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Take processes out of the catalog of which no run has spoken for long; a new run brings one back.

    Placeholders of ours that nothing uses any more leave too. What a scan found is never touched. Replaying old runs
    brings nothing back: only what is said from now on does.

    \b
    throughline retire --plan
    throughline retire --unseen-days 365 --yes
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if as_json and not plan:
        fail("--json is for --plan", code=2)
    quiet()
    parts = parts_of(context, home, writes=not plan)
    with one_sentence():
        leaving, unused_placeholders = _look(parts, timedelta(days=days))
        if as_json:
            print_json(_document(leaving, unused_placeholders))
            return
        alone = counted(len(unused_placeholders), "placeholder")
        out.print(f"{counted(len(leaving), 'process')} unseen for {days:,} days, {alone} that nothing will use")
        listed([f"{each.last:%Y-%m-%d}  {each.qualified_name}" for each in leaving], most)
        listed([name for _, name in unused_placeholders], most)
        if plan or not (leaving or unused_placeholders):
            return
        confirm("Remove them from the catalog?", yes=yes)
        _retire(parts, leaving, unused_placeholders)


def _look(parts: Worker, span: timedelta) -> tuple[list[UnseenProcess], list[AssetKey]]:
    before = parts.publishing.now() - span
    with progress_bar(transient=True) as progress:
        task = progress.add_task("looking at processes", total=None)
        found = unseen_processes(parts.storage, before, progress=lambda: progress.advance(task))
        leaving = sorted(found, key=lambda each: (each.last, each.qualified_name))
        task = progress.add_task("looking for placeholders", total=None)
        unused_placeholders = []
        for key in maintenance_lonely(parts.storage, parts.catalog, parts.publishing, leaving):
            unused_placeholders.append(key)
            progress.advance(task)
    return leaving, unused_placeholders


def _retire(parts: Worker, leaving: list[UnseenProcess], unused_placeholders: list[AssetKey]) -> None:
    retired = removed = 0
    with stopping() as stop, progress_bar(transient=True) as progress:
        task = progress.add_task("retiring", total=len(leaving))
        for each in leaving:
            if stop.is_set():
                break
            retired += maintenance_retire(parts.storage, each)
            progress.advance(task)
    out.print(f"{counted(retired, 'process')} retired")
    published = tell_published(parts)
    if parts.publishing.shadow:
        note("shadow mode", "placeholders stay: retire again when it is off")
    else:
        with stopping() as also, progress_bar(transient=True) as progress:
            task = progress.add_task("removing placeholders", total=len(unused_placeholders))
            for keys in batches(unused_placeholders, parts.publishing.batch):
                if stop.is_set() or also.is_set():
                    stop.set()
                    break
                removed += remove_placeholders(parts.storage, parts.catalog, keys)[0]
                progress.advance(task, len(keys))
        out.print(f"{counted(removed, 'placeholder')} removed")
    if stop.is_set():
        note("stopped", "what is left is retired by the next `throughline retire`")
        raise typer.Exit(INTERRUPTED)
    if not published or retired < len(leaving):
        raise typer.Exit(1)


def _document(leaving: list[UnseenProcess], unused_placeholders: list[AssetKey]) -> dict[str, object]:
    return {
        "processes": [{"qualified_name": each.qualified_name, "last": each.last.isoformat()} for each in leaving],
        "placeholders": [{"type": kind, "qualified_name": name} for kind, name in unused_placeholders],
    }
