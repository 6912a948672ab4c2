"""`throughline reconcile`: move lineage from placeholders to assets that a scan has found since."""

from collections.abc import Sequence

import typer

from shared.bootstrap import Worker
from shared.catalog.port import batches
from shared.maintenance.reconciliation import Reconciled, move, placed_assets, refreshed_matches, remove_left
from shared.records.asset_record import AssetRecord
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.records.processes import key_document
from throughline.cli.records.published import publish_and_report
from throughline.cli.ui.console import bar, counted, note, out, plain, print_json
from throughline.cli.ui.interrupt import end_stopped, stopping
from throughline.cli.ui.options import AsJson, Most, Plan
from throughline.cli.ui.removal import NOTHING_HALF_DONE, refuse_json_without_plan


def reconcile(
    context: typer.Context, *, plan: Plan = False, most: Most = 50, as_json: AsJson = False, home: Home = HOME
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
    asset_records: list[AssetRecord] = []
    with bar("looking up placeholders", len(placed)) as update:
        for batch in batches(placed, parts.publishing.batch):
            asset_records += refreshed_matches(parts, batch)
            update(advance=len(batch))
    return asset_records


def _show_plan(found: Sequence[AssetRecord], most: int, *, as_json: bool) -> None:
    moved = [asset_record for asset_record in found if asset_record.scanned]
    ambiguous = [asset_record for asset_record in found if asset_record.rivals]
    if as_json:
        scanned = [
            {
                **key_document(asset_record.own),
                "scanned": key_document(asset_record.key),
                "because": asset_record.because,
            }
            for asset_record in moved
        ]
        rivals = [
            {**key_document(asset_record.own), "rivals": list(map(key_document, asset_record.rivals))}
            for asset_record in ambiguous
        ]
        print_json({"placeholders": len(found), "found": scanned, "ambiguous": rivals})
        return
    out.print(f"{counted(len(found), 'placeholder')}, {len(moved):,} found by a scan, {len(ambiguous):,} ambiguous")
    for each in moved[: most or None]:
        out.print(f"  {plain(each.own[1])}\n    [green]→[/] {plain(' '.join(each.key))} ({plain(each.because)})")
    for each in ambiguous[: most or None]:
        out.print(f"  {plain(each.own[1])}")
        for name in each.rivals:
            out.print(f"    [yellow]?[/] {plain(' '.join(name))}")


def _reconcile(parts: Worker, placed: Sequence[AssetRecord]) -> None:
    done = Reconciled()
    with stopping() as stop, bar("looking up placeholders", len(placed)) as update:
        for batch in batches(placed, parts.publishing.batch):
            if stop.is_set():
                break
            done += move(parts, batch, again=True)
            update(advance=len(batch))
    out.print(
        f"{counted(done.looked, 'placeholder')}, {done.found:,} found by a scan, {done.ambiguous:,} ambiguous; "
        f"{counted(done.processes, 'process')} to move to the found assets"
    )
    if done.failed:
        users = "the catalog did not report which processes use them: they are asked for again, here or by the sweeper"
        note("not moved", f"{counted(done.failed, 'placeholder')}, since {users}")
    published = publish_and_report(parts)
    removed = remove_left(parts)
    out.print(f"{counted(removed, 'placeholder')} removed")
    if stop.is_set():
        end_stopped("the next `throughline reconcile`, or the sweeper, goes on with what is left")
    if done.failed or not published:
        raise typer.Exit(1)
