"""`throughline show`: the lineage of a data set in the catalog, as a tree."""

import shlex
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.tree import Tree

from cli.context.target import HOME, Home, parts_of, reported
from cli.ui.console import fail, plain, print_json, print_tree
from cli.ui.options import AsJson, AssetText
from shared.atlas.entities import LAST_RUN
from shared.bootstrap import Worker
from shared.publishing.planning.planner import recorded
from shared.query.processes import AmbiguousError, Dataset, InCatalog, UnknownError
from shared.query.traversal import Lineage, lineage
from shared.query.tree import Branch, tree
from shared.texts.suggestion import suggestion
from shared.texts.visible import visible


def show(
    context: typer.Context,
    asset: AssetText,
    *,
    columns: Annotated[bool, typer.Option("--columns", help="Show column lineage too")] = False,
    depth: Annotated[int, typer.Option(min=1, max=20, metavar="N", help="Follow lineage over at most N steps")] = 3,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Show the lineage of a data set in the catalog as a tree: its sources, and what is made of it.

    throughline show delta/customer_master
    throughline show delta/customer_master --columns --depth 1
    throughline show file:///data/customer --json
    """
    parts = parts_of(context, home)
    with reported():
        found = _found(parts, asset, depth)
    if as_json:
        both = {way: [_document(each) for each in tree(found, way)] for way in ("upstream", "downstream")}
        print_json({"asset": _named(found.dataset), **both})
    else:
        print_tree(lineage_tree(found, columns=columns))


def _found(parts: Worker, asset: str, depth: int) -> Lineage:
    """The lineage of the data set that is meant; ends the command where there is none or more than one."""
    try:
        return lineage(InCatalog(parts.catalog), asset, depth=depth)
    except AmbiguousError as error:
        return fail(str(error))
    except UnknownError:
        processes = [process for process, _ in recorded(parts.storage, parts.publishing)]
        names = {each.qualified_name for process in processes for each in (*process.inputs, *process.outputs)}
        return fail(
            f"the catalog has no data set like {asset!r}.{suggestion(asset, names)} If a job writes it,"
            f" `throughline details {visible(shlex.quote(asset))}` shows what is on record of it"
        )


def lineage_tree(found: Lineage, *, columns: bool) -> Tree:
    """Both directions as one tree."""
    start = found.dataset
    root = Tree(f"[bold cyan]{plain(start.name)}[/] [dim]{plain(start.qualified_name)}[/]")
    for title, branches in (("made of", tree(found, "upstream")), ("used by", tree(found, "downstream"))):
        if branches:
            _grow(root.add(f"[bold]{title}[/]"), branches, columns=columns)
    if not found.steps:
        root.add("[dim]no lineage[/]")
    return root


def _grow(parent: Tree, branches: Sequence[Branch], *, columns: bool) -> None:
    for branch in branches:
        described = plain(branch.description.partition(LAST_RUN)[0])
        process = parent.add(f"[yellow]{plain(branch.name)}[/] [dim]{described}[/]")
        for end in branch.ends:
            node = process.add(f"[cyan]{plain(end.dataset.name)}[/] [dim]{plain(end.dataset.qualified_name)}[/]")
            for source, sink in end.columns if columns else ():
                node.add(f"[green]{plain(source)}[/] → [green]{plain(sink)}[/]")
            _grow(node, end.beyond, columns=columns)


def _named(each: Dataset | Branch) -> dict[str, str]:
    return {"type": each.type, "qualified_name": each.qualified_name, "name": each.name}


def _document(branch: Branch) -> dict[str, Any]:
    return {
        "process": _named(branch),
        "assets": [
            {
                **_named(end.dataset),
                "columns": [{"source": source, "sink": sink} for source, sink in end.columns],
                "beyond": [_document(each) for each in end.beyond],
            }
            for end in branch.ends
        ],
    }
