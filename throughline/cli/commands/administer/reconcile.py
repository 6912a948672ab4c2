"""`throughline reconcile`: move lineage from placeholders to assets that a scan has found since."""

from collections import Counter
from collections.abc import Sequence

import typer

from shared.bootstrap import Worker
from shared.catalog.port import batches
from shared.maintenance.reconciliation import move, placed_assets, refreshed_matches, remove_left
from shared.publishing.context import turn
from shared.records.asset_record import AssetRecord
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.records.processes import key_document
from throughline.cli.records.published import publish_and_report
from throughline.cli.ui.console import bar, counted, note, out, plain, print_json
from throughline.cli.ui.interrupt import end_stopped, stopping
from throughline.cli.ui.options import NOTHING_HALF_DONE, AsJson, ListLimit, Plan, refuse_json_without_plan


def reconcile(
    context: typer.Context, *, plan: Plan = False, most: ListLimit = 50, as_json: AsJson = False, home: Home = HOME
) -> None:
    """Look up all placeholders in the catalog again, and move their lineage to assets that a scan has found since.

    A placeholder is removed once nothing refers to it. The sweeper does the same in batches, for placeholders that were
    not looked up recently; this command looks up all of them now. Repeating it changes nothing.

        throughline reconcile --plan
        throughline reconcile
    """
    refuse_json_without_plan(as_json=as_json, plan=plan)
    parts = parts_of(context, home, writes=not plan)
    with reported(NOTHING_HALF_DONE):
        placed = placed_assets(parts)
        if plan:
            _show_plan(_look(parts, placed), most, as_json=as_json)
            return
        if parts.publishing.shadow:
            note("shadow mode", "the catalog stays as it is: reconcile again when it is off")
            return
        _reconcile(parts, placed)


def _look(parts: Worker, placed: Sequence[AssetRecord]) -> list[AssetRecord]:
    records: list[AssetRecord] = []
    with bar("looking up placeholders", len(placed)) as update:
        for batch in batches(placed, parts.publishing.batch):
            records += refreshed_matches(parts, batch)
            update(advance=len(batch))
    return records


def _show_plan(records: Sequence[AssetRecord], limit: int, *, as_json: bool) -> None:
    moved = [record for record in records if record.scanned]
    ambiguous = [record for record in records if record.rivals]
    if as_json:
        scanned = [
            {**key_document(record.own), "scanned": key_document(record.key), "because": record.because}
            for record in moved
        ]
        rivals = [
            {**key_document(record.own), "rivals": list(map(key_document, record.rivals))} for record in ambiguous
        ]
        print_json({"placeholders": len(records), "found": scanned, "ambiguous": rivals})
        return
    out.print(f"{counted(len(records), 'placeholder')}, {len(moved):,} found by a scan, {len(ambiguous):,} ambiguous")
    for record in moved[: limit or None]:
        out.print(f"  {plain(record.own[1])}")
        out.print(f"    [green]→[/] {plain(' '.join(record.key))} ({plain(record.because)})")
    for record in ambiguous[: limit or None]:
        out.print(f"  {plain(record.own[1])}")
        for name in record.rivals:
            out.print(f"    [yellow]?[/] {plain(' '.join(name))}")


def _reconcile(parts: Worker, placed: Sequence[AssetRecord]) -> None:
    counts = Counter[str]()
    with stopping() as stop, bar("looking up placeholders", len(placed)) as update:
        for batch in batches(placed, parts.publishing.batch):
            if stop.is_set():
                break
            with turn(parts):
                counts += move(parts, batch, tries_again=True)
            update(advance=len(batch))
    out.print(
        f"{counted(counts['looked'], 'placeholder')}, {counts['found']:,} found by a scan, "
        f"{counts['ambiguous']:,} ambiguous; "
        f"{counted(counts['processes'], 'process')} to move to the found assets"
    )
    if counts["failed"]:
        users = "the catalog did not report which processes use them: they are asked for again, here or by the sweeper"
        note("not moved", f"{counted(counts['failed'], 'placeholder')}, since {users}")
    published = publish_and_report(parts)
    with turn(parts):
        removed = remove_left(parts)
    out.print(f"{counted(removed, 'placeholder')} removed")
    if stop.is_set():
        end_stopped("the next `throughline reconcile`, or the sweeper, goes on with what is left")
    if counts["failed"] or not published:
        raise typer.Exit(1)
