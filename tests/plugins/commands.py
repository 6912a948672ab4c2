"""Typer's runner makes the program again for each command, and has no option for it. In tests it is made once."""

from functools import cache

import typer.testing

typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]
