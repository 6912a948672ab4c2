"""`throughline verify`: blobs against tables against the catalog; and mending what is damaged."""

from collections import Counter
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.commands.operate.deadletter import quiet
from cli.context.target import HOME, Home, parts_of
from cli.ui.console import fail, note, out, plain, print_json, progress_bar
from cli.ui.interrupt import INTERRUPTED, stopping
from shared.bootstrap import Worker
from shared.errors import CatalogRefused, CatalogUnavailable, StorageUnavailable
from shared.maintenance.verify.checks import Finding, VerifyContext
from shared.maintenance.verify.verification import KINDS
from shared.maintenance.verify.verification import verify as maintenance_verify
from shared.publishing.catalog_write import Published

_SHOWN = 10
"""Damages of a kind that are told one by one; `--json` tells all."""


def verify(
    context: typer.Context,
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what is found, and publish what that changed")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Say what --fix would do, and do nothing")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The machine-readable form, with every damage")] = False,
    home: Home = HOME,
) -> None:
    """Find what is damaged: stored events against tables, tables against one another and against the catalog.

    Without --fix nothing is written. What is under way for less than ten minutes is passed over, and the functions may
    go on working. Ctrl-C stops after what is at hand; what was repaired is not found again. Exit code 1 when damage is
    left.

    \b
    throughline verify
    throughline verify --plan
    throughline verify --fix
    throughline verify --json | jq '.by_kind'
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if fix and plan:
        fail("--plan only says what --fix would do: leave one of them out", code=2)
    quiet()
    parts = parts_of(context, home, writes=fix)
    damages: list[Finding] = []
    published = Published()
    try:
        stopped = _verify(parts, damages, published, fix=fix)
    except (StorageUnavailable, CatalogUnavailable, CatalogRefused) as error:
        _tell(damages, published, plan=plan, as_json=as_json)
        fail(f"{error}. What was repaired stays so: verify again once it answers")
    _tell(damages, published, plan=plan, as_json=as_json)
    if published.error:
        note("catalog", f"{published.error}. Nothing is lost: the functions publish once the catalog answers")
    if stopped:
        note("stopped", "what was repaired is not found again: verify again to go on")
        raise typer.Exit(INTERRUPTED)
    if published.error or published.refused or any(not each.repaired for each in damages):
        raise typer.Exit(1)


def _verify(parts: Worker, damages: list[Finding], published: Published, *, fix: bool) -> bool:
    """Fill `damages` and `published`; how far it has come shows on standard error. Whether it was stopped."""
    with stopping() as stop, progress_bar(transient=True) as progress:
        tasks: dict[str, Any] = {}

        def seen(what: str, more: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(f"looking at {what}", total=None)
            progress.advance(tasks[what], more)

        world = VerifyContext(
            storage=parts.storage,
            catalog=parts.catalog,
            publishing=parts.publishing,
            names=parts.names,
            grace=parts.sweeping.grace,
            end_timeout=parts.sweeping.end_timeout,
            progress=seen,
        )
        for each in maintenance_verify(world, fix=fix, stopped=stop.is_set):
            if isinstance(each, Finding):
                damages.append(each)
            else:
                published.add(each)
        return stop.is_set()


def _tell(damages: list[Finding], published: Published, *, plan: bool, as_json: bool) -> None:
    if as_json:
        print_json(as_document(damages, published))
        return
    count = Counter(each.kind.name for each in damages)
    for kind in KINDS:
        own = [each for each in damages if each.kind is kind]
        if not own:
            continue
        out.print(f"[bold]{kind.name}[/] ({count[kind.name]:,}): {plain(kind.meaning)}")
        if plan:
            out.print(f"  [cyan]--fix:[/] {plain(kind.verb)}")
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1))
        table.add_column(overflow="fold")
        for each in own[:_SHOWN]:
            table.add_row(
                f"  {plain(each.inconsistency.subject)}: {plain(each.inconsistency.description)}{_fate(each)}"
            )
        out.print(table)
        if len(own) > _SHOWN:
            out.print(f"  [dim]and {len(own) - _SHOWN:,} more (--json shows all)[/]")
    repaired = sum(each.repaired is True for each in damages)
    asked = any(each.repaired is not None for each in damages)
    out.print(f"{len(damages):,} damaged" + (f", {repaired:,} repaired" if asked else ""))
    if published.written or published.removed:
        out.print(f"catalog: {published.written:,} written, {published.removed:,} removed")


def _fate(each: Finding) -> str:
    return (
        ""
        if each.repaired is None
        else " [green]mended[/]"
        if each.repaired
        else f" [red]left: {plain(each.reason)}[/]"
    )


def as_document(damages: list[Finding], published: Published) -> dict[str, Any]:
    """Every damage as plain values, and how many there are of each kind."""
    by_kind = Counter(each.kind.name for each in damages)
    return {
        "damages": [
            {
                "kind": each.kind.name,
                "subject": each.inconsistency.subject,
                "description": each.inconsistency.description,
                "repaired": each.repaired,
                **({"reason": each.reason} if each.reason else {}),
            }
            for each in damages
        ],
        "count": len(damages),
        "by_kind": dict(sorted(by_kind.items())),
        "catalog": {"written": published.written, "removed": published.removed, "error": published.error or None},
    }
