"""`throughline translate --by-file`: what becomes of each file of events by itself."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shared.naming.names import Names
from shared.translation.reference import ColumnPair, missing_pairs, named_pairs, translate_history
from throughline.cli.records.event_files import EventFile
from throughline.cli.ui.console import counted, note_first, out, print_json, tracked
from throughline.cli.ui.tables import print_table


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
