"""The tree that `throughline show TABLE.COLUMN` prints."""

from rich.tree import Tree

from shared.lineage.document import Kind, LineageDocument
from shared.lineage.graph import label
from shared.lineage.questions import Origin
from throughline.cli.ui.console import plain


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
