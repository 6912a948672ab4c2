"""`throughline verify`: compare stored events, tables and catalog, and repair what is damaged."""

from collections import Counter
from dataclasses import replace
from typing import Annotated, Any

import typer

from shared.bootstrap import Worker
from shared.errors import CatalogRefused, CatalogUnavailable, StorageUnavailable
from shared.maintenance.verify.findings import MEANINGS, Inconsistency, VerifyContext
from shared.maintenance.verify.verification import verify as maintenance_verify
from shared.publishing.context import Published
from throughline.cli.context.target import HOME, Home, parts_of
from throughline.cli.ui.console import fail, note, out, plain, print_json, reading_bars
from throughline.cli.ui.interrupt import end_stopped, stopping
from throughline.cli.ui.options import AsJson

_MAX_SHOWN = 10
"""Damages of a kind that are listed; `--json` has all."""


def verify(
    context: typer.Context,
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Repair what is found, and publish the changes")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Only show what --fix would do")] = False,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Find damage: compare stored events with tables, tables with one another and with the catalog.

    Only --fix writes. Work that began in the last ten minutes is not checked, so the functions may keep running.
    Ctrl-C stops after the current step: run the command again to continue. Exit code 1 if damage is left.

        throughline verify
        throughline verify --plan
        throughline verify --fix
        throughline verify --json | jq '.by_kind'
    """
    if fix and plan:
        fail("--plan only shows what --fix would do: leave one of them out", code=2)
    parts = parts_of(context, home, writes=fix)
    damages: list[Inconsistency] = []
    published = Published()
    try:
        is_stopped = _verify(parts, damages, published, fix=fix)
    except (StorageUnavailable, CatalogUnavailable, CatalogRefused) as error:
        _report(damages, published, plan=plan, as_json=as_json)
        fail(f"{error}. What was repaired stays repaired: run the command again once it answers")
    _report(damages, published, plan=plan, as_json=as_json)
    if published.error:
        note("catalog", f"{published.error}. Nothing is lost: the functions publish once the catalog answers")
    if is_stopped:
        end_stopped("what was repaired stays repaired: run the command again to continue")
    if published.error or published.refused or any(not damage.repaired for damage in damages):
        raise typer.Exit(1)


def _verify(parts: Worker, damages: list[Inconsistency], published: Published, *, fix: bool) -> bool:
    """Fill `damages` and `published`, with a bar on standard error. Whether it was stopped."""
    with stopping() as stop, reading_bars() as seen_reading_bars:
        world = VerifyContext(
            storage=parts.storage,
            catalog=parts.catalog,
            publishing=replace(parts.publishing, stopped=stop.is_set),
            processor=parts.processor,
            grace=parts.sweeping.grace,
            end_timeout=parts.sweeping.end_timeout,
            progress=seen_reading_bars,
        )
        for outcome in maintenance_verify(world, fix=fix):
            if isinstance(outcome, Inconsistency):
                damages.append(outcome)
            else:
                published.add(outcome)
        return stop.is_set()


def _report(damages: list[Inconsistency], published: Published, *, plan: bool, as_json: bool) -> None:
    if as_json:
        print_json(_document(damages, published))
        return
    for kind, (meaning, repair) in MEANINGS.items():
        of_kind = [damage for damage in damages if damage.kind is kind]
        if not of_kind:
            continue
        out.print(f"[bold]{kind}[/] ({len(of_kind):,}): {plain(meaning)}")
        if plan:
            out.print(f"  [cyan]--fix:[/] {plain(repair)}")
        for damage in of_kind[:_MAX_SHOWN]:
            words = f"{plain(damage.subject)}: {plain(damage.description)}"
            out.print(f"  {_outcome(damage)}{words}", soft_wrap=not out.is_terminal)
        if len(of_kind) > _MAX_SHOWN:
            out.print(f"  [dim]and {len(of_kind) - _MAX_SHOWN:,} more (--json shows all)[/]")
    repaired = sum(damage.repaired is True for damage in damages)
    is_repair = any(damage.repaired is not None for damage in damages)
    out.print(f"{len(damages):,} damaged" + (f", {repaired:,} repaired" if is_repair else ""))
    if published.written or published.removed:
        out.print(f"catalog: {published.written:,} written, {published.removed:,} removed")


def _outcome(damage: Inconsistency) -> str:
    if damage.repaired is None:
        return ""
    return "[green]repaired:[/] " if damage.repaired else f"[red]left ({plain(damage.reason)}):[/] "


_FACTS = ("kind", "subject", "description", "repaired")


def _document(damages: list[Inconsistency], published: Published) -> dict[str, Any]:
    """Every damage, and their number by kind."""
    by_kind = Counter(damage.kind.value for damage in damages)
    return {
        "damages": [
            {name: getattr(damage, name) for name in (*_FACTS, *(("reason",) if damage.reason else ()))}
            for damage in damages
        ],
        "count": len(damages),
        "by_kind": dict(sorted(by_kind.items())),
        "catalog": {"written": published.written, "removed": published.removed, "error": published.error or None},
    }
