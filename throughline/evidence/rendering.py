"""A report as a page and as a table. Pure.

The page is one file that needs nothing else, prints, and has the report as JSON in it, so that a check can read it
again. Names are escaped: markup as entities, marks that act as escapes (`shared/texts.py`).
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

import msgspec

from shared.errors import Misconfigured
from shared.lineage.exports import cell
from shared.texts import visible
from throughline.evidence.report import FORMAT, Part, Report, Step

_FACTS = '<script type="application/json" id="facts">'
_FACTS_IN_PAGE = re.compile(re.escape(_FACTS) + r"(.*?)</script>", re.DOTALL)
_ACTIVE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_STYLE = (
    "body{font:11pt/1.4 sans-serif;margin:2em auto;max-width:75em;padding:0 1em}"
    "table{border-collapse:collapse;width:100%;margin:.5em 0 1.5em}"
    "th,td{border:1px solid #999;padding:.25em .5em;text-align:left;vertical-align:top;overflow-wrap:anywhere}"
    "th{background:#eee}code{font-size:90%;overflow-wrap:anywhere}"
    "@media print{body{margin:0;max-width:none;font-size:9pt}thead{display:table-header-group}tr{break-inside:avoid}}"
)


def as_html(report: Report) -> str:
    """The report as a page; equal reports give equal pages."""
    title = f"Evidence: {report.kind} {report.subject}"
    facts = json.dumps(msgspec.to_builtins(report), separators=(",", ":")).translate(_ACTIVE)
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{_text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{_text(title)}</h1>\n"
    )
    return f"{head}{''.join(_sections(report))}{_FACTS}{facts}</script>\n</body>\n</html>\n"


def _sections(report: Report) -> Iterator[str]:
    rows = [
        ("As of", report.as_of),
        ("Made", f"{report.made} by Throughline {report.version}"),
        ("Read from", report.source),
        ("Rules", report.rules or "none"),
        ("Rests on", f"{report.number_of_events:,} events, SHA-256 of their list {report.digest}"),
        ("To check", "throughline report --check THIS_FILE"),
    ]
    yield _table((), rows)
    yield _section(
        "Where it begins",
        ("data set", "column", "who says so"),
        ((begin.dataset, begin.column, begin.said_by) for begin in report.beginnings),
        "It begins nowhere.",
    )
    yield _steps("Where that comes from", report.steps_of(Part.SOURCE), "No column is known that reaches it.")
    yield _steps("Where it went", report.steps_of(Part.TARGET), "No value of it is known to reach another column.")
    yield _steps("Where it is masked", report.steps_of(Part.MASKED), "No step masks it.", "mask")
    if declassified := report.steps_of(Part.DECLASSIFIED):
        yield _steps("Where it is declassified", declassified, "")
    if opaque := report.steps_of(Part.OPAQUE):
        yield _steps("Where it may have gone, through code that nobody can look into", opaque, "")
    yield _section(
        "What is not known",
        ("data set", "column", "reason"),
        ((gap.dataset, gap.column, gap.reason) for gap in report.unknown),
        "Of no column is the source unknown.",
    )
    yield _section(
        "The processes, and the events that each rests on",
        ("process", "job", "runs", "owner", "first seen", "last seen", "events", "digest"),
        (
            (
                f"{process.name}\n{process.qualified_name}",
                " ".join(filter(None, (process.job, process.platform, process.workspace, process.link))),
                " ".join(filter(None, (", ".join(process.operations), process.last_run))),
                process.owner,
                process.first_seen,
                process.last_seen,
                f"{process.events:,}",
                process.digest,
            )
            for process in report.processes
        ),
        "No process is involved.",
    )
    yield _section("Remarks", (), ((remark,) for remark in report.remarks), "None.")


def _steps(title: str, steps: Sequence[Step], empty: str, last_column: str = "how") -> str:
    """`last_column`: `how`, with the expression of each step, or `mask`."""
    rows = (
        (
            _column(step.from_dataset, step.from_column),
            _column(step.to_dataset, step.to_column),
            step.kind,
            step.process,
            step.said_by,
            step.mask if last_column == "mask" else step.expression,
        )
        for step in steps
    )
    return _section(title, ("from", "to", "kind", "process", "who says so", last_column), rows, empty)


def _column(dataset: str, column: str) -> str:
    return f"{dataset}\n{column}" if column else dataset


def _section(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], empty: str) -> str:
    table = _table(columns, rows)
    return f"<h2>{_text(title)}</h2>\n{table or f'<p>{_text(empty)}</p>'}\n"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty without rows."""
    lines = "".join(f"<tr>{''.join(f'<td>{_lines(value)}</td>' for value in row)}</tr>\n" for row in rows)
    head = "".join(f"<th>{_text(column)}</th>" for column in columns)
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>\n{lines}</tbody></table>\n" * bool(lines)


def _lines(value: str) -> str:
    """Values of ours that a line end joins, one below the other. A name's own line end is an escape."""
    return "<br>".join(map(_text, value.split("\n", 1)))


def _text(value: str) -> str:
    return escape(visible(value))


def report_in(page: str, place: str) -> Report:
    """The report in a page. Raises Misconfigured, naming `place`, where there is none of this format."""
    facts = _FACTS_IN_PAGE.search(page)
    if facts is None:
        raise Misconfigured(f"{place} is no report of `throughline report --html`")
    try:
        report = msgspec.json.decode(facts[1], type=Report)
    except msgspec.DecodeError as error:
        raise Misconfigured(f"the facts in {place} can't be read: {error}") from error
    if report.format != FORMAT:
        raise Misconfigured(
            f"{place} is a report of format {report.format}, and this version reads {FORMAT}: check it with"
            f" Throughline {report.version}"
        )
    return report


CSV_COLUMNS = (
    "part",
    "from_dataset",
    "from_column",
    "to_dataset",
    "to_column",
    "kind",
    "who_says_so",
    "mask",
    "process",
    "valid_from",
    "valid_to",
    "as_of",
    "digest_of_events",
)


def as_csv(report: Report) -> str:
    """A row for each beginning, step and column that is not known; no cell is a formula to a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(CSV_COLUMNS)
    ending = (report.as_of, report.digest)
    writer.writerows([cell(value) for value in (*row, *ending)] for row in _rows(report))
    return text.getvalue()


def _rows(report: Report) -> Iterator[tuple[str, ...]]:
    for begin in report.beginnings:
        yield ("begins", "", "", begin.dataset, begin.column, "", begin.said_by, "", "", "", "")
    for step in report.steps:
        yield (
            step.part.value,
            step.from_dataset,
            step.from_column,
            step.to_dataset,
            step.to_column,
            step.kind,
            step.said_by,
            step.mask,
            step.process,
            step.valid_from,
            step.valid_to,
        )
    for gap in report.unknown:
        yield ("not known", "", "", gap.dataset, gap.column, gap.reason, "", "", "", "", "")
