"""Typer's runner makes the whole program for each command it runs: in tests it makes it once."""

from functools import cache

import typer.testing

typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]
