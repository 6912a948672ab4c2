"""`throughline view`: the lineage as a page, a picture, a diagram or a table."""

import contextlib
import sys
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer

from shared.lineage.days import end_of, of_two_days
from shared.lineage.document import LineageDocument
from shared.lineage.exports import Question, Selection, as_csv, as_dot, as_mermaid, select
from shared.lineage.graph import NoHistoryError
from shared.lineage.questions import LineageIndex
from shared.lineage.svg import as_svg
from shared.serving.service import LineageService
from shared.serving.shelf import OneDocument
from shared.serving.view import LineageView, page
from throughline.cli.commands.lineage.document_source import lineage_document, names_of_lineage, published_document
from throughline.cli.context.target import HOME, Home
from throughline.cli.ui.console import fail, out, plain
from throughline.cli.ui.options import AssetText, FromLake, moment
from throughline.cli.ui.writing import writing
from throughline.cli.viewer.server import PageServer

_File = Path | None
_Moments = tuple[datetime | None, datetime | None]
_STANDARD_OUTPUT = "-"
MAX_PICTURE = 400
"""Cards in one picture: more are not legible, and the layout would take minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """What to show."""

    document: LineageDocument
    question: Question
    compare: datetime | None

    @property
    def address(self) -> str:
        """The page's state, as its address has it."""
        question, document = self.question, self.document
        values = {
            "asset": "" if question.dataset is None else document.datasets[question.dataset].qualified_name,
            "column": "" if question.column is None else document.columns[question.column].name,
            "up": _steps(question.up),
            "down": _steps(question.down),
            "at": _iso(question.at),
            "compare": _iso(self.compare),
            "conditions": "1" if question.conditions else "",
        }
        return urlencode({name: value for name, value in values.items() if value})


def _steps(number: int | None) -> str:
    return "all" if number is None else str(number)


def _iso(time: datetime | None) -> str:
    return time.isoformat().replace("+00:00", "Z") if time else ""


def view(
    context: typer.Context,
    asset: AssetText = "",
    *,
    column: Annotated[str, typer.Option(metavar="NAME", help="Follow only this column")] = "",
    depth: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Show N steps; 0: all. Default: 1, or all with --column")
    ] = None,
    conditions: Annotated[bool, typer.Option("--conditions", help="Show filters, joins and groups too")] = False,
    as_of: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Show lineage as it was at this time; without --lake, at the end of that day"
        ),
    ] = "",
    compare: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Mark the changes between this time and --as-of (or now); without --lake, since the end of that day",
        ),
    ] = "",
    lake: FromLake = "",
    html: Annotated[_File, typer.Option(metavar="FILE", help="Write the page to a file that works offline")] = None,
    svg: Annotated[_File, typer.Option(metavar="FILE", help="Write a picture")] = None,
    mermaid: Annotated[_File, typer.Option(metavar="FILE", help="Write a Mermaid diagram")] = None,
    dot: Annotated[_File, typer.Option(metavar="FILE", help="Write a Graphviz diagram")] = None,
    csv: Annotated[_File, typer.Option(metavar="FILE", help="Write a table with a row for each edge")] = None,
    sql: Annotated[bool, typer.Option("--sql", help="Include the SQL of the last runs, without literals")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Serve on this port; 0: any free port")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser")] = True,
    home: Home = HOME,
) -> None:
    """Show lineage as a web page: search, follow a column, see changes, masked columns and unknown sources.

    The page is served on this machine only, until Ctrl-C. --html writes it into one file that needs no server. --svg,
    --mermaid, --dot and --csv write the same lineage without a browser. FILE may be - for standard output.

        throughline view
        throughline view delta/customer_master --column full_name
        throughline view delta/customer_master --html lineage.html --svg lineage.svg
        throughline view orders --lake build/lake --as-of 2026-11-01 --compare 2026-11-20
    """
    writers: dict[Path, Callable[[_View], bytes]] = {
        path: write
        for path, write in (
            (html, lambda view_shown: page(view_shown.document, view_shown.address, made_at=datetime.now(UTC))),
            (svg, _picture(as_svg_of)),
            (mermaid, _picture(as_mermaid)),
            (dot, _picture(as_dot)),
            (csv, lambda view_shown: as_csv(select(view_shown.document, view_shown.question)).encode()),
        )
        if path
    }
    moments = moment(as_of, "--as-of"), moment(compare, "--compare")
    document, moments = _document(context, home, lake, moments, sql=sql)
    with names_of_lineage():
        shown_view = _view(document, asset, column, depth, conditions=conditions, moments=moments)
    try:
        for path, write in writers.items():
            _write(path, write(shown_view))
    except NoHistoryError as error:
        fail(str(error))
    if not writers:
        _serve(shown_view, port, browser=browser)


def _document(
    context: typer.Context, home: Path, lake: str, moments: _Moments, *, sql: bool
) -> tuple[LineageDocument, _Moments]:
    """The document, with the times to show and to compare with: of a lake's history, else of published days."""
    at, compare = moments
    if at and not lake:
        document, at = published_document(context, home, at.date()), None
    else:
        document = lineage_document(context, home, lake, expressions=True, sql=sql)
    if compare is None or lake:
        return document, (at, compare)
    day = compare.date()
    return of_two_days(published_document(context, home, day), document, day), (None, end_of(day))


def _write(path: Path, content: bytes) -> None:
    if str(path) == _STANDARD_OUTPUT:
        sys.stdout.buffer.write(content)
        return
    with writing(path):
        path.write_bytes(content)
    out.print(f"wrote {plain(path)}", soft_wrap=True)


def _view(
    document: LineageDocument, asset: str, column: str, depth: int | None, *, conditions: bool, moments: _Moments
) -> _View:
    """Raises AmbiguousNameError and UnknownNameError."""
    at, compare = moments
    if column and not asset:
        fail("--column needs the data set that has it: throughline view ASSET --column NAME", code=2)
    index = LineageIndex(document)
    dataset = index.dataset(asset) if asset else None
    number = index.column(dataset, column) if dataset is not None and column else None
    steps = (None if column else 1) if depth is None else depth or None
    question = Question(dataset=dataset, column=number, up=steps, down=steps, at=at, conditions=conditions)
    return _View(document=document, question=question, compare=compare)


def as_svg_of(selection: Selection) -> str:
    """The picture of a selection, with the data set that was asked for marked."""
    near = [number for number, distance in selection.datasets.items() if distance == 0]
    return as_svg(selection, subject=near[0] if len(near) == 1 else None)


def _picture(draw: Callable[[Selection], str]) -> Callable[[_View], bytes]:
    def write(view_shown: _View) -> bytes:
        selection = select(view_shown.document, view_shown.question)
        if len(selection.datasets) > MAX_PICTURE:
            fail(
                f"{len(selection.datasets)} data sets are too many for one picture (at most {MAX_PICTURE}): name a data"
                " set, and a smaller --depth; --html and --csv take all"
            )
        return draw(selection).encode()

    return write


def _serve(view_shown: _View, port: int, *, browser: bool) -> None:
    """Serve the page until Ctrl-C."""
    service = LineageService(OneDocument(view=LineageView(view_shown.document, "now", start=view_shown.address)))
    try:
        server = PageServer(service, port)
    except OSError as error:
        fail(f"port {port} cannot be used: {error.strerror}. Leave out --port to take a free one", code=2)
    with server:
        out.print(f"The page is at {server.address}", soft_wrap=True, highlight=False)
        out.print("This address works once, on this machine. Ctrl-C ends the server.")
        if browser:
            webbrowser.open(server.address)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever(poll_interval=0.1)
