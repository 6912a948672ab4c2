"""`throughline show`: what stands before and after an asset, as a tree."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.tree import Tree

from cli.context.target import HOME, Home, away, parts_of
from cli.ui.console import fail, note, out, plain, print_json
from shared.atlas.entities import LAST_RUN
from shared.catalog.port import Catalog, Graph, Node
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.query.processes import AmbiguousError, Dataset, UnknownError, one_of

Pair = tuple[str, str]
"""Two columns: source and sink."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One process away: the process, and the data sets on its other side, each with its column pairs."""

    process: Node
    assets: tuple[tuple[Node, tuple[Pair, ...], tuple["Step", ...]], ...]


def show(
    context: typer.Context,
    asset: Annotated[str, typer.Argument(help="A name, the end of a path, or a whole qualified name")],
    *,
    columns: Annotated[bool, typer.Option("--columns", help="Show which column makes which")] = False,
    depth: Annotated[int, typer.Option(min=1, max=20, help="How many data sets away")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="The machine-readable form")] = False,
    home: Home = HOME,
) -> None:
    """Show what an asset is made of, and what is made of it, as the catalog has it.

    \b
    throughline show customer_master
    throughline show customer_master --columns --depth 1
    throughline show file:///data/customer --json
    """  # noqa: D301 - \b keeps the lines of the examples apart
    catalog = parts_of(context, home).catalog
    try:
        node = _find(catalog, asset)
        upstream = steps(catalog.lineage(node.guid, direction="INPUT", depth=depth), node.guid, "INPUT", depth)
        downstream = steps(catalog.lineage(node.guid, direction="OUTPUT", depth=depth), node.guid, "OUTPUT", depth)
    except (CatalogUnavailable, CatalogRefused) as error:
        away(error)
    if as_json:
        print_json({"asset": _node(node), "upstream": _document(upstream), "downstream": _document(downstream)})
        return
    out.print(tree(node, upstream, downstream, columns=columns))


def _find(catalog: Catalog, asset: str) -> Node:
    """The one asset that is meant; ends the command when there is none or more than one."""
    found = {
        Dataset(qualified_name=node.qualified_name, type=node.type, name=node.name): node
        for node in catalog.search(asset, limit=50)
    }
    try:
        return found[one_of(found, asset)]
    except UnknownError:
        return fail(f"the catalog has no asset like {asset!r}")
    except AmbiguousError as error:
        return fail(str(error))


def steps(graph: Graph, guid: str, direction: str, depth: int, seen: frozenset[str] = frozenset()) -> tuple[Step, ...]:
    """The steps away from an entity in one direction; a cycle is followed once."""
    if depth == 0 or guid in seen:
        return ()
    towards = 0 if direction == "INPUT" else 1
    found = []
    for process in _neighbours(graph, guid, towards):
        if not process.is_process:
            continue
        assets = tuple(
            (
                node,
                column_pairs(process, graph.nodes[guid], node, direction),
                steps(graph, node.guid, direction, depth - 1, seen | {guid}),
            )
            for node in _neighbours(graph, process.guid, towards)
        )
        found.append(Step(process=process, assets=assets))
    return tuple(found)


def _neighbours(graph: Graph, guid: str, towards: int) -> list[Node]:
    """The nodes one edge away, against (0) or with (1) the flow of data."""
    guids = {edge[towards] for edge in graph.edges if edge[1 - towards] == guid and edge[towards] in graph.nodes}
    return sorted((graph.nodes[each] for each in guids), key=lambda node: node.qualified_name)


def column_pairs(process: Node, near: Node, far: Node, direction: str) -> tuple[Pair, ...]:
    """The column pairs of a process between two data sets, by source and sink."""
    source, sink = (far, near) if direction == "INPUT" else (near, far)
    try:
        mapping = json.loads(process.attributes.get("columnMapping") or "[]")
    except ValueError:
        note("left out", f"{process.qualified_name} has a column mapping that is no JSON")
        return ()
    wanted = {"Source": source.qualified_name, "Sink": sink.qualified_name}
    return tuple(
        sorted(
            (pair["Source"], pair["Sink"])
            for each in mapping
            if each["DatasetMapping"] == wanted
            for pair in each["ColumnMapping"]
        )
    )


def tree(node: Node, upstream: Sequence[Step], downstream: Sequence[Step], *, columns: bool) -> Tree:
    """Both directions as one tree."""
    root = Tree(f"[bold cyan]{plain(node.name)}[/] [dim]{plain(node.qualified_name)}[/]")
    for title, found in (("[bold]made of[/]", upstream), ("[bold]used by[/]", downstream)):
        if found:
            _grow(root.add(title), found, columns=columns)
    if not upstream and not downstream:
        root.add("[dim]no lineage[/]")
    return root


def _grow(branch: Tree, found: Sequence[Step], *, columns: bool) -> None:
    for step in found:
        described = plain(str(step.process.attributes.get("description") or "").partition(LAST_RUN)[0])
        process = branch.add(f"[yellow]{plain(step.process.name)}[/] [dim]{described}[/]")
        for node, pairs, beyond in step.assets:
            asset = process.add(f"[cyan]{plain(node.name)}[/] [dim]{plain(node.qualified_name)}[/]")
            if columns:
                for source, sink in pairs:
                    asset.add(f"[green]{plain(source)}[/] → [green]{plain(sink)}[/]")
            _grow(asset, beyond, columns=columns)


def _node(node: Node) -> dict[str, str]:
    return {"type": node.type, "qualified_name": node.qualified_name, "name": node.name}


def _document(found: Sequence[Step]) -> list[dict[str, Any]]:
    return [
        {
            "process": _node(step.process),
            "assets": [
                {
                    **_node(node),
                    "columns": [{"source": source, "sink": sink} for source, sink in pairs],
                    "beyond": _document(beyond),
                }
                for node, pairs, beyond in step.assets
            ],
        }
        for step in found
    ]
