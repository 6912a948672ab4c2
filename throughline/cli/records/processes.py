"""Processes as people and programs look at them: all that is on record, also what a catalog has no place for."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rich.tree import Tree

from shared.atlas.entities import PROCESS_TYPE
from shared.catalog.port import AssetKey
from shared.model import EXCLUDED, Asset, ColumnEdge, EdgeKind, Process
from shared.reporting.status import EdgeKey, edge_key
from shared.translation.missing_columns import why_no_columns
from shared.translation.process.union import ALL_ROWS
from shared.translation.run.facts import StatedFact
from throughline.cli.ui.console import plain


def process_document(process: Process) -> dict[str, Any]:
    """The stable form that `translate --json` promises: plain values, sorted."""
    return {
        "qualified_name": process.qualified_name,
        "name": process.name,
        "type": PROCESS_TYPE,
        "operations": list(process.operations),
        "inputs": [_asset(asset) for asset in process.inputs],
        "outputs": [_asset(asset) for asset in process.outputs],
        "columns": [_edge(edge) for edge in process.columns],
    }


Sources = Mapping[EdgeKey, tuple[str, ...]]
"""Who gave each edge, as `edge_sources` has it."""


def detailed_document(
    process: Process, sources: Sources = MappingProxyType({}), stated: Sequence[StatedFact] = ()
) -> dict[str, Any]:
    """The same with all else that is on record; `sources`: who gave each edge; `stated`: what else the events of its
    last run state.
    """
    return {
        **process_document(process),
        "end_not_seen": process.end_not_seen,
        "inputs": [
            {**_asset(asset), "tables": list(asset.tables), "parsed": asset.qualified_name in process.parsed}
            for asset in process.inputs
        ],
        "outputs": [{**_asset(asset), "tables": list(asset.tables)} for asset in process.outputs],
        "columns": [
            {
                **_edge(edge),
                "how": list(edge.how),
                "parsed": edge.parsed,
                "by": list(sources.get(edge_key(edge), ())),
            }
            for edge in process.columns
        ],
        "sourceless": [column.column for column in process.sourceless],
        "stated": [{"title": title, "text": text} for title, text in stated],
        "hierarchies": {
            schema.qualified_name: [{"type": type_, "name": name} for type_, name in schema.declared.levels]
            for schema in process.schemas
            if schema.declared.levels
        },
    }


def key_document(key: AssetKey) -> dict[str, str]:
    """The type and the qualified name of an asset."""
    return {"type": key[0], "qualified_name": key[1]}


def _asset(asset: Asset) -> dict[str, Any]:
    return {**key_document(asset.key), "namespace": asset.namespace, "name": asset.name}


def _edge(edge: ColumnEdge) -> dict[str, Any]:
    output = None if edge.output.column == ALL_ROWS else edge.output.column
    return {
        "input": {"qualified_name": edge.input.qualified_name, "column": edge.input.column},
        "output": {"qualified_name": edge.output.qualified_name, "column": output},
        "kind": str(edge.kind),
        "masked": edge.masked,
    }


def process_tree(
    process: Process, sources: Sources = MappingProxyType({}), *, missing: str = "", stated: Sequence[StatedFact] = ()
) -> Tree:
    """A process with its inputs, and the columns of each; at the end the columns that come from nowhere. `sources`: who
    gave each edge; `missing`: why the process has no columns, if it has none; `stated`: what else the
    events of its last run state.
    """
    end = ", its end not seen" if process.end_not_seen else ""
    outputs_text = " ".join(asset.qualified_name for asset in process.outputs)
    tree = Tree(f"[bold]{plain(process.name)}[/] [dim]{plain(outputs_text)} ({', '.join(process.operations)}{end})[/]")
    names = {asset.qualified_name: asset.name for asset in process.outputs}
    for asset in process.inputs:
        parsed = " [yellow]from the statement[/]" if asset.qualified_name in process.parsed else ""
        place = "" if asset == EXCLUDED else f" [dim]{plain(asset.qualified_name)}[/]"
        branch = tree.add(f"[cyan]{plain(asset.name)}[/]{place}{parsed}")
        for edge in process.columns:
            if edge.input.qualified_name == asset.qualified_name:
                branch.add(_line(edge, names, sources.get(edge_key(edge), ())))
    if process.sourceless:
        columns = ", ".join(plain(column.column) for column in process.sourceless)
        tree.add(f"[dim]no source:[/] [green]{columns}[/]")
    if reason := missing or why_no_columns(process):
        tree.add(f"[dim]no columns: {plain(reason)}[/]")
    for schema in process.schemas:
        if levels := ", ".join(f"{type_} {name}" for type_, name in schema.declared.levels):
            tree.add(f"[dim]{plain(schema.qualified_name)} lies in {plain(levels)}[/]")
    for title, text in stated:
        tree.add(f"[dim]last run, {plain(title)}: {plain(text)}[/]")
    return tree


_PLAIN_COPY = ("IDENTITY",)


def _line(edge: ColumnEdge, names: dict[str, str], decided_by: Sequence[str]) -> str:
    target = "all rows" if edge.output.column == ALL_ROWS else f"[green]{plain(edge.output.column)}[/]"
    if len(names) > 1:
        target += f" of {plain(names[edge.output.qualified_name])}"
    marks = [f"[dim]{plain(', '.join(edge.how).lower())}[/]"] if edge.how and edge.how != _PLAIN_COPY else []
    marks += ["[magenta]masked[/]"] if edge.masked else []
    marks += ["[yellow]from the statement[/]"] if edge.parsed else []
    other_deciders = [decider for decider in decided_by if decider not in {"statement", "events"}]
    marks += [f"[dim]by {', '.join(other_deciders)}[/]"] if other_deciders else []
    arrow = "→" if edge.kind == EdgeKind.DIRECT else "⇢"
    return f"[green]{plain(edge.input.column)}[/] {arrow} {target}" + (f" ({', '.join(marks)})" if marks else "")
