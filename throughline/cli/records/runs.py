"""Options that choose runs, errors for those that do not exist, and which events write a data set that people name."""

import shlex
from datetime import date, timedelta
from typing import Annotated, NoReturn

import typer

from shared.errors import Refused
from shared.events.stored_runs import RunFilter
from shared.openlineage.decoding import decode, run_id_of
from shared.openlineage.wire import Dataset
from shared.reading.reader import all_runs, wanted_events
from shared.reporting.status import By, status
from shared.rules_file import matcher
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


def writes(raw: bytes | None, name: str) -> bool:
    """Whether the event in these bytes names this data set as an output: by its name, the end of its path, or a pattern
    with `*` and `?`; also by its name in a catalog of tables. False for bytes that are no event.
    """
    try:
        body = decode(raw or b"").body
    except Refused:
        return False
    fits = matcher([name, f"*/{name.lstrip('/')}"])
    return any(fits(spelled) for output in (body.outputs if body else None) or () for spelled in _names(output))


def no_write_of(name: str) -> str:
    """The sentence where no stored event writes it."""
    return (
        f"no stored event names {name!r} as an output. A file that pandas, open() or a shell writes is in no event,"
        " because Spark sees no write"
    )


def _names(dataset: Dataset) -> tuple[str, ...]:
    links = dataset.facets.symlinks.identifiers if dataset.facets and dataset.facets.symlinks else None
    path = f"{dataset.namespace.rstrip('/')}/{dataset.name.lstrip('/')}".rstrip("/")
    return (dataset.name, path, *(link.name for link in links or ()))
