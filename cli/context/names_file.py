"""The option for a file of names, in the commands that name data sets."""

from pathlib import Path
from typing import Annotated

import typer

from cli.ui.console import fail
from shared.errors import Misconfigured
from shared.naming.names import BUILT_IN, Names
from shared.naming.user_rules import parse_names
from shared.settings.kinds import file

TextFile = Annotated[
    Path | None, typer.Option("--names", envvar="THROUGHLINE_NAMES", help="A file of naming rules", metavar="FILE")
]


def names_in(path: Path | None) -> Names:
    """The naming rules of a file, or the built-in ones without it; ends the command with what is wrong in the file."""
    try:
        found = file(str(path)) if path else None
        return parse_names(found.text, found.place) if found else BUILT_IN
    except (Misconfigured, ValueError) as error:
        fail(str(error), code=2)
