"""Options that several commands have, each declared once."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON")]
Wide = Annotated[bool, typer.Option("--wide", help="All columns, one line a row, however wide the terminal")]
Plan = Annotated[bool, typer.Option("--plan", help="Only show what would be done")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where the last run of this command was stopped")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation")]
Most = Annotated[int, typer.Option(min=0, metavar="N", help="List at most N; 0 for all")]
Key = Annotated[
    str, typer.Option(envvar="THROUGHLINE_KEY", metavar="KEY", help="The receiver's function key, if it needs one")
]
