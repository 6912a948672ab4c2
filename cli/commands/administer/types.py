"""`throughline types`: the types that lineage needs, as code: what a catalog lacks of them, and giving it that."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from cli.context.target import HOME, Home, parts_of
from cli.ui.console import fail, note, out, plain, print_json
from cli.ui.removal import counted, one_sentence
from shared.atlas.types import Action, TypeChange, type_changes
from shared.bootstrap import Worker
from shared.catalog.applying import apply_types
from shared.catalog.port import Types
from shared.records.publish_queue import retry_refused

PENDING = 3
"""The exit code of a plan that holds changes: 0 is for none, 1 for what is in the way, 2 for wrong use."""

app = typer.Typer(
    help="The types that lineage needs: what the catalog lacks of them (plan), and giving it that (apply).",
    no_args_is_help=True,
)
AsJson = Annotated[bool, typer.Option("--json", help="The machine-readable form")]


@app.command(
    "plan", help="Say what the catalog lacks. Exit code 0 for nothing, 3 for something, 1 for what is in the way."
)
def plan(context: typer.Context, *, as_json: AsJson = False, home: Home = HOME) -> None:
    """Say what the catalog lacks of the types that lineage needs, and change nothing."""
    with one_sentence():
        parts = parts_of(context, home)
        found = type_changes(_types(parts).held(), parts.names.rules_by_type)
    if as_json:
        print_json({"changes": [{**asdict(each), "definition": None} for each in found]})
    else:
        _show(found)
    if any(each.action is Action.DIFFERS for each in found):
        raise typer.Exit(1)
    if found:
        raise typer.Exit(PENDING)


@app.command("apply", help="Give the catalog what it lacks. Done again it changes nothing.")
def apply(context: typer.Context, *, home: Home = HOME) -> None:
    """Give the catalog what it lacks: new types, and new attributes of types that we made. Others are left alone.

    Processes that the catalog refused are published again within a minute, and not when their wait is over.
    """
    parts = parts_of(context, home)
    with one_sentence():
        done = apply_types(_types(parts), parts.names.rules_by_type)
        again = retry_refused(parts.storage) if done.changes else 0
    _show(done.changes)
    if again:
        out.print(f"{counted(again, 'process')} that the catalog refused: the sweeper publishes them within a minute")
    if not done.is_whole:
        took, lacks = counted(len(done.changes), "change"), counted(len(done.left), "type")
        fail(f"the catalog took {took}, and lacks {lacks} all the same")
    if done.left:
        note("left", "types of others differ from what lineage needs: what they can't hold is left out by the catalog")
        raise typer.Exit(1)


def _types(parts: Worker) -> Types:
    return parts.types or fail("this catalog has no types to plan for", code=2)


_SIGNS = {Action.CREATE: "[green]+[/]", Action.UPDATE: "[yellow]~[/]", Action.DIFFERS: "[bold red]![/]"}


def _show(found: Sequence[TypeChange]) -> None:
    for each in found:
        said = [*each.what, *(f"named by the rule {rule}" for rule in each.rules)]
        what = f": {', '.join(said)}" if said else ""
        out.print(
            f"{_SIGNS[each.action]} {each.category.lower().replace('_', ' ')} [bold]{plain(each.name)}[/]{plain(what)}"
        )
    number = {action: sum(each.action is action for each in found) for action in Action}
    if not found:
        out.print("nothing to do: the catalog has all types that lineage needs")
        return
    words = {Action.CREATE: "to create", Action.UPDATE: "to update", Action.DIFFERS: "that differ"}
    out.print(", ".join(f"{number[action]:,} {word}" for action, word in words.items()))
