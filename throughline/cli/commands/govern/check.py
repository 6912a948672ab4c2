"""`throughline check`: check lineage against the policies of a rules file."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from shared.classifying.planning import NO_CATALOG, reading_if_there
from shared.governance.checks.checking import (
    NOT_KNOWN,
    Annotations,
    Report,
    annotated,
    as_json,
    as_junit,
    as_sarif,
    as_text,
    exit_code,
)
from shared.governance.checks.checking import check as check_policies
from shared.governance.checks.findings import Facts
from shared.governance.propagation import CatalogReading, remarks
from shared.governance.rules import Rules, matching_names
from shared.governance.rules_file import parse_policies
from shared.lineage.document import LineageDocument
from shared.lineage.graph import AmbiguousNameError, UnknownNameError, find_dataset
from throughline.cli.commands.lineage.document_source import judged_lineage
from throughline.cli.context.parsed_file import parsed_file
from throughline.cli.context.target import HOME, Home, parts_if_any
from throughline.cli.ui.console import fail
from throughline.cli.ui.writing import writing

_STANDARD_OUTPUT = "-"
_FORMS: tuple[Callable[[Report], str], ...] = (as_junit, as_sarif, as_json)
Forms = Mapping[Callable[[Report], str], str]
"""The file of each form of a report; empty where it is not asked for."""
Junit = Annotated[str, typer.Option(metavar="FILE", help="Write JUnit XML; - prints it instead of text")]
Sarif = Annotated[str, typer.Option(metavar="FILE", help="Write SARIF 2.1.0; - prints it instead of text")]
Json = Annotated[str, typer.Option("--json", metavar="FILE", help="Write JSON; - prints it instead of text")]


def check(
    context: typer.Context,
    policy: Annotated[str, typer.Argument(metavar="POLICY", help="The rules file, with the policies")],
    *,
    dataset: Annotated[str, typer.Option(metavar="NAME", help="Only the policies about this data set")] = "",
    lake: Annotated[str, typer.Option(metavar="FOLDER", help="Check the lake instead of the record")] = "",
    junit: Junit = "",
    sarif: Sarif = "",
    json: Json = "",
    annotations: Annotated[
        Annotations | None, typer.Option(help="Also print annotations, which this pipeline shows beside the rules file")
    ] = None,
    home: Home = HOME,
) -> None:
    """Check lineage against the policies of a rules file: a gate for pipelines and training jobs.

    For each broken policy the output shows the shortest path to its cause, column by column. Exit code 0 if all
    policies hold, 3 if one is broken, 4 if the result of one is not known (unknown = "warn" in the file lets that
    pass). 1 and 2 are failures of the check itself.

        throughline check policy.toml
        throughline check policy.toml --dataset gold/customers
        throughline check policy.toml --lake build/lake --junit check.xml
        throughline check policy.toml --annotations github --sarif check.sarif
    """
    files = forms(junit, sarif, json)
    rules = parsed_file(policy, parse_policies)
    document, facts = judged_lineage(context, home, lake)
    reading = catalog_reading(context, home, document, rules)
    number = _number(document, rules, facts, dataset) if dataset else None
    report = Report(
        place=policy,
        results=check_policies(document, rules, facts, catalog=reading, dataset=number),
        remarks=remarks(document, rules, today=facts.now.date(), catalog=reading.tags),
    )
    if dataset and not report.results:
        fail(
            f"no policy of {policy} is about {dataset}: add one, or check all with `throughline check {policy}`", code=2
        )
    show(report, files, annotations)
    raise typer.Exit(exit_code(report.results))


def forms(junit: str, sarif: str, json: str) -> Forms:
    """The forms that are asked for, with the file of each; ends the command where two go to standard output."""
    files = dict(zip(_FORMS, (junit, sarif, json), strict=True))
    if list(files.values()).count(_STANDARD_OUTPUT) > 1:
        fail("only one form can go to standard output: give a file for the others", code=2)
    return files


def show(report: Report, files: Forms, annotations: Annotations | None) -> None:
    """Print a report as text, unless a form goes to standard output; then its annotations; and write its forms."""
    if _STANDARD_OUTPUT not in files.values():
        typer.echo(as_text(report), nl=False)
    for line in annotated(report, annotations) if annotations else ():
        typer.echo(line, err=_STANDARD_OUTPUT in files.values())
    for form, place in files.items():
        if place:
            _write(form(report), place)


def catalog_reading(context: typer.Context, home: Path, document: LineageDocument, rules: Rules) -> CatalogReading:
    """The catalog's classifications, if the rules ask for them. Nothing else of a check on a lake needs a catalog."""
    parts = parts_if_any(context, home) if rules.asks_catalog else None
    if parts:
        return reading_if_there(document, rules, parts.classifications, parts.storage)
    return NO_CATALOG if rules.asks_catalog else CatalogReading(tags={})


def _number(document: LineageDocument, rules: Rules, facts: Facts, dataset: str) -> int:
    try:
        return find_dataset(document, dataset)
    except (UnknownNameError, AmbiguousNameError) as error:
        if matching_names(facts.excluded, [dataset]):
            fail(f"a filter leaves out {dataset}, so it is not known whether its policies hold", code=NOT_KNOWN)
        fail(f"{error}. {rules.place} was not checked")


def _write(text: str, place: str) -> None:
    if place == _STANDARD_OUTPUT:
        typer.echo(text, nl=False)
        return
    with writing(place, code=1):
        Path(place).write_text(text, encoding="utf-8")
