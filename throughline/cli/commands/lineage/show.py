"""`throughline show`: the lineage of a data set in the catalog, or of a column on record, as a tree."""

import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

import typer
from rich.tree import Tree

from shared.atlas.entities import LAST_RUN
from shared.bootstrap import Worker
from shared.lineage.document import Kind, LineageDocument
from shared.lineage.graph import AmbiguousNameError, UnknownNameError
from shared.lineage.questions.index import LineageIndex
from shared.lineage.questions.origins import column_in_text, column_of, origin_document, origins_of
from shared.query.processes import AmbiguousError, Dataset, InCatalog, UnknownError
from shared.query.recorded_document import document_of_record
from shared.query.traversal import Lineage, lineage
from shared.query.tree import Branch, tree
from shared.reading.processes import recorded
from shared.texts.suggestion import suggestion
from shared.texts.visible import visible
from throughline.cli.commands.lineage.column_origins import origin_tree
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.ui.console import fail, plain, print_json, print_tree
from throughline.cli.ui.options import AsJson

Kinds = Mapping[tuple[str, str, str, str], Kind]
"""The kinds of column pairs, by the qualified names of the process and of the data set on either side, and the names of
both columns.
"""
_NO_KINDS: Kinds = MappingProxyType({})
_DEPTH, _DEPTH_OF_COLUMN = 3, 20


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
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Show the lineage of a data set in the catalog as a tree: its sources, and what is made of it.

    TABLE.COLUMN (or --column) shows where one column comes from, as it is on record: each step with its kind, its
    expression and its process. `throughline search` finds columns.

        throughline show delta/customer_master
        throughline show delta/customer_master.full_name
        throughline show delta/customer_master --columns --depth 1
        throughline show file:///data/customer --column id --json
    """
    parts = parts_of(context, home)
    if column or "." in asset:
        with reported():
            document = document_of_record(parts.storage, parts.publishing, expressions=True)
        number = _column(document, asset, column)
        if number is not None:
            origin = origins_of(LineageIndex(document), number, depth or _DEPTH_OF_COLUMN)
            if as_json:
                print_json(origin_document(document, origin))
            else:
                print_tree(origin_tree(document, origin))
            return
    with reported():
        found = _found(parts, asset, depth or _DEPTH)
        kinds = _kinds(parts) if columns or as_json else _NO_KINDS
    if as_json:
        both = {way: [_document(each, kinds) for each in tree(found, way)] for way in ("upstream", "downstream")}
        print_json({"asset": _named(found.dataset), **both})
    else:
        print_tree(lineage_tree(found, columns=columns, kinds=kinds))


def _column(document: LineageDocument, asset: str, column: str) -> int | None:
    """The column that is meant; None where a data set is. Ends the command where `--column` names none."""
    if not column:
        return column_in_text(document, asset)
    try:
        return column_of(document, asset, column)
    except (UnknownNameError, AmbiguousNameError) as error:
        fail(str(error))


def _found(parts: Worker, asset: str, depth: int) -> Lineage:
    """The lineage of the data set that is meant; ends the command where there is none or more than one."""
    try:
        return lineage(InCatalog(parts.catalog), asset, depth=depth)
    except AmbiguousError as error:
        return fail(str(error))
    except UnknownError:
        processes = [process for process, _ in recorded(parts.storage, parts.publishing)]
        assets = {each for process in processes for each in (*process.inputs, *process.outputs)}
        names = {each.qualified_name for each in assets}
        if "." in asset:
            short = {each.qualified_name: each.name for each in assets}
            ends = (end for process in processes for edge in process.columns for end in (edge.input, edge.output))
            names |= {f"{short.get(end.qualified_name, end.qualified_name)}.{end.column}" for end in ends}
        return fail(
            f"the catalog has no data set like {asset!r}.{suggestion(asset, names)} If a job writes it,"
            f" `throughline details {visible(shlex.quote(asset))}` shows what is on record of it"
        )


def _kinds(parts: Worker) -> Kinds:
    """The kinds of all column pairs on record: the catalog holds only the pairs."""
    document = document_of_record(parts.storage, parts.publishing)
    kinds = {}
    for edge in document.edges:
        source, sink = document.columns[edge.input], document.columns[edge.output]
        for end in (source, sink):
            names = (document.processes[edge.process].qualified_name, document.datasets[end.dataset].qualified_name)
            kinds[*names, source.name, sink.name] = edge.kind
    return kinds


def lineage_tree(found: Lineage, *, columns: bool, kinds: Kinds = _NO_KINDS) -> Tree:
    """Both directions as one tree. `kinds`: those that stand beside column pairs."""
    start = found.dataset
    root = Tree(f"[bold cyan]{plain(start.name)}[/] [dim]{plain(start.qualified_name)}[/]")
    for title, branches in (("made of", tree(found, "upstream")), ("used by", tree(found, "downstream"))):
        if branches:
            _grow(root.add(f"[bold]{title}[/]"), branches, columns=columns, kinds=kinds)
    if not found.steps:
        root.add("[dim]no lineage[/]")
    return root


def _grow(parent: Tree, branches: Sequence[Branch], *, columns: bool, kinds: Kinds) -> None:
    for branch in branches:
        described = plain(branch.description.partition(LAST_RUN)[0])
        process = parent.add(f"[yellow]{plain(branch.name)}[/] [dim]{described}[/]")
        if columns and not any(end.columns for end in branch.ends):
            process.add("[dim]no columns: `throughline details` says why[/]")
        for end in branch.ends:
            node = process.add(f"[cyan]{plain(end.dataset.name)}[/] [dim]{plain(end.dataset.qualified_name)}[/]")
            for source, sink in end.columns if columns else ():
                kind = kinds.get((branch.qualified_name, end.dataset.qualified_name, source, sink), Kind.IDENTITY)
                node.add(f"[green]{plain(source)}[/] → [green]{plain(sink)}[/]{_MARKS.get(kind, f' ({kind})')}")
            _grow(node, end.beyond, columns=columns, kinds=kinds)


_MARKS: Mapping[Kind, str] = {Kind.IDENTITY: "", Kind.MASK: " [magenta](mask)[/]"}


def _named(each: Dataset | Branch) -> dict[str, str]:
    return {"type": each.type, "qualified_name": each.qualified_name, "name": each.name}


def _document(branch: Branch, kinds: Kinds) -> dict[str, Any]:
    return {
        "process": _named(branch),
        "assets": [
            {
                **_named(end.dataset),
                "columns": [
                    {
                        "source": source,
                        "sink": sink,
                        "kind": kinds.get((branch.qualified_name, end.dataset.qualified_name, source, sink)),
                    }
                    for source, sink in end.columns
                ],
                "beyond": [_document(each, kinds) for each in end.beyond],
            }
            for end in branch.ends
        ],
    }
