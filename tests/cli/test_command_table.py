"""Commands are loaded when they are used, and the help says of each what its docstring says."""

import subprocess
import sys
from typing import Any

import pytest
import typer.main

from throughline.cli.main import GROUPS, app

ROWS = [(name, panel, row) for panel, rows in GROUPS.items() for name, row in rows.items()]
LOADED = """
import sys
sys.argv = ["throughline", "--help"]
from throughline.cli.main import main
try:
    main()
except SystemExit:
    packages = ("shared.", "throughline.cli.commands", "throughline.local")
    rooms = {name for name in sys.modules if name.startswith(packages)}
    print(*sorted(rooms), file=sys.stderr)
"""


@pytest.mark.parametrize(("name", "panel", "row"), ROWS, ids=[name for name, _, _ in ROWS])
def test_a_row_says_what_the_docstring_says(name: str, panel: str, row: Any) -> None:
    command = row.load(name, panel)
    assert command.help.split("\n\n")[0].replace("\n", " ") == row.summary
    assert (command.name, command.rich_help_panel) == (name, panel)


def test_the_help_loads_no_command() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert "Repair" in done.stdout
    assert [room for room in done.stderr.split() if not room.startswith(("shared.settings", "shared.texts"))] == [
        "shared.errors"
    ]


def test_a_command_is_loaded_once() -> None:
    root: Any = typer.main.get_command(app)
    assert root.commands["types"] is root.commands["types"]
    assert len(root.commands) == len(ROWS) == len(list(root.commands))
