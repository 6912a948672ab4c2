"""What the commands share that take something out of the catalog: asking first, and ending in one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from cli.ui.console import err, fail, out, plain
from cli.ui.dead_letters import visible
from shared.errors import CatalogRefused, CatalogUnavailable, StorageUnavailable, WriteConflict

Plan = Annotated[bool, typer.Option("--plan", help="Only say what would be removed")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask")]
Most = Annotated[int, typer.Option(min=0, help="How many are listed; 0 for all")]
AsJson = Annotated[bool, typer.Option("--json", help="The machine-readable form of --plan")]

_FAILURES = (CatalogRefused, CatalogUnavailable, WriteConflict, StorageUnavailable)


@contextmanager
def one_sentence() -> Iterator[None]:
    """End the command with one sentence when storage or catalog are away, or somebody else is at it."""
    try:
        yield
    except _FAILURES as error:
        fail(f"{error}. Nothing is half done: run it again, it goes on with what is left")


def confirm(question: str, *, yes: bool) -> None:
    """Ask, unless that was answered already; ends the command when it is not wanted."""
    if not yes and not typer.confirm(question, err=True):
        err.print("nothing was done")
        raise typer.Exit(1)


def counted(number: int, word: str) -> str:
    """A number of things, in words."""
    many = f"{word}es" if word.endswith("s") else f"{word}s"
    return f"{number:,} {word if number == 1 else many}"


def listed(names: list[str], most: int) -> None:
    """Print names, so many of them."""
    shown = names[: most or None]
    for name in shown:
        out.print(f"  {plain(visible(name))}")
    if len(shown) < len(names):
        out.print(f"  … and {len(names) - len(shown):,} more (--most)")
