"""`throughline types`: compare the catalog's types with those that lineage needs, and create what it lacks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import typer

from shared.atlas.types import TypeAction, TypeChange, type_changes
from shared.bootstrap import Worker
from shared.catalog.port import apply_types
from shared.naming.names import Names
from shared.records.publish_queue import retry_refused
from throughline.cli.context.parsed_file import TextFile, names_in
from throughline.cli.context.target import HOME, Home, of_catalog, parts_of, reported
from throughline.cli.ui.console import counted, fail, note, out, plain, print_json
from throughline.cli.ui.options import NOTHING_HALF_DONE, PENDING, AsJson
from throughline.cli.ui.teaching import TeachingApp

app = TeachingApp(help="Compare the catalog's types with those that lineage needs, and create what it lacks.")


_NO_TYPES = "has no types to compare"


def plan(context: typer.Context, *, names: TextFile = None, as_json: AsJson = False, home: Home = HOME) -> None:
    """Show what the catalog lacks of the types that lineage needs, and change nothing.

    The rules of the functions' file of names count, or those of --names, to try a file before the functions use it.

    Exit code 0 if it lacks nothing, 3 if types are to be created or updated, 1 if another type differs.
    """
    with reported(NOTHING_HALF_DONE):
        parts = parts_of(context, home)
        changes = type_changes(of_catalog(parts.types, _NO_TYPES).held(), _rules(parts, names).rules_by_type)
    if as_json:
        print_json({"changes": [{**asdict(change), "definition": None} for change in changes]})
    else:
        _show(changes, _PLANNED)
    if any(change.action is TypeAction.DIFFERS for change in changes):
        raise typer.Exit(1)
    if changes:
        raise typer.Exit(PENDING)


def apply(context: typer.Context, *, names: TextFile = None, home: Home = HOME) -> None:
    """Create what the catalog lacks: new types, and new attributes of types that Throughline created.

    Other types are never changed. Processes that the catalog refused are published again within a minute, without
    waiting for their backoff. Repeating it changes nothing. --names as in `throughline types plan`.
    """
    parts = parts_of(context, home)
    with reported(NOTHING_HALF_DONE):
        applied = apply_types(of_catalog(parts.types, _NO_TYPES), _rules(parts, names).rules_by_type)
        number_retried = retry_refused(parts.storage) if applied.changes else 0
    _show(applied.changes, _APPLIED)
    if number_retried:
        refused = counted(number_retried, "process")
        out.print(f"{refused} that the catalog refused: the sweeper publishes them within a minute")
    if not applied.is_whole:
        took, lacks = counted(len(applied.changes), "change"), counted(len(applied.left), "type")
        fail(f"the catalog accepted {took}, but still lacks {lacks}: `throughline types plan` shows which")
    if applied.left:
        note("left", "types that Throughline did not create differ: the catalog drops what they cannot hold")
        raise typer.Exit(1)


def _rules(parts: Worker, names: Path | None) -> Names:
    return names_in(names) if names else parts.names


_SIGNS = {TypeAction.CREATE: "[green]+[/]", TypeAction.UPDATE: "[yellow]~[/]", TypeAction.DIFFERS: "[bold red]![/]"}


_PLANNED = {TypeAction.CREATE: "to create", TypeAction.UPDATE: "to update", TypeAction.DIFFERS: "that differ"}
_APPLIED = {TypeAction.CREATE: "created", TypeAction.UPDATE: "updated"}


def _show(changes: Sequence[TypeChange], words: Mapping[TypeAction, str]) -> None:
    for change in changes:
        facts = ", ".join((*change.what, *(f"named by the rule {rule}" for rule in change.rules)))
        category = change.category.lower().replace("_", " ")
        facts_text = plain(f": {facts}" if facts else "")
        out.print(f"{_SIGNS[change.action]} {category} [bold]{plain(change.name)}[/]{facts_text}")
    if not changes:
        out.print("nothing to do: the catalog has all types that lineage needs")
        return
    number = Counter(change.action for change in changes)
    out.print(", ".join(f"{number[action]:,} {word}" for action, word in words.items()))


app.add("plan", plan)
app.add("apply", apply)
