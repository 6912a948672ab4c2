"""`throughline impact`: what a change of tables or columns breaks, before it is made."""

from pathlib import Path
from typing import Annotated

import typer

from shared.governance.checks.breakage import (
    Breakage,
    BreakageQuestion,
    Change,
    Subject,
    as_markdown,
    policy_subjects,
    reports,
)
from shared.governance.checks.checking import NOT_KNOWN, Report, as_sarif, as_text, exit_code
from shared.governance.checks.findings import lineage_of
from shared.governance.propagation import propagate
from shared.governance.rules import Rules
from shared.governance.rules_file import parse_rules
from shared.lineage.questions import LineageIndex
from throughline.changes.breakages import breakages_of
from throughline.changes.git_range import changed_files
from throughline.changes.table_changes import TableChange, table_changes
from throughline.cli.commands.govern.check import catalog_reading
from throughline.cli.commands.lineage.document_source import judged_lineage, names_of_lineage
from throughline.cli.context.parsed_file import parsed_file
from throughline.cli.context.target import HOME, Home
from throughline.cli.ui.console import counted, fail, note, print_json
from throughline.cli.ui.options import AsJson, FromLake
from throughline.dbt.artifacts import read_project


def impact(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="TABLE[.COLUMN]", help="What changes, by names as `search` shows them")
    ] = None,
    *,
    drop: Annotated[bool, typer.Option("--drop", help="It is removed; the default")] = False,
    rename: Annotated[bool, typer.Option("--rename", help="It gets another name")] = False,
    retype: Annotated[bool, typer.Option("--retype", help="The columns get another type")] = False,
    from_diff: Annotated[
        str, typer.Option(metavar="RANGE", help="What the SQL files and dbt models changed in this range of git break")
    ] = "",
    repo: Annotated[Path, typer.Option(metavar="FOLDER", help="The repository of --from-diff")] = Path(),
    dbt: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="dbt's folder `target`, whose manifest.json names models in full"),
    ] = None,
    rules: Annotated[
        str, typer.Option(metavar="FILE", help="Name the policies and classifications of this rules file that are hit")
    ] = "",
    lake: FromLake = "",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a comment for a pull request")] = False,
    as_json: AsJson = False,
    sarif: Annotated[bool, typer.Option("--sarif", help="Print SARIF 2.1.0")] = False,
    home: Home = HOME,
) -> None:
    """Show what a change of tables or columns breaks: who owns it, the policies and classifications, the way to each.

    Exit code 0 if nothing breaks, 3 if something does, 4 if that is not known: some lineage does not show its columns.
    1 and 2 are failures of the command itself, as those of `throughline check`. --from-diff compares the columns that
    each changed statement and model wrote before with those after; it runs no dbt.

        throughline impact raw/orders.amount
        throughline impact raw/orders --rename --lake build/lake
        throughline impact raw/orders.amount raw/orders.tax --retype --rules policy.toml --markdown
        throughline impact --from-diff main...HEAD --rules policy.toml --markdown
    """
    change = _change(drop=drop, rename=rename, retype=retype)
    if markdown + as_json + sarif > 1:
        fail("--markdown, --json and --sarif exclude one another: give one of them", code=2)
    if bool(names) == bool(from_diff):
        fail("say what changes: either tables or columns, as `throughline search` shows them, or --from-diff", code=2)
    changes = _changes(from_diff, repo, dbt) if from_diff else ()
    question = _question(context, home, lake, rules)
    subjects = [_subject(question.index, name, change) for name in names or ()]
    breakages = (*map(question.breakage, subjects), *breakages_of(question, changes))
    _print(breakages, markdown=markdown, as_json=as_json, sarif=sarif)
    raise typer.Exit(exit_code(tuple(breakage.result for breakage in breakages)))


def _changes(commits: str, repo: Path, dbt: Path | None) -> tuple[TableChange, ...]:
    """What the files changed in a range do to tables. Raises Misconfigured where there is no such range or project."""
    files = changed_files(repo, commits)
    nodes = read_project(dbt).nodes.values() if dbt else ()
    note("compared", f"{counted(len(files), 'SQL file')} changed in {commits}")
    return tuple(table_changes(files, nodes))


def _change(**options: bool) -> Change:
    changes = [Change(name) for name, is_given in options.items() if is_given]
    if len(changes) > 1:
        fail("--drop, --rename and --retype exclude one another: give one of them", code=2)
    return changes[0] if changes else Change.DROP


def _question(context: typer.Context, home: Home, lake: str, rules_place: str) -> BreakageQuestion:
    rules = parsed_file(rules_place, parse_rules) if rules_place else Rules()
    document, facts = judged_lineage(context, home, lake)
    if not document.datasets:
        fail(
            "there is no lineage yet, so what breaks is not known: `throughline status` shows what has arrived",
            code=NOT_KNOWN,
        )
    document = rules.judged(document)
    tags = catalog_reading(context, home, document, rules).tags
    return BreakageQuestion(
        index=LineageIndex(document),
        lineage=lineage_of(document),
        policies=policy_subjects(document, rules),
        tags=propagate(document, rules, today=facts.now.date(), catalog=tags),
    )


def _subject(index: LineageIndex, text: str, change: Change) -> Subject:
    """The table or the column of this name; ends the command with the nearest ones where there is none."""
    with names_of_lineage():
        dataset, column = index.subject(text)
    if column is None and change is Change.RETYPE:
        fail(f"only columns have a type: name one of {text}, as {text}.COLUMN", code=2)
    return Subject(dataset=dataset, column=column, change=change)


def _print(breakages: tuple[Breakage, ...], *, markdown: bool, as_json: bool, sarif: bool) -> None:
    if as_json:
        print_json(breakages)
    elif markdown:
        typer.echo(as_markdown(breakages), nl=False)
    elif sarif:
        typer.echo(as_sarif(*reports(breakages)), nl=False)
    else:
        typer.echo(as_text(Report(place="", results=tuple(breakage.result for breakage in breakages))), nl=False)
