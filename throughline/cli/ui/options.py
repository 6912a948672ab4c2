"""Options that several commands have, each declared once, and what goes with them."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from throughline.cli.ui.console import err, fail

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON")]
Wide = Annotated[bool, typer.Option("--wide", help="Print all columns, each row on one line")]
FromLake = Annotated[str, typer.Option("--lake", metavar="FOLDER", help="Read this lake instead of the record")]
AssetText = Annotated[str, typer.Argument(help="A name, the end of a path, or a whole qualified name")]
Plan = Annotated[bool, typer.Option("--plan", help="Only show what would be done")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue where this command was stopped last")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation")]
Group = Annotated[str, typer.Option(metavar="GROUP", help="Check the deployment in this resource group")]
Subscription = Annotated[
    str, typer.Option(metavar="NAME", help="The group's subscription; default: the one that `az` uses")
]
Environment = Annotated[
    str, typer.Option(metavar="NAME", help="The parameter environmentName, if the group holds several environments")
]
ListLimit = Annotated[int, typer.Option(min=0, metavar="N", help="List at most N; 0 lists all")]


def _key(text: str) -> str:
    """The key, if a header can hold it; else the command ends."""
    if not text.isprintable() or text.startswith(" ") or any(char > "\xff" for char in text):
        fail("--key (or THROUGHLINE_KEY) holds a character that no key has: copy it again", code=2)
    return text


Key = Annotated[
    str,
    typer.Option(
        envvar="THROUGHLINE_KEY",
        metavar="KEY",
        help="The receiver's function key, if it needs one",
        callback=_key,
    ),
]

PENDING = 3
"""The exit code of a plan with changes to make."""


def moment(text: str, option: str) -> datetime | None:
    """The time that an option names, in UTC unless it names a zone; None for no text. Ends the command where it is no
    time.
    """
    if not text:
        return None
    try:
        parsed_time = datetime.fromisoformat(text)
        return (parsed_time if parsed_time.tzinfo else parsed_time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):  # the latter: before the year 1 or after 9999 in UTC
        fail(f"{option} must be a time such as 2026-11-21 or 2026-11-21T13:00Z, not {text!r}", code=2)


NOTHING_HALF_DONE = "Nothing is half done: run the command again, and it goes on with what is left"


def refuse_json_without_plan(*, as_json: bool, plan: bool) -> None:
    """End the command: only its plan has a JSON form."""
    if as_json and not plan:
        fail("--json prints a plan: add --plan, or leave out --json", code=2)


def confirm(question: str, *, yes: bool) -> None:
    """Ask, unless `yes`; ends the command with exit code 1 where the answer is no."""
    if not yes and not typer.confirm(question, err=True):
        err.print("nothing was done")
        raise typer.Exit(1)
