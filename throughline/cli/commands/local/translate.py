"""`throughline translate`: events in, final lineage out, with no server at all."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from shared.naming.names import Names
from shared.translation.reference import ColumnPair, History, missing_pairs, named_pairs, translate_history
from throughline.cli.context.parsed_file import TextFile, names_in
from throughline.cli.records.event_files import EventFile, UnreadableFileError, files_of, read_file
from throughline.cli.records.processes import process_document, process_tree
from throughline.cli.ui.console import counted, note, note_first, out, print_json, print_tree, tracked
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCount:
    """The number of runs that have the same state, for the same reason."""

    state: str
    reason: str | None
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What became of one file: its events, the refused ones with the reason, its runs by state and reason, its
    processes, and of the column pairs that its published runs name, the number and those that the lineage lacks.

    `--json` prints it as it is.
    """

    file: str
    events: int
    refused: tuple[str, ...]
    runs: tuple[RunCount, ...]
    processes: int
    named_columns: int
    missing_columns: tuple[ColumnPair, ...]


def report_of(file: EventFile, names: Names) -> FileReport:
    """Translate one file by itself."""
    history = translate_history(file.events, names=names)
    published = {run.run_id for run in history.runs if run.state == "published"}
    named = named_pairs((event for event in file.events if event.run_id in published), names=names)
    runs = Counter((run.state, run.reason or "") for run in history.runs)
    runs.update(("ignored", ignored.reason) for ignored in history.ignored)
    return FileReport(
        file=str(file.path),
        events=len(file.events),
        refused=file.refused,
        runs=tuple(
            RunCount(state=state, reason=reason or None, number=number)
            for (state, reason), number in sorted(runs.items())
        ),
        processes=len(history.processes),
        named_columns=len(named),
        missing_columns=missing_pairs(named, history.processes),
    )


def show_by_file(files: Iterable[EventFile], total: int, names: Names, *, as_json: bool) -> bool:
    """Print the reports of the files; whether all events could be used."""
    reports = [report_of(file, names) for file in tracked(files, "translating files", total)]
    if as_json:
        print_json({"files": reports})
    else:
        _print(reports)
    return not any(report.refused for report in reports)


def _print(reports: Sequence[FileReport]) -> None:
    titles = ("file", "events", "refused", "processes", "columns", "runs")
    folder = os.path.commonpath([os.path.dirname(report.file) for report in reports])  # noqa: PTH120 - of texts
    print_table(titles, [_row(report, folder) for report in reports], numbers=titles[1:5])
    named = sum(report.named_columns for report in reports)
    lost_pairs = [f"{report.file}: {pair}" for report in reports for pair in report.missing_columns]
    refused = [sentence for report in reports for sentence in report.refused]
    parts = (
        counted(sum(report.events for report in reports), "event"),
        f"{len(refused):,} refused",
        counted(sum(report.processes for report in reports), "process"),
        f"{named - len(lost_pairs):,} of {counted(named, 'column pair')} that the events of published runs name",
    )
    out.print(f"\n{counted(len(reports), 'file')}: {', '.join(parts)}")
    note_first("refused", refused)
    note_first("not in the lineage", lost_pairs)


def _row(report: FileReport, folder: str) -> tuple[str, ...]:
    columns = f"{report.named_columns - len(report.missing_columns):,} of {report.named_columns:,}"
    runs = "; ".join(f"{run.number:,} {run.state}{f': {run.reason}' if run.reason else ''}" for run in report.runs)
    return (
        os.path.relpath(report.file, folder or "."),
        f"{report.events:,}",
        f"{len(report.refused):,}" if report.refused else "",
        f"{report.processes:,}",
        columns if report.named_columns else "",
        runs,
    )
