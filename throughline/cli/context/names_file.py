"""The option for a file of names, in the commands that name data sets."""

from pathlib import Path
from typing import Annotated

import typer

from shared.naming.names import BUILT_IN, Names
from shared.naming.user_rules import parse_names
from throughline.cli.context.parsed_file import parsed_file

TextFile = Annotated[
    Path | None, typer.Option("--names", envvar="THROUGHLINE_NAMES", help="A file of naming rules", metavar="FILE")
]


def names_in(path: Path | None) -> Names:
    """The naming rules of a file, or the built-in ones without it; ends the command with what is wrong in the file."""
    return BUILT_IN if path is None else parsed_file(path, parse_names)
