"""`throughline translate`: events in, final lineage out, with no server at all."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.context.names_file import NamesFile, names_in
from cli.ui.console import fail, note, out, print_json
from cli.ui.event_files import UnreadableFileError, events_in
from cli.ui.processes import process_document, process_tree
from shared.errors import Refused
from shared.openlineage.decoding import Event, decode
from shared.translation.reference import History, translate_history


def translate(
    files: Annotated[list[Path], typer.Argument(help="JSON, JSON-lines or .gz files of events; - for standard input")],
    *,
    names: NamesFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="The stable, machine-readable form")] = False,
) -> None:
    """Show the lineage that these events give, without any server.

    The processes are as the catalog would finally hold them after all the events, in whatever order they come. There is
    no clock: a run without an end is waiting. Exit code 1 when a line could not be used; the others still are.

    \b
    throughline translate events.jsonl
    throughline translate day1.jsonl.gz day2.jsonl.gz --json | jq '.processes[].qualified_name'
    throughline translate events.jsonl --names names.toml
    cat event.json | throughline translate -
    """  # noqa: D301 - \b keeps the lines of the examples apart
    rules = names_in(names)
    events, broken = _read(files)
    history = translate_history(events, names=rules)
    if as_json:
        print_json(as_document(history))
    else:
        _show(history)
    for sentence in broken:
        note("left out", sentence)
    if not events and not broken:
        note("nothing to translate", "the files hold no event")
    if broken:
        raise typer.Exit(1)


def _read(files: Sequence[Path]) -> tuple[list[Event], list[str]]:
    events, broken = [], []
    try:
        for path in files:
            for found in events_in(path):
                try:
                    events.append(decode(found.raw))
                except Refused as refusal:
                    broken.append(f"{found.place}: {refusal}")
    except UnreadableFileError as error:
        fail(str(error), code=2)
    return events, broken


def as_document(history: History) -> dict[str, Any]:
    """The stable form: plain values, sorted."""
    return {
        "runs": [{"run_id": run.run_id, "state": run.state, "reason": run.reason} for run in history.runs],
        "processes": [process_document(process) for process in history.processes],
        "ignored": [{"run_id": each.run_id or None, "reason": each.reason} for each in history.ignored],
    }


def _show(history: History) -> None:
    for process in history.processes:
        out.print(process_tree(process))
    runs = Table("runs", "state", "reason", title_justify="left")
    for key in sorted({(run.state, run.reason or "") for run in history.runs}):
        runs.add_row(str(sum((run.state, run.reason or "") == key for run in history.runs)), *key)
    if history.runs:
        out.print(runs)
    for reason in sorted({each.reason for each in history.ignored}):
        out.print(f"ignored: {reason} ({sum(each.reason == reason for each in history.ignored)} runs)")
