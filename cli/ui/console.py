"""What all commands share: where words go, and how an error ends a command."""

import json
import re
import sys
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

out = Console(highlight=False, soft_wrap=True)
"""Results: may be piped."""

err = Console(stderr=True, highlight=False)
"""Progress and problems."""


def fail(sentence: str, *, code: int = 1) -> NoReturn:
    """End the command with one clear sentence."""
    err.print(f"[bold red]error:[/] {plain(sentence)}", soft_wrap=True)
    raise typer.Exit(code)


def plain(value: object) -> str:
    """A value that is not ours, as it is: names like `[dbo].[orders]` look like rich's markup."""
    return escape(str(value))


def note(word: str, sentence: str) -> None:
    """One line beside the result."""
    err.print(f"[yellow]{word}:[/] {plain(sentence)}", soft_wrap=True)


def print_json(value: Any) -> None:
    """Plain JSON on standard output, with nothing around it, in ASCII: it must not depend on the terminal."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def progress_bar(*, transient: bool = False) -> Progress:
    """A bar for long work, on standard error."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=transient,
    )


_WEB_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def save_picture(path: Path, *, title: str) -> None:
    """Save what was recorded of the results as an SVG that loads nothing from elsewhere."""
    path.write_text(_WEB_FONTS.sub("", out.export_svg(title=title, clear=False)))
