"""Options that choose runs, and errors for those that do not exist."""

import shlex
from datetime import date, timedelta
from typing import Annotated, NoReturn

import typer

from shared.events.stored_runs import RunFilter
from shared.openlineage.decoding import run_id_of
from shared.reading.reader import all_runs, wanted_events
from shared.reporting.status import By, status
from shared.storage.port import Storage
from shared.texts import suggestion, visible
from throughline.cli.ui.console import fail
from throughline.cli.ui.options import moment

Since = Annotated[str, typer.Option("--from", metavar="TIME", help="Events from this time on, such as 2026-11-21")]
Before = Annotated[str, typer.Option("--to", metavar="TIME", help="Events before this time, such as 2026-11-21T13:00Z")]
RunId = Annotated[str, typer.Option("--run", metavar="ID", help="Only this run")]
JobGlob = Annotated[
    str, typer.Option("--job", metavar="GLOB", help="Only runs of jobs whose name matches, such as 'nightly*'")
]

_DAY = timedelta(days=1)
_ALIKE = 4
"""First digits that a run's id must share with one that does not exist, to be suggested in its place."""


def wanted_run(text: str) -> str:
    """The id under which a run is stored: empty for no text, a UUID made of the text where that is none."""
    return run_id_of(text) if text else ""


def wanted_runs(*, since: str, before_text: str, job: str, run: str) -> RunFilter:
    """The runs that these options choose. Ends the command where a time is none, or no time lies between the two."""
    begin, end = moment(since, "--from"), moment(before_text, "--to")
    if begin and end and begin >= end:
        hint = f": for that whole day write --to {(begin + _DAY).date()}" if begin.date() < date.max else ""
        fail(f"no time lies between --from {since} and --to {before_text}{hint}", code=2)
    return RunFilter(since=begin, before=end, job=job, run_id=wanted_run(run))


def known_run(storage: Storage, text: str) -> None:
    """End the command where no event of this run (its id as it was given) is stored."""
    run_id = wanted_run(text)
    if next(wanted_events(storage, RunFilter(run_id=run_id)), None) is None:
        alike = {run.run_id for run in all_runs(storage) if run.run_id[:_ALIKE] == run_id[:_ALIKE]}
        ignored = (
            f"`throughline events --ignored --run {visible(shlex.quote(text))}` shows whether the receiver ignored its"
            " events"
        )
        fail(f"no event of a run {text} is stored.{suggestion(run_id, alike)} {ignored}")


def refuse_unknown_job(storage: Storage, glob: str) -> NoReturn:
    """End the command: no job is called so."""
    names = {group.job for group in status(storage, by=(By.JOB,)).groups if group.job}
    pattern = visible(shlex.quote(glob))
    ignored = f"`throughline events --ignored --job {pattern}` shows whether the receiver ignored its events"
    fail(f"no stored event has a job called {glob!r}.{suggestion(glob.strip('*'), names)} {ignored}")
