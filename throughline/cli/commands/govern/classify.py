"""`throughline classify`: classifications that follow values, stop at masks, and go to the catalog."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Annotated, Any

import typer

from shared.bootstrap import Worker
from shared.catalog.port import Classifications, Terms
from shared.classifying.attached import Mark, attached
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
from shared.governance.propagation import TagExplanation, TagState, propagate, remarks, terms_of
from shared.governance.propagation import explain as explanations
from shared.governance.rules import Rules, Term
from shared.governance.rules_file import parse_rules
from shared.lineage.document import Edge, LineageDocument
from shared.lineage.questions import LineageIndex
from shared.query.recorded_document import document_of_record
from throughline.cli.commands.lake.lake_session import opened_lake
from throughline.cli.commands.lineage.document_source import names_of_lineage, not_empty
from throughline.cli.context.parsed_file import parsed_file
from throughline.cli.context.target import HOME, Home, of_catalog, parts_of, reported
from throughline.cli.ui.console import bar, counted, fail, listed, note, out, plain, print_json
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
    planned = _planned(parts, document, rules_of_file, onto_scanned=onto_scanned)
    if as_json:
        print_json({**_plan_document(document, planned), "new_terms": list(lacking)})
    else:
        _show(document, rules_of_file, planned, most=0 if wide else _SHOWN)
        if lacking:
            out.print(f"{counted(len(lacking), 'term')} to create: {plain(', '.join(lacking))}")
    if planned.has_changes:
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
    _show(document, rules_of_file, planned, most=_SHOWN, verbs=("attached", "taken away"))


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
    classifications = [_explanation_document(document, explanation) for explanation in tag_explanations]
    terms = [
        {"term": term.full_name, "reason": _reason_of_term(term)} for term in terms_of(document, rules_of_file, number)
    ]
    if as_json:
        print_json({"column": column, "classifications": classifications, "terms": terms})
        return
    if not classifications and not terms:
        out.print("the rules have no classification, and no glossary term for this column")
    for explanation in classifications:
        name, state, reason = (plain(explanation[fact]) for fact in ("classification", "state", "reason"))
        out.print(f"[bold]{name}[/]: {state}. {reason}")
        for step in explanation["way"]:
            mark = " [magenta]the mask stops it here[/]" if step["stops"] else ""
            out.print(f"  {plain(step['step'])}{mark}")
    for term in terms:
        out.print(f"[bold]{plain(term['term'])}[/]: a glossary term. {plain(term['reason'])}")


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


def _counts(document: LineageDocument, planned: ClassificationPlan) -> dict[str, dict[str, int]]:
    """By classification: the numbers of columns that are tagged, clean, and not known."""
    columns = [number for number, column in enumerate(document.columns) if column.name]
    states = {name: Counter(map(propagation.state, columns)) for name, propagation in planned.propagations.items()}
    return {name: {state.value: counts[state] for state in TagState} for name, counts in sorted(states.items())}


_TO_DO = ("to attach", "to take away")


def _show(
    document: LineageDocument, rules: Rules, planned: ClassificationPlan, *, most: int, verbs: tuple[str, str] = _TO_DO
) -> None:
    """Print a plan, at most so many marks of each kind (0: all), and the rules without an effect."""
    for name, counts in _counts(document, planned).items():
        text = ", ".join(f"{number:,} {state}" for state, number in counts.items())
        out.print(f"[bold]{plain(name)}[/]: {text}")
    for sign, marks in (("[green]+[/]", (*planned.attach,)), ("[red]-[/]", (*planned.detach,))):
        lines = (f"{sign} [bold]{plain(mark.name)}[/] {plain(mark.qualified_name)}" for mark in marks)
        listed(lines, most, "--wide")
    out.print(f"{len(planned.attach):,} {verbs[0]}, {len(planned.detach):,} {verbs[1]}")
    reasons = {
        "on scanned assets, which are left alone: --onto-scanned includes them": planned.scanned,
        "attached by others already": planned.others,
        "attached by another rules file already": planned.joined,
        "no longer given by this rules file, but by another": planned.left,
        "kept, since it is not known whether the value still arrives": planned.kept,
        "on columns or data sets that the catalog does not have": planned.absent,
    }
    for reason, marks in reasons.items():
        if marks:
            note("left", f"{len(marks):,} {reason}")
    for remark in remarks(document, rules, today=datetime.now(UTC).date(), catalog=planned.tags):
        note("unused", f"{rules.place}:{remark.line}: {remark.text}")


_LISTS = ("attach", "detach", "joined", "left", "scanned", "others", "kept", "absent")


def _plan_document(document: LineageDocument, planned: ClassificationPlan) -> dict[str, object]:
    """A plan as `--json` has it."""

    def documents(marks: Iterable[Mark]) -> list[dict[str, str]]:
        return [{str(mark.kind): mark.name, "type": mark.type, "qualified_name": mark.qualified_name} for mark in marks]

    return {
        "classifications": _counts(document, planned),
        **{name: documents(getattr(planned, name)) for name in _LISTS},
    }


def _reason(explanation: TagExplanation) -> str:
    """The reason of a state, in one sentence."""
    if explanation.declassified:
        approval = explanation.declassified.approval
        return f"Declassified by {approval.author} until {approval.expires}: {approval.reason}"
    begins = f"It begins by the rule in line {explanation.origin.line}" if explanation.origin else ""
    if explanation.state is TagState.TAGGED:
        return begins
    if explanation.state is TagState.UNKNOWN and begins:
        return f"{begins}, and may arrive or not: on the way is code that Spark's plan does not show"
    if explanation.state is TagState.UNKNOWN:
        return "The source of a value on the way is not known"
    return f"{begins}, and a mask stops it" if explanation.stopped_at else "No value of a column that has it arrives"


def _reason_of_term(rule: Term) -> str:
    """The reason why a column has a term, in one sentence."""
    subject = "its data set" if rule.of_datasets else "it"
    return f"The rule in line {rule.line} gives {subject} the term"


def _step(document: LineageDocument, edge: Edge) -> str:
    """An edge in a line: both columns, what happens, and the process."""
    ends = (document.columns[edge.input], document.columns[edge.output])
    source_name, other = (f"{document.datasets[end.dataset].name}.{end.name}" for end in ends)
    edge_text = f"{edge.kind.value}: {edge.description}" if edge.description else edge.kind.value
    return f"{source_name} → {other} ({edge_text}; {document.processes[edge.process].name})"


def _explanation_document(document: LineageDocument, explanation: TagExplanation) -> dict[str, Any]:
    """An explanation as `--json` has it."""
    return {
        "classification": explanation.classification,
        "state": explanation.state.value,
        "reason": _reason(explanation),
        "way": [{"step": _step(document, edge), "stops": edge is explanation.stopped_at} for edge in explanation.way],
    }


app.add("plan", plan)
app.add("apply", apply)
app.add("explain", explain)
