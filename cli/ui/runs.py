"""Options that choose runs: times, a job, a run's id; and errors for those that do not exist."""

import re
import shlex
from datetime import UTC, datetime
from typing import Annotated, NoReturn

import typer

from cli.ui.console import fail
from cli.ui.suggestion import suggestion
from shared.events.stored_runs import Wanted, stored_runs
from shared.reporting.status import By, status
from shared.storage.port import Storage

Since = Annotated[str, typer.Option("--from", metavar="TIME", help="Events from this time on, as 2026-11-21")]
Before = Annotated[str, typer.Option("--to", metavar="TIME", help="Events before this time, as 2026-11-21T13:00Z")]
JobGlob = Annotated[str, typer.Option("--job", metavar="GLOB", help="Only runs of jobs called so, as 'nightly*'")]

_RUN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ALIKE = 4
"""First digits that a run's id must share with one that does not exist, to be suggested in its place."""


def moment(text: str, option: str) -> datetime | None:
    """A time in UTC; None for no text. Ends the command where it is no time."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        fail(f"{option} must be a time as 2026-11-21 or 2026-11-21T13:00Z, not {text!r}", code=2)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


def run_id_of(text: str) -> str:
    """A run's id in small letters, empty for no text. Ends the command where it is no UUID."""
    if text and not _RUN.fullmatch(text.lower()):
        fail(f"a run's id is a UUID, not {text!r}: `throughline events` lists runs with their ids", code=2)
    return text.lower()


def known_run(storage: Storage, run_id: str) -> None:
    """End the command where no event of this run is stored."""
    if next(stored_runs(storage, Wanted(run_id=run_id)), None) is None:
        alike = {each.run_id for each in stored_runs(storage, Wanted()) if each.run_id[:_ALIKE] == run_id[:_ALIKE]}
        ignored = f"`throughline events --ignored --run {run_id}` shows whether the receiver ignored its events"
        fail(f"no event of a run {run_id} is stored.{suggestion(run_id, alike)} {ignored}")


def refuse_unknown_job(storage: Storage, glob: str) -> NoReturn:
    """End the command: no job is called so."""
    names = {group.job for group in status(storage, by=(By.JOB,)).groups if group.job}
    ignored = f"`throughline events --ignored --job {shlex.quote(glob)}` shows whether the receiver ignored its events"
    fail(f"no stored event has a job called {glob!r}.{suggestion(glob.strip('*'), names)} {ignored}")
