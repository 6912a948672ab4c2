"""`throughline classify`: classifications that follow values, stop at masks, and go to the catalog."""

from datetime import UTC, date, datetime
from typing import Annotated

import typer

from shared.bootstrap import Worker
from shared.catalog.port import Classifications, Terms
from shared.classifying.attached import attached
from shared.classifying.planning import (
    ClassificationPlan,
    catalog_tags,
    create_terms,
    define,
    definitions,
    lacking_terms,
)
from shared.classifying.planning import apply as apply_plan
from shared.classifying.planning import plan as plan_of
from shared.governance.propagation import explain as explanations
from shared.governance.propagation import propagate, terms_of
from shared.governance.rules import Rules
from shared.governance.rules_file import parse_rules
from shared.lineage.document import LineageDocument
from shared.lineage.questions import LineageIndex
from shared.query.recorded_document import document_of_record
from throughline.cli.commands.govern.classify_output import (
    explanation_as_json,
    plan_as_json,
    reason,
    reason_of_term,
    show,
    step,
)
from throughline.cli.commands.lake.lake_session import opened_lake
from throughline.cli.commands.lineage.document_source import names_of_lineage, not_empty
from throughline.cli.context.parsed_file import parsed_file
from throughline.cli.context.target import HOME, Home, of_catalog, parts_of, reported
from throughline.cli.ui.console import bar, counted, fail, out, plain, print_json
from throughline.cli.ui.options import PENDING, AsJson
from throughline.cli.ui.teaching import TeachingApp
from throughline.lake.engine_choice import EngineName

_SHOWN = 20
_GO_ON = "What was attached is on record: run the command again to go on"

app = TeachingApp(
    help="Classifications that follow values and stop at masks, and glossary terms: show, explain and write them to the"
    " catalog."
)

RulesFile = Annotated[str, typer.Option("--rules", metavar="FILE", help="The rules file, TOML")]
LakeFolder = Annotated[str, typer.Option(metavar="FOLDER", help="Lineage of the lake instead of the record")]
OntoScanned = Annotated[bool, typer.Option("--onto-scanned", help="Also on assets that scans of the catalog found")]


def plan(
    context: typer.Context,
    *,
    rules: RulesFile,
    lake: LakeFolder = "",
    onto_scanned: OntoScanned = False,
    wide: Annotated[bool, typer.Option("--wide", help="List all changes")] = False,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Show which classifications and glossary terms an apply would attach and take away, and change nothing.

    Exit code 0 if nothing is to be changed, 3 if something is, 2 for a wrong rules file or an unknown glossary.

        throughline classify plan --rules rules.toml
        throughline classify plan --rules rules.toml --lake build/lake --json
    """
    rules_of_file = parsed_file(rules, parse_rules)
    parts = parts_of(context, home)
    document = _document(parts, lake)
    lacking = lacking_terms(_ports(parts)[1], rules_of_file)
    classification_plan = _planned(parts, document, rules_of_file, onto_scanned=onto_scanned)
    if as_json:
        print_json({**plan_as_json(document, classification_plan), "new_terms": list(lacking)})
    else:
        show(document, rules_of_file, classification_plan, most=0 if wide else _SHOWN)
        if lacking:
            out.print(f"{counted(len(lacking), 'term')} to create: {plain(', '.join(lacking))}")
    if classification_plan.has_changes:
        raise typer.Exit(PENDING)


def apply(
    context: typer.Context,
    *,
    rules: RulesFile,
    lake: LakeFolder = "",
    onto_scanned: OntoScanned = False,
    home: Home = HOME,
) -> None:
    """Write classifications and glossary terms to the catalog, and take away those of earlier applies that the rules no
    longer give.

    What others attached stays. Classifications are attached so that the catalog does not propagate them: its own
    propagation follows tables and knows no mask. Repeating it changes nothing.

        throughline classify apply --rules rules.toml
    """
    rules_of_file = parsed_file(rules, parse_rules)
    parts = parts_of(context, home, writes=True)
    document = _document(parts, lake)
    with reported(_GO_ON):
        classifications, terms = _ports(parts)
        lacking = lacking_terms(terms, rules_of_file)
        created_definitions = define(parts.types, definitions(rules_of_file)) if parts.types else ()
        create_terms(terms, lacking)
        planned = _planned(parts, document, rules_of_file, onto_scanned=onto_scanned)
        with bar("classifications", len(planned.attach) + len(planned.detach)) as update:
            apply_plan(planned, classifications, parts.storage, lambda number: update(advance=number), terms=terms)
    for noun, names in (("definition", created_definitions), ("term", lacking)):
        if names:
            out.print(f"{counted(len(names), noun)} created: {plain(', '.join(names))}")
    show(document, rules_of_file, planned, most=_SHOWN, verbs=("attached", "taken away"))


def explain(
    context: typer.Context,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="DATASET.COLUMN, as `throughline search` shows it")],
    *,
    rules: RulesFile,
    lake: LakeFolder = "",
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Explain why a column has a classification or not: its origin, the way, and the mask that stops it; and which
    rules give it, or its data set, a glossary term.

    throughline classify explain mart/orders.email --rules rules.toml
    """
    rules_of_file = parsed_file(rules, parse_rules)
    parts = parts_of(context, home)
    document = _document(parts, lake)
    number = _column(document, column)
    tags = catalog_tags(document, rules_of_file, _ports(parts)[0], attached(parts.storage))
    propagations = propagate(document, rules_of_file, today=_today(), catalog=tags)
    tag_explanations = explanations(rules_of_file, propagations, number, today=_today())
    terms = terms_of(document, rules_of_file, number)
    if as_json:
        print_json(
            {
                "column": column,
                "classifications": [
                    explanation_as_json(document, tag_explanation) for tag_explanation in tag_explanations
                ],
                "terms": [{"term": term.full_name, "reason": reason_of_term(term)} for term in terms],
            }
        )
        return
    if not tag_explanations and not terms:
        out.print("the rules have no classification, and no glossary term for this column")
    for explanation in tag_explanations:
        out.print(
            f"[bold]{plain(explanation.classification)}[/]: {explanation.state.value}. {plain(reason(explanation))}"
        )
        for edge in explanation.way:
            mark = " [magenta]the mask stops it here[/]" if edge is explanation.stopped_at else ""
            out.print(f"  {plain(step(document, edge))}{mark}")

    for term in terms:
        out.print(f"[bold]{plain(term.full_name)}[/]: a glossary term. {plain(reason_of_term(term))}")


def _document(parts: Worker, lake: str) -> LineageDocument:
    """The lineage with expressions, which the rules' masks need."""
    if lake:
        with opened_lake(lake, engine=EngineName.auto) as lake_session:
            from throughline.lake.gold.lineage_document import document_of_lake  # noqa: PLC0415 - needs PySpark

            document = document_of_lake(lake_session, expressions=True)
    else:
        document = document_of_record(parts.storage, parts.publishing, expressions=True, classified=False)
    return not_empty(document)


def _ports(parts: Worker) -> tuple[Classifications, Terms]:
    return of_catalog(parts.classifications, "has no classifications"), of_catalog(parts.terms, "has no glossary")


def _planned(parts: Worker, document: LineageDocument, rules: Rules, *, onto_scanned: bool) -> ClassificationPlan:
    classifications, terms = _ports(parts)
    own_marks = attached(parts.storage)
    return plan_of(document, rules, classifications, own_marks, terms=terms, today=_today(), onto_scanned=onto_scanned)


def _today() -> date:
    return datetime.now(UTC).date()


def _column(document: LineageDocument, text: str) -> int:
    with names_of_lineage():
        _, column = LineageIndex(document).subject(text)
    if column is None:
        fail(f"{text} is a data set: name a column, as {text}.COLUMN", code=2)
    return column


app.add("plan", plan)
app.add("apply", apply)
app.add("explain", explain)
