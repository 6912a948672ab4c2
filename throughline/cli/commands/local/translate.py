"""`throughline translate`: events in, final lineage out, with no server at all."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from shared.translation.reference import History, translate_history
from throughline.cli.commands.local.by_file import show_by_file
from throughline.cli.context.parsed_file import TextFile, names_in
from throughline.cli.records.event_files import EventFile, UnreadableFileError, files_of, read_file
from throughline.cli.records.processes import process_document, process_tree
from throughline.cli.ui.console import counted, note, note_first, out, print_json, print_tree
from throughline.cli.ui.options import AsJson
from throughline.cli.ui.tables import print_table

EventFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="Events as JSON, JSON lines or an array, gzipped or not; a folder of such files; - for stdin",
    ),
]


ByFile = Annotated[
    bool, typer.Option("--by-file", help="Translate each file by itself, and compare with the columns its events name")
]


def translate(files: EventFiles, *, names: TextFile = None, by_file: ByFile = False, as_json: AsJson = False) -> None:
    """Show the lineage that events give, without any server.

    The processes are those that the catalog would hold after all the events, in any order. No timeout applies: a run
    without an end is waiting. Exit code 1 if a line could not be used; the other lines are used.

    With --by-file each file counts by itself, as for a producer whose events you want to try: how many of its events
    are accepted, what becomes of its runs, and how many of the column pairs that the events name the lineage has.

        throughline translate events.jsonl
        throughline translate day1.jsonl.gz day2.jsonl.gz --json | jq '.processes[].qualified_name'
        throughline translate events.jsonl --names names.toml
        throughline translate - < event.json
        throughline translate events/ --by-file
    """
    rules = names_in(names)
    paths = files_of(files)
    event_files = (_read(path, is_alone=path in files) for path in paths)
    if by_file:
        if not show_by_file(event_files, len(paths), rules, as_json=as_json):
            raise typer.Exit(1)
        return
    contents = [*event_files]
    events = [event for content in contents for event in content.events]
    broken = [sentence for content in contents for sentence in content.refused]
    history = translate_history(events, names=rules)
    if as_json:
        print_json(
            {
                "runs": history.runs,
                "processes": [process_document(process) for process in history.processes],
                "ignored": [
                    {"run_id": ignored_run.run_id or None, "reason": ignored_run.reason}
                    for ignored_run in history.ignored
                ],
            }
        )
    else:
        _show(history)
    note_first("left out", broken)
    if not events and not broken:
        note("nothing to translate", "the files hold no event")
    if broken:
        raise typer.Exit(1)


def _read(path: Path, *, is_alone: bool) -> EventFile:
    """A file's events. Raises UnreadableFileError for one that holds none and was named alone, not in a folder."""
    try:
        return read_file(path)
    except UnreadableFileError as error:
        if is_alone:
            raise
        return EventFile(path=path, events=(), refused=(str(error),))


def _show(history: History) -> None:
    for process in history.processes:
        print_tree(process_tree(process))
    runs = Counter((run.state, run.reason or "") for run in history.runs)
    if runs:
        rows = [(f"{number:,}", *key) for key, number in sorted(runs.items(), key=lambda item: item[0])]
        print_table(("runs", "state", "reason"), rows, numbers=("runs",))
    for reason, number in sorted(Counter(ignored_run.reason for ignored_run in history.ignored).items()):
        out.print(f"ignored: {reason} ({counted(number, 'run')})")
