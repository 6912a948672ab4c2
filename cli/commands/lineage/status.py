"""`throughline status`: the counts that reconcile."""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.context.target import HOME, Home, away, parts_of
from cli.ui.console import fail, note, out, plain, print_json, progress_bar
from cli.ui.removal import counted as number
from shared.errors import StorageUnavailable
from shared.publishing.shadow import Shadow
from shared.records.format_version import mismatch, stored_versions
from shared.reporting.status import By, Group, Status
from shared.reporting.status import status as reporting_status
from shared.storage.port import Storage

_STATES = ("published", "skipped", "waiting", "dead")
_UNSURE = 3
_NO_JOB = "(not on record)"


def status(
    context: typer.Context,
    *,
    by: Annotated[str, typer.Option(metavar="day|job|day,job", help="Count by the day, the job, or both")] = "",
    limit: Annotated[int, typer.Option(min=0, help="With --by: only the so many with the most events; 0 for all")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="The machine-readable form")] = False,
    home: Home = HOME,
) -> None:
    """Count every event received by what became of it: published, skipped, waiting or dead.

    Counted against the stored events themselves. Days are those of the events' own times, in UTC. Exit code 1 when the
    counts do not reconcile.

    \b
    throughline status
    throughline status --by day
    throughline status --by day,job --limit 20
    throughline status --json | jq .waiting_for
    """  # noqa: D301 - \b keeps the lines of the examples apart
    wanted = _wanted(by)
    if limit and not wanted:
        fail("--limit goes with --by day, job or day,job", code=2)
    storage = parts_of(context, home).storage
    try:
        found = counted(storage, wanted)
        problem = version_problem(storage)
    except StorageUnavailable as error:
        away(error)
    if as_json:
        print_json({**as_document(found, wanted, limit), "version_problem": problem or None})
    elif wanted:
        out.print(table_by(found, wanted, limit))
    else:
        show(found)
        if problem:
            note("versions", problem)
    if not found.reconciles:
        raise typer.Exit(1)


def _wanted(text: str) -> tuple[By, ...]:
    try:
        return tuple(dict.fromkeys(By(each.strip()) for each in text.split(",") if text))
    except ValueError:
        return fail(f"--by takes {', '.join(By)} or several of them with commas between, not {text!r}", code=2)


def counted(storage: Storage, by: Sequence[By] = ()) -> Status:
    """The counts; how far it has come shows on standard error. Raises StorageUnavailable."""
    with progress_bar(transient=True) as progress:
        tasks: dict[str, Any] = {}

        def seen(what: str, more: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(f"reading {what}", total=None)
            progress.advance(tasks[what], more)

        return reporting_status(storage, by=by, seen=seen)


def as_document(found: Status, by: Sequence[By] = (), limit: int = 0) -> dict[str, Any]:
    """The counts as plain values; times as ISO 8601 in UTC."""
    oldest = found.oldest_waiting.isoformat() if found.oldest_waiting else None
    whole = {**asdict(found), "oldest_waiting": oldest, "reconciles": found.reconciles}
    del whole["groups"]
    if by:
        whole["by"] = [_group(each, by) for each in _most(found.groups, limit)]
        whole["groups"] = len(found.groups)
    return whole


def _group(group: Group, by: Sequence[By]) -> dict[str, Any]:
    return {name: value for name, value in asdict(group).items() if name not in set(By) - set(by)}


def _most(groups: Sequence[Group], limit: int) -> Sequence[Group]:
    """The `limit` groups that have the most events, in the order in which they were."""
    if not limit or limit >= len(groups):
        return groups
    places = heapq.nsmallest(limit, range(len(groups)), key=lambda place: -groups[place].received)
    return [groups[place] for place in sorted(places)]


def table_by(found: Status, by: Sequence[By], limit: int = 0) -> Table:
    """The groups line by line; the rest, if only some are shown, and the sum of all below them."""
    table = Table(box=None, pad_edge=False, show_footer=False)
    for each in by:
        table.add_column(each, overflow="fold")
    for name in ("received", *_STATES):
        table.add_column(name, justify="right")
    shown = _most(found.groups, limit)
    for group in shown:
        keys = [getattr(group, each) or _NO_JOB for each in by]
        table.add_row(*(plain(key) for key in keys), *_numbers(group))
    left = len(found.groups) - len(shown)
    blank = [""] * (len(by) - 1)
    if left:
        chosen = set(shown)
        rest = _sum(each for each in found.groups if each not in chosen)
        table.add_row(f"[dim]{left:,} more[/]", *blank, *(f"[dim]{each}[/]" for each in _numbers(rest)))
    sign = "=" if found.reconciles else "≠"
    table.add_row(f"[bold]{sign} all[/]", *blank, *(f"[bold]{each}[/]" for each in _numbers(found)))
    return table


def _sum(groups: Iterable[Group]) -> Group:
    found = list(groups)
    return Group(**{name: sum(getattr(each, name) for each in found) for name in ("received", *_STATES)})


def _numbers(counts: Group | Status) -> list[str]:
    return [f"{getattr(counts, name):,}" for name in ("received", *_STATES)]


def version_problem(storage: Storage) -> str:
    """Why this version cannot read the stored data, and what to do, in a sentence; empty where it can."""
    stored = stored_versions(storage)
    return mismatch(stored) if stored else ""


def in_words(shadow: Shadow) -> str:
    """What shadow mode keeps from the catalog, in one line."""
    words = f"would write {number(shadow.writes, 'process')}, {number(shadow.creates, 'asset')}"
    words += f", remove {shadow.removes:,}"
    return f"{words}, describe {shadow.describes:,}" if shadow.describes else words


def show(found: Status) -> None:
    """Print the counts as a table."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column()
    for name in _STATES:
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
    if found.unsure:
        first = ", ".join(found.unsure[:_UNSURE]) + (" …" if len(found.unsure) > _UNSURE else "")
        many = number(len(found.unsure), "data set")
        out.print(f"[yellow]not sure:[/] several assets may be {many}: {plain(first)}")
        out.print("`throughline reconcile --plan` lists them, `throughline explain … --look` tells why")
    if found.refused:
        out.print(f"{found.refused:,} bodies were refused at the door")
    if found.oldest_waiting:
        out.print(f"oldest waiting: {found.oldest_waiting:%Y-%m-%d %H:%M:%S} UTC")
    for error in found.last_errors:
        out.print(f"[red]{plain(error)}[/]")
