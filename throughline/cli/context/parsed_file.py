"""Files of rules that a command is given; the option for a file of names."""

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from shared.errors import Misconfigured
from shared.naming.names import BUILT_IN, Names
from shared.naming.user_rules import parse_names
from shared.settings.kinds import file
from throughline.cli.ui.console import fail

T = TypeVar("T")


def parsed_file(path: str | PathLike[str], parse: Callable[[str, str], T]) -> T:
    """The rules in a file, by a parser of its text and path; ends the command with what is wrong in the file."""
    return parsed_files([path], parse)[0]


def parsed_files(paths: Iterable[str | PathLike[str]], parse: Callable[[str, str], T]) -> list[T]:
    """The rules in several files; ends the command with what is wrong in all of them."""
    parsed: list[T] = []
    problems: list[str] = []
    for path in paths:
        try:
            text_file = file(str(path)) or fail("no file is named: give its path", code=2)
            parsed.append(parse(text_file.text, text_file.place))
        except (Misconfigured, ValueError) as error:
            problems.append(str(error))
    return fail("\n".join(problems), code=2) if problems else parsed


TextFile = Annotated[
    Path | None, typer.Option("--names", envvar="THROUGHLINE_NAMES", help="A file of naming rules", metavar="FILE")
]


def names_in(path: Path | None) -> Names:
    """The naming rules of a file, or the built-in ones without it; ends the command with what is wrong in the file."""
    return BUILT_IN if path is None else parsed_file(path, parse_names)
