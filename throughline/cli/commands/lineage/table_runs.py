"""`throughline status --table`: the runs that write one data set, the newest first, with what became of each."""

from operator import attrgetter

from shared.events.stored_runs import RunFilter
from shared.reading.reader import wanted_events
from shared.reading.values import EventRecord
from shared.records.states import EventState
from shared.reporting.run_report import run_report
from shared.storage.port import Storage
from throughline.cli.records.runs import no_write_of, writes
from throughline.cli.ui.console import counted, fail, left_out, out, print_json, reading_bars
from throughline.cli.ui.tables import print_table

_RUNS = 20
"""Runs that are shown unless --most says how many."""


def show_table_runs(storage: Storage, table: str, limit: int, *, wide: bool, as_json: bool) -> None:
    """Print the runs whose events name the table as an output. Ends the command where there is none. Raises
    StorageUnavailable, ArchiveMissing and ContentLost.
    """
    with reading_bars() as seen_reading_bars:
        last = dict[str, EventRecord]()
        for record in wanted_events(storage, RunFilter(), content=True):
            seen_reading_bars("events", 1)
            if writes(record.raw, table):
                run_id = record.event.run_id
                last[run_id] = max(last.get(run_id, record), record, key=attrgetter("event.time"))
        if not last:
            fail(no_write_of(table))
        newest = sorted(last.values(), key=attrgetter("event.time"), reverse=True)
        shown_event_records = newest[: limit or _RUNS]
        reports = [
            (record, report)
            for record in shown_event_records
            if (report := run_report(storage, record.event.run_id, application=record.event.application))
        ]
    if as_json:
        documents = [
            {
                "run_id": report.run_id,
                "job": record.job,
                "last_event": record.event.time,
                "end": report.end,
                "state": report.state,
                "reason": report.outcome[1] or None,
                "in_catalog": report.outcome[0] == EventState.PUBLISHED,
            }
            for record, report in reports
        ]
        print_json({"runs": documents, "count": len(newest)})
        return
    rows = [
        (f"{record.event.time:%Y-%m-%d %H:%M:%S}", report.run_id, report.outcome[0], record.job, report.outcome[1])
        for record, report in reports
    ]
    notes = () if wide else [list(filter(None, row[3:])) for row in rows]
    print_table(("last event", "run", "state", "job", "reason"), rows, notes=notes, wide=wide, only_wide=2)
    out.print(f"{counted(len(newest), 'run')}{left_out(len(newest) - len(shown_event_records))}")
    out.print("\nNext: `throughline run ID` shows one, and what to do about it")
