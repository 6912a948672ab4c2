"""`throughline mcp`: lineage for assistants, by the Model Context Protocol."""

import gzip
import json
import signal
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from shared.bootstrap import Worker
from shared.errors import ThroughlineError
from shared.governance.checks.checking import Report, as_json, check
from shared.governance.checks.findings import Facts, Verdict
from shared.governance.rules import Rules
from shared.governance.rules_file import parse_policies
from shared.lineage.document import LineageDocument, UnreadableDocumentError, decoded
from shared.query.published_document import document_age
from shared.serving.service import LineageService
from shared.serving.shelf import OneDocument, PublishedDocuments, Shelf
from shared.serving.view import LineageView
from throughline.cli.commands.assistants.server import Assistant, serve
from throughline.cli.commands.govern.check import catalog_reading
from throughline.cli.commands.lineage.document_source import Judged, judged_lineage, not_empty
from throughline.cli.context.parsed_file import parsed_file
from throughline.cli.context.target import HOME, Home, parts_of
from throughline.cli.ui.console import fail, note
from throughline.cli.ui.options import FromLake

_PACKED = b"\x1f\x8b"
"""The first bytes of gzip (RFC 1952)."""


def mcp(
    context: typer.Context,
    *,
    lake: FromLake = "",
    document: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read this lineage document (JSON, also as gzip) instead of the record"),
    ] = None,
    policy: Annotated[str, typer.Option(metavar="FILE", help="Also answer whether the policies of a file hold")] = "",
    home: Home = HOME,
) -> None:
    """Answer an assistant's questions about lineage: a server of the Model Context Protocol (MCP) over stdio.

    An editor or an assistant starts this command and asks over standard input and output: search, explain, upstream,
    downstream, impact, compare, coverage and more, by the names of the HTTP API. It only reads. From the record it
    serves the published documents where the sweeper publishes them, and so follows them; else lineage as it is when the
    command starts.

        throughline mcp
        throughline mcp --policy policy.toml
        throughline mcp --lake build/lake
        throughline mcp --document lineage.json.gz
    """
    if lake and document:
        fail("give --lake or --document, not both", code=2)
    rules = parsed_file(policy, parse_policies) if policy else None
    shelf: Shelf = _one(_read(document)) if document else _shelf(context, home, lake)

    def judged() -> Judged:
        return (_read(document), Facts(now=datetime.now(UTC))) if document else judged_lineage(context, home, lake)

    def policies() -> Any:
        return _checked(context, home, rules, policy, judged) if rules else None

    note("mcp", "answers on standard input and output, until the client closes them")
    # The thread that waits for input ends with the process only.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve(Assistant(LineageService(shelf, version("throughline")), policies if rules else None))


def shelf_of_record(parts: Worker) -> Shelf | None:
    """The published documents, if the sweeper keeps them up to date. Raises StorageUnavailable."""
    age = document_age(parts.storage, datetime.now(UTC))
    return PublishedDocuments(parts.storage) if age and not age.is_stale else None


def _shelf(context: typer.Context, home: Path, lake: str) -> Shelf:
    """The published documents; without them, and of a lake, the document as it is now."""
    published = None if lake else shelf_of_record(parts_of(context, home))
    return published or _one(not_empty(judged_lineage(context, home, lake)[0]))


def _one(document: LineageDocument) -> Shelf:
    return OneDocument(view=LineageView(document, "now"))


def _read(path: Path) -> LineageDocument:
    """The document in a file; ends the command with what is wrong with it."""
    try:
        content = path.read_bytes()
        return decoded(gzip.decompress(content) if content.startswith(_PACKED) else content)
    except (UnreadableDocumentError, OSError, EOFError, zlib.error) as error:
        fail(f"{path} cannot be read: {error}", code=2)


def _checked(context: typer.Context, home: Path, rules: Rules, place: str, judged: Callable[[], Judged]) -> Any:
    """The results of a rules file as JSON, those that do not hold first. Raises LookupError where lineage cannot be
    read.
    """
    try:
        document, facts = judged()
        reading = catalog_reading(context, home, document, rules)
    except ThroughlineError as error:
        raise LookupError(str(error)) from error
    except typer.Exit as exit_request:
        raise LookupError("lineage cannot be read now: the server's standard error says why") from exit_request
    results = check(document, rules, facts, catalog=reading)
    in_order = tuple(sorted(results, key=lambda result: result.verdict is Verdict.HOLDS))
    return json.loads(as_json(Report(place=place, results=in_order)))
