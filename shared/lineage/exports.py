"""What one view of the lineage shows, the data sets or columns around a subject; and this selection as CSV, Mermaid and
DOT (Graphviz). The page selects by the same rules. Names become quoted text in each format, never syntax.

Formats: RFC 4180; Mermaid's flowchart syntax (mermaid.js.org/syntax/flowchart.html), quotes and markup as entities; the
DOT language (graphviz.org/doc/info/lang.html), with tables as HTML labels.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from xml.sax.saxutils import escape

from shared.lineage.document import NOT_SET, Edge, Flow, Kind, LineageDocument
from shared.lineage.graph import LineageGraph, Reached, Way
from shared.texts import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to show, by numbers of the document: all within `up` and `down` steps (None: any number) of a data set, or
    of one of its columns, at a time (None: now). Without a data set: everything.

    With `conditions` also the columns that decide which rows of the data sets upstream are written; these are not
    followed further.
    """

    dataset: int | None = None
    column: int | None = None
    up: int | None = 1
    down: int | None = 1
    at: datetime | None = None
    conditions: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Data sets by their distance (upstream negative), and what connects them.

    `columns` are those on the way of the subject's column; without such a column, all columns of `edges`. `flows` and
    `edges` are numbers of the document, sorted.
    """

    document: LineageDocument
    datasets: dict[int, int]
    columns: frozenset[int]
    flows: tuple[int, ...]
    edges: tuple[int, ...]

    @property
    def shown_edges(self) -> tuple[Edge, ...]:
        """The edges themselves."""
        return tuple(self.document.edges[number] for number in self.edges)

    @property
    def shown_flows(self) -> tuple[Flow, ...]:
        """The flows themselves."""
        return tuple(self.document.flows[number] for number in self.flows)

    @property
    def columns_by_dataset(self) -> dict[int, list[int]]:
        """The columns of each data set; sorted."""
        columns: dict[int, list[int]] = {number: [] for number in sorted(self.datasets)}
        for number in sorted(self.columns):
            columns[self.document.columns[number].dataset].append(number)
        return columns

    @property
    def links_without_columns(self) -> list[tuple[int, int]]:
        """The pairs of data sets that a flow connects and no edge; sorted."""
        columns = self.document.columns
        linked = {(columns[edge.input].dataset, columns[edge.output].dataset) for edge in self.shown_edges}
        return sorted({(flow.input, flow.output) for flow in self.shown_flows} - linked)


def select(document: LineageDocument, question: Question) -> Selection:
    """What the question asks for. Raises NoHistoryError."""
    graph = LineageGraph(document, moment=question.at, conditions=question.conditions)
    if question.column is not None:
        return _of_column(graph, question.column, question)
    if question.dataset is None:
        datasets = dict.fromkeys(range(len(document.datasets)), 0)
    else:
        up = graph.datasets([question.dataset], Way.UPSTREAM, depth=question.up)
        down = graph.datasets([question.dataset], Way.DOWNSTREAM, depth=question.down)
        datasets = _signed(up, down)
    shown_datasets = datasets.keys()
    columns = document.columns
    edges = tuple(
        number
        for number in graph.edges
        if columns[document.edges[number].input].dataset in shown_datasets
        and columns[document.edges[number].output].dataset in shown_datasets
    )
    return Selection(
        document=document,
        datasets=datasets,
        columns=frozenset(
            end for number in edges for end in (document.edges[number].input, document.edges[number].output)
        ),
        flows=tuple(
            number
            for number in graph.flows
            if document.flows[number].input in shown_datasets and document.flows[number].output in shown_datasets
        ),
        edges=edges,
    )


def _of_column(graph: LineageGraph, column: int, question: Question) -> Selection:
    document = graph.document
    up = graph.columns([column], Way.UPSTREAM, depth=question.up)
    down = graph.columns([column], Way.DOWNSTREAM, depth=question.down)
    datasets: dict[int, int] = {}
    for number, distance in sorted(_signed(up, down).items(), key=lambda item: abs(item[1])):
        datasets.setdefault(document.columns[number].dataset, distance)
    columns = set(up.distance.keys() | down.distance.keys())
    edges = up.edges | down.edges
    if question.conditions:
        rows = {number: distance for number, distance in datasets.items() if distance <= 0}
        for number, distance in rows.items():
            for edge_number in graph.conditions(number):
                edge = document.edges[edge_number]
                edges |= {edge_number}
                columns |= {edge.input, edge.output}
                datasets.setdefault(document.columns[edge.input].dataset, distance - 1)
    steps = {
        (edge.process, document.columns[edge.input].dataset, document.columns[edge.output].dataset)
        for edge in map(document.edges.__getitem__, edges)
    }
    return Selection(
        document=document,
        datasets=datasets,
        columns=frozenset(columns),
        flows=tuple(number for number in graph.flows if _step(document.flows[number]) in steps),
        edges=tuple(sorted(edges)),
    )


def _step(flow: Flow) -> tuple[int, int, int]:
    return flow.process, flow.input, flow.output


def _signed(up: Reached, down: Reached) -> dict[int, int]:
    """Distances with their sign; of a node that lies both ways, the shorter."""
    distances = dict(down.distance)
    for node, distance in up.distance.items():
        if node not in distances or distance < distances[node]:
            distances[node] = -distance
    return distances


CSV_COLUMNS = (
    "from_dataset",
    "from_column",
    "to_dataset",
    "to_column",
    "kind",
    "masked",
    "from_sql_text",
    "process",
    "job",
    "valid_from",
    "valid_to",
)
ALL_ROWS = "(all rows)"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(selection: Selection) -> str:
    """A row for each flow (kind `table`, no columns) and each edge."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows([cell(value) for value in row] for row in _rows(selection))
    return text.getvalue()


def _rows(selection: Selection) -> Iterator[tuple[str, ...]]:
    document = selection.document
    for flow in selection.shown_flows:
        ends = (document.datasets[flow.input].qualified_name, "", document.datasets[flow.output].qualified_name, "")
        yield (*ends, "table", "", "", *_made_by(document, flow))
    for edge in selection.shown_edges:
        input_column, written_column = document.columns[edge.input], document.columns[edge.output]
        yield (
            document.datasets[input_column.dataset].qualified_name,
            input_column.name or ALL_ROWS,
            document.datasets[written_column.dataset].qualified_name,
            written_column.name or ALL_ROWS,
            edge.kind.value,
            _yes(edge.masked),
            _yes(edge.parsed),
            *_made_by(document, edge),
        )


def _made_by(document: LineageDocument, link: Flow | Edge) -> tuple[str, str, str, str]:
    process = document.processes[link.process]
    since, until = (_time(document, number) for number in (link.valid_from, link.valid_to))
    return process.name, process.job, since, until


def _time(document: LineageDocument, number: int) -> str:
    return "" if number == NOT_SET else document.times[number].isoformat()


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def cell(text: str) -> str:
    """The text, with a quote in front where a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


_ARROWS = {
    Kind.MASK: "-. mask .->",
    Kind.OPAQUE: "-. opaque .->",
    Kind.CATALOG: "-. catalog .->",
    Kind.CONDITION: "-.->",
    Kind.AGGREGATION: "== aggregation ==>",
}


def as_mermaid(selection: Selection) -> str:
    """A flowchart: tables, or the columns of one column's way in a box for each table."""
    document = selection.document
    lines = ["flowchart LR"]
    for dataset, columns in selection.columns_by_dataset.items():
        box = f"d{dataset}[{_quoted(document.datasets[dataset].name)}]"
        if not selection.edges:
            lines.append(f"  {box}")
            continue
        lines.append(f"  subgraph {box}")
        lines += [f"    c{number}[{_quoted(document.columns[number].name or ALL_ROWS)}]" for number in columns]
        lines.append("  end")
    for edge in selection.shown_edges:
        lines.append(f"  c{edge.input} {_ARROWS.get(edge.kind, f'-- {edge.kind.value} -->')} c{edge.output}")
    lines += [f"  d{left_number} --> d{other}" for left_number, other in selection.links_without_columns]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """As Mermaid's quoted text: its own signs and those of markup as entities."""
    escaped_text = "".join(f"#{ord(sign)};" if sign in '"#&<>`;\\|[]{}()' else sign for sign in visible(text))
    return f'"{escaped_text or "#32;"}"'


_STYLES = {
    Kind.MASK: "dashed",
    Kind.OPAQUE: '"dashed,bold"',
    Kind.CATALOG: '"dotted,bold"',
    Kind.CONDITION: "dotted",
    Kind.AGGREGATION: "bold",
}


def as_dot(selection: Selection) -> str:
    """A directed graph: a table for each data set, a port for each column."""
    document = selection.document
    lines = ["digraph lineage {", "  rankdir=LR;", '  node [shape=plaintext, fontname="sans-serif"];']
    for dataset, columns in selection.columns_by_dataset.items():
        rows = "".join(
            f'<tr><td port="c{number}" align="left">{_markup(document.columns[number].name or ALL_ROWS)}</td></tr>'
            for number in columns
        )
        head = f'<tr><td port="d"><b>{_markup(document.datasets[dataset].name)}</b></td></tr>'
        lines.append(f'  d{dataset} [label=<<table border="0" cellborder="1" cellspacing="0">{head}{rows}</table>>];')
    columns_of = document.columns
    for edge in selection.shown_edges:
        ends = f"d{columns_of[edge.input].dataset}:c{edge.input} -> d{columns_of[edge.output].dataset}:c{edge.output}"
        lines.append(f'  {ends} [style={_STYLES.get(edge.kind, "solid")}, tooltip="{edge.kind.value}"];')
    lines += [f"  d{left_number}:d -> d{other}:d;" for left_number, other in selection.links_without_columns]
    return "\n".join([*lines, "}"]) + "\n"


def _markup(text: str) -> str:
    """As text of an HTML label: entities for markup."""
    return escape(visible(text), {'"': "&quot;"}) or " "
