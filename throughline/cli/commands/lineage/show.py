"""`throughline show`: the lineage of a data set, or of a column, as a tree."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated

import typer
from rich.tree import Tree

from shared.lineage.document import Kind, LineageDocument
from shared.lineage.graph import Way, label
from shared.lineage.questions import LineageIndex, Origin, origin_document, origins_of
from shared.lineage.steps import Branch, Lineage, lineage_of, tree
from throughline.cli.commands.lineage.document_source import lineage_document, names_of_lineage
from throughline.cli.context.target import HOME, Home
from throughline.cli.ui.console import plain, print_json, print_tree
from throughline.cli.ui.options import AsJson, FromLake

_DEPTH, _DEPTH_OF_COLUMN = 3, 20
_MARKS: Mapping[str, str] = MappingProxyType({Kind.IDENTITY: "", Kind.MASK: " [magenta](mask)[/]"})
"""What is written behind a pair of columns, where it is not its kind in brackets."""


def show(
    context: typer.Context,
    asset: Annotated[str, typer.Argument(help="A name, the end of a path, a whole qualified name, or TABLE.COLUMN")],
    *,
    column: Annotated[str, typer.Option(metavar="NAME", help="Show where this column comes from")] = "",
    columns: Annotated[bool, typer.Option("--columns", help="Show column lineage too, with kinds and masks")] = False,
    depth: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=20,
            metavar="N",
            help="Follow lineage over at most N steps. Default: 3, or 20 for a column",
        ),
    ] = None,
    lake: FromLake = "",
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Show the lineage of a data set as a tree: its sources, and what is made of it.

    TABLE.COLUMN (or --column) shows where one column comes from: each step with its kind, its expression and its
    process. It is the lineage on record, also what is not published yet; `throughline details --catalog` compares it
    with the catalog. `throughline search` finds names. --json has the steps as `Client.lineage` of Python has them.

        throughline show delta/customer_master
        throughline show delta/customer_master.full_name
        throughline show delta/customer_master --columns --depth 1
        throughline show file:///data/customer --column id --json
    """
    index = LineageIndex(lineage_document(context, home, lake, expressions=True))
    with names_of_lineage():
        dataset, number = index.subject(asset) if not column else (index.dataset(asset), None)
        if column:
            number = index.column(dataset, column)
    if number is not None:
        origin = origins_of(index, number, depth or _DEPTH_OF_COLUMN)
        if as_json:
            print_json(origin_document(index.document, origin))
        else:
            print_tree(origin_tree(index.document, origin))
        return
    lineage = lineage_of(index, dataset, depth=depth or _DEPTH)
    if as_json:
        print_json(lineage)
    else:
        print_tree(lineage_tree(lineage, columns=columns))


def lineage_tree(lineage: Lineage, *, columns: bool) -> Tree:
    """Both directions as one tree; `columns`: with the pairs of columns."""
    start = lineage.dataset
    root = Tree(f"[bold cyan]{plain(start.name)}[/] [dim]{plain(start.qualified_name)}[/]")
    for title, way in zip(("made of", "used by"), Way, strict=True):
        if branches := tree(lineage, way):
            _grow(root.add(f"[bold]{title}[/]"), branches, columns=columns)
    if not lineage.steps:
        root.add("[dim]no lineage[/]")
    return root


def _grow(parent: Tree, branches: Sequence[Branch], *, columns: bool) -> None:
    for branch in branches:
        catalog_type = branch.ends[0][0].catalog_type
        words = f"from the catalog, {catalog_type}" if catalog_type else ", ".join(branch.operations)
        process = parent.add(f"[yellow]{plain(branch.name)}[/]" + (f" [dim]{plain(words)}[/]" if words else ""))
        if columns and not any(step.columns for step, _ in branch.ends):
            process.add("[dim]no columns: `throughline details` says why[/]")
        for step, beyond in branch.ends:
            node = process.add(f"[cyan]{plain(step.far.name)}[/] [dim]{plain(step.far.qualified_name)}[/]")
            for (source, sink), kind in zip(step.columns, step.kinds, strict=True) if columns else ():
                node.add(f"[green]{plain(source)}[/] → [green]{plain(sink)}[/]{_MARKS.get(kind, f' ({kind})')}")
            _grow(node, beyond, columns=columns)


def origin_tree(document: LineageDocument, origin: Origin) -> Tree:
    """The tree as it is printed: each column with its kind, expression and process."""
    tree = Tree(_line(document, origin))
    for upper_origin in origin.origins:
        tree.add(origin_tree(document, upper_origin))
    if origin.edge is None and not origin.origins and not origin.remark:
        tree.add("[dim]no process on record writes it[/]")
    return tree


def _line(document: LineageDocument, origin: Origin) -> str:
    column = document.columns[origin.column]
    dataset = document.datasets[column.dataset]
    text = f"[green]{plain(label(dataset, column.name))}[/]"
    if edge := origin.edge:
        colour = "magenta" if edge.kind is Kind.MASK else "yellow"
        expression = f": {plain(edge.description)}" if edge.description else ""
        parsed = ", from the statement" if edge.parsed else ""
        process = plain(document.processes[edge.process].name)
        text += f" [{colour}]{edge.kind}[/]{expression} [dim]by {process}{parsed}[/]"
    else:
        text += f" [dim]{plain(dataset.qualified_name)}[/]"
    return f"{text} [yellow]({origin.remark})[/]" if origin.remark else text
