"""What commands that move or remove things in the catalog have in common."""

import typer

from throughline.cli.ui.console import err, fail

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
