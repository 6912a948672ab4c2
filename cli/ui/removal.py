"""Asking before something is removed from the catalog, and the sentence after a failure."""

import typer

from cli.ui.console import err

NOTHING_HALF_DONE = "Nothing is half done: run the command again, and it goes on with what is left"


def confirm(question: str, *, yes: bool) -> None:
    """Ask, unless `yes`; ends the command with exit code 1 where the answer is no."""
    if not yes and not typer.confirm(question, err=True):
        err.print("nothing was done")
        raise typer.Exit(1)
