"""`throughline status`: the counts that reconcile."""

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.console import fail, note, out, plain, print_json
from cli.leaving import counted
from cli.target import HOME, Home, target
from shared import pipeline
from shared.errors import Misconfigured, StorageUnavailable
from shared.storage import Storage


def status(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="The machine-readable form")] = False,
    home: Home = HOME,
) -> None:
    """Count every event received by what became of it: published, skipped, waiting or dead.

    Counted against the stored events themselves. Exit code 1 when the counts do not reconcile.

    \b
    throughline status
    throughline status --json | jq .waiting_for
    """  # noqa: D301 - \b keeps the lines of the examples apart
    storage = target(home).storage
    try:
        found = pipeline.status(storage)
        outdated = version_problem(storage)
    except StorageUnavailable as error:
        fail(f"{error}. Is the world still running (`make up`)?")
    if as_json:
        print_json({**as_document(found), "upgrade": outdated or None})
    else:
        show(found)
        if outdated:
            note("versions", outdated)
    if not found.reconciles:
        raise typer.Exit(1)


def as_document(found: pipeline.Status) -> dict[str, Any]:
    """The counts as plain values; times as ISO 8601 in UTC."""
    oldest = found.oldest_waiting.isoformat() if found.oldest_waiting else None
    return {**asdict(found), "oldest_waiting": oldest, "reconciles": found.reconciles}


def version_problem(storage: Storage) -> str:
    """What is to be done about what another version wrote, in a sentence; empty for nothing."""
    written = pipeline.written_with(storage)
    try:
        return pipeline.mismatch(written, pipeline.Versions()) if written else ""
    except Misconfigured as problem:
        return str(problem)


def in_words(shadow: pipeline.Shadow) -> str:
    """What shadow mode keeps from the catalog, in one line."""
    words = f"would write {counted(shadow.writes, 'process')}, {counted(shadow.creates, 'asset')}"
    words += f", remove {shadow.removes:,}"
    return f"{words}, describe {shadow.describes:,}" if shadow.describes else words


def show(found: pipeline.Status) -> None:
    """Print the counts as a table."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column()
    for name in ("published", "skipped", "waiting", "dead"):
        table.add_row(f"{getattr(found, name):,}", name)
        reasons = {"skipped": found.skipped_because, "waiting": found.waiting_for}.get(name, {})
        for reason, count in reasons.items():
            table.add_row("", f"[dim]{count:,} {'for ' if name == 'waiting' else ''}{plain(reason)}[/]")
    sign = "=" if found.reconciles else "≠"
    table.add_row(f"[bold]{sign} {found.received:,}[/]", "[bold]received[/]")
    out.print(table)
    out.print(f"{found.processes:,} processes in the catalog, {found.dirty:,} to be published")
    if any(asdict(found.shadow).values()):
        out.print(f"[yellow]shadow mode:[/] {in_words(found.shadow)}; `throughline shadow` lists it")
    if found.refused:
        out.print(f"{found.refused:,} bodies were refused at the door")
    if found.oldest_waiting:
        out.print(f"oldest waiting: {found.oldest_waiting:%Y-%m-%d %H:%M:%S} UTC")
    for error in found.last_errors:
        out.print(f"[red]{plain(error)}[/]")
