"""`throughline translate`: events in, final lineage out, with no server at all."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from shared.errors import Refused
from shared.openlineage.decoding import Event, decode
from shared.translation.reference import History, translate_history
from throughline.cli.context.names_file import TextFile, names_in
from throughline.cli.records.event_files import UnreadableFileError, events_in
from throughline.cli.records.processes import process_document, process_tree
from throughline.cli.ui.console import counted, fail, note, out, print_json, print_tree
from throughline.cli.ui.options import AsJson
from throughline.cli.ui.tables import print_table

EventFiles = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="Events as JSON, JSON lines or an array, gzipped or not; - for stdin"),
]


def translate(files: EventFiles, *, names: TextFile = None, as_json: AsJson = False) -> None:
    """Show the lineage that events give, without any server.

    The processes are those that the catalog would hold after all the events, in any order. No timeout applies: a run
    without an end is waiting. Exit code 1 if a line could not be used; the other lines are used.

        throughline translate events.jsonl
        throughline translate day1.jsonl.gz day2.jsonl.gz --json | jq '.processes[].qualified_name'
        throughline translate events.jsonl --names names.toml
        throughline translate - < event.json
    """
    rules = names_in(names)
    events, broken = _read(files)
    history = translate_history(events, names=rules)
    if as_json:
        print_json(
            {
                "runs": history.runs,
                "processes": [process_document(process) for process in history.processes],
                "ignored": [{"run_id": each.run_id or None, "reason": each.reason} for each in history.ignored],
            }
        )
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


def _show(history: History) -> None:
    for process in history.processes:
        print_tree(process_tree(process))
    runs = Counter((run.state, run.reason or "") for run in history.runs)
    if runs:
        rows = [(f"{number:,}", *key) for key, number in sorted(runs.items(), key=lambda item: item[0])]
        print_table(("runs", "state", "reason"), rows, numbers=("runs",))
    for reason, number in sorted(Counter(each.reason for each in history.ignored).items()):
        out.print(f"ignored: {reason} ({counted(number, 'run')})")
