"""`throughline events`: list stored events by job, time or run, and save them to a file."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from shared.openlineage.selection import CHECK_APPLICATION
from shared.reading.reader import wanted_events
from shared.reading.values import EventRecord
from shared.reporting.ignored_events import find_ignored
from throughline.cli.context.target import HOME, Home, parts_of
from throughline.cli.records.runs import (
    Before,
    JobGlob,
    RunId,
    Since,
    known_run,
    no_write_of,
    refuse_unknown_job,
    wanted_runs,
    writes,
)
from throughline.cli.ui.console import counted, fail, left_out, note, out, print_json, tracked
from throughline.cli.ui.options import AsJson, ListLimit, Wide
from throughline.cli.ui.tables import print_table
from throughline.cli.ui.writing import save_events


def events(
    context: typer.Context,
    *,
    job: JobGlob = "",
    since: Since = "",
    before: Before = "",
    run: RunId = "",
    output: Annotated[
        str,
        typer.Option(
            metavar="TABLE",
            help="Only runs that write this data set: a name, the end of a path or * and ?; reads each event",
        ),
    ] = "",
    ignored: Annotated[
        bool,
        typer.Option("--ignored", help="List events that the receiver ignored, and why; reads each event"),
    ] = False,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the events as JSON lines, gzipped if the name ends in .gz")
    ] = None,
    most: ListLimit = 50,
    wide: Wide = False,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """List stored events by job, time or run, in the order of their times; --save writes them to a file.

    The saved file holds all events that were found, as they were received, sorted by hour, application and run.
    `throughline translate` reads it. Events of `throughline canary` are listed only by their job or run.

        throughline events --job 'nightly*' --from 2026-11-21
        throughline events --job 'nightly*' --save nightly.jsonl
        throughline events --output sales/orders --from 2026-11-21
        throughline events --run 0192a3b4-5c6d-7e8f-9012-3456789abcde
        throughline events --ignored --from 2026-11-21 --job 'nightly*'
    """
    wanted_run_filter = wanted_runs(since=since, before_text=before, job=job, run=run)
    storage = parts_of(context, home).storage
    stored = wanted_events(storage, wanted_run_filter, content=bool(save or output))
    event_records = find_ignored(storage, wanted_run_filter) if ignored else stored
    if not (job or run):
        event_records = (record for record in event_records if not record.job.startswith(CHECK_APPLICATION))
    if output:
        event_records = (record for record in event_records if writes(record.raw, output))
    first = next(event_records, None)
    if first is None and output:
        fail(no_write_of(output))
    if first is None and run and not ignored:
        known_run(storage, run)
    if first is None and job and not (since or before or ignored):
        refuse_unknown_job(storage, job)
    event_records = chain([first] if first else [], event_records)
    if save:
        _save(tracked(event_records, "saving"), save)
        return
    records = sorted(tracked(event_records, "reading"), key=lambda record: record.event.time)
    shown = records[: most or None]
    if as_json:
        print_json({"events": list(map(event_document, shown)), "count": len(records)})
        return
    _show(shown, last="reason" if ignored else "blob", wide=wide)
    runs = {record.event.run_id for record in records}
    out.print(f"{counted(len(records), 'event')} of {counted(len(runs), 'run')}{left_out(len(records) - len(shown))}")


def event_document(record: EventRecord) -> dict[str, Any]:
    """A stored event as `--json` prints it, without its content."""
    event = record.event
    return {
        "application": event.application,
        "run_id": event.run_id,
        "time": event.time,
        "type": event.type,
        "digest": event.digest,
        "job": record.job,
        "container": record.container,
        "blob": record.blob,
        **({"reason": record.reason} if record.reason else {}),
    }


def _show(records: Sequence[EventRecord], *, last: str, wide: bool) -> None:
    """Print a row for each event. Unless `wide`, job and reason are below it, and a run's id is whole to be copied."""
    rows = [
        [
            f"{record.event.time:%Y-%m-%d %H:%M:%S}",
            record.event.type,
            record.event.run_id,
            record.job,
            record.reason or f"{record.container}/{record.blob}",
        ]
        for record in records
    ]
    notes = () if wide else [list(filter(None, (record.job, record.reason))) for record in records]
    print_table(("time", "type", "run", "job", last), rows, notes=notes, wide=wide, only_wide=2)


def _save(records: Iterable[EventRecord], path: Path) -> None:
    """Save events, those whose content is damaged left out."""
    damaged = 0

    def raws() -> Iterator[bytes]:
        nonlocal damaged
        for record in records:
            if record.raw is None:
                damaged += 1
            else:
                yield record.raw

    save_events(raws(), path)
    if damaged:
        note("left out", f"{counted(damaged, 'event')} with damaged content: `throughline verify` shows which")
