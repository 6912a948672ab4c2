"""Where a command takes the document of lineage from: the record, or a lake."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from shared.classifying.attached import Attached, attached, with_classifications
from shared.errors import StorageUnavailable
from shared.governance.checks.findings import Facts
from shared.lineage.document import LineageDocument
from shared.lineage.graph import AmbiguousNameError, UnknownNameError
from shared.query.recorded_document import document_of_record, judged_record
from shared.serving.shelf import NotPublishedError, NotReadableError, PublishedDocuments
from throughline.cli.commands.lake.lake_session import opened_lake
from throughline.cli.context.target import parts_if_any, parts_of
from throughline.cli.ui.console import fail, note
from throughline.lake.engine_choice import EngineName

if TYPE_CHECKING:
    from throughline.lake.tables.lake import Lake

Judged = tuple[LineageDocument, Facts]
"""What policies are checked against: a document with expressions, and the facts beside it, as of now."""


def lineage_document(
    context: typer.Context, home: Path, lake: str, *, sql: bool = False, expressions: bool = False
) -> LineageDocument:
    """The document of the lake in this folder, where one is named, else of the record; ends the command where there is
    no lineage yet. `expressions`: with those of columns; `sql`: also with the SQL of last runs, without literals.
    """
    if lake:
        with opened_lake(lake, engine=EngineName.auto) as lake_session:
            from throughline.lake.gold.lineage_document import document_of_lake  # noqa: PLC0415 - needs PySpark

            document = with_classifications(
                document_of_lake(lake_session, statements=sql, expressions=expressions), marks_if_any(context, home)
            )
    else:
        parts = parts_of(context, home)
        document = document_of_record(parts.storage, parts.publishing, statements=sql, expressions=expressions)
    return not_empty(document)


@contextmanager
def names_of_lineage() -> Iterator[None]:
    """End the command where no data set or column has a name that is looked up, or where several have it."""
    try:
        yield
    except AmbiguousNameError as error:
        fail(str(error))
    except UnknownNameError as error:
        end = "" if str(error).endswith(("?", ".")) else "."
        fail(f"{error}{end} `throughline search` finds names")


def published_document(context: typer.Context, home: Path, day: date) -> LineageDocument:
    """The published document as it was at the end of a day; ends the command where there is none."""
    parts = parts_of(context, home)
    try:
        view = PublishedDocuments(parts.storage).of(day)
    except (NotPublishedError, NotReadableError) as error:
        fail(f"the record has no history, and {error}. --lake names a lake, which has one")
    note("as of", f"the end of {day} (UTC), as it was published{f'; {view.problem}' if view.problem else ''}")
    return view.document


def not_empty(document: LineageDocument) -> LineageDocument:
    """The same document; ends the command where there is no lineage yet."""
    if not document.datasets:
        fail(
            "there is no lineage yet: no run has written a data set. `throughline status` shows what has arrived, and"
            " `throughline demo` sends an example"
        )
    return document


def marks_if_any(context: typer.Context, home: Path) -> Attached:
    """What `classify apply` has attached: none where no Throughline is named or runs here, or its storage does not
    answer, which a note says.
    """
    parts = parts_if_any(context, home)
    try:
        return attached(parts.storage) if parts else {}
    except StorageUnavailable as error:
        note("classifications", f"those of `classify apply` are not shown: {error}")
        return {}


def judged_lineage(context: typer.Context, home: Path, lake: str) -> Judged:
    """What policies are checked against, of the lake in this folder, where one is named, else of the record. It may be
    empty.
    """
    if lake:
        with opened_lake(lake, engine=EngineName.auto) as lake_session:
            document, facts = judged_lake(lake_session)
        return with_classifications(document, marks_if_any(context, home)), facts
    parts = parts_of(context, home)
    document, excluded = judged_record(parts.storage, parts.publishing)
    return document, Facts(now=datetime.now(UTC), excluded=excluded)


def judged_lake(lake: "Lake") -> Judged:
    """What policies are checked against, of an opened lake."""
    from throughline.lake.gold.lineage_document import (  # noqa: PLC0415 - needs PySpark
        document_of_lake,
        quality_of_lake,
    )

    return document_of_lake(lake, expressions=True), Facts(now=datetime.now(UTC), quality=quality_of_lake(lake))
