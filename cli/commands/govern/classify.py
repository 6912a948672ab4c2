"""`throughline classify`: classifications that follow values, stop at masks, and go to the catalog."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Annotated

import typer

from cli.commands.lake.lake_session import opened_lake
from cli.context.target import HOME, Home, parts_of, reported
from cli.ui.console import counted, fail, note, out, plain, print_json, progress_bar
from cli.ui.options import AsJson
from cli.ui.suggestion import suggestion
from cli.ui.teaching import App
from shared.bootstrap import Worker
from shared.catalog.port import Classifications
from shared.classifying.applying import apply as apply_plan
from shared.classifying.applying import define
from shared.classifying.attached import Mark, attached
from shared.classifying.planning import Plan, catalog_tags, definitions
from shared.classifying.planning import plan as plan_of
from shared.errors import Misconfigured
from shared.governance.explaining import Explanation
from shared.governance.explaining import explain as explanations
from shared.governance.propagation import State, propagate
from shared.governance.rules import Rules
from shared.governance.rules_file.decoding import parse_rules
from shared.governance.unmatched import unmatched
from shared.lineage.document import Edge, LineageDocument
from shared.lineage.graph import AmbiguousNameError, UnknownNameError, find_column, find_dataset
from shared.query.recorded_document import document_of_record
from shared.settings.kinds import file
from spark_pipeline.engine_choice import EngineName

PENDING = 3
"""The exit code of a plan with changes to make: 0 is for none, 2 for wrong use."""
_SHOWN = 20
_GO_ON = "What was attached is on record: run the command again to go on"

app = App(help="Classifications that follow values and stop at masks: show, explain and write them to the catalog.")

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
    """Show which classifications an apply would attach and take away, and change nothing.

    Exit code 0 where nothing is to be changed, 3 where something is, 2 for a wrong rules file.

        throughline classify plan --rules rules.toml
        throughline classify plan --rules rules.toml --lake build/lake --json
    """
    wanted = _rules(rules)
    parts = parts_of(context, home)
    document = _document(parts, lake)
    with reported():
        found = _planned(parts, document, wanted, onto_scanned=onto_scanned)
    if as_json:
        print_json(_as_json(document, found))
    else:
        _show(document, wanted, found, most=None if wide else _SHOWN)
    if found.has_changes:
        raise typer.Exit(PENDING)


def apply(
    context: typer.Context,
    *,
    rules: RulesFile,
    lake: LakeFolder = "",
    onto_scanned: OntoScanned = False,
    home: Home = HOME,
) -> None:
    """Write the classifications to the catalog, and take away those of earlier applies that the rules no longer give.

    Classifications of others stay. Each is attached so that the catalog does not propagate it further: its own
    propagation follows tables and knows no mask. Repeating it changes nothing.

        throughline classify apply --rules rules.toml
    """
    wanted = _rules(rules)
    parts = parts_of(context, home, writes=True)
    document = _document(parts, lake)
    with reported(_GO_ON):
        made = define(parts.types, definitions(wanted)) if parts.types else ()
        found = _planned(parts, document, wanted, onto_scanned=onto_scanned)
        with progress_bar() as bar:
            task = bar.add_task("classifications", total=len(found.attach) + len(found.detach))
            apply_plan(found, _catalog(parts), parts.storage, lambda number: bar.advance(task, number))
    if made:
        out.print(f"{counted(len(made), 'definition')} created: {plain(', '.join(made))}")
    _show(document, wanted, found, most=_SHOWN, verbs=("attached", "taken away"))


def explain(
    context: typer.Context,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="DATASET.COLUMN, as `throughline search` shows it")],
    *,
    rules: RulesFile,
    lake: LakeFolder = "",
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Explain why a column has a classification or not: its origin, the way, and the mask that stops it.

    throughline classify explain mart/orders.email --rules rules.toml
    """
    wanted = _rules(rules)
    parts = parts_of(context, home)
    document = _document(parts, lake)
    number = _column(document, column)
    with reported():
        tags = catalog_tags(document, wanted, _catalog(parts), attached(parts.storage))
    propagations = propagate(document, wanted, today=_today(), catalog=tags)
    found = explanations(document, wanted, propagations, number, today=_today())
    if as_json:
        print_json({"column": column, "classifications": [_explanation_json(document, each) for each in found]})
        return
    if not found:
        out.print("the rules have no classification")
    for each in found:
        out.print(f"[bold]{plain(each.classification)}[/]: {each.state.value}. {plain(_reason(each))}")
        for edge in each.way:
            mark = " [magenta]the mask stops it here[/]" if edge is each.stopped_at else ""
            out.print(f"  {plain(_step(document, edge))}{mark}")


def _rules(place: str) -> Rules:
    try:
        found = file(place) or fail("no rules file is named: --rules FILE", code=2)
        return parse_rules(found.text, found.place)
    except (Misconfigured, ValueError) as error:
        fail(str(error), code=2)


def _document(parts: Worker, lake: str) -> LineageDocument:
    """The lineage with expressions, which masks are recognised by."""
    if lake:
        with opened_lake(lake, engine=EngineName.auto) as opened:
            from spark_pipeline.gold.lineage_document import document_of_lake  # noqa: PLC0415 - needs PySpark

            document = document_of_lake(opened, expressions=True)
    else:
        with reported():
            document = document_of_record(parts.storage, parts.publishing, expressions=True)
    if not document.datasets:
        fail("there is no lineage yet: no run has written a data set. `throughline status` shows what has arrived")
    return document


def _catalog(parts: Worker) -> Classifications:
    return parts.classifications or fail("this catalog has no classifications", code=2)


def _planned(parts: Worker, document: LineageDocument, rules: Rules, *, onto_scanned: bool) -> Plan:
    ours = attached(parts.storage)
    return plan_of(document, rules, _catalog(parts), ours, today=_today(), onto_scanned=onto_scanned)


def _today() -> date:
    return datetime.now(UTC).date()


def _column(document: LineageDocument, text: str) -> int:
    dataset, _, column = text.rpartition(".")
    try:
        return find_column(document, find_dataset(document, dataset), column)
    except (UnknownNameError, AmbiguousNameError) as error:
        known = (f"{document.datasets[each.dataset].name}.{each.name}" for each in document.columns if each.name)
        fail(f"{error}.{suggestion(text, known)}", code=2)


_STATES = (State.TAGGED, State.CLEAN, State.UNKNOWN)


def _counts(document: LineageDocument, found: Plan) -> dict[str, dict[str, int]]:
    """By classification: how many columns are tagged, clean, and not known."""
    columns = [number for number, each in enumerate(document.columns) if each.name]
    counts = {name: Counter(map(each.state, columns)) for name, each in found.propagations.items()}
    return {name: {state.value: each[state] for state in _STATES} for name, each in sorted(counts.items())}


def _show(
    document: LineageDocument,
    rules: Rules,
    found: Plan,
    *,
    most: int | None,
    verbs: tuple[str, str] = ("to attach", "to take away"),
) -> None:
    for name, counts in _counts(document, found).items():
        text = ", ".join(f"{number:,} {state}" for state, number in counts.items())
        out.print(f"[bold]{plain(name)}[/]: {text}")
    _list("[green]+[/]", found.attach, most)
    _list("[red]-[/]", found.detach, most)
    out.print(f"{len(found.attach):,} {verbs[0]}, {len(found.detach):,} {verbs[1]}")
    reasons = {
        "on scanned assets, which are left alone: --onto-scanned includes them": found.scanned,
        "attached by others already": found.others,
        "kept, since it is not known whether the value still arrives": found.kept,
        "on columns that the catalog does not have": found.absent,
    }
    for reason, marks in reasons.items():
        if marks:
            note("left", f"{len(marks):,} {reason}")
    today = _today()
    for rule in rules.expired(today):
        note("expired", f"{rules.place}:{rule.line}: expired on {rule.approval.expires}, so it has no effect")
    for each in unmatched(document, rules):
        note("unused", f"{rules.place}:{each.line}: [{each.table}] {each.text}")


def _list(sign: str, marks: Iterable[Mark], most: int | None) -> None:
    listed = list(marks)
    for mark in listed[:most]:
        out.print(f"{sign} [bold]{plain(mark.name)}[/] {plain(mark.qualified_name)}")
    if most is not None and len(listed) > most:
        out.print(f"  … and {len(listed) - most:,} more: --wide lists all")


def _as_json(document: LineageDocument, found: Plan) -> dict[str, object]:
    def listed(marks: Iterable[Mark]) -> list[dict[str, str]]:
        return [
            {"classification": each.name, "type": each.type, "qualified_name": each.qualified_name} for each in marks
        ]

    return {
        "classifications": _counts(document, found),
        "attach": listed(found.attach),
        "detach": listed(found.detach),
        "scanned": listed(found.scanned),
        "others": listed(found.others),
        "kept": listed(found.kept),
        "absent": listed(found.absent),
    }


def _reason(found: Explanation) -> str:
    """Why, in one sentence."""
    if found.declassified:
        approval = found.declassified.approval
        return f"Declassified by {approval.author} until {approval.expires}: {approval.reason}"
    begins = f"It begins by the rule in line {found.origin.line}" if found.origin else ""
    if found.state is State.TAGGED:
        return begins
    if found.state is State.UNKNOWN:
        return "The source of a value on the way is not known"
    return f"{begins}, and a mask stops it" if found.stopped_at else "No value of a column that has it arrives"


def _step(document: LineageDocument, edge: Edge) -> str:
    """An edge in a line: both columns, what happens, and the process."""
    ends = (document.columns[edge.input], document.columns[edge.output])
    one, other = (f"{document.datasets[each.dataset].name}.{each.name}" for each in ends)
    what = f"{edge.kind.value}: {edge.description}" if edge.description else edge.kind.value
    return f"{one} → {other} ({what}; {document.processes[edge.process].name})"


def _explanation_json(document: LineageDocument, found: Explanation) -> dict[str, object]:
    return {
        "classification": found.classification,
        "state": found.state.value,
        "reason": _reason(found),
        "way": [{"step": _step(document, edge), "stops": edge is found.stopped_at} for edge in found.way],
    }


app.add("plan", plan)
app.add("apply", apply)
app.add("explain", explain)
