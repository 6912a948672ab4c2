"""`throughline report`: evidence for an auditor, and its check."""

from datetime import UTC, datetime, time
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from msgspec import structs

from shared.errors import Misconfigured
from shared.governance.propagation import CatalogReading, propagate
from shared.governance.rules import Rules
from shared.governance.rules_file import parse_rules
from shared.lineage.document import LineageDocument
from shared.lineage.graph import document_at
from shared.lineage.questions import LineageIndex
from shared.texts import suggestion
from throughline.cli.commands.govern.check import catalog_reading
from throughline.cli.commands.lineage.document_source import (
    judged_lineage,
    names_of_lineage,
    not_empty,
    published_document,
)
from throughline.cli.context.parsed_file import parsed_file
from throughline.cli.context.target import HOME, Home, parts_if_any, parts_of
from throughline.cli.ui.console import counted, fail, listed, note, out, plain, reading_bars
from throughline.cli.ui.options import PENDING, FromLake, ListLimit, moment
from throughline.cli.ui.writing import writing
from throughline.evidence.building import of_classification, of_dataset, process_keys, rules_of_tag, with_processes
from throughline.evidence.events import differences, events_of_processes
from throughline.evidence.rendering import as_csv, as_html, report_in
from throughline.evidence.report import FORMAT, Part, Report, events_digest


def report(
    context: typer.Context,
    *,
    classification: Annotated[
        str, typer.Option(metavar="NAME", help="Where this class of data came from, and where it went")
    ] = "",
    dataset: Annotated[str, typer.Option(metavar="NAME", help="The same of one data set, with all its columns")] = "",
    rules: Annotated[
        str, typer.Option(metavar="FILE", help="The rules file that says where classifications begin and what masks")
    ] = "",
    as_of: Annotated[
        str,
        typer.Option(
            "--as-of", metavar="TIME", help="The lineage of this time; without --lake, at the end of that day"
        ),
    ] = "",
    lake: FromLake = "",
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page that prints")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write a table")] = None,
    check: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Check a page of --html: are its events stored as they were received?"),
    ] = None,
    most: ListLimit = 50,
    home: Home = HOME,
) -> None:
    """Write down for an auditor where a class of data came from and went, what masks it, and what is not known.

    The report says who says so (the listener, Spark's plan, SQL text, the catalog, a rule with its author), as of when,
    and on which stored events that rests. --check reads these events again and compares them with the digests in the
    page: exit code 0 if all are as they were received, 3 if something differs. Without --rules a classification begins
    wherever a column has a tag of its name. An earlier time is looked up in the lake's history, or else in the
    documents that the sweeper keeps, one a day.

        throughline report --classification PII --rules policy.toml --html pii.html --csv pii.csv
        throughline report --dataset gold/customers --html customers.html
        throughline report --classification PII --rules policy.toml --as-of 2026-11-01 --lake build/lake --html pii.html
        throughline report --check pii.html
    """
    questions = [bool(classification), bool(dataset), bool(check)]
    if sum(questions) != 1:
        fail("ask for one: --classification NAME, --dataset NAME, or --check FILE", code=2)
    if check:
        _check(context, check, most, home)
        return
    now = datetime.now(UTC)
    at = moment(as_of, "--as-of")
    if at and at > now:
        fail(f"--as-of {as_of} lies in the future", code=2)
    if at and not lake:
        at = min(now, datetime.combine(at.date(), time.max, tzinfo=UTC))  # a document is kept for each day
    rules_of_file = parsed_file(rules, parse_rules) if rules else rules_of_tag(classification)
    document, source, excluded = _document(context, home, lake, at)
    document = rules_of_file.judged(document)
    empty = Report(
        format=FORMAT,
        version=version("throughline"),
        kind="classification" if classification else "data set",
        subject=classification,
        as_of=(at or now).isoformat(timespec="seconds"),
        made=now.isoformat(timespec="seconds"),
        source=source,
        rules=f"{rules} (SHA-256 {sha256(Path(rules).read_bytes()).hexdigest()[:32]})" if rules else "",
        remarks=tuple(f"A filter leaves out {name}: nothing of it is known." for name in excluded),
    )
    if classification:
        reading = catalog_reading(context, home, document, rules_of_file)
        evidence = _of_classification(document, empty, rules_of_file, reading, at or now)
    else:
        index = LineageIndex(document)
        with names_of_lineage():
            number = index.dataset(dataset)
        empty = structs.replace(empty, subject=document.datasets[number].qualified_name)
        evidence = of_dataset(empty, index, number, rules_of_file, (at or now).date())
    evidence = _with_events(context, home, document, evidence, at)
    _print(evidence)
    for form, place in ((as_html, html), (as_csv, csv)):
        if place:
            with writing(place, code=1):
                place.write_text(form(evidence), encoding="utf-8", newline="")
            out.print(f"written: {plain(place)}")
    if not (html or csv):
        note("report", "only counted: --html FILE and --csv FILE write it")


def _document(
    context: typer.Context, home: Path, lake: str, moment_asked: datetime | None
) -> tuple[LineageDocument, str, tuple[str, ...]]:
    """The lineage of a time (None: now), where it comes from, and the names of data sets that filters leave out."""
    if moment_asked and not lake:
        return not_empty(published_document(context, home, moment_asked.date())), "the record, as it was published", ()
    document, facts = judged_lineage(context, home, lake)
    source = f"the lake in {lake}" if lake else "the record"
    return not_empty(document_at(document, moment_asked) if moment_asked else document), source, facts.excluded


def _of_classification(
    document: LineageDocument, empty: Report, rules: Rules, reading: CatalogReading, at: datetime
) -> Report:
    name = empty.subject
    if name not in rules.names:
        fail(f"{rules.place} has no classification {name}.{suggestion(name, rules.names)}", code=2)
    if rules.asks_catalog:
        remark = (
            f"The catalog's classifications were not read ({reading.why}): what begins by them is not known."
            if reading.tags is None
            else "The catalog's classifications are those of today."
        )
        empty = structs.replace(empty, remarks=(*empty.remarks, remark))
    propagation = propagate(document, rules, today=at.date(), catalog=reading.tags)[name]
    if not propagation.origins:
        hint = "" if empty.rules else ": name the rules file that says where it begins by --rules"
        note(name, f"it begins in no column{hint}")
    return of_classification(empty, propagation, rules, at.date())


def _with_events(
    context: typer.Context, home: Path, document: LineageDocument, evidence: Report, moment_asked: datetime | None
) -> Report:
    """The report with the events that it rests on, where a record can be read."""
    parts = parts_if_any(context, home)
    if parts is None:
        return with_processes(evidence, document, None)
    with reading_bars() as progress:
        events = events_of_processes(parts.storage, process_keys(evidence), until=moment_asked, progress=progress)
    return with_processes(evidence, document, events)


def _print(evidence: Report) -> None:
    counts = ((part, len(evidence.steps_of(part))) for part in Part)
    steps = ", ".join(f"{number:,} {part.value}" for part, number in counts if number) or "none"
    out.print(f"[bold]{plain(evidence.subject)}[/] as of {plain(evidence.as_of)}, from {plain(evidence.source)}")
    out.print(f"begins in {counted(len(evidence.beginnings), 'column')}; steps: {steps}")
    out.print(f"not known: {counted(len(evidence.unknown), 'column')}")
    out.print(f"rests on {counted(evidence.number_of_events, 'event')}, digest {evidence.digest}")
    for remark in evidence.remarks:
        note("remark", remark)


def _check(context: typer.Context, place: Path, most: int, home: Path) -> None:
    """Compare a page with its facts, and its events with what is stored; ends with 3 where something differs."""
    try:
        page = place.read_bytes().decode()
        evidence = report_in(page, str(place))
    except OSError as error:
        fail(f"{place} can't be read: {error.strerror or error}", code=2)
    except (UnicodeDecodeError, Misconfigured) as error:
        fail(str(error) if isinstance(error, Misconfigured) else f"{place} is no page of UTF-8", code=2)
    problems = []
    if evidence.version != version("throughline"):
        note("page", f"not compared with its facts: Throughline {evidence.version} has written it")
    elif as_html(evidence) != page:
        problems.append("the page does not show what its facts say: it was changed")
    if events_digest(evidence.events) != evidence.digest:
        problems.append("the list of events in the page is not the one of its digest")
    parts = parts_of(context, home)
    with reading_bars() as progress:
        wrong = differences(parts.storage, evidence.events, progress)
        problems += (f"{difference.blob}: {difference.problem}" for difference in wrong)
    listed((f"[red]{plain(problem)}[/]" for problem in problems), most)
    if problems:
        raise typer.Exit(PENDING)
    events = counted(evidence.number_of_events, "event")
    out.print(f"{events} stored as received; digest {evidence.digest} as on the page")
