"""Where one column comes from, as a tree."""

from dataclasses import dataclass
from typing import Any

from shared.lineage.document import Edge, LineageDocument
from shared.lineage.questions.index import LineageIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A column, by its number, with the columns that its values come from. `edge`: how its value reaches the column
    below; None at the start. `remark`: what ends the way here, or is not known of it.
    """

    column: int
    edge: Edge | None
    origins: tuple["Origin", ...]
    remark: str


def origins_of(index: LineageIndex, column: int, depth: int) -> Origin:
    """The columns at most `depth` edges up. What lies above a column is shown once, so that circles end."""
    graph, document = index.graph(), index.document
    expanded: set[int] = set()

    def grown(number: int, edge: Edge | None, steps: int) -> Origin:
        edges = sorted(graph.into(number))
        remark = "its source is not known" if number in index.unknown else ""
        if not edges:
            remark = remark or ("a constant" if document.columns[number].constant else "")
        elif number in expanded:
            edges, remark = [], "its origins are shown above"
        elif not steps:
            edges, remark = [], "it has origins: a higher depth shows them"
        else:
            expanded.add(number)
        above = tuple(grown(source.input, source, steps - 1) for source in edges)
        return Origin(column=number, edge=edge, origins=above, remark=remark)

    return grown(column, None, depth)


def origin_document(document: LineageDocument, origin: Origin) -> dict[str, Any]:
    """The tree for JSON. `kind`, `expression` and `process` say how the value reaches the column below."""
    column, edge = document.columns[origin.column], origin.edge
    process = document.processes[edge.process].qualified_name if edge else None
    return {
        "dataset": document.datasets[column.dataset].qualified_name,
        "column": column.name,
        "kind": edge.kind.value if edge else None,
        "expression": edge.description if edge else "",
        "process": process,
        "remark": origin.remark,
        "origins": [origin_document(document, source) for source in origin.origins],
    }
