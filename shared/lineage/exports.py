"""A selection as CSV, Mermaid and DOT (Graphviz). Names become quoted text in each, never syntax.

Formats: RFC 4180; Mermaid's flowchart syntax (mermaid.js.org/syntax/flowchart.html), quotes and markup as entities; the
DOT language (graphviz.org/doc/info/lang.html), with tables as HTML labels.
"""

import csv
import io
from collections.abc import Iterator
from xml.sax.saxutils import escape

from shared.lineage.document import NOT_SET, Edge, Flow, Kind, LineageDocument
from shared.lineage.selection import Selection
from shared.texts.visible import visible

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
    writer.writerows([cell(each) for each in row] for row in _rows(selection))
    return text.getvalue()


def _rows(selection: Selection) -> Iterator[tuple[str, ...]]:
    document = selection.document
    for flow in selection.shown_flows:
        ends = (document.datasets[flow.input].qualified_name, "", document.datasets[flow.output].qualified_name, "")
        yield (*ends, "table", "", "", *_made_by(document, flow))
    for edge in selection.shown_edges:
        read, written_column = document.columns[edge.input], document.columns[edge.output]
        yield (
            document.datasets[read.dataset].qualified_name,
            read.name or ALL_ROWS,
            document.datasets[written_column.dataset].qualified_name,
            written_column.name or ALL_ROWS,
            edge.kind.value,
            _yes(edge.masked),
            _yes(edge.parsed),
            *_made_by(document, edge),
        )


def _made_by(document: LineageDocument, each: Flow | Edge) -> tuple[str, str, str, str]:
    process = document.processes[each.process]
    since, until = (_time(document, number) for number in (each.valid_from, each.valid_to))
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
    lines += [f"  d{one} --> d{other}" for one, other in selection.links_without_columns]
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
    lines += [f"  d{one}:d -> d{other}:d;" for one, other in selection.links_without_columns]
    return "\n".join([*lines, "}"]) + "\n"


def _markup(text: str) -> str:
    """As text of an HTML label: entities for markup."""
    return escape(visible(text), {'"': "&quot;"}) or " "
